"""No secret leaves through a command: not in a file made of a long answer, not in one of the workspace, not in a title."""

from __future__ import annotations

from agentic.core.events.execution_events import Noted
from bot.local_discord.local_discord import LocalGuild
from tests.integration.bot.commanding import desk

CANARY = "canary-5150-of-this-process"
KEY = "sk-ant-api03-" + "Ab1" * 20


async def test_a_long_answer_that_becomes_a_file_holds_no_secret(guild: LocalGuild) -> None:
    async with desk(guild, secrets=frozenset({CANARY})) as one:
        thread = await one.scenery.mention("look around")
        execution = one.scenery.talk.newest(thread)
        notes = [Noted(text=f"note {number}: {CANARY} {KEY} " + "x" * 80) for number in range(40)]
        await one.scenery.talk.add(execution, *notes)
        await one.scenery.talk.finish(execution)
        told = await one.slash(thread, "memory list")
        content = guild.file(told.attachments[0].id).decode()
        assert "note 39" in content
        assert CANARY not in content
        assert KEY not in content


async def test_a_file_of_the_workspace_holds_nothing_that_this_process_holds(guild: LocalGuild) -> None:
    async with desk(guild, secrets=frozenset({CANARY})) as one:
        thread = await one.worked()
        one.put(thread, "env.txt", f"TOKEN={CANARY}\nfine\n")
        sent = await one.slash(thread, "workspace get", {"path": "env.txt"})
        content = guild.file(sent.attachments[0].id).decode()
        assert "fine" in content
        assert CANARY not in content


async def test_a_title_holds_no_half_of_a_secret(guild: LocalGuild) -> None:
    async with desk(guild, secrets=frozenset({CANARY})) as one:
        text = "say " + "very " * 13 + CANARY
        thread = await one.scenery.mention(text)
        await one.scenery.until_delivered()
        name = guild.state.channels[thread].name
        assert name.startswith("say very")
        assert "canary" not in name
        session = await one.scenery.talk.store.session(str(thread))
        assert session is not None
        assert "canary" not in session.title
