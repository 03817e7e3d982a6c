"""Interactions that expire, break off or come twice, and buttons that were copied: what counts is what a person chose."""

from __future__ import annotations

import asyncio

import discord
import pytest

from agentic.core.events.execution_events import Option, OutboxItem
from agentic.ports.runtime import OutboxRow, SessionRow
from bot.local_discord.faults.rules import (
    Duplicated,
    ErrorAnswer,
    Reset,
    Rule,
)
from tests.integration.bot.talking import Scenery
from tests.integration.bot.test_questions import asking, told


@pytest.mark.parametrize(
    "fault",
    [ErrorAnswer(404, 10062, "Unknown interaction"), ErrorAnswer(400, 40060, "Already acknowledged"), Reset()],
    ids=["expired", "acknowledged already", "reset"],
)
async def test_a_choice_counts_also_if_it_could_not_be_acknowledged(
    scenery: Scenery, fault: ErrorAnswer | Reset
) -> None:
    _, question = await asking(scenery)
    scenery.guild.misbehave(Rule("POST /interactions/*", fault))
    await scenery.guild.click(question.id, question.custom_ids()[0])
    await scenery.until(lambda: len(scenery.talk.got) == 2)
    assert scenery.guild.misbehaviour.applied
    assert (scenery.talk.got[1].sort, scenery.talk.got[1].text) == ("answer", "1")


async def test_an_interaction_that_the_gateway_sends_twice_acts_once(scenery: Scenery) -> None:
    thread, question = await asking(scenery)
    scenery.guild.misbehave(Rule("INTERACTION_CREATE", Duplicated()))
    await scenery.guild.click(question.id, question.custom_ids()[0])
    await scenery.until(lambda: len(scenery.talk.got) == 2)
    await scenery.guild.click(question.id, question.custom_ids()[1])
    await told(scenery, thread, "no longer open")
    assert [item.text for item in scenery.talk.got[1:]] == ["1"]


async def test_discord_is_answered_before_anything_slow_is_done(scenery: Scenery) -> None:
    _, question = await asking(scenery)
    go_on = asyncio.Event()
    look_up = scenery.store.outbox_row

    async def slow(key: str) -> OutboxRow | None:
        await go_on.wait()
        return await look_up(key)

    scenery.store.outbox_row = slow  # type: ignore[method-assign]
    id = await scenery.guild.click(question.id, question.custom_ids()[0])
    await scenery.until(lambda: scenery.guild.interaction(id).answer is not None)
    assert len(scenery.talk.got) == 1
    go_on.set()
    await scenery.until(lambda: len(scenery.talk.got) == 2)


async def copied(scenery: Scenery, channel: int, custom_id: str) -> discord.Message:
    """A message of the bot with a button that says what a button elsewhere says."""
    view = discord.ui.View(timeout=None)
    view.add_item(discord.ui.Button(label="Click me", custom_id=custom_id))
    message = await scenery.bot.get_partial_messageable(channel).send("A gift", view=view)
    view.stop()
    return message


async def test_a_button_of_another_thread_does_nothing_here(scenery: Scenery) -> None:
    _, question = await asking(scenery)
    other = await scenery.mention("elsewhere")
    for custom_id in question.custom_ids():
        forged = await copied(scenery, other, custom_id)
        await scenery.guild.click(forged.id, custom_id)
        await told(scenery, other, "no longer applies here")
    assert [item.sort for item in scenery.talk.got] == ["task", "task"]


async def test_a_button_of_a_question_that_is_still_to_be_posted_elsewhere_does_nothing_here(scenery: Scenery) -> None:
    thread = await scenery.mention("go")
    item = OutboxItem(
        key="x9.1.0", thread="1234567", execution="x9", sort="question", text="?", question="q9",
        options=(Option(id="1", label="Yes"),),
    )  # fmt: skip
    await scenery.store.save_session(SessionRow("1234567", "", str(scenery.guild.guild_id)))
    await scenery.store.put_outbox([item])
    forged = await copied(scenery, thread, "tw:halt:x9.1.0")
    await scenery.guild.click(forged.id, "tw:halt:x9.1.0")
    await told(scenery, thread, "no longer applies here")
    assert len(scenery.talk.got) == 1


@pytest.mark.parametrize(
    "forged",
    ["tw:ask:q1:9:{key}", "tw:ask:q9:0:{key}", "tw:ask:q1:1.0:{key}", "tw:undo:{execution}:{key}", "tw:vote:up:{key}",
     "tw:offer:merge:q1:{key}", "tw:ask:q1:0:nothing.1.0", "tw:pick:q1:0.0:{key}"],
)  # fmt: skip
async def test_what_a_message_did_not_offer_cannot_be_pressed(scenery: Scenery, forged: str) -> None:
    thread, question = await asking(scenery)
    key = question.custom_ids()[0].rpartition(":")[2]
    custom_id = forged.format(key=key, execution=scenery.talk.newest(thread))
    message = await copied(scenery, thread, custom_id)
    await scenery.guild.click(message.id, custom_id)
    await told(scenery, thread, "no longer applies here")
    assert len(scenery.talk.got) == 1


async def test_a_copy_of_a_question_that_the_bot_did_not_ask_is_no_question(scenery: Scenery) -> None:
    thread, question = await asking(scenery)
    copy = await copied(scenery, thread, question.custom_ids()[0])
    await scenery.guild.click(copy.id, question.custom_ids()[0])
    await told(scenery, thread, "no longer applies here")
    assert len(scenery.talk.got) == 1
