"""Shared by the file tools: check a path before it is used, and say plainly why a file cannot be read as text."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import PurePosixPath

from agentic.core.events.execution_events import StaleFile
from agentic.ports.runtime import Observation
from agentic.sandbox.aiignore import NAME as AIIGNORE
from agentic.sandbox.protocol.results import FileText, SeenChange
from agentic.text.line_diff import nearest, unified_diff
from agentic.tools.base.observation import failed, refused
from agentic.tools.base.tool import AgentWorld

HUGE_BYTES = 8 * 1024 * 1024
DIFF_LINES = 60
DIFF_CHARACTERS = 6_000


@dataclass(frozen=True, slots=True)
class Missing:
    """There is no file at the path."""

    path: str


async def open_text(path: str, world: AgentWorld) -> FileText | Missing | Observation:
    """Return a text file's whole content, or that it does not exist, or why it is not read."""
    stat = await world.real.stat(path)
    if stat is None:
        return Missing(path)
    if stat.kind == "dir":
        return failed(f"{stat.path or path} is a folder. Use list to see what is in it.")
    if stat.kind != "file":
        return refused(f"{stat.path} is no regular file (a {stat.kind}); it is not read.")
    if stat.size > HUGE_BYTES:
        advice = "Look at parts of it with shell (head, tail, sed -n, grep)."
        return failed(f"{stat.path} has {stat.size} bytes, too many to read as a whole. {advice}")
    return await world.real.read(path)


async def tell_missing(path: str, world: AgentWorld) -> Observation:
    """Say that a file does not exist, with similar names in its folder."""
    pure = PurePosixPath(path)
    parent = str(pure.parent)
    folder = await world.real.stat(parent)
    if folder is None or folder.kind != "dir":
        return failed(f"{path} does not exist, and neither does the folder {parent}.")
    names = [entry.name for entry in (await world.real.list(parent)).entries]
    alike = [names[at] for at in nearest(pure.name, names[:2_000], 3, 0.6)]
    hint = f" Similar names there: {', '.join(alike)}." if alike else ""
    return failed(f"{path} does not exist.{hint}")


async def may_change(file: FileText, world: AgentWorld) -> Observation | None:
    """Return None if the agent knows the file's present content, else a refusal with who changed it and the diff."""
    if file.path == AIIGNORE:
        why = f"{AIIGNORE} says what is hidden from you; only a person changes it. Ask with ask_user."
        return refused(why, "rules", AIIGNORE)
    model = world.model
    seen = await world.real.changed_by(file.path) if model.is_behind(file.path, file.sha) else None
    own = seen is not None and seen.by == model.agent
    who = "" if seen is None else "by a command of your own" if own else seen.who
    behind = model.is_behind(file.path, file.sha)
    refusal = model.may_write(file.path, file.sha, file.text, who)
    if refusal is None:
        return None
    told = refused("\n".join(part for part in (refusal.reason, refusal.diff) if part))
    return replace(told, conflicts=(_conflict(file.path, seen),)) if behind and not own else told


async def overtaken(path: str, world: AgentWorld) -> Observation:
    """Return a refusal for a file that somebody changed between the look at it and the writing."""
    file = await open_text(path, world)
    if isinstance(file, Observation):
        return file
    if isinstance(file, FileText) and (refusal := await may_change(file, world)) is not None:
        return refusal if refusal.conflicts else replace(refusal, conflicts=(_conflict(path, None),))
    gone = "it was deleted" if isinstance(file, Missing) else "it changed, and is again as you know it"
    told = refused(f"{path}: {gone} in this very moment; nothing was written. Look, and write again.")
    return replace(told, conflicts=(_conflict(path, await world.real.changed_by(path)),))


def _conflict(path: str, seen: SeenChange | None) -> StaleFile:
    return StaleFile(path=path, by="" if seen is None else f"by {seen.by}" if seen.by else seen.who)


def tell_diff(before: str, after: str) -> str:
    """Return a change as a short unified diff without file names."""
    lines = list(unified_diff(before.splitlines(), after.splitlines()))[2:]
    shown = "\n".join(lines[:DIFF_LINES])[:DIFF_CHARACTERS]
    return shown + ("\n… (the diff goes on)" if len(lines) > DIFF_LINES or len(shown) == DIFF_CHARACTERS else "")
