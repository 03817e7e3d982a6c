"""``grep``: find lines by regular expression."""

from __future__ import annotations

from collections.abc import Iterable

from pydantic import Field

from agentic.ports.runtime import Observation
from agentic.sandbox.protocol.results import GrepHit
from agentic.tools.base.observation import listed
from agentic.tools.base.paths import FolderPath
from agentic.tools.base.terminal_text import one_line
from agentic.tools.base.tool import Arguments, CallContext, Tool

LINE_CHARACTERS = 400


class GrepArguments(Arguments):
    """What to look for, and where."""

    pattern: str = Field(min_length=1, max_length=1_000, description="A Python regular expression.")
    path: FolderPath = Field(default=".", description="File or folder, default the workspace.")
    glob: str = Field(default="", max_length=1_000, description="Only files whose path matches, such as *.py.")
    ignore_case: bool = False
    context: int = Field(default=0, ge=0, le=10, description="Lines around each match.")
    limit: int = Field(default=200, ge=1, le=2_000, description="Most matches, default 200.")


async def _run(arguments: GrepArguments, call: CallContext) -> Observation:
    world = await call.world()
    found = await world.real.grep(
        arguments.pattern,
        arguments.path or ".",
        arguments.glob,
        ignore_case=arguments.ignore_case,
        context=arguments.context,
        limit=arguments.limit,
    )
    if not found.hits:
        return Observation("ok", f"No match in {found.files_searched} files.")
    more = f"\n… more than {arguments.limit} matches; narrow the search." if found.more else ""
    return listed(world.hide("\n".join(tell_hits(found.hits)) + more), world.outputs)


def tell_hits(hits: Iterable[GrepHit]) -> Iterable[str]:
    """Yield ``path:line: text`` for a match, with a dash for a line around one."""
    for hit in hits:
        sign = "-" if hit.context else ":"
        text = hit.text[:LINE_CHARACTERS] + ("…" if len(hit.text) > LINE_CHARACTERS else "")
        yield f"{one_line(hit.path)}:{hit.line}{sign} {text}"


GREP_TOOL = Tool(
    name="grep",
    description="Search the text of files, line by line.",
    example=GrepArguments(pattern=r"def total\(", path="src", glob="*.py", context=2),
    act=_run,
    effect="read",
    permission="read",
)
