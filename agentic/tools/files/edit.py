"""``edit`` and ``multi_edit``: replace exact text in one file, all of it or nothing.

Replacements in a text, all or nothing; where one does not fit, the words that help to write it again.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from pydantic import Field

from agentic.ports.errors import EditConflict
from agentic.ports.runtime import NotBegun, Observation
from agentic.sandbox.protocol.decode import changes_of
from agentic.sandbox.protocol.results import FileText
from agentic.text.line_diff import nearest
from agentic.tools.base.observation import failed, refused
from agentic.tools.base.paths import FilePath
from agentic.tools.base.secret_placeholders import (
    IN_FILE,
    Masked,
    placeholders_in,
    refusal,
    reveal,
    stray_in,
)
from agentic.tools.base.tool import (
    AgentWorld,
    Arguments,
    CallContext,
    Recall,
    Recalled,
    Tool,
)
from agentic.tools.files.file_access import (
    Missing,
    may_change,
    open_text,
    overtaken,
    tell_diff,
    tell_missing,
)

CANDIDATES = 3
LINES_COMPARED = 4_000
LIKE_COMPARED = 100
"""So many places that begin alike are compared to their ends."""
LINE_CHARACTERS = 300
CLOSE = 0.6
PLACES = 8
_LINE_END = re.compile("\r?\n")
_NUMBERED = re.compile(r"\s*\d+\t")


@dataclass(frozen=True, slots=True)
class Replacement:
    """``old`` by ``new``; ``old`` must stand there exactly once unless ``every``."""

    old: str
    new: str
    every: bool = False


@dataclass(frozen=True, slots=True)
class Misfit:
    """Which replacement (from 1) does not fit, and why."""

    number: int
    reason: str


def replace_all(text: str, replacements: Sequence[Replacement]) -> str | Misfit:
    """The text with each replacement made in turn, or the first that does not fit.

    In a text whose lines all end in CR LF, replacements written with LF mean CR LF.
    """
    crlf = "\r\n" in text and text.count("\n") == text.count("\r\n")
    for number, replacement in enumerate(replacements, 1):
        old, new = replacement.old, replacement.new
        if crlf and "\r" not in old:
            old, new = old.replace("\n", "\r\n"), _LINE_END.sub("\r\n", new)
        reason = _misfit(text, old, new, every=replacement.every)
        if reason:
            return Misfit(number, reason)
        text = text.replace(old, new)
    return text


def _misfit(text: str, old: str, new: str, *, every: bool) -> str:
    if not old:
        return "'old' is empty; write the text that is to be replaced"
    if old == new:
        return "'old' and 'new' are the same; there is nothing to change"
    found = text.count(old)
    if found == 0:
        return f"'old' was not found. {_nearest(text, old)}"
    if found > 1 and not every:
        return (
            f"'old' was found {found} times (lines {_places(text, old)}). Add lines around it until it is unique,"
            ' or set "replace_all": true'
        )
    return ""


def _places(text: str, old: str) -> str:
    lines: list[str] = []
    at = text.find(old)
    while at >= 0 and len(lines) < PLACES:
        lines.append(str(text.count("\n", 0, at) + 1))
        at = text.find(old, at + len(old))
    return ", ".join(lines) + (" …" if at >= 0 else "")


def _nearest(text: str, old: str) -> str:
    """Where something like it stands, and how it differs if only in what one easily gets wrong."""
    lines, wanted = text.split("\n"), old.strip("\n").split("\n")
    if all(_NUMBERED.match(line) for line in wanted):
        return "It begins with line numbers; leave out the number and the tab that read shows before each line"
    same = [n for n, line in enumerate(lines, 1) if line.split() == wanted[0].split()] if wanted[0].split() else []
    blank = [n for n in same[:LIKE_COMPARED] if _alike_but_blanks(lines[n - 1 : n - 1 + len(wanted)], wanted)]
    if blank:
        first = blank[0]
        shown = "\n".join(lines[first - 1 : first - 1 + min(len(wanted), 10)])
        return f"Line {first} differs only in blanks; it reads:\n{shown}"
    close = _close_lines(lines, max(wanted, key=len))
    if not close:
        return "Nothing in the file is like it; read the file again"
    return "The nearest lines are:\n" + "\n".join(f"{n}\t{lines[n - 1][:LINE_CHARACTERS]}" for n in close)


def _alike_but_blanks(lines: Sequence[str], wanted: Sequence[str]) -> bool:
    return [line.split() for line in lines] == [line.split() for line in wanted]


def _close_lines(lines: Sequence[str], wanted: str) -> list[int]:
    """Numbers of the lines most like ``wanted``, best first."""
    stripped = [line[:LINE_CHARACTERS].strip() for line in lines[:LINES_COMPARED]]
    return [place + 1 for place in nearest(wanted[:LINE_CHARACTERS].strip(), stripped, CANDIDATES, CLOSE)]


_OLD = "The exact text to replace, with its blanks; it must stand there once."
_EVERY = "Replace each place where it stands."


class EditArguments(Arguments):
    """One replacement."""

    path: FilePath = Field(description="Path in the workspace.")
    old: str = Field(min_length=1, max_length=200_000, description=_OLD)
    new: str = Field(max_length=200_000, description="What stands there afterwards.")
    replace_all: bool = Field(default=False, description=_EVERY)


class OneEdit(Arguments):
    """One of several replacements."""

    old: str = Field(min_length=1, max_length=200_000, description=_OLD)
    new: str = Field(max_length=200_000)
    replace_all: bool = Field(default=False, description=_EVERY)


class MultiEditArguments(Arguments):
    """Several replacements in one file."""

    path: FilePath = Field(description="Path in the workspace.")
    edits: tuple[OneEdit, ...] = Field(
        min_length=1, max_length=50, description="Made in this order, each on the result of the one before."
    )


async def _run_one(arguments: EditArguments, call: CallContext) -> Observation:
    replacement = Replacement(arguments.old, arguments.new, arguments.replace_all)
    return await _edit(arguments.path, (replacement,), await call.world(), call.id)


async def _run_many(arguments: MultiEditArguments, call: CallContext) -> Observation:
    replacements = tuple(Replacement(edit.old, edit.new, edit.replace_all) for edit in arguments.edits)
    return await _edit(arguments.path, replacements, await call.world(), call.id)


async def recall_write(_: Arguments, call: CallContext, recall: Recall) -> Recalled:
    """Nothing but the writing at its end has an effect; what was not read again since cannot be shown."""
    remembered = await recall(call.id)
    if remembered.never_began:
        return NotBegun()
    if remembered.reply is None:
        return None
    if remembered.fault:
        return failed(remembered.fault)
    (change,) = changes_of(remembered.reply).files
    return Observation("ok", f"{change.kind} {change.path}", changes=(change,))


async def _edit(path: str, replacements: Sequence[Replacement], world: AgentWorld, key: str) -> Observation:
    file = await open_text(path, world)
    if isinstance(file, Observation):
        return file
    if isinstance(file, Missing):
        return await tell_missing(file.path, world)
    refusal = await may_change(file, world)
    if refusal is not None:
        return refusal
    if file.lossy:
        return failed(f"{file.path} is not all UTF-8, so an edit would damage it. Change it with shell (sed, python).")
    return await _put(file, replacements, world, key)


async def _put(file: FileText, replacements: Sequence[Replacement], world: AgentWorld, key: str) -> Observation:
    seen = await world.seen(file.text)
    stray = next((why for each in replacements if world.masks and (why := _stray(each, file.text, seen))), "")
    if stray:
        return refused(stray)
    edited = replace_all(file.text, tuple(_revealed(each, seen) for each in replacements))
    if isinstance(edited, Misfit):
        which = f"edit {edited.number} of {len(replacements)}: " if len(replacements) > 1 else ""
        return failed(f"Nothing was written to {file.path}: {which}{edited.reason}")
    try:
        change = await world.real.write(
            file.path, edited, expected_sha=file.sha, create=False, by=world.model.agent, key=key
        )
    except EditConflict:
        return await overtaken(file.path, world)
    world.model.note_write(change.path, change.sha_after, edited)
    diff = tell_diff(seen.text, (await world.seen(edited, seen)).text)
    return Observation("ok", f"{change.kind} {change.path}\n{diff}", changes=(change,))


def _revealed(replacement: Replacement, seen: Masked) -> Replacement:
    return Replacement(reveal(replacement.old, seen.hidden), reveal(replacement.new, seen.hidden), replacement.every)


def _stray(replacement: Replacement, text: str, seen: Masked) -> str:
    """Why a placeholder cannot become a secret again: it stands for none of this file, or for none that 'old' names."""
    unknown = stray_in(replacement.old + replacement.new, text, seen.hidden)
    if unknown:
        return refusal(unknown, "written", f"Read the file again to see which placeholders it has. {IN_FILE}")
    named = placeholders_in(replacement.old)
    added = next((name for name in placeholders_in(replacement.new) if name in seen.hidden and name not in named), "")
    instead = f"It may stand in 'new' only where it stands in 'old' as well. {IN_FILE}"
    return refusal(added, "written", instead) if added else ""


EDIT_TOOL = Tool(
    name="edit",
    description="Replace exact text in a file you have read.",
    example=EditArguments(path="src/cart.py", old="total = 0\n", new="total = Decimal(0)\n"),
    act=_run_one,
    effect="unkeyed",
    permission="write",
    recalls=recall_write,
)

MULTI_EDIT_TOOL = Tool(
    name="multi_edit",
    description="Make several replacements in one file you have read: all of them or, if one does not fit, none.",
    example=MultiEditArguments(
        path="src/cart.py",
        edits=(OneEdit(old="import os\n", new=""), OneEdit(old="qty", new="quantity", replace_all=True)),
    ),
    act=_run_many,
    effect="unkeyed",
    permission="write",
    recalls=recall_write,
)
