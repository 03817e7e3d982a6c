"""The machine's clock and Discord's differ by minutes, either way: in the whole product over sockets."""

from __future__ import annotations

import asyncio
from datetime import timedelta
from pathlib import Path

import discord
import pytest

from bot.cogs.private_replies import UNSAID
from bot.local_discord.faults.rules import ErrorAnswer, Rule
from bot.local_discord.local_discord import LocalGuild
from bot.local_discord.model.records import MessageFlag
from tests.faults.staging import guild
from tests.faults.whole import Mind, whole
from tests.integration.bot.commanding import Desk, desk
from tests.waiting import BOUND

__all__ = ["guild"]


@pytest.mark.parametrize("behind", [0, 90], ids=["as Discord's", "90 minutes behind"])
async def test_a_stop_by_reaction_drops_what_was_queued_before_it_and_not_what_is_said_after_it(
    guild: LocalGuild, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, behind: int
) -> None:
    guild.pass_time(minutes=behind)
    mind = Mind()
    async with whole(guild, tmp_path, mind, monkeypatch) as here:
        thread = await here.mention("hold it")
        await here.says(thread, "Thinking")
        await guild.post(thread, ". afterwards this")
        await here.says(thread, "Queued")
        await guild.react(thread, "🛑")
        assert await here.ended(thread) == ["stopped"]
        await here.app.threads.idle(str(thread))
        mind.go.set()
        await guild.post(thread, "then that")
        await here.says(thread, "answered <then that>")
        async with asyncio.timeout(BOUND):
            await here.app.threads.idle(str(thread))
        assert len(await here.app.store.executions(str(thread))) == 2
        assert await here.app.store.pending(str(thread)) == []


def open_to_all(one: Desk, channel: int) -> list[str]:
    """What of the bot anybody may read in a channel."""
    return [f"{m.content}{m.embeds or ''}" for m in one.scenery.of_bot(channel) if not m.flags & MessageFlag.EPHEMERAL]


@pytest.mark.parametrize("name", ["logs", "workspace get"])
async def test_a_private_answer_stays_private_where_the_machines_clock_is_ahead(
    guild: LocalGuild, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    async with desk(guild) as one:
        thread = await one.worked()
        one.put(thread, "notes.txt", "what I noted")
        before = open_to_all(one, thread)
        ahead = discord.utils.utcnow
        monkeypatch.setattr(discord.utils, "utcnow", lambda: ahead() + timedelta(minutes=15))
        said = await one.slash(thread, name, {"path": "notes.txt"} if name == "workspace get" else {})
        assert said.flags & MessageFlag.EPHEMERAL
        assert open_to_all(one, thread) == before


@pytest.mark.parametrize("refused", ["POST /interactions/*", "POST /webhooks/*"])
async def test_what_cannot_be_said_privately_is_left_unsaid_and_who_asked_is_told(
    guild: LocalGuild, refused: str
) -> None:
    async with desk(guild) as one:
        thread = await one.worked()
        before = open_to_all(one, thread)
        guild.misbehave(Rule(refused, ErrorAnswer(404, 10062, "Unknown interaction")))
        await guild.slash(thread, "cost")
        word = UNSAID.format(person=f"<@{guild.you.id}>")
        await guild.wait_for(lambda _: word in open_to_all(one, thread), BOUND)
        assert [text for text in open_to_all(one, thread) if text not in before] == [word]
