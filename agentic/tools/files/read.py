"""``read``: read a text file with line numbers."""

from __future__ import annotations

import asyncio

from pydantic import Field

from agentic.ports.runtime import Observation
from agentic.sandbox.protocol.results import FileText
from agentic.tools.base.observation import listed
from agentic.tools.base.paths import FilePath
from agentic.tools.base.tool import Arguments, CallContext, Tool
from agentic.tools.base.truncation import FILES
from agentic.tools.files.file_access import Missing, open_text, tell_missing
from agentic.tools.files.notebook_cells import NoNotebook, parsed, shown

LINE_CHARACTERS = 2_000


class ReadArguments(Arguments):
    """Which lines of which file."""

    path: FilePath = Field(description="Path in the workspace.")
    offset: int = Field(default=1, ge=1, description="First line, from 1.")
    limit: int = Field(default=FILES.lines, ge=1, le=FILES.lines, description="Most lines, default and at most 1000.")


async def _run(arguments: ReadArguments, call: CallContext) -> Observation:
    world = await call.world()
    file = await open_text(arguments.path, world)
    if isinstance(file, Observation):
        return file
    if isinstance(file, Missing):
        return await tell_missing(file.path, world)
    world.model.note_read(file.path, file.sha, file.text)
    if file.path.lower().endswith(".ipynb"):
        try:
            book = await asyncio.to_thread(parsed, file.text)
        except NoNotebook as wrong:
            plain = _tell(file, (await world.seen(file.text)).text, arguments.offset, arguments.limit)
            return Observation("ok", f"(It cannot be shown by cells: {wrong}.)\n{plain}")
        return listed((await world.seen(shown(book))).text, world.outputs, FILES)
    return Observation("ok", _tell(file, (await world.seen(file.text)).text, arguments.offset, arguments.limit))


def _tell(file: FileText, seen: str, offset: int, limit: int) -> str:
    if not seen:
        return f"{file.path} is empty (0 bytes)."
    lines = seen.removesuffix("\n").split("\n")
    if offset > len(lines):
        return f"{file.path} has {len(lines)} lines; there is no line {offset}."
    shown = number_lines(lines[offset - 1 : offset - 1 + limit], offset)
    last = offset - 1 + len(shown)
    parts = ["\n".join(shown)]
    if last < len(lines):
        parts.append(f"… lines {offset}-{last} of {len(lines)}; go on with offset {last + 1}.")
    if "\r\n" in file.text:
        parts.append("(Lines end in CR LF.)")
    if file.lossy:
        parts.append("(Some bytes are no UTF-8 and are shown as \N{REPLACEMENT CHARACTER}; edit it with shell.)")
    return "\n".join(parts)


def number_lines(lines: list[str], first: int) -> list[str]:
    """Number as many lines as the limit allows; at least one."""
    numbered: list[str] = []
    room = FILES.characters - 500
    for number, line in enumerate(lines, first):
        text = f"{number}\t{_short(line)}"
        room -= len(text) + 1
        if room < 0 and numbered:
            break
        numbered.append(text)
    return numbered


def _short(line: str) -> str:
    line = line.removesuffix("\r")
    more = len(line) - LINE_CHARACTERS
    return line[:LINE_CHARACTERS] + (f"… ({more} more characters in this line)" if more > 0 else "")


READ_TOOL = Tool(
    name="read",
    description="Read a text file, with line numbers (a number and a tab before each line; they are not in the file).",
    example=ReadArguments(path="src/cart.py", offset=40, limit=80),
    act=_run,
    effect="read",
    permission="read",
)
