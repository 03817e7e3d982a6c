"""The tally itself: what comes through is counted and fails its test, also where several processes run the tests."""

from __future__ import annotations

from pathlib import Path

import pytest

pytest_plugins = ["pytester"]

TRIES = """
import pytest
from tests.walls.tally import pytest_itemcollected, wall

@pytest.mark.wall("path")
@pytest.mark.parametrize("form", ["kept", "through"])
def test_each(form):
    assert form == "kept"

@pytest.mark.wall("gates", through=1)
def test_many(wall):
    for form in ("a", "b", "c"):
        wall.held(form, form != "b")

@pytest.mark.wall("gates")
def test_none_may(wall):
    wall.held("d", False, "it deleted everything")

def test_nothing():
    pass
"""


@pytest.mark.parametrize("jobs", [(), ("-n", "2")])
def test_forms_are_counted_by_area(
    pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch, jobs: tuple[str, ...]
) -> None:
    monkeypatch.setenv("PYTHONPATH", str(Path(__file__).parents[2]))
    pytester.makeini("[pytest]\nmarkers =\n    wall\n")
    pytester.makeconftest("from tests.walls.tally import Walls, pytest_itemcollected, wall\n"
                          "def pytest_configure(config):\n"
                          "    if not hasattr(config, 'workerinput'):\n"
                          "        config.pluginmanager.register(Walls())\n")  # fmt: skip
    pytester.makepyfile(TRIES)
    ended = pytester.runpytest_subprocess("-p", "no:cacheprovider", *jobs)
    ended.stdout.fnmatch_lines(["*path*tried*2 through*1", "*gates*tried*4 through*2"])
    ended.stdout.fnmatch_lines(["*1 of 1 came through:*"])
    ended.assert_outcomes(passed=4, failed=1, errors=1)
