"""``write``: a whole file, new or replaced."""

from __future__ import annotations

from pydantic import Field

from agentic.core.events import FileChange
from agentic.ports import Observation
from agentic.tools.files import Missing, may_change, open_text, tell_diff
from agentic.tools.paths import FilePath
from agentic.tools.tool import AgentWorld, Arguments, Call, Tool


class WriteArguments(Arguments):
    """A path and all of its text."""

    path: FilePath = Field(description="Path in the workspace; folders are made.")
    content: str = Field(max_length=2_000_000, description="The whole text of the file.")


async def _run(arguments: WriteArguments, call: Call) -> Observation:
    world = await call.world()
    file = await open_text(arguments.path, world)
    if isinstance(file, Observation):
        return file
    if isinstance(file, Missing):
        return await _put(arguments, "", "", world)
    if file.text == arguments.content and not file.lossy:
        world.model.note_read(file.path, file.sha, file.text)
        return Observation("ok", f"{file.path} already has exactly this content.")
    return may_change(file, world) or await _put(arguments, file.sha, file.text, world)


async def _put(arguments: WriteArguments, sha: str, before: str, world: AgentWorld) -> Observation:
    content = arguments.content
    change = await world.real.write(arguments.path, content, expected_sha=sha, create=True, by=world.model.agent)
    world.model.note_write(change.path, change.sha_after, content)
    return Observation("ok", _tell(change, before, content), changes=(change,))


def _tell(change: FileChange, before: str, content: str) -> str:
    lines = content.count("\n") + (not content.endswith("\n") if content else 0)
    size = f"{lines} lines, {len(content.encode('utf-8', 'replace'))} bytes"
    diff = f"\n{tell_diff(before, content)}" if change.kind == "modified" else ""
    return f"{change.kind} {change.path} ({size}){diff}"


WRITE_TOOL = Tool(
    name="write",
    description="Write a whole file. A file that exists must have been read before; to change a part of it use edit.",
    example=WriteArguments(path="src/hello.py", content='print("hello")\n'),
    act=_run,
    effect="keyed",
    permission="write",
)
