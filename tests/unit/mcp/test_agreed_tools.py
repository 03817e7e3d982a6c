"""What was agreed to: the first list is taken, later changes wait, and a file that cannot be read agrees to nothing."""

from __future__ import annotations

from pathlib import Path

from agentic.mcp_client.agreed_tools import Catalogue, Pinned, described
from agentic.mcp_client.sandbox_transport import MOST_BETWEEN, MOST_LINE, Lines


def saw(catalogue: Catalogue, *tools: Pinned) -> None:
    catalogue.saw("s", tools, prompts=False, resources=False)


def test_each_part_of_a_tool_is_pinned(tmp_path: Path) -> None:
    """Also what is too long to be shown."""
    first = described("a", "x" * 5_000, {"type": "object"})
    catalogue = Catalogue(tmp_path / "t.json")
    saw(catalogue, first)
    others = (
        described("a", "x" * 4_999 + "y", {"type": "object"}),
        described("a", "x" * 5_000, {"type": "object", "properties": {}}),
        described("a", "x" * 5_000, {"type": "object"}, reads=True),
        described("a", "x" * 5_000, {"type": "object"}, idempotent=True),
    )
    for other in others:
        saw(catalogue, other)
        assert [one.now for one in catalogue.waiting(("s",))] == [other]
    saw(catalogue, first)
    assert catalogue.waiting(("s",)) == ()
    assert len(first.description) == 2_000
    assert described("b", "", {"type": "object", "x": "y" * 20_000}).parameters == {"type": "object"}


def test_a_yes_in_another_process_counts_here(tmp_path: Path) -> None:
    here, there = Catalogue(tmp_path / "t.json"), Catalogue(tmp_path / "t.json")
    saw(here, described("a", "old", {}))
    saw(here, described("a", "new", {}))
    (waits,) = there.waiting(("s",))
    assert there.agree("s", "a", waits.now.sha)
    known = here.tool("s", "a")
    assert known is not None
    assert known.description == "new"
    assert not here.agree("s", "a", waits.now.sha)


def test_what_cannot_be_read_agrees_to_nothing_and_is_not_overwritten(tmp_path: Path) -> None:
    path = tmp_path / "t.json"
    path.write_text("{")
    catalogue = Catalogue(path)
    assert catalogue.tools("s") == ()
    saw(catalogue, described("a", "x", {}))
    assert catalogue.tool("s", "a") is None
    assert "Delete it" in catalogue.trouble
    assert path.read_text() == "{"
    path.unlink()
    saw(catalogue, described("a", "x", {}))
    assert [tool.name for tool in catalogue.tools("s")] == ["a"]


def test_lines_of_a_server_are_bounded() -> None:
    """A message may come in any pieces; what is none is kept in part, and a flood ends it."""
    taken: list[object] = []

    def take(message: object) -> bool:
        taken.append(message)
        return len(taken) < 3

    good = b'{"jsonrpc":"2.0","id":1,"result":{}}\n'
    lines = Lines(take)
    assert all(lines.feed(good[n : n + 1]) for n in range(len(good)))
    assert lines.feed(b"hello\n\n" + b'{"jsonrpc":"2.0","method":"notifications/message","params":{}}\n')
    assert (len(taken), lines.stray) == (1, "hello")
    assert lines.feed(b"[" * 100_000 + b"\n")
    assert not lines.feed(good + good)
    assert "faster" in lines.broken
    assert not Lines(take).feed(b"x" * (MOST_LINE + 1))
    slow = Lines(take)
    piece = b"x" * (1 << 20) + b"\n"
    assert [slow.feed(piece) for _ in range(MOST_BETWEEN // len(piece) + 1)][-1] is False
    slow = Lines(take)
    for _ in range(3):
        assert all(slow.feed(piece) for _ in range(20))
        slow.asked()
