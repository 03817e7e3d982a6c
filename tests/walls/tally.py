"""Counts the forms of attack that tests tried, and those that came through, by area.

A test that carries ``@pytest.mark.wall("path")`` counts as one form, which came through if the test fails.  A test that
tries many forms takes the fixture ``wall`` as well and counts each; it fails at its end if more came through than its
mark allows (``@pytest.mark.wall("gates", through=11)``; none without that).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import cast

import pytest

AREAS = (
    "isolation", "supervisor", "stops", "limits", "snapshots", "aiignore", "path", "rights", "output", "users", "http", "xss",
    "keys", "prompt", "lessons", "backups", "settings", "gates", "yes", "losses", "network", "injections",
)  # fmt: skip
WHOLE = "THREADWRIGHT_WALLS_WHOLE"
"""Set in the environment where the long sets are tried whole."""
_PROPERTY = "wall"
_SHOWN = 12


@dataclass
class Wall:
    """The forms that one test tried in an area."""

    area: str
    tried: int = 0
    through: list[str] = field(default_factory=list)

    def held(self, form: str, held: bool, why: str = "") -> bool:
        """Count one form; ``held`` says whether it was kept out. Returns ``held``."""
        self.tried += 1
        if not held:
            self.through.append(f"{form!r}: {why}" if why else repr(form))
        return held


def _mark(node: pytest.Item) -> tuple[str, int] | None:
    mark = node.get_closest_marker(_PROPERTY)
    if mark is None:
        return None
    area, allowed = mark.args[0], mark.kwargs.get("through", 0)
    assert area in AREAS, f"{area!r} is no area of tests/walls/tally.py"
    return area, allowed


@pytest.fixture
def wall(request: pytest.FixtureRequest) -> Iterator[Wall]:
    """The tally of a test that tries many forms."""
    marked = _mark(request.node)
    assert marked is not None, "a test that counts its forms says of which area: @pytest.mark.wall(AREA)"
    tally = Wall(marked[0])
    yield tally
    request.node.user_properties.append((_PROPERTY, [tally.tried, tally.through]))
    assert tally.tried, "nothing was tried"
    shown = "\n  ".join(tally.through[:_SHOWN])
    assert len(tally.through) <= marked[1], f"{len(tally.through)} of {tally.tried} came through:\n  {shown}"


def pytest_itemcollected(item: pytest.Item) -> None:
    """Name the area of a test, so that its report carries it wherever it runs."""
    marked = _mark(item)
    if marked is not None:
        item.user_properties.append((_PROPERTY + "-area", marked[0]))


class Walls:
    """The plugin: sums what the tests counted, also those of other processes, and prints a line an area."""

    def __init__(self) -> None:
        self.tried: dict[str, int] = defaultdict(int)
        self.through: dict[str, list[str]] = defaultdict(list)
        self._failed: dict[str, str] = {}
        self._counted: set[str] = set()

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Add up a test: its forms where it counted them, else itself."""
        said = dict(report.user_properties)
        area = said.get(_PROPERTY + "-area")
        if not isinstance(area, str):
            return
        if report.failed:
            self._failed[report.nodeid] = area
        if report.when == "teardown":
            self._sum(report.nodeid, area, said.get(_PROPERTY))

    def _sum(self, test: str, area: str, counted: object) -> None:
        if isinstance(counted, list | tuple):
            tried, through = cast("tuple[int, list[str]]", counted)
            self.tried[area] += tried
            self.through[area] += through
            if test in self._failed and not through:
                self.through[area].append(test)
        else:
            self.tried[area] += 1
            if test in self._failed:
                self.through[area].append(test)

    def lines(self) -> list[str]:
        """A line an area that was tried: how many forms, and how many came through."""
        return [
            f"walls {area:<10} tried {self.tried[area]:>5} through {len(self.through[area]):>3}"
            for area in AREAS
            if self.tried[area]
        ]

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        """Print the areas, where any was tried."""
        if not self.tried:
            return
        terminalreporter.section("walls")
        for line in self.lines():
            terminalreporter.line(line)
