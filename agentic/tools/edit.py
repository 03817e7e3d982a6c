"""``edit`` and ``multi_edit``: replace exact text in one file, all of it or nothing."""

from __future__ import annotations

from collections.abc import Sequence

from pydantic import Field

from agentic.ports import NotBegun, Observation
from agentic.tools.edits import Misfit, Replacement, replace_all
from agentic.tools.files import Missing, may_change, open_text, tell_diff, tell_missing
from agentic.tools.observing import failed, refused
from agentic.tools.paths import FilePath
from agentic.tools.placeholders import IN_FILE, Masked, placeholders_in, refusal, reveal, stray_in
from agentic.tools.tool import AgentWorld, Arguments, Call, Recall, Recalled, Tool
from agentic.world import FileText, changes_of

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


async def _run_one(arguments: EditArguments, call: Call) -> Observation:
    replacement = Replacement(arguments.old, arguments.new, arguments.replace_all)
    return await _edit(arguments.path, (replacement,), await call.world(), call.id)


async def _run_many(arguments: MultiEditArguments, call: Call) -> Observation:
    replacements = tuple(Replacement(edit.old, edit.new, edit.replace_all) for edit in arguments.edits)
    return await _edit(arguments.path, replacements, await call.world(), call.id)


async def _recall(_: Arguments, call: Call, recall: Recall) -> Recalled:
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
    refusal = may_change(file, world)
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
    change = await world.real.write(
        file.path, edited, expected_sha=file.sha, create=False, by=world.model.agent, key=key
    )
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
    recalls=_recall,
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
    recalls=_recall,
)
