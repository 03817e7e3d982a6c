"""``notebook_edit``: replace, insert or delete one cell of a Jupyter notebook.

The tool exists only where a notebook lies in the workspace, or was sent, when an execution begins.
"""

from __future__ import annotations

import asyncio
import os
from itertools import islice
from pathlib import Path
from typing import Literal

from pydantic import Field, model_validator

from agentic.ports.runtime import Observation
from agentic.sandbox.protocol.results import FileText
from agentic.tools.base.observation import failed, refused
from agentic.tools.base.paths import FilePath
from agentic.tools.base.secret_placeholders import IN_FILE, refusal, reveal, stray_in
from agentic.tools.base.tool import AgentWorld, Arguments, CallContext, Tool
from agentic.tools.files.edit import recall_write
from agentic.tools.files.file_access import Missing, may_change, open_text, tell_diff, tell_missing
from agentic.tools.files.notebook_cells import (
    CellKind,
    NoCell,
    NoNotebook,
    Notebook,
    deleted,
    inserted,
    parsed,
    replaced,
    shown,
)

LOOKED_AT = 2_000
"""Entries of a workspace that are looked at for a notebook."""


def is_notebook(name: str) -> bool:
    """Whether a file is a notebook, by its name."""
    return name.lower().endswith(".ipynb")


def notebooks_in(workspace: Path) -> bool:
    """Whether a notebook lies in the workspace, as far as a short look tells; links are not followed."""
    left, looked = [workspace], 0
    while left and looked < LOOKED_AT:
        try:
            entries = list(islice(os.scandir(left.pop()), LOOKED_AT))
        except OSError:
            continue
        looked += len(entries)
        if any(is_notebook(entry.name) for entry in entries):
            return True
        left += (
            Path(entry) for entry in entries if not entry.name.startswith(".") and entry.is_dir(follow_symlinks=False)
        )
    return False


class NotebookEditArguments(Arguments):
    """Which cell, and what becomes of it."""

    path: FilePath = Field(description="Path of an .ipynb file that you have read.")
    action: Literal["replace", "insert", "delete"]
    cell: int | str = Field(
        description="Number from 1, or id. With insert: the cell after which it goes, 0 for the first."
    )
    source: str = Field(default="", max_length=200_000, description="The cell's whole text.")
    type: CellKind | None = Field(default=None, description="Default: code, or what the cell is.")

    @model_validator(mode="after")
    def _fits(self) -> NotebookEditArguments:
        if self.action == "delete" and (self.source or self.type):
            raise ValueError("a cell that is deleted has no 'source' and no 'type'")
        return self


async def _run(arguments: NotebookEditArguments, call: CallContext) -> Observation:
    world = await call.world()
    file = await open_text(arguments.path, world)
    if isinstance(file, Observation):
        return file
    if isinstance(file, Missing):
        return await tell_missing(file.path, world)
    if (barred := await may_change(file, world)) is not None:
        return barred
    if file.lossy:
        return failed(f"{file.path} is not all UTF-8, so an edit would damage it. Mend it with python first.")
    try:
        book = await asyncio.to_thread(parsed, file.text)
        return await _put(arguments, file, book, world, call.id)
    except NoNotebook as wrong:
        return failed(f"{file.path} is no notebook that can be changed by cells: {wrong}. Mend it with edit or python.")
    except NoCell as none:
        return failed(f"Nothing was written to {file.path}: {none}.")


async def _put(
    arguments: NotebookEditArguments, file: FileText, book: Notebook, world: AgentWorld, key: str
) -> Observation:
    seen = await world.seen(shown(book))
    if world.masks and (stray := stray_in(arguments.source, file.text, seen.hidden)):
        return refused(refusal(stray, "written", IN_FILE))
    source = reveal(arguments.source, seen.hidden)
    edited, said = _edited(arguments, book, source)
    await asyncio.to_thread(parsed, edited)
    change = await world.real.write(
        file.path, edited, expected_sha=file.sha, create=False, by=world.model.agent, key=key
    )
    world.model.note_write(change.path, change.sha_after, edited)
    return Observation("ok", world.hide(f"{change.kind} {change.path}: {said}"), changes=(change,))


def _edited(arguments: NotebookEditArguments, book: Notebook, source: str) -> tuple[str, str]:
    """The new text, and what was done."""
    if arguments.action == "insert":
        after = 0 if arguments.cell in (0, "0") else book.numbered(arguments.cell) + 1
        text = inserted(book, after, source, arguments.type or "code")
        return text, f"cell {after + 1} is new, later ones have moved by one. Run it to see what it prints."
    at = book.numbered(arguments.cell)
    cell = book.cells[at]
    if arguments.action == "delete":
        return deleted(book, at), f"cell {at + 1} ({cell.kind}) is gone, later ones have moved by one."
    diff = tell_diff(cell.source, source)
    printed = " What it had printed is gone with it." if cell.value.get("outputs") else ""
    return replaced(book, at, source, arguments.type), f"cell {at + 1} is replaced.{printed}\n{diff}"


NOTEBOOK_EDIT_TOOL = Tool(
    name="notebook_edit",
    description="Replace, insert or delete one cell of a notebook; all else in the file stays as it is, byte for byte.",
    example=NotebookEditArguments(
        path="analysis.ipynb", action="replace", cell=3, source="df = df.dropna()\ndf.head()"
    ),
    act=_run,
    effect="unkeyed",
    permission="write",
    recalls=recall_write,
)
