"""Every command, by everyone who may not: it is refused in words, and nothing is as it was not before."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest
from discord import app_commands

from agentic.core.events.execution_events import Level
from bot.access.permissions import (
    ORDER,
    Act,
    act_of,
    at_least,
    level_of,
    limited,
    may,
    may_steer,
)
from bot.local_discord.local_discord import LocalGuild
from tests.integration.bot.commanding import Desk, desk, equip, fact, lesson, words
from tests.integration.bot.test_commands_rights import LEVELS, people

from .tally import Wall

LESSON = "l0123456789a"
FACT = "f0123456"
LEAST: dict[str, Level] = {
    "mcp agree": "owner", "mcp login": "owner",
    "repo attach": "owner", "repo detach": "owner", "repo refresh": "executor", "repo account": "executor",
    "stop": "executor", "pause": "operator", "retry": "operator", "resume": "operator", "fork": "executor",
    "workspace clean": "operator", "lessons approve": "owner", "lessons retire": "owner", "lessons edit": "owner",
    "lessons export": "owner", "settings set": "operator", "settings reset": "operator",
    "model": "owner", "memory approve": "owner", "memory forget": "owner",
    "role add": "owner", "role edit": "owner", "role remove": "owner",
    "rules add": "owner", "rules edit": "owner", "rules remove": "owner",
    "skills approve": "owner", "skills remove": "owner",
    "schedule add": "executor", "schedule list": "executor", "schedule run": "executor", "schedule pause": "executor",
    "schedule resume": "executor", "schedule delete": "executor",
}  # fmt: skip
"""Who at least may use a command on another person's task; it is not read from the code."""
LOOKS = frozenset({
    "status", "checkpoints", "sessions", "cost", "confidence", "escalation", "logs", "memory list", "memory show",
    "role show", "role list", "rules show", "rules list", "skills list", "skills show", "watchers", "search",
    "workspace list", "workspace get", "lessons list", "lessons show", "settings show", "repo show",
    "mcp show", "privacy", "help",
})  # fmt: skip
"""What everybody may use: it only shows, and each shows what this person may see."""
WHO: dict[str, Level] = {"vic": "viewer", "eve": "executor", "ops": "operator"}
NAMED: dict[str, object] = {"name": "verbosity"}
QUIET = {**NAMED, "value": "quiet"}
POET: dict[str, object] = {"name": "poet"}
TONE: dict[str, object] = {"name": "tone", "scope": "server"}
GIVEN: dict[str, tuple[dict[str, object], ...]] = {
    "settings set": (QUIET, {**QUIET, "scope": "thread"}, {**QUIET, "scope": "channel"}, {**QUIET, "scope": "server"}),
    "settings reset": (NAMED, {**NAMED, "scope": "channel"}, {**NAMED, "scope": "server"}),
    "model": ({"name": "tier3"}, {"name": "large", "scope": "channel"}, {"name": "tier3", "scope": "server"}),
    "repo attach": ({"repository": "ada/shop"},), "mcp agree": ({"tool": "tracker/search"},),
    "mcp login": ({"server": "tracker"},),
    "memory approve": ({"fact": FACT},), "memory forget": ({"fact": FACT},),
    "role edit": (POET,), "role remove": (POET,),
    "rules add": ({}, {"scope": "thread"}, {"scope": "server"}), "rules edit": (TONE,), "rules remove": (TONE,),
    "skills approve": ({"name": "release-notes"},), "skills remove": ({"name": "tests"},),
    "lessons approve": ({"lesson": LESSON},), "lessons retire": ({"lesson": LESSON},),
    "lessons edit": ({"lesson": LESSON, "action": "rm -rf /"}, {"lesson": LESSON, "action": "x", "trigger": "always"}),
    "schedule add": ({"when": "hourly", "task": "look"},),
    **{f"schedule {what}": ({"schedule": "1"},) for what in ("run", "pause", "resume", "delete")},
    "workspace clean": ({}, {"copy": True}), "retry": ({}, {"turn": 1}), "fork": ({}, {"text": "and go on"}),
}  # fmt: skip
REFUSED = ("can do that", "a viewer here", "someone else's", "Only ")


@pytest.fixture
async def guild() -> AsyncIterator[LocalGuild]:
    """A local guild with everybody in it."""
    async with await LocalGuild.start() as one:
        one.attach()
        people(one)
        yield one


async def standing(one: Desk, thread: int) -> object:
    """What a command could have changed."""
    chosen = [
        await one.scenery.bot.preferences.of(
            guild=str(one.guild.guild_id), channel=str(one.scenery.general), thread=str(thread)
        ),
        await one.scenery.bot.preferences.of(guild=str(one.guild.guild_id)),
    ]
    kept = await one.lessons.lesson(str(one.guild.guild_id), LESSON), await one.lessons.facts(None)
    files = sorted(path.name for path in (one.folder / "workspaces" / str(thread)).iterdir())
    done = [(item.sort, item.thread) for item in one.scenery.talk.got]
    sessions = [(row.thread, row.title) for row in await one.scenery.store.recent_sessions(1_000)]
    equipped = [
        (str(path), path.read_bytes())
        for name in ("roles", "rules", "home")
        for path in sorted((one.folder / name).rglob("*"))
        if path.is_file()
    ]
    return chosen, kept, files, done, sessions, equipped, await one.scenery.bot.schedules.schedules()


@pytest.mark.wall("rights")
async def test_no_command_does_anything_for_who_may_not(guild: LocalGuild, wall: Wall) -> None:
    async with desk(guild, roles=LEVELS) as one:
        known = {
            each.qualified_name
            for each in one.scenery.bot.tree.walk_commands()
            if isinstance(each, app_commands.Command)
        }
        assert known == {*LEAST, *LOOKS}, "a new command says here who may use it"
        thread = await one.worked()
        one.put(thread, "a.txt", "hello")
        await one.lessons.amend(lesson(str(guild.guild_id)))
        held = fact(str(guild.guild_id), FACT)
        await one.lessons.change_facts(held.scope, lambda _: (held,))
        await one.slash(thread, "schedule add", {"when": "every Monday at 9", "task": "look"})
        await equip(one)
        before = await standing(one, thread)
        for name, least in LEAST.items():
            for options in GIVEN.get(name, ({},)):
                needed: Level = "owner" if options.get("scope") == "server" else least
                for who, level in WHO.items():
                    if at_least(level, needed):
                        continue
                    said = words(await one.slash(thread, name, options, author=who))
                    told = any(word in said for word in REFUSED)
                    wall.held(f"/{name} {options} by {who}", told and await standing(one, thread) == before, said[:150])
        for name in ("stop", "pause", "retry", "resume", "fork"):
            said = words(await one.write(thread, f"!{name}", author="vic"))
            wall.held(
                f"!{name} by vic",
                any(word in said for word in REFUSED) and await standing(one, thread) == before,
                said[:150],
            )


SEES: dict[Act, tuple[Level, Level]] = {
    "see": ("viewer", "viewer"), "start": ("executor", "executor"), "stop": ("executor", "executor"),
    "steer": ("executor", "operator"), "rate": ("executor", "operator"), "undo": ("executor", "operator"),
    "approve": ("operator", "operator"), "merge": ("operator", "operator"), "budget": ("operator", "operator"),
    "verbosity": ("operator", "operator"), "lessons": ("owner", "owner"), "settings": ("owner", "owner"),
    "model": ("owner", "owner"),
}  # fmt: skip
"""What each act needs: for one's own task, for another person's."""


@pytest.mark.wall("rights")
def test_each_act_is_for_the_levels_it_was_given_to(wall: Wall) -> None:
    for act, needs in SEES.items():
        for own, least in zip((True, False), needs, strict=True):
            for level in ORDER:
                wall.held(
                    f"{act} by {level}, own={own}",
                    may(level, act, own=own) == (ORDER.index(level) >= ORDER.index(least)),
                )
                muted = limited(level, writes=False)
                wall.held(f"{act} by a muted {level}", may(muted, act, own=own) == (least == "viewer"))
    for level in ORDER:
        wall.held(f"{level} steers another's", may_steer(level, "1", "2") == at_least(level, "operator"))
        wall.held(f"{level} steers one without an author", may_steer(level, "1", "") == at_least(level, "executor"))
    for sort in ("merge", "reject"):
        wall.held(sort, act_of(sort) == "merge")


@pytest.mark.wall("rights")
def test_only_a_role_that_was_named_gives_a_level(wall: Wall) -> None:
    mapping: dict[str, Level] = {"123456789012345678": "owner", "crew": "operator"}
    for forged in (
        "123456789012345679", "12345678901234567", "0123456789012345678", "\uff11\uff12\uff13456789012345678",
        "123456789012345678 ", "owner", "owners", "Owner", " crew", "Crew", "CREW", "cr\u0435w", "crew\u200b", "crew\u0000",
        "administrator", "@everyone", "*", "",
    ):  # fmt: skip
        wall.held(f"role {forged!a}", level_of([forged], mapping) == "executor")
        wall.held(f"role {forged!a} where all only look", level_of([forged], mapping, default="viewer") == "viewer")
