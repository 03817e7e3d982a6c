"""The skills of a thread: those of the home and of its workspace; what its next task gets, and what it is told of the rest."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterable, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from agentic.core.events.execution_events import EquippedSkill, OutboxItem
from agentic.core.events.ids import digest
from agentic.ports.errors import AgenticError
from agentic.sandbox.folder_removal import remove_tree
from agentic.stores.shared_files import SharedHome, changed
from agentic.tools.foreign.skill import SkillCopy, SkillLost
from agentic.workspace.snapshots.manifest import Entry
from agentic.workspace.snapshots.packs import ContentLost
from agentic.workspace.snapshots.shared_copies import SharedSnapshot
from bot.equipment.skill_folder import (
    GUIDE,
    MOST_BYTES,
    MOST_FILES,
    Skill,
    SkillUnusable,
    skills_in,
    write_skill,
)
from bot.equipment.skill_store import FILE, FoundSkill, SkillStore
from bot.equipment.skill_text import notice

if TYPE_CHECKING:
    from datetime import datetime

    from agentic.ports.runtime import SessionRow
    from bot.workspace.sandboxes import Workshop

AT_ONCE = 8
"""Files of a snapshot that are fetched at a time."""
IN_WORKSPACE = (".agents/skills", ".claude/skills")
"""Where repositories keep them; what the first has counts before the second."""

log = logging.getLogger(__name__)


class ThreadSkills:
    """Looks skills up for tasks and for people."""

    def __init__(
        self,
        store: SkillStore,
        workshop: Workshop,
        tell: Callable[[OutboxItem], Awaitable[None]],
        shared: SharedHome | None = None,
    ) -> None:
        self.store = store
        self._shared = shared
        self._workshop, self._tell = workshop, tell

    async def for_task(self, row: SessionRow) -> tuple[EquippedSkill, ...]:
        """The skills that a new task of the thread may read, by name.  Never fails; what it goes without is told once."""
        try:
            found = await self.found(row)
            equipped = tuple(
                EquippedSkill(name=one.name, description=one.skill.description, sha=one.skill.sha)
                for one in sorted(found, key=lambda each: each.name)
                if one.state == "approved" and one.skill is not None
            )
            await asyncio.to_thread(self._only, row.thread, equipped)
            await self._told(row.thread, found)
        except (AgenticError, OSError):
            log.exception("thread %s: its task begins without skills", row.thread)
            return ()
        return equipped

    async def found(self, row: SessionRow | None) -> tuple[FoundSkill, ...]:
        """Those of the home, then those of the thread's workspace; of one name only the first may be used."""
        found = list(await asyncio.to_thread(self.store.found_in_home))
        if row is not None:
            found += await self._in_workspace(row)
        first: dict[str, FoundSkill] = {}
        for one in found:
            first.setdefault(one.name, one)
        hidden = "another skill of this name comes first: {}"
        return tuple(
            one if first[one.name] is one else replace(one, skill=None, problem=hidden.format(first[one.name].where))
            for one in found
        )

    async def approve(self, one: FoundSkill, at: datetime) -> None:
        """Let tasks have a skill as it is here.  Raises ``SkillUnusable`` and ``OSError``."""
        assert one.skill is not None
        await changed(self._shared, FILE, partial(self.store.approve, one.place, one.skill, at))

    async def remove(self, one: FoundSkill) -> bool:
        """Let no further task have a skill; whether one was approved.  Raises as ``approve`` does."""
        return await changed(self._shared, FILE, partial(self.store.remove, one.place, one.name))

    async def read(self, thread: str, skill: EquippedSkill) -> SkillCopy:
        """The kept copy of a skill, shown to the commands of a thread.  Raises ``SkillLost``."""
        try:
            kept = await asyncio.to_thread(self.store.copy, skill.name, skill.sha)
        except SkillUnusable as lost:
            raise SkillLost(str(lost)) from lost
        files = {file.path: file.content for file in kept.files if file.path != GUIDE}
        return SkillCopy(kept.body, files, await self._shown(thread, skill, kept) if files else "")

    async def _in_workspace(self, row: SessionRow) -> list[FoundSkill]:
        place = await self.place(row)

        def look(root: Path, below: str) -> list[FoundSkill]:
            return list(self.store.found(place, below, skills_in(root, below)))

        files = await self._workshop.files(row.thread)
        if isinstance(files, SharedSnapshot):  # it holds nothing that .aiignore hid
            async with laid_out(files, IN_WORKSPACE) as root:
                return [one for below in IN_WORKSPACE for one in await asyncio.to_thread(look, root, below)]
        found = [one for below in IN_WORKSPACE for one in await asyncio.to_thread(look, files.workspace, below)]
        paths = [f"{one.where}/{file.path}" for one in found if one.skill is not None for file in one.skill.files]
        if not paths:
            return found
        visible = await files.visible(paths)
        return [_unless_hidden(one, visible) for one in found]

    async def place(self, row: SessionRow) -> str:
        """What an approval of a skill in the thread's workspace is for."""
        if self._workshop.workspaces.shared:
            return f"folder:{self._workshop.workspaces.folder(row.thread)}"
        repositories = self._workshop.repositories
        origin = await repositories.of(row.thread, row.channel) if repositories is not None else None
        return f"{row.guild or '@' + row.thread}/{origin.remote.key if origin is not None else ''}"

    async def _told(self, thread: str, found: Sequence[FoundSkill]) -> None:
        text = notice(found)
        if text:
            key = f"{thread}.skills.{digest(*map(_version, found), length=12)}"
            await self._tell(OutboxItem(key=key, thread=thread, execution="", sort="notice", text=text))

    async def _shown(self, thread: str, skill: EquippedSkill, kept: Skill) -> str:
        """Where commands find the copy; '' where none run, or it could not be put there."""
        sandboxes, name = self._workshop.sandboxes, _folder_name(skill)
        try:
            place = await sandboxes.skills_place(thread)
            await asyncio.to_thread(write_skill, sandboxes.skills_folder(thread) / name, kept.files)
        except (AgenticError, OSError) as error:
            log.warning("thread %s: the skill %s cannot be shown to commands: %s", thread, skill.name, error)
            return ""
        return f"{place}/{name}" if place else ""

    def _only(self, thread: str, equipped: Iterable[EquippedSkill]) -> None:
        """Of the copies that the thread's commands were shown, those of this task stay."""
        names = set[str]()
        for skill in equipped:
            self.store.used(skill.sha)
            names.add(_folder_name(skill))
        folder: Path = self._workshop.sandboxes.skills_folder(thread)
        for old in folder.iterdir() if folder.is_dir() else ():
            if old.name not in names:
                remove_tree(old)


@asynccontextmanager
async def laid_out(snapshot: SharedSnapshot, below: Sequence[str]) -> AsyncGenerator[Path]:
    """The skills of a workspace on another machine in a folder of this one, for as long as this lasts.

    What is too large, too much or lost is there without its content, and larger than a skill may be, so that whoever reads it
    refuses it. Raises ``StoreUnavailable`` and ``OSError``.
    """
    turns = asyncio.Semaphore(AT_ONCE)
    with TemporaryDirectory(prefix="threadwright-skills-") as temporary:
        root = Path(temporary)

        async def lay(path: str, entry: Entry, *, fits: bool) -> None:
            async with turns:
                content: bytes | None = None
                with suppress(ContentLost):
                    content = await snapshot.content(entry) if entry.kind == "file" and fits else None
                await asyncio.to_thread(_lay, root / path, entry, content)

        lays: list[Awaitable[None]] = []
        for one in below:  # each has its limits, in the order in which it is read
            within = [
                each for each in snapshot.entries.items() if each[0].startswith(f"{one}/") and each[1].kind != "dir"
            ]
            room = 4 * MOST_BYTES
            for path, entry in sorted(within, key=lambda each: each[0].split("/"))[: 4 * MOST_FILES + 1]:
                room -= entry.size
                lays.append(lay(path, entry, fits=room >= 0 and entry.size <= MOST_BYTES))
        for failure in await asyncio.gather(*lays, return_exceptions=True):  # none writes any more when the folder goes
            if failure is not None:
                raise failure
        yield root


def _lay(path: Path, entry: Entry, content: bytes | None) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    if entry.kind == "link":
        path.symlink_to(entry.sha)
    elif entry.kind == "file":
        with path.open("wb") as file:
            file.truncate(MOST_BYTES + 1) if content is None else file.write(content)
        path.chmod(0o700 if entry.mode & 0o111 else 0o600)


def _folder_name(skill: EquippedSkill) -> str:
    return f"{skill.name}-{skill.sha[:8]}"


def _version(one: FoundSkill) -> str:
    return f"{one.state}/{one.where}/{one.skill.sha if one.skill is not None else one.problem}"


def _unless_hidden(one: FoundSkill, visible: frozenset[str]) -> FoundSkill:
    files = one.skill.files if one.skill is not None else ()
    if all(f"{one.where}/{file.path}" in visible for file in files):
        return one
    return replace(one, skill=None, problem=".aiignore hides a part of it; leave that out of .aiignore")
