"""``glob``: find paths by pattern."""

from __future__ import annotations

from pydantic import Field

from agentic.ports.runtime import Observation
from agentic.tools.base.observation import listed
from agentic.tools.base.paths import FolderPath
from agentic.tools.base.tool import Arguments, CallContext, Tool
from agentic.tools.files.list import tell_entry


class GlobArguments(Arguments):
    """A pattern and where to begin."""

    pattern: str = Field(min_length=1, max_length=1_000, description="Such as **/*.py; ** stands for any folders.")
    path: FolderPath = Field(default=".", description="Folder to begin in, default the workspace.")
    limit: int = Field(default=500, ge=1, le=2_000, description="Most paths, default 500.")


async def _run(arguments: GlobArguments, call: CallContext) -> Observation:
    world = await call.world()
    found = await world.real.glob(arguments.pattern, arguments.path or ".", arguments.limit)
    if not found.entries:
        return Observation("ok", f"Nothing matches {arguments.pattern} under {arguments.path or '.'}.")
    more = f"\n… more than {arguments.limit} match; narrow the pattern." if found.more else ""
    return listed("\n".join(tell_entry(entry) for entry in found.entries) + more, world.outputs)


GLOB_TOOL = Tool(
    name="glob",
    description="Find files by a pattern of their path.",
    example=GlobArguments(pattern="src/**/*.py"),
    act=_run,
    effect="read",
    permission="read",
)
