"""`threadwright skills list | show | approve | remove | export`: skills, for whoever runs the bot.

Those are the skills of the home; with ``--dir`` also those of a folder that `threadwright task --dir` works in.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Literal

from agentic.stores.shared_files import SharedHome, changed
from bot.app.adapters import home_in_step
from bot.cli.console import fail, plainly, say, tell
from bot.config.home import ACCOUNTS, MCP_TOKENS
from bot.config.settings import Settings
from bot.equipment import skill_text
from bot.equipment.skill_folder import SkillUnusable, skills_in
from bot.equipment.skill_store import FILE, FoundSkill, SkillStore
from bot.equipment.thread_skills import IN_WORKSPACE
from bot.rendering.unicode_safety import revealed

QUESTION = "Let tasks use it as it is now? [y/N] "
Act = Literal["list", "show", "approve", "remove", "export"]


@dataclass(frozen=True, slots=True)
class SkillsArguments:
    """The command's arguments; ``name`` is a lesson's id for an export."""

    act: Act = "list"
    name: str = ""
    folder: Path | None = None
    """The folder of tasks whose skills are meant too; of an export, where it goes."""
    yes: bool = False


async def skills(settings: Settings, order: SkillsArguments) -> int:
    """Carry the command out; 1 where it fails."""
    if order.act == "export":
        return await _export(settings, order)
    async with home_in_step(settings, without=(ACCOUNTS, MCP_TOKENS)) as shared:
        return await _carried_out(settings, order, shared)


async def _carried_out(settings: Settings, order: SkillsArguments, shared: SharedHome | None) -> int:
    store = SkillStore(settings.home, elsewhere=shared is not None)
    if store.trouble:
        return fail(f"{store.trouble}.")
    found = (*store.found_in_home(), *(_in_folder(store, order.folder) if order.folder is not None else ()))
    if order.act == "list":
        tell(plainly(revealed(skill_text.listed(found))))
        return 1 if any(one.state == "unusable" for one in found) else 0
    one = next((one for one in found if one.name == order.name), None)
    if one is None:
        where = f"{store.folder} or {order.folder}" if order.folder is not None else str(store.folder)
        return fail(f"There is no skill {revealed(order.name)} in {where}. `threadwright skills` lists them.")
    if order.act == "show":
        say(skill_text.whole(one, store.before(one)))
        return 0
    try:
        act = partial(_approve, yes=order.yes) if order.act == "approve" else _remove
        return await act(store, one, shared)
    except (SkillUnusable, OSError) as error:
        return fail(f"{one.name}: {error}.")


def _in_folder(store: SkillStore, folder: Path) -> tuple[FoundSkill, ...]:
    place = f"folder:{folder}"
    return tuple(one for below in IN_WORKSPACE for one in store.found(place, below, skills_in(folder, below)))


async def _approve(store: SkillStore, one: FoundSkill, shared: SharedHome | None, *, yes: bool) -> int:
    if one.skill is None:
        return fail(f"{one.name} can't be used: {revealed(one.problem)}.")
    if one.state == "approved":
        say(f"{one.name} is approved as it is now.")
        return 0
    say(skill_text.whole(one, store.before(one)))
    if not yes:
        sys.stdout.write(QUESTION)
        sys.stdout.flush()
        if sys.stdin.readline().strip().lower() not in ("y", "yes"):
            return fail("Not approved.")
    await changed(shared, FILE, partial(store.approve, one.place, one.skill, datetime.now(UTC)))
    say(f"Approved: tasks use {one.name} from now on. If it changes, it waits for you again.")
    return 0


async def _remove(store: SkillStore, one: FoundSkill, shared: SharedHome | None) -> int:
    if not await changed(shared, FILE, partial(store.remove, one.place, one.name)):
        return fail(f"{one.name} wasn't approved. Nothing changed.")
    say(f"{one.name} isn't used from the next task on; its folder stays.")
    return 0


async def _export(settings: Settings, order: SkillsArguments) -> int:
    """Write a proven lesson as the folder of a skill."""
    from bot.lessons.skill_export import NotExported, skill_of
    from reflexion.errors import LessonStoreError
    from reflexion.stores.factory import open_lessons

    path = settings.lessons_place
    if isinstance(path, Path) and not path.exists():
        return fail(
            f"There are no lessons in {settings.home} yet. `threadwright lessons list` shows them once there are."
        )
    store = open_lessons(path)
    try:
        lesson = next((each for each in await store.lessons(None) if each.id == order.name), None)
        if lesson is None:
            return fail(f"There is no lesson {revealed(order.name)}. `threadwright lessons list` shows them.")
        made = skill_of(lesson, await store.showings(None, lesson.id))
    except NotExported as refused:
        return fail(f"Lesson {order.name} was not exported: {refused}.")
    except LessonStoreError as error:
        return fail(f"The lessons cannot be read: {error}. `threadwright doctor` shows what is damaged.")
    finally:
        await store.close()
    folder = (order.folder or Path.cwd()) / made.name
    if folder.exists():
        return fail(f"{folder} already exists and is not overwritten. Name another place: --dir FOLDER.")
    folder.mkdir(parents=True)
    for file in made.files:
        (folder / file.path).write_bytes(file.content)
    say(
        f"{folder}: the lesson as a skill. Put the folder into `skills/` of a home, or `.agents/skills/` of a repository."
    )
    return 0
