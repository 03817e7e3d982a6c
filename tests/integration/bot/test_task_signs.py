"""The sign on the message that gave a task: one at a time, true, and nothing that a click would command."""

from __future__ import annotations

import asyncio

import pytest

from agentic.core.events.execution_events import Decided, Person
from bot.inbound.emoji import meaning
from bot.local_discord.faults.rules import ErrorAnswer, Rule
from bot.local_discord.local_discord import LocalGuild
from bot.outbound.live.task_signs import ASKS, DONE, FAILED, STOPPED, WORKS
from tests.integration.bot.talking import Scenery, running_bot
from tests.integration.bot.test_questions import QUESTION
from tests.stores import fresh_store

ANN = Person(id="1", name="Ann")


async def signed(guild: LocalGuild, message: int, *signs: str) -> None:
    """The bot has reacted with these and nothing else."""
    await guild.wait_for(lambda g: [one.emoji for one in g.state.find_message(message).reactions] == [*signs])


def test_no_sign_is_a_command() -> None:
    assert not [sign for sign in (WORKS, ASKS, DONE, FAILED, STOPPED) if meaning(sign)]


@pytest.mark.parametrize(("reason", "sign"), [("done", DONE), ("failed", FAILED), ("stopped", STOPPED)])
async def test_the_sign_says_how_the_task_ended(scenery: Scenery, reason: str, sign: str) -> None:
    thread = await scenery.mention("go")
    await signed(scenery.guild, thread, WORKS)
    await scenery.talk.finish(scenery.talk.newest(thread), reason=reason)
    await signed(scenery.guild, thread, sign)


async def test_a_sign_that_is_wanted_in_the_moment_in_which_another_one_is_set_is_set_too(
    scenery: Scenery, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Between the last step of the task that sets it and the loop's next round, in which it is let go of."""
    thread = await scenery.mention("go")
    await signed(scenery.guild, thread, WORKS)
    execution, unreact = scenery.talk.newest(thread), scenery.bot.desk.unreact
    note = scenery.bot.board._signs.note  # pyright: ignore[reportPrivateUsage]

    async def unreacts(channel: str, message: str, sign: str) -> None:
        await unreact(channel, message, sign)
        asyncio.get_running_loop().call_soon(note, execution, DONE)

    monkeypatch.setattr(scenery.bot.desk, "unreact", unreacts)
    note(execution, ASKS)
    await signed(scenery.guild, thread, DONE)


async def test_a_task_that_asks_says_so_and_goes_on(scenery: Scenery) -> None:
    thread = await scenery.mention("go")
    execution = scenery.talk.newest(thread)
    await scenery.talk.add(execution, QUESTION)
    await signed(scenery.guild, thread, ASKS)
    await scenery.talk.add(execution, Decided(question="q1", by=ANN, choice="1", text="SQLite"))
    await signed(scenery.guild, thread, WORKS)
    later = await scenery.guild.post(thread, "a message in between")
    await scenery.until(lambda: len(scenery.talk.got) == 2)
    await scenery.talk.finish(execution)
    await signed(scenery.guild, thread, DONE)
    await signed(scenery.guild, later.id)


async def test_a_later_task_of_the_thread_has_a_sign_of_its_own(scenery: Scenery) -> None:
    thread = await scenery.mention("go")
    await scenery.talk.finish(scenery.talk.newest(thread))
    await scenery.says(thread, "All done.")
    posted = await scenery.guild.post(thread, "and this")
    await signed(scenery.guild, posted.id, WORKS)
    await scenery.talk.finish(scenery.talk.newest(thread), "No.", reason="failed")
    await signed(scenery.guild, posted.id, FAILED)
    await signed(scenery.guild, thread, DONE)


async def test_a_task_that_ended_while_nobody_could_sign_it_is_signed_by_the_next_process(guild: LocalGuild) -> None:
    store = fresh_store()
    async with running_bot(guild, store) as before:
        thread = await before.mention("go")
        await before.talk.add(before.talk.newest(thread), QUESTION)
        await signed(guild, thread, ASKS)
    await before.talk.finish(before.talk.newest(thread))
    async with running_bot(guild, store, after=before.talk):
        await signed(guild, thread, DONE)


async def test_the_answer_comes_where_the_bot_may_not_react(scenery: Scenery) -> None:
    thread = await scenery.mention("go")
    await signed(scenery.guild, thread, WORKS)
    scenery.guild.misbehave(Rule("PUT */reactions/*", ErrorAnswer(403, 50013, "Missing Permissions"), times=None))
    await scenery.talk.finish(scenery.talk.newest(thread))
    await scenery.says(thread, "All done.")
    await scenery.until_delivered()
