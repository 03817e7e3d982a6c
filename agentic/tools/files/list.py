"""``list``: list a folder."""

from __future__ import annotations

from pydantic import Field

from agentic.ports.runtime import Observation
from agentic.sandbox.protocol.results import DirEntry
from agentic.tools.base.observation import failed, listed
from agentic.tools.base.paths import FolderPath
from agentic.tools.base.terminal_text import one_line
from agentic.tools.base.tool import Arguments, CallContext, Tool
from agentic.tools.files.file_access import tell_missing


class ListArguments(Arguments):
    """Which folder."""

    path: FolderPath = Field(default=".", description="Folder in the workspace, default its root.")


async def _run(arguments: ListArguments, call: CallContext) -> Observation:
    world = await call.world()
    path = arguments.path or "."
    stat = await world.real.stat(path)
    if stat is None:
        return await tell_missing(path, world)
    if stat.kind != "dir":
        return failed(f"{stat.path} is no folder. Use read to see a file.")
    found = await world.real.list(path)
    folder = "" if stat.path == "." else f"{stat.path}/"
    visible = await world.real.visible([folder + entry.name for entry in found.entries])
    entries = [entry for entry in found.entries if folder + entry.name in visible]
    if not entries:
        return Observation("ok", f"{path} is empty.")
    more = "\n… there are more; use glob with a narrower pattern." if found.more else ""
    return listed("\n".join(tell_entry(entry) for entry in entries) + more, world.outputs)


def tell_entry(entry: DirEntry) -> str:
    """Return a name, with a slash after a folder's and the size after a file's."""
    name = one_line(entry.name)
    if entry.kind == "dir":
        return f"{name}/"
    return f"{name}  {entry.size} bytes" if entry.kind == "file" else f"{name}  ({entry.kind})"


LIST_TOOL = Tool(
    name="list",
    description="List the names in a folder, with sizes.",
    example=ListArguments(path="src"),
    act=_run,
    effect="read",
    permission="read",
)
