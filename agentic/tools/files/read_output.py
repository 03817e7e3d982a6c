"""``read_output``: show the part of an output that was cut."""

from __future__ import annotations

from pydantic import Field

from agentic.ports.runtime import Observation
from agentic.sandbox.protocol.results import OutputPage
from agentic.tools.base.secret_placeholders import mask_part
from agentic.tools.base.stored_outputs import PREFIX
from agentic.tools.base.terminal_text import clean, clean_bytes
from agentic.tools.base.tool import (
    AgentWorld,
    Arguments,
    CallContext,
    Tool,
)
from agentic.tools.base.truncation import DEFAULT, show
from agentic.tools.files.grep import LINE_CHARACTERS

PAGE_BYTES = 20_000
PAGE_LINES = DEFAULT.lines - 2
AROUND = 8_000
"""Bytes before and after a page that are searched for secrets which it cuts."""


class ReadOutputArguments(Arguments):
    """Which output, and which part."""

    ref: str = Field(min_length=1, max_length=200, description="The reference, as the cut output named it.")
    offset: int = Field(default=0, ge=0, description="First byte, from 0.")
    limit: int = Field(default=PAGE_BYTES, ge=100, le=PAGE_BYTES, description="Most bytes, default and at most 20000.")
    pattern: str = Field(
        default="",
        max_length=1_000,
        description="Show only lines that match (regular expression; plain text for kept-… refs).",
    )


async def _run(arguments: ReadOutputArguments, call: CallContext) -> Observation:
    world = await call.world()
    ref, offset, limit, pattern = arguments.ref, arguments.offset, arguments.limit, arguments.pattern
    if ref.startswith(PREFIX):
        page = world.outputs.page(ref, offset, limit, pattern)  # kept as it was shown
        return Observation("ok", _tell_hits(page, world) if pattern else _tell_page(page, offset, limit))
    before = 0 if pattern else min(offset, AROUND)
    around = 0 if pattern else AROUND
    page = await world.real.read_output(ref, offset - before, before + limit + around, pattern)
    return Observation("ok", _tell_hits(page, world) if pattern else _tell_page(page, offset, limit, masks=world.masks))


def _tell_hits(page: OutputPage, world: AgentWorld) -> str:
    if not page.hits:
        return f"No line matches in {page.size} bytes."
    lines = [f"{hit.line}: {world.hide(clean(hit.text))[:LINE_CHARACTERS]}" for hit in page.hits]
    return show("\n".join(lines) + ("\n… more lines match; narrow the pattern." if page.more else ""), DEFAULT).text


def _tell_page(page: OutputPage, offset: int, limit: int, *, masks: bool = False) -> str:
    start = offset - page.offset
    data = first_lines(page.data[start : start + limit], PAGE_LINES)
    if not data:
        return f"The output has {page.size} bytes; there is nothing from byte {offset} on."
    if offset + len(data) < page.size:
        data = whole_characters(data)
    end = offset + len(data)
    rest = f"Go on with offset {end}." if end < page.size else "That was the end."
    shown = mask_part(page.data, start, start + len(data)) if masks else data
    return f"{clean_bytes(shown)}\n… bytes {offset}-{end} of {page.size}. {rest}"


def first_lines(data: bytes, count: int) -> bytes:
    """Return the first ``count`` lines, with the last one's end."""
    lines = data.split(b"\n", count)
    return data if len(lines) <= count else data[: len(data) - len(lines[-1])]


def whole_characters(data: bytes) -> bytes:
    """Remove a UTF-8 character that is cut at the end; at least one byte stays."""
    for back in range(1, min(4, len(data))):
        byte = data[-back]
        if byte & 0xC0 == 0x80:
            continue
        size = 4 if byte >= 0xF0 else 3 if byte >= 0xE0 else 2 if byte >= 0xC0 else 1
        return data[:-back] if size > back else data
    return data


READ_OUTPUT_TOOL = Tool(
    name="read_output",
    description="See the part of a long output that was left out: page through it, or search it.",
    example=ReadOutputArguments(ref="x3", pattern="Error|FAILED"),
    act=_run,
    effect="read",
    permission="read",
)
