"""The supervisor's answers, read into the world's values."""

from __future__ import annotations

from pydantic import JsonValue

from agentic.world.channel import Reply
from agentic.world.results import Changes, DirEntry, FileChange, FileStat, GrepHit


def changes_of(reply: Reply) -> Changes:
    """The changes that a scan told."""
    return Changes(tuple(change_of(row) for row in reply.rows("changes")), reply.number("more_changes"))


def change_of(row: list[JsonValue]) -> FileChange:
    """One change."""
    path, kind, before, after = (str(value) for value in row)
    return FileChange.model_validate({"path": path, "kind": kind, "sha_before": before, "sha_after": after})


def stat_of(reply: Reply) -> FileStat:
    """What stands at a path."""
    return FileStat(
        reply.text("path"), reply.text("kind"), reply.number("size"), reply.number("mtime_ns"), reply.text("sha")
    )


def entry_of(row: list[JsonValue]) -> DirEntry:
    """One name."""
    name, kind, size = row
    return DirEntry(str(name), str(kind), size if isinstance(size, int) else 0)


def hits_of(reply: Reply) -> tuple[GrepHit, ...]:
    """Lines that a search found."""
    return tuple(
        GrepHit(str(path), line if isinstance(line, int) else 0, str(text), context is True)
        for path, line, text, context in reply.rows("hits")
    )
