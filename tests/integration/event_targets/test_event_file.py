"""Events as lines of a file: bounded, durable, whole lines, and said where it cannot be written."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from agentic.event_targets.event_file import OLDER_FILES, EventFile
from agentic.event_targets.event_target import NotDelivered
from tests.unit.event_targets.test_event_targets import turn


async def delivered(target: EventFile, *seqs: int) -> list[str]:
    return [key async for key in target.deliver([turn("x1", seq) for seq in seqs])]


def lines(path: Path) -> list[int]:
    """The numbers of the events that can be read."""
    found: list[int] = []
    for line in path.read_text("utf-8").splitlines():
        try:
            found.append(json.loads(line)["seq"])
        except json.JSONDecodeError:
            found.append(-1)
    return found


async def test_a_full_file_is_renamed_and_the_oldest_one_goes(tmp_path: Path) -> None:
    path = tmp_path / "new folder" / "events.jsonl"
    await delivered(EventFile(path), 0)
    size = path.stat().st_size
    target = EventFile(path, most=2 * size + 10)
    assert path.stat().st_mode & 0o777 == 0o600
    for seq in range(1, 14):
        assert await delivered(target, seq) == [f"x1/{seq}"]
    names = sorted(each.name for each in path.parent.iterdir())
    assert names == ["events.jsonl", *(f"events.jsonl.{number}" for number in range(1, OLDER_FILES + 1))]
    kept = [
        seq
        for name in ("jsonl.4", "jsonl.3", "jsonl.2", "jsonl.1", "jsonl")
        for seq in lines(path.parent / f"events.{name}")
    ]
    assert kept == list(range(14))[-len(kept) :]
    assert all(each.stat().st_size <= 2 * size + 10 for each in path.parent.iterdir())


async def test_half_a_line_of_a_process_that_died_spoils_no_other(tmp_path: Path) -> None:
    path = tmp_path / "events.jsonl"
    target = EventFile(path)
    await delivered(target, 1, 2)
    path.write_bytes(path.read_bytes()[:-20])
    await delivered(target, 2, 3)
    assert lines(path) == [1, -1, 2, 3]


@pytest.mark.parametrize(
    ("path", "says"),
    [("/dev/full", r"No space left on device\): make room"), ("/dev/null/x/events.jsonl", "cannot be written")],
)
async def test_what_cannot_be_written_is_said(path: str, says: str) -> None:
    with pytest.raises(NotDelivered, match=says):
        await delivered(EventFile(Path(path)), 1)
