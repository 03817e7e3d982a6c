"""The steps of an execution as people see them, and what became of each file."""

from __future__ import annotations

from datetime import datetime
from typing import Literal

from pydantic import JsonValue

from agentic.core.events import FileChange
from agentic.core.lazy_dataclass import dataclass

LOOKED_THROUGH = 4_000
"""Characters of a long text, of which far fewer are shown."""
_SUBJECTS = ("command", "path", "pattern", "code", "url", "query", "text", "question", "name")


@dataclass(frozen=True, slots=True)
class Step:
    """A tool call: what it does, on what, and what came of it ('' while it runs)."""

    call: str
    tool: str
    subject: str
    outcome: str = ""
    exit_code: int | None = None
    seconds: float = 0.0
    began: datetime | None = None
    expected: str = ""
    """What the agent expected of it."""
    came: str = ""
    """The last line of what came back."""


@dataclass(frozen=True, slots=True)
class Remark:
    """Something between the calls that only a detailed account shows."""

    text: str


@dataclass(frozen=True, slots=True)
class Changed:
    """What became of one file in all: ``before`` and ``after`` are hashes, '' where it did not exist."""

    path: str
    before: str
    after: str

    @property
    def kind(self) -> Literal["added", "modified", "deleted"]:
        """What a person would call it."""
        return "added" if not self.before else "modified" if self.after else "deleted"


def subject(arguments: dict[str, JsonValue]) -> str:
    """What a call is about: the first of its arguments that says it."""
    for name in _SUBJECTS:
        value = arguments.get(name)
        if isinstance(value, str) and value.strip():
            return value[:LOOKED_THROUGH]
    return ""


def last(preview: str) -> str:
    """The last line that says something."""
    lines = preview[-LOOKED_THROUGH:].split("\n")
    return next((line.strip() for line in reversed(lines) if line.strip()), "")


def before(change: FileChange) -> str:
    """A hash, or what stands for one where nobody knows it: only an added file was not there before."""
    return "" if change.kind == "added" else change.sha_before or "?"


def after(change: FileChange) -> str:
    """The same for how it was left."""
    return "" if change.kind == "deleted" else change.sha_after or "??"
