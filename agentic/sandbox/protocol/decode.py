"""The supervisor's answers, read into the world's values."""

from __future__ import annotations

import codecs
from collections.abc import Callable

from pydantic import JsonValue

from agentic.sandbox.protocol.channel import Reply
from agentic.sandbox.protocol.results import (
    Changes,
    DirEntry,
    ExecResult,
    FileChange,
    FileStat,
    GrepHit,
    PythonResult,
)


def exec_result(reply: Reply, exec_id: str) -> ExecResult:
    """A command that ended."""
    return ExecResult(
        exec_id=exec_id,
        exit_code=reply.optional("exit"),
        signal=reply.optional("signal"),
        output=reply.payload,
        truncated=reply.flag("truncated"),
        output_ref=reply.text("output_ref"),
        output_size=reply.number("size"),
        duration=reply.seconds("duration"),
        timed_out=reply.flag("timed_out"),
        killed_reason=reply.text("killed"),
        changes=changes_of(reply),
        left_running=reply.texts("left_running"),
    )


def python_result(reply: Reply) -> PythonResult:
    """Code that ran."""
    return PythonResult(
        output=reply.payload,
        error=reply.text("traceback"),
        truncated=reply.flag("truncated"),
        output_ref=reply.text("output_ref"),
        duration=reply.seconds("duration"),
        timed_out=reply.flag("timed_out"),
        killed_reason=reply.text("killed"),
        restarted=reply.flag("restarted"),
        changes=changes_of(reply),
        figures=reply.texts("figures"),
    )


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


def decoding(on_output: Callable[[str], None] | None) -> Callable[[bytes], None] | None:
    """Pieces of output as text, for who wants text."""
    if on_output is None:
        return None
    decoder = codecs.getincrementaldecoder("utf-8")("replace")

    def pass_on(piece: bytes) -> None:
        if text := decoder.decode(piece):
            on_output(text.replace("\0", "\ufffd"))

    return pass_on
