"""The one progress message: edited in place, silent, posted anew where it was deleted."""

from __future__ import annotations

import asyncio
import itertools
from datetime import UTC, datetime, timedelta

import pytest

from agentic.core.events.execution_events import (
    Asked,
    Decided,
    ModelAnswered,
    ModelRequested,
    Person,
    TextBlock,
    Todo,
    TodoChanged,
)
from bot.local_discord.faults.rules import Delayed, RateLimited, Rule
from bot.local_discord.local_discord import LocalGuild
from bot.outbound.live.progress_messages import ShownProgress
from bot.outbound.request_queue import EDIT_SECONDS
from tests.integration.bot.talking import Scenery, running_bot
from tests.stores import fresh_store

ASKED = ModelRequested(request="r1", turn=1, tier=2, model="scripted/plain")


async def test_progress_is_one_silent_message_that_changes_in_place(scenery: Scenery) -> None:
    thread = await scenery.mention("go")
    execution = scenery.talk.newest(thread)
    await scenery.talk.add(execution, ASKED)
    await scenery.says(thread, "Thinking")
    scenery.bot.feed.streamed(execution, "I will look at ")
    scenery.bot.feed.streamed(execution, "the tests")
    await scenery.says(thread, "I will look at the tests")
    await scenery.talk.add(execution, TodoChanged(items=(Todo(text="fix a.py", state="doing"),)))
    shown = await scenery.says(thread, "▶ fix a.py")
    assert "turn 1" in shown.content
    assert "/20" not in shown.content
    assert shown.silent
    await scenery.talk.finish(execution)
    answer = await scenery.says(thread, "All done.")
    assert "✅ **Done**" in scenery.of_bot(thread)[0].content
    assert [m.id for m in scenery.of_bot(thread)] == [shown.id, answer.id]


async def test_a_refusal_that_comes_late_does_not_outlive_what_it_was_for(scenery: Scenery) -> None:
    """The thread is unlocked while the answer to an edit is on its way that was refused because it was locked."""
    thread = await scenery.mention("go")
    execution = scenery.talk.newest(thread)
    await scenery.talk.add(execution, ASKED)
    await scenery.says(thread, "Thinking")
    await scenery.guild.archive(thread, locked=True)
    scenery.guild.misbehave(Rule(f"PATCH */channels/{thread}/messages/*", Delayed(1.5, landed=True)))
    scenery.bot.feed.streamed(execution, "I have looked at the tests")
    await scenery.until(lambda: scenery.guild.misbehaviour.applied)
    await scenery.guild.change_thread(thread, archived=False, locked=False)
    await scenery.says(thread, "I have looked at the tests")


async def test_edits_are_coalesced_and_kept_apart(scenery: Scenery) -> None:
    thread = await scenery.mention("go")
    execution = scenery.talk.newest(thread)
    for last in ("one", "two", "three"):
        for number in range(50):
            scenery.bot.feed.streamed(execution, f" word{number}")
        scenery.bot.feed.streamed(execution, f" {last}")
        await scenery.says(thread, last)
    edits = [asked.at for asked in scenery.guild.asked if asked.what.startswith(f"PATCH /channels/{thread}/messages/")]
    assert len(edits) == 3
    assert all(later - earlier >= EDIT_SECONDS for earlier, later in itertools.pairwise(edits))


async def test_what_changes_in_the_moment_in_which_an_edit_ends_is_shown_too(
    scenery: Scenery, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Between the last step of the task that edits and the loop's next round, in which it is let go of."""
    thread = await scenery.mention("go")
    execution = scenery.talk.newest(thread)
    board, feed = scenery.bot.board, scenery.bot.feed
    show = board._show  # pyright: ignore[reportPrivateUsage]

    def changes() -> None:
        feed.streamed(execution, "the very last")
        for each in feed.take_dirty():
            board._note(each)  # pyright: ignore[reportPrivateUsage]

    async def shows(execution: str, shown: ShownProgress) -> None:
        await show(execution, shown)
        if not feed.tail(execution):
            asyncio.get_running_loop().call_soon(changes)

    monkeypatch.setattr(board, "_show", shows)
    await scenery.talk.add(execution, ASKED)
    await scenery.says(thread, "the very last")


async def test_a_deleted_progress_message_is_posted_again(scenery: Scenery) -> None:
    thread = await scenery.mention("go")
    execution = scenery.talk.newest(thread)
    first = scenery.of_bot(thread)[0]
    await scenery.guild.delete(first.id)
    await scenery.talk.add(execution, ASKED)
    again = await scenery.says(thread, "Thinking")
    assert again.id != first.id
    assert again.silent
    await scenery.talk.finish(execution)
    await scenery.says(thread, "All done.")
    assert "✅ **Done**" in scenery.of_bot(thread)[0].content
    assert len(scenery.of_bot(thread)) == 2


async def test_progress_is_continued_in_a_new_message_before_an_hour(scenery: Scenery) -> None:
    thread = await scenery.mention("go")
    scenery.bot.board.discord_now = lambda: datetime.now(UTC) + timedelta(minutes=56)
    await scenery.talk.add(scenery.talk.newest(thread), ASKED)
    await scenery.says(thread, "continued below")
    await scenery.says(thread, "Thinking")
    assert len(scenery.of_bot(thread)) == 2


async def test_a_restart_goes_on_with_the_same_progress_message(guild: LocalGuild) -> None:
    store = fresh_store()
    async with running_bot(guild, store) as before:
        thread = await before.mention("go")
        shown = before.of_bot(thread)[0]
    async with running_bot(guild, store, after=before.talk) as scenery:
        await scenery.talk.add(scenery.talk.newest(thread), ASKED)
        assert (await scenery.says(thread, "Thinking")).id == shown.id


async def test_a_rate_limit_on_edits_does_not_hold_the_answer_back(scenery: Scenery) -> None:
    thread = await scenery.mention("go")
    execution = scenery.talk.newest(thread)
    scenery.guild.misbehave(Rule("PATCH */messages/*", RateLimited(4.0)))
    await scenery.talk.add(execution, ASKED)
    await scenery.until(lambda: scenery.guild.misbehaviour.applied)
    await scenery.talk.finish(execution)
    await scenery.says(thread, "All done.")
    assert "✅ **Done**" not in scenery.of_bot(thread)[0].content, "the limit is not over yet"
    await scenery.says(thread, "✅ **Done**")


async def test_the_progress_shows_the_end_before_the_answer_stands_below_it(scenery: Scenery) -> None:
    thread = await scenery.mention("go")
    execution = scenery.talk.newest(thread)
    await scenery.talk.add(execution, ASKED)
    await scenery.says(thread, "Thinking")  # just edited: the next edit would not be due for more than a second
    above: list[str] = []

    def seen(_: LocalGuild) -> bool:
        shown = scenery.of_bot(thread)
        if len(shown) > 1:
            above.append(shown[0].content)
        return bool(above)

    watch = asyncio.create_task(scenery.guild.wait_for(seen))
    await scenery.talk.finish(execution)
    await watch
    assert "✅ **Done**" in above[0]
    await scenery.until_delivered()
    await scenery.until(lambda: not scenery.bot.feed._dirty and execution not in scenery.bot.board._keepers)
    assert scenery.bot.feed.progress(execution) is None, "it is not read and shown once more"


async def test_the_progress_says_it_waits_before_the_question_stands_below_it(scenery: Scenery) -> None:
    thread = await scenery.mention("go")
    execution = scenery.talk.newest(thread)
    await scenery.talk.add(execution, ASKED)
    await scenery.says(thread, "Thinking")
    asked = asyncio.create_task(scenery.says(thread, "Which?"))
    await scenery.talk.add(execution, Asked(question="q1", text="Which?"))
    await asked
    assert "Waiting for your answer" in scenery.of_bot(thread)[0].content


async def test_the_progress_of_a_second_task_replies_to_the_message_that_asked(scenery: Scenery) -> None:
    thread = await scenery.mention("one")
    await scenery.talk.finish(scenery.talk.newest(thread))
    await scenery.says(thread, "All done.")
    second = await scenery.guild.post(thread, "and two")
    progress = await scenery.says(thread, "Starting")
    assert progress.reply_to == second.id
    assert scenery.of_bot(thread)[0].reply_to is None


async def test_what_it_waits_for_is_shown(scenery: Scenery) -> None:
    thread = await scenery.mention("go")
    execution = scenery.talk.newest(thread)
    block = TextBlock(text="Which one?")
    await scenery.talk.add(execution, ASKED, ModelAnswered(request="r1", blocks=(block,), usd=0.0123))
    await scenery.talk.add(execution, Asked(question="q1", text="Which?"))
    waiting = await scenery.says(thread, "Waiting for your answer")
    assert "$0.0123" in waiting.content
    await scenery.talk.add(execution, Decided(question="q1", by=Person(id="1", name="Ann"), choice="text", text="b"))
    await scenery.guild.wait_for(lambda _: "Waiting" not in scenery.of_bot(thread)[0].content)
