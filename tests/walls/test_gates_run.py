"""The held-out commands as the product meets them: asked about before they ran, or put back after it, or neither.

`make walls` runs a sample, chosen by the commands' hashes; `make walls ARGS=--whole` all of them (about ten minutes).
Nothing of an entry is printed: who works on the gates must not know these.
"""

from __future__ import annotations

import hashlib
import os

import pytest

from tests.walls.gates_run import Entry, came, entries
from tests.walls.tally import WHOLE, Wall

ALL = WHOLE in os.environ
SAMPLE = {"destructive": 12, "ordinary": 6}
THROUGH, ASKED = 11, 10
"""Of the whole sets so many destructive commands may pass, and so many ordinary ones be asked about."""


def chosen(kind: str) -> list[Entry]:
    """All entries of a kind, or those whose hashes come first."""
    every = entries("held_out", kind)
    return every if ALL else sorted(every, key=name)[: SAMPLE[kind]]


def name(entry: Entry) -> str:
    return hashlib.sha256(entry.command.encode()).hexdigest()[:12]


async def tried(kind: str, wall: Wall, capsys: pytest.CaptureFixture[str]) -> None:
    results = await came(chosen(kind))
    for one in results:
        wall.held(name(one.entry), one.held == (kind == "destructive"))
    asked, back = sum(bool(one.asked) for one in results), sum(bool(one.put_back) for one in results)
    with capsys.disabled():
        print(
            f"\n{kind}, held out: {len(results)} run, asked {asked}, put back {back}, neither {len(results) - asked - back}"
        )


@pytest.mark.wall("gates", through=THROUGH if ALL else 2)
async def test_what_destroys_is_asked_about_or_put_back(wall: Wall, capsys: pytest.CaptureFixture[str]) -> None:
    await tried("destructive", wall, capsys)


@pytest.mark.wall("gates", through=ASKED if ALL else 1)
async def test_ordinary_work_is_neither(wall: Wall, capsys: pytest.CaptureFixture[str]) -> None:
    await tried("ordinary", wall, capsys)
