"""The buttons of a task's card: stop, pause and resume while it runs, continue once it was stopped."""

from __future__ import annotations

import pytest

from agentic.core.events.execution_events import InputReceived, Person
from bot.local_discord.faults.rules import ErrorAnswer, Rule
from bot.local_discord.local_discord import LocalGuild
from bot.local_discord.model.records import Message
from bot.outbound.live import progress_messages
from tests.integration.bot.talking import Scenery, running_bot
from tests.integration.bot.test_questions import QUESTION, told
from tests.stores import fresh_store

ANN = Person(id="1", name="Ann")


async def card_with(scenery: Scenery, thread: int, *labels: str) -> Message:
    """The task's progress message once it has exactly these buttons."""
    return await scenery.guild.wait_for(
        lambda _: next(
            (m for m in scenery.of_bot(thread) if [one.get("label") for one in m.interactive()] == [*labels]), None
        )
    )


def button(message: Message, label: str) -> str:
    return str(next(one["custom_id"] for one in message.interactive() if one.get("label") == label))


async def press(scenery: Scenery, message: Message, label: str, **more: str) -> None:
    await scenery.guild.click(message.id, button(message, label), **more)


async def came(scenery: Scenery, sort: str) -> None:
    await scenery.until(lambda: [item for item in scenery.talk.got if item.sort == sort])


async def heard(scenery: Scenery, thread: int, sort: str) -> None:
    """The agent reads what somebody pressed."""
    pressed = InputReceived.model_validate({"sort": sort, "inbox": f"p-{sort}", "author": ANN})
    await scenery.talk.add(scenery.talk.newest(thread), pressed)


async def test_a_running_card_is_paused_resumed_and_stopped_by_its_buttons(scenery: Scenery) -> None:
    thread = await scenery.mention("go")
    card = await card_with(scenery, thread, "Stop", "Pause")
    await press(scenery, card, "Pause")
    await came(scenery, "pause")
    await heard(scenery, thread, "pause")
    card = await card_with(scenery, thread, "Stop", "Resume")
    await press(scenery, card, "Resume")
    await came(scenery, "resume")
    await heard(scenery, thread, "resume")
    card = await card_with(scenery, thread, "Stop", "Pause")
    await press(scenery, card, "Stop")
    await came(scenery, "stop")


async def test_while_it_asks_a_card_only_stops(scenery: Scenery) -> None:
    thread = await scenery.mention("go")
    await scenery.talk.add(scenery.talk.newest(thread), QUESTION)
    await card_with(scenery, thread, "Stop")


async def test_an_ended_card_has_no_buttons_and_only_a_stopped_one_is_continued_under_its_answer(
    scenery: Scenery,
) -> None:
    thread = await scenery.mention("go")
    await scenery.talk.finish(scenery.talk.newest(thread), "")
    answer = await scenery.says(thread, "No answer was given")
    assert "Continue" not in [one.get("label") for one in answer.interactive()]
    other = await scenery.mention("go")
    card = await card_with(scenery, other, "Stop", "Pause")
    await scenery.talk.finish(scenery.talk.newest(other), "Half of it.", reason="stopped")
    answer = await scenery.says(other, "Half of it.")
    await scenery.guild.wait_for(lambda g: (m := g.state.find_message(card.id)) and not m.interactive() and m)
    await press(scenery, answer, "Continue")
    await scenery.until(lambda: scenery.talk.got[-1].text == "Continue where you left off.")
    assert (scenery.talk.got[-1].sort, scenery.talk.got[-1].thread) == ("task", str(other))


async def test_the_buttons_of_another_ones_card_refuse_in_private(scenery: Scenery) -> None:
    thread = await scenery.mention("go")
    card = await card_with(scenery, thread, "Stop", "Pause")
    scenery.guild.add_member("bob")
    await press(scenery, card, "Pause", author="bob")
    await told(scenery, thread, "someone else's task", "bob")
    assert len(scenery.talk.got) == 1


async def test_a_card_of_an_ended_task_does_nothing_to_the_one_that_runs_now(scenery: Scenery) -> None:
    thread = await scenery.mention("go")
    card = await card_with(scenery, thread, "Stop", "Pause")
    scenery.guild.misbehave(
        Rule(f"PATCH */messages/{card.id}", ErrorAnswer(403, 50013, "Missing Permissions"), times=None)
    )
    await scenery.talk.finish(scenery.talk.newest(thread))
    await scenery.says(thread, "All done.")
    await scenery.guild.post(thread, "and now this")
    await scenery.until(lambda: len(scenery.talk.got) == 2)
    await press(scenery, card, "Stop")
    await told(scenery, thread, "has already ended")
    assert len(scenery.talk.got) == 2


async def test_the_buttons_work_after_a_restart(guild: LocalGuild) -> None:
    store = fresh_store()
    async with running_bot(guild, store) as before:
        thread = await before.mention("go")
        card = await card_with(before, thread, "Stop", "Pause")
    async with running_bot(guild, store, after=before.talk) as scenery:
        await press(scenery, card, "Pause")
        await came(scenery, "pause")


async def test_a_card_that_is_continued_below_keeps_its_buttons_there_alone(
    scenery: Scenery, monkeypatch: pytest.MonkeyPatch
) -> None:
    thread = await scenery.mention("go")
    card = await card_with(scenery, thread, "Stop", "Pause")
    await press(scenery, card, "Pause")
    await came(scenery, "pause")
    monkeypatch.setattr(progress_messages, "ROLL_SECONDS", 0.0)
    await heard(scenery, thread, "pause")
    rolled = await card_with(scenery, thread, "Stop", "Resume")
    assert rolled.id != card.id
    await scenery.guild.wait_for(lambda g: (m := g.state.find_message(card.id)) and not m.interactive() and m)
    monkeypatch.undo()
    await press(scenery, rolled, "Resume")
    await came(scenery, "resume")
