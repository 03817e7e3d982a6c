"""Every command, with options that are right and options that are wrong, as a slash command and with the prefix."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from functools import partial

import pytest
from discord import app_commands

from bot.cogs.commands.command_errors import EXAMPLES
from bot.history.checkpoint_list import checkpoints_of
from bot.local_discord.local_discord import LocalGuild
from bot.rendering.discord_text import LIMIT
from tests.integration.bot.commanding import Desk, desk, equip, fact, lesson, words
from tests.waiting import eventually


@dataclass(frozen=True)
class Use:
    """One use of a command: as it is chosen, as it is written, and what is answered (``|`` between alternatives)."""

    name: str
    written: str
    says: str
    options: dict[str, object] = field(default_factory=dict[str, object])


RIGHT = [
    Use("status", "!status", "fix the tests"),
    Use("status", "!status {thread}", "fix the tests", {"thread": "{thread}"}),
    Use("stop", "!stop", "Nothing is running"),
    Use("pause", "!pause", "Nothing is running"),
    Use("resume", "!resume", "Nothing is paused"),
    Use("resume", "!resume {checkpoint}", "On it", {"checkpoint": "{checkpoint}"}),
    Use("retry", "!retry", "On it"),
    Use("retry", "!retry 2", "On it", {"turn": 2}),
    Use("fork", "!fork", "On it"),
    Use("fork", "!fork try it another way", "On it", {"text": "try it another way"}),
    Use("fork", "!fork {checkpoint} as before", "On it", {"checkpoint": "{checkpoint}"}),
    Use("sessions", "!sessions", "<#{thread}>"),
    Use("sessions", "!sessions 2", "That's all", {"page": 2}),
    Use("search", "!search tests", "gave this task", {"words": "tests"}),
    Use("search", "!search fix the", "That's all|gave this task", {"words": "fix", "page": 2}),
    Use("model", "!model", "starts with **small** (tier 2): the default"),
    Use("model", "!model tier3 thread", "New tasks in this thread start with **tier3**",
        {"name": "tier3", "scope": "thread"}),
    Use("model", "!model auto thread", "This thread is back to the default", {"name": "auto", "scope": "thread"}),
    Use("checkpoints", "!checkpoints", "`{checkpoint}`"),
    Use("cost", "!cost", "$0.50"),
    Use("cost", "!cost people", "1 task", {"of": "people"}),
    Use("cost", "!cost threads", "<#{thread}>", {"of": "threads"}),
    Use("cost", "!cost here {thread}", "$0.50", {"thread": "<#{thread}>"}),
    Use("confidence", "!confidence", "of 100"),
    Use("escalation", "!escalation", "the same error 3 times"),
    Use("escalation", "!escalation {thread}", "1–2        2    80 → 25     0.50", {"thread": "{thread}"}),
    Use("logs", "!logs", "moved from tier 2 to 3"),
    Use("logs", "!logs 2", "shows more", {"lines": 2}),
    Use("memory list", "!memory", "Python 3.11"),
    Use("memory list", "!memory list", "⚠ waits for approval `f0123456`"),
    Use("memory show", "!memory show f0123456", "Waits because its task read a page.", {"fact": "f0123456"}),
    Use("memory approve", "!memory approve f0123456", "is used from now on", {"fact": "f0123456"}),
    Use("memory forget", "!memory forget f0123456", "Forgotten: Machine 6 is red", {"fact": "f0123456"}),
    Use("role show", "!role", "Role: **"),
    Use("role show", "!role show poet", "You write verse", {"name": "poet"}),
    Use("role list", "!role list", "**poet**"),
    Use("role add", "!role add", "counts from the next task on|Attach the file"),
    Use("role edit", "!role edit poet", "counts from the next task on|Attach the file", {"name": "poet"}),
    Use("role remove", "!role remove security-reviewer", "is removed|no role", {"name": "security-reviewer"}),
    Use("rules show", "!rules", "A task may use $5.00"),
    Use("rules show", "!rules show tone", "Write plainly", {"name": "tone"}),
    Use("rules list", "!rules list", "**tone**"),
    Use("rules add", "!rules add server", "counts in the server|Attach the file", {"scope": "server"}),
    Use("rules edit", "!rules edit tone", "counts in the server|Attach the file", {"name": "tone", "scope": "server"}),
    Use("rules remove", "!rules remove house-style", "is removed|no rule", {"name": "house-style", "scope": "server"}),
    Use("workspace list", "!workspace list", "a.txt"),
    Use("workspace list", "!workspace list src", "main.py", {"path": "src"}),
    Use("workspace get", "!workspace get a.txt", "5 B", {"path": "a.txt"}),
    Use("workspace clean", "!workspace clean", "I'll save a copy as a checkpoint"),
    Use("workspace clean", "!workspace clean no", "No copy is kept", {"copy": False}),
    Use("lessons list", "!lessons list", "l0123456789a"),
    Use("lessons list", "!lessons list waiting 1", "l0123456789a", {"status": "waiting", "page": 1}),
    Use("lessons list", "!lessons list active", "No lesson is active", {"status": "active"}),
    Use("lessons list", "!lessons list all 2", "That's all", {"page": 2}),
    Use("lessons show", "!lessons show l0123456789a", "install the project", {"lesson": "l0123456789a"}),
    Use("lessons edit", "!lessons edit l0123456789a use the copy first", "no module → use the copy first",
        {"lesson": "l0123456789a", "action": '"use the copy first"'}),
    Use("lessons approve", "!lessons approve l0123456789a", "is active now", {"lesson": "l0123456789a"}),
    Use("lessons retire", "!lessons retire l0123456789a", "is retired", {"lesson": "l0123456789a"}),
    Use("lessons export", "!lessons export l0123456789a", "an active one is proven|Everyone here could read",
        {"lesson": "l0123456789a"}),
    Use("lessons export", "!lessons export", "1 lesson: `lessons.jsonl`|Everyone here could read that answer"),
    Use("settings show", "!settings show", "**verbosity**: normal (default)"),
    Use("settings set", "!settings set verbosity quiet thread", "is now **quiet**",
        {"name": "verbosity", "value": "quiet", "scope": "thread"}),
    Use("settings reset", "!settings reset verbosity thread", "is back to **normal**",
        {"name": "verbosity", "scope": "thread"}),
    Use("schedule add", '!schedule add "every Monday at 9" look for failing tests', "⏰ **look for failing tests**",
        {"when": "every Monday at 9", "task": "look for failing tests", "zone": "Europe/Berlin", "ping": "nobody",
         "gate": "test -e a.txt"}),
    Use("schedule list", "!schedule list", "1. tidy up|Everyone here could read that answer"),
    Use("schedule list", "!schedule list 9", "2. look for failing tests|Everyone here could read that answer", {"page": 9}),
    Use("schedule pause", "!schedule pause 1", "⏸ Paused “tidy up”", {"schedule": "1"}),
    Use("schedule resume", "!schedule resume 1", "▶ Resumed “tidy up”", {"schedule": "1"}),
    Use("schedule run", "!schedule run 99", "begins now|no schedule `99`", {"schedule": "1"}),
    Use("schedule delete", "!schedule delete 2", "🗑️ Deleted “look for", {"schedule": "2"}),
    Use("repo show", "!repo show", "Repositories cannot be attached here"),
    Use("repo attach", "!repo attach ada/shop next thread", "Repositories cannot be attached here",
        {"repository": "ada/shop", "branch": "next", "scope": "thread"}),
    Use("repo detach", "!repo detach thread", "Repositories cannot be attached here", {"scope": "thread"}),
    Use("repo refresh", "!repo refresh", "Repositories cannot be attached here"),
    Use("repo account", "!repo account", "Repositories cannot be attached here|Everyone here could read that answer",
        {"host": "github.com"}),
    Use("mcp show", "!mcp show", "There are no MCP servers"),
    Use("mcp agree", "!mcp agree tracker/search", "There are no MCP servers", {"tool": "tracker/search"}),
    Use("mcp login", "!mcp login tracker", "There are no MCP servers", {"server": "tracker"}),
    Use("watchers", "!watchers", "There are no watchers here"),
    Use("skills list", "!skills list", "**tests**: How it is done here."),
    Use("skills show", "!skills show tests", "The skill `tests`: used where it fits", {"name": "tests"}),
    Use("skills approve", "!skills approve release-notes", "Read the file first", {"name": "release-notes"}),
    Use("skills remove", "!skills remove tests", "The skill `tests` isn't used|wasn't approved", {"name": "tests"}),
    Use("privacy", "!privacy", "What I store about you|Everyone here could read that answer"),
    Use("help", "!help", "in a sandbox"),
    Use("help", "!help workspace get", "/workspace get", {"command": "workspace get"}),
]  # fmt: skip

WRONG = [
    Use("status", "!status 123456789012345678", "no thread `123456789012345678`", {"thread": "123456789012345678"}),
    Use("logs", "!logs x", "`lines`|no thread", {"thread": "nonsense"}),
    Use("logs", "!logs 0", "from 1 to 2000|no thread", {"lines": 5, "thread": "@everyone"}),
    Use("resume", "!resume nothing", "no checkpoint `nothing`", {"checkpoint": "nothing"}),
    Use("fork", "!fork 000000", "no checkpoint `000000`", {"checkpoint": "000000"}),
    Use("retry", "!retry -1", "from 0 to 10000|no thread", {"thread": "123456789012345678"}),
    Use("sessions", "!sessions 0", "from 1 to 1000|That's all", {"page": 1000}),
    Use("search", "!search ?!", "nothing to look for", {"words": "?!"}),
    Use("search", "!search", "needs `words`|Nothing found for “zebra”", {"words": "zebra"}),
    Use("model", "!model gpt-9", "no model or tier `gpt-9`", {"name": "gpt-9"}),
    Use("model", "!model 1", "Tier 1 only sorts messages", {"name": "tier 1"}),
    Use("cost", "!cost everybody", "It can be: here, threads, people|no thread", {"thread": "0"}),
    Use("workspace get", "!workspace get gone.txt", "no such file", {"path": "gone.txt"}),
    Use("workspace get", "!workspace get ../../etc/passwd", "outside the workspace", {"path": "../../etc/passwd"}),
    Use("workspace get", "!workspace get", "needs `path`|no such file", {"path": "*"}),
    Use("workspace list", "!workspace list ..", "outside the workspace", {"path": ".."}),
    Use("lessons list", "!lessons list new", "It can be: all, waiting|No lesson is on probation", {"status": "probation"}),
    Use("lessons show", "!lessons show l9", "no lesson `l9`", {"lesson": "l9"}),
    Use("lessons show", "!lessons show", "For example: `!lessons show l|no lesson", {"lesson": "' OR 1=1"}),
    Use("lessons approve", "!lessons approve nope", "no lesson `nope`", {"lesson": "nope"}),
    Use("memory show", "!memory show f0123456", "no fact `f0123456`", {"fact": "f0123456"}),
    Use("memory forget", "!memory forget", "needs `fact`|no fact", {"fact": "' OR 1=1"}),
    Use("schedule add", "!schedule add sometimes look", "don't understand “sometimes”", {"when": "sometimes", "task": "look"}),
    Use("schedule delete", "!schedule delete 7", "no schedule `7`", {"schedule": "7"}),
    Use("schedule run", "!schedule run", "needs `schedule`|no schedule", {"schedule": "' OR 1=1"}),
    Use("role show", "!role show poe", "no role", {"name": "poe"}),
    Use("role edit", "!role edit poe", "no role", {"name": "poe"}),
    Use("role remove", "!role remove dba", "comes with me", {"name": "dba"}),
    Use("rules show", "!rules show manners", "no rule", {"name": "manners"}),
    Use("rules edit", "!rules edit manners", "no rule", {"name": "manners"}),
    Use("rules remove", "!rules remove tone thread", "no rule", {"name": "tone", "scope": "thread"}),
    Use("settings set", "!settings set role poe", "There is: auto, planner", {"name": "role", "value": "poe"}),
    Use("settings set", "!settings set colour red", "no setting 'colour'", {"name": "colour", "value": "red"}),
    Use("settings set", "!settings set verbosity loud", "quiet, normal, detailed",
        {"name": "verbosity", "value": "loud"}),
    Use("settings reset", "!settings reset colour", "no setting 'colour'", {"name": "colour"}),
    Use("help", "!help workspaces", "Did you mean `workspace`", {"command": "workspaces"}),
]  # fmt: skip


NAMES: dict[int, str] = {}
"""The checkpoint of each thread, by its name."""


def filled(text: str, thread: int) -> str:
    return text.replace("{thread}", str(thread)).replace("{checkpoint}", NAMES.get(thread, ""))


async def played(one: Desk) -> int:
    thread = await one.worked()
    one.put(thread, "a.txt", "hello")
    one.put(thread, "src/main.py", "print(1)\n")
    (kept,) = await checkpoints_of(one.scenery.talk.store, None, str(thread))
    NAMES[thread] = kept.id
    await one.lessons.amend(lesson(str(one.guild.guild_id)))
    await equip(one)
    facts = tuple(fact(str(one.guild.guild_id), f"f012345{number}") for number in range(10))
    await one.lessons.change_facts(facts[0].scope, lambda _: facts)
    await one.slash(thread, "schedule add", {"when": "every Tuesday at 9", "task": "tidy up"})
    return thread


def wrong_answers(use: Use, said: str, thread: int) -> list[str]:
    wanted = filled(use.says, thread).split("|")
    broken = "broke on my side" in said or len(said) > 3 * LIMIT
    return [f"{use.name} {use.options}: {said!r}"] if broken or not any(each in said for each in wanted) else []


async def test_every_command_answers_what_it_should_as_a_slash_command(guild: LocalGuild) -> None:
    async with desk(guild) as one:
        thread = await played(one)
        wrong: list[str] = []
        for use in (*RIGHT, *WRONG):
            options = {name: filled(v, thread) if isinstance(v, str) else v for name, v in use.options.items()}
            answer = await one.slash(thread, use.name, options)
            wrong += wrong_answers(use, words(answer), thread)
            assert answer.ephemeral, use.name
        assert wrong == []


async def test_every_command_answers_what_it_should_with_the_prefix(guild: LocalGuild) -> None:
    async with desk(guild) as one:
        thread = await played(one)
        wrong: list[str] = []
        for use in (*RIGHT, *WRONG):
            answer = await one.write(thread, filled(use.written, thread))
            wrong += wrong_answers(use, words(answer), thread)
        assert wrong == []


async def test_each_registered_command_and_option_is_tried_above_and_stands_in_the_help(guild: LocalGuild) -> None:
    async with desk(guild) as one:
        leaves = [c for c in one.scenery.bot.tree.walk_commands() if isinstance(c, app_commands.Command)]
        tried = {use.name: set[str]() for use in RIGHT}
        for use in (*RIGHT, *WRONG):
            tried[use.name] |= use.options.keys()
        assert {c.qualified_name for c in leaves} == tried.keys()
        untried = [f"{c.qualified_name} {p.display_name}" for c in leaves for p in c.parameters
                   if p.display_name not in tried[c.qualified_name] | {"thread", "trigger", "file"}]  # fmt: skip
        assert untried == []
        assert [c.qualified_name for c in leaves for p in c.parameters if str(p.description) == "…"] == []
        options = {c.qualified_name: {p.display_name for p in c.parameters} for c in leaves}
        shown = {(name, option) for name, line in EXAMPLES.items() for option in re.findall(r"(\w+):", line)}
        assert [(name, option) for name, option in shown if option not in options[name]] == []
        assert {"retry", "resume", "fork"} <= EXAMPLES.keys()
        card = words(await one.slash(one.scenery.general, "help"))
        assert [name for name in tried if name != "help" and f"`{name}`" not in card] == []


async def test_whatever_is_proposed_is_accepted(guild: LocalGuild) -> None:
    """A command whose option fails its own validation was a mistake of earlier systems."""
    async with desk(guild) as one:
        thread = await played(one)
        leaves = [c for c in one.scenery.bot.tree.walk_commands() if isinstance(c, app_commands.Command)]
        offered = 0
        for command in leaves:
            others = next(use.options for use in RIGHT if use.name == command.qualified_name and len(use.options) >= sum(
                p.required for p in command.parameters))  # fmt: skip
            for option in (p for p in command.parameters if p.autocomplete):
                proposed = partial(one.proposes, thread, command.qualified_name, option.display_name)
                values = await eventually(proposed, f"{command.qualified_name} {option.display_name}")
                for value in values[:3]:
                    offered += 1
                    options = {
                        n: filled(v, thread) if isinstance(v, str) else v for n, v in others.items() if n != "thread"
                    }
                    options |= {option.display_name: value}
                    if (command.qualified_name, option.display_name) == (
                        "settings set",
                        "name",
                    ):  # a value of that name
                        proposed = await one.proposes(thread, command.qualified_name, "value", values={"name": value})
                        options["value"] = proposed[0]
                    said = words(await one.slash(thread, command.qualified_name, options))
                    refused = (
                        "no thread",
                        "no checkpoint",
                        "no lesson",
                        "no fact",
                        "no setting",
                        "cannot be",
                        "no such",
                        "no command",
                        "of mine",
                    )
                    assert not any(each in said for each in refused), f"{command.qualified_name} {options}: {said}"
        assert offered > 20


@pytest.mark.parametrize("typed", ["", "a" * 100, "%", "<#1>"])
async def test_whatever_is_typed_gets_a_list_in_time(guild: LocalGuild, typed: str) -> None:
    async with desk(guild) as one:
        thread = await one.worked()
        assert isinstance(await one.proposes(thread, "logs", "thread", typed), list)
        assert isinstance(await one.proposes(thread, "settings set", "value", typed, values={"name": typed[:30]}), list)
