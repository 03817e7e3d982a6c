"""``write``: create or replace a file."""

from __future__ import annotations

from pydantic import Field

from agentic.core.events.execution_events import FileChange
from agentic.ports.errors import EditConflict
from agentic.ports.runtime import Observation
from agentic.tools.base.observation import refused
from agentic.tools.base.paths import FilePath
from agentic.tools.base.secret_placeholders import (
    IN_FILE,
    Masked,
    refusal,
    reveal,
    stray_in,
)
from agentic.tools.base.tool import (
    AgentWorld,
    Arguments,
    CallContext,
    Tool,
)
from agentic.tools.files.file_access import (
    Missing,
    may_change,
    open_text,
    overtaken,
    tell_diff,
)


class WriteArguments(Arguments):
    """A path and all of its text."""

    path: FilePath = Field(description="Path in the workspace; folders are made.")
    content: str = Field(max_length=2_000_000, description="The whole text of the file.")


async def _run(arguments: WriteArguments, call: CallContext) -> Observation:
    world = await call.world()
    file = await open_text(arguments.path, world)
    if isinstance(file, Observation):
        return file
    before, sha = ("", "") if isinstance(file, Missing) else (file.text, file.sha)
    seen = await world.seen(before)
    stray = stray_in(arguments.content, before, seen.hidden) if world.masks else ""
    if stray:
        return refused(refusal(stray, "written", IN_FILE))
    content = reveal(arguments.content, seen.hidden)
    if isinstance(file, Missing):
        return await _put(arguments.path, content, sha, seen, world)
    if file.text == content and not file.lossy:
        world.model.note_read(file.path, file.sha, file.text)
        return Observation("ok", f"{file.path} already has exactly this content.")
    return await may_change(file, world) or await _put(arguments.path, content, sha, seen, world)


async def _put(path: str, content: str, sha: str, seen: Masked, world: AgentWorld) -> Observation:
    try:
        change = await world.real.write(path, content, expected_sha=sha, create=True, by=world.model.agent)
    except EditConflict:
        return await overtaken(path, world)
    world.model.note_write(change.path, change.sha_after, content)
    shown = await world.seen(content, seen)
    return Observation("ok", _tell(change, content, seen.text, shown.text), changes=(change,))


def _tell(change: FileChange, content: str, before: str, after: str) -> str:
    lines = content.count("\n") + (not content.endswith("\n") if content else 0)
    size = f"{lines} lines, {len(content.encode('utf-8', 'replace'))} bytes"
    diff = f"\n{tell_diff(before, after)}" if change.kind == "modified" else ""
    return f"{change.kind} {change.path} ({size}){diff}"


WRITE_TOOL = Tool(
    name="write",
    description="Write a whole file. A file that exists must have been read before; to change a part of it use edit.",
    example=WriteArguments(path="src/hello.py", content='print("hello")\n'),
    act=_run,
    effect="keyed",
    permission="write",
)
