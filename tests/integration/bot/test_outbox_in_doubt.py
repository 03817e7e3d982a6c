"""What was posted and never recorded, found after Discord has forgotten its nonce: nothing stands twice, nothing is lost."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import pytest

from agentic.core.events.execution_events import (
    Asked,
    CommitCreated,
    Event,
    Option,
    OutboxItem,
)
from agentic.ports.errors import StoreUnavailable
from agentic.ports.runtime import OutboxRow
from agentic.stores.sqlite.store import SQLiteStore
from bot.app.services import Backstage, Roles
from bot.local_discord.faults.rules import (
    Delayed,
    ErrorAnswer,
    Reset,
    Rule,
)
from bot.local_discord.local_discord import LocalGuild
from bot.outbound.discord_api import Post, nonce_of
from tests.faults.staging import REQUESTED
from tests.integration.bot.talking import Scenery, running_bot
from tests.stores import fresh_store
from tests.waiting import eventually

LONG = "\n".join(f"line {number:04}" for number in range(450))
"""Three messages."""


class Dying(SQLiteStore):
    """Records no more receipts once its process is to die: what was posted then stays unrecorded."""

    dying = False
    silent = 0
    """So often it cannot say what was not delivered."""

    async def undelivered(self, thread: str | None = None) -> list[OutboxRow]:
        if thread is None and self.silent:
            self.silent -= 1
            raise StoreUnavailable("it is silent for a moment")
        return await super().undelivered(thread)

    async def delivered(self, key: str, messages: Sequence[str]) -> None:
        if self.dying:
            raise StoreUnavailable("the process died here")
        await super().delivered(key, messages)


def item(thread: int, number: int, text: str, **more: object) -> OutboxItem:
    made = OutboxItem(key=f"x1.{number}.0", thread=str(thread), execution="x1", sort="notice", text=text)
    return made.model_copy(update=more)


def contents(scenery: Scenery, thread: int) -> list[tuple[int, str]]:
    return [(message.id, message.content) for message in scenery.of_bot(thread)]


@dataclass
class Case:
    """What is said, by what words it is seen, and how many messages it is."""

    said: Callable[[int], OutboxItem] | Event | str
    words: str
    messages: int = 1


CASES = {
    "notice in three parts": Case(lambda thread: item(thread, 1, LONG), "line 0449", 3),
    "notice as a file": Case(lambda thread: item(thread, 1, LONG * 4), "line 0000"),
    "receipt": Case(lambda thread: item(thread, 1, "seen", sort="receipt", target=str(thread + 1)), "seen"),
    "secret": Case(lambda thread: item(thread, 1, "  it is hunter2-and-more  "), "it is"),
    "question": Case(Asked(question="q1", text="Which?", options=(Option(id="1", label="this"),)), "Which?"),
    "offer": Case(CommitCreated(offer="o1", branch="b", commit="c" * 40, base="main", message="Fix it"), "Fix it"),
    "answer in three parts": Case(LONG, "line 0449", 3),
}


async def say(scenery: Scenery, thread: int, case: Case) -> None:
    execution = scenery.talk.newest(thread)
    if isinstance(case.said, str):
        await scenery.talk.finish(execution, case.said)
    elif callable(case.said):
        await scenery.store.put_outbox([case.said(thread)])
    else:
        await scenery.talk.add(execution, case.said)
    scenery.bot.outbox.poke()


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
async def test_what_a_dead_process_posted_is_found_long_after_and_stands_once(guild: LocalGuild, case: Case) -> None:
    store, options = fresh_store(Dying), {"secrets": frozenset({"hunter2-and-more"})}
    async with running_bot(guild, store, **options) as scenery:
        thread = await scenery.mention("go")
        before = len(scenery.of_bot(thread))
        store.dying = True
        await say(scenery, thread, case)
        await scenery.says(thread, case.words)
        posted = contents(scenery, thread)[before:]
        assert len(posted) == case.messages
    store.dying = False
    guild.pass_time(hours=3)
    await guild.post(thread, "are you there?")
    async with running_bot(guild, store, after=scenery.talk, **options) as later:
        await later.until_delivered()
        await store.put_outbox([item(thread, 2, "what follows")])
        later.bot.outbox.poke()
        await later.says(thread, "what follows")
        said = {content for _, content in posted}
        assert [(id, content) for id, content in contents(later, thread)[before:] if content in said] == posted
        row = await store.by_message(str(posted[0][0]))
        assert row is not None
        assert row.delivered == tuple(str(id) for id, _ in posted)


async def test_what_a_dead_process_posted_stands_once_though_the_store_is_silent_when_the_next_begins(
    guild: LocalGuild,
) -> None:
    store = fresh_store(Dying)
    async with running_bot(guild, store) as scenery:
        thread = await scenery.mention("go")
        store.dying = True
        await say(scenery, thread, Case(lambda thread: item(thread, 1, "n1"), "n1"))
        await scenery.says(thread, "n1")
    store.dying, store.silent = False, 1
    guild.pass_time(hours=3)
    async with running_bot(guild, store, after=scenery.talk) as later:
        await eventually(lambda: not store.silent, "the store was asked at the start")
        await later.until_delivered()
        assert [content for _, content in contents(later, thread)].count("n1") == 1


async def test_a_progress_message_that_was_not_recorded_is_found_and_goes_on(guild: LocalGuild) -> None:
    store = fresh_store(Dying)
    store.dying = True
    async with running_bot(guild, store) as scenery:
        posted = await guild.post(scenery.general, f"{guild.bot.mention} go")
        first = await scenery.says(posted.id, "Starting")
    store.dying = False
    guild.pass_time(hours=3)
    async with running_bot(guild, store, after=scenery.talk) as later:
        await later.until_delivered()
        await later.talk.finish(later.talk.newest(posted.id), "The answer.")
        await later.says(posted.id, "The answer.")
        assert later.of_bot(posted.id)[0].id == first.id
        assert len(later.of_bot(posted.id)) == 2
        await guild.wait_for(lambda _: "Done" in later.of_bot(posted.id)[0].content)


class Forgetful(SQLiteStore):
    """Keeps no fact: its process died just before."""

    async def set_fact(self, key: str, value: str) -> None:
        return


async def test_a_progress_message_that_was_recorded_and_not_noted_goes_on(guild: LocalGuild) -> None:
    store = fresh_store(Forgetful)
    async with running_bot(guild, store) as scenery:
        thread = await scenery.mention("go")
    async with running_bot(guild, store, after=scenery.talk) as later:
        await later.talk.finish(later.talk.newest(thread), "The answer.")
        await guild.wait_for(lambda _: "Done" in later.of_bot(thread)[0].content)


@pytest.mark.parametrize("case", ["notice in three parts", "answer in three parts"])
async def test_a_message_of_which_half_was_posted_gets_only_the_missing_parts(guild: LocalGuild, case: str) -> None:
    store = fresh_store()
    async with running_bot(guild, store) as scenery:
        thread = await scenery.mention("go")
        before = len(scenery.of_bot(thread))
        guild.misbehave(Rule("POST */messages", Delayed(30.0), skip=2))
        await say(scenery, thread, CASES[case])
        await scenery.until(lambda: guild.misbehaviour.applied)
        posted = contents(scenery, thread)[before:]
        assert len(posted) == 2
    guild.misbehaviour.clear()
    guild.pass_time(hours=3)
    async with running_bot(guild, store, after=scenery.talk) as later:
        await later.until_delivered()
        after = contents(later, thread)[before:]
        assert after[:2] == posted
        assert len(after) == 3
        assert "line 0449" in after[2][1]


async def test_two_notices_of_the_same_words_stay_two(guild: LocalGuild) -> None:
    store = fresh_store(Dying)
    async with running_bot(guild, store) as scenery:
        thread = await scenery.mention("go")
        store.dying = True
        await store.put_outbox([item(thread, 1, "same words"), item(thread, 2, "same words")])
        scenery.bot.outbox.poke()
        await scenery.says(thread, "same words")
    store.dying = False
    guild.pass_time(hours=3)
    async with running_bot(guild, store, after=scenery.talk) as later:
        await later.until_delivered()
        ids = [str(message.id) for message in later.of_bot(thread) if message.content == "same words"]
        rows = [await store.outbox_row(f"x1.{number}.0") for number in (1, 2)]
        assert [row.delivered for row in rows if row is not None] == [(ids[0],), (ids[1],)]
        assert len(ids) == 2


async def test_the_same_words_said_long_ago_are_not_taken_for_what_is_in_doubt(guild: LocalGuild) -> None:
    store = fresh_store()
    async with running_bot(guild, store) as scenery:
        thread = await scenery.mention("go")
        await store.put_outbox([item(thread, 1, "same words")])
        scenery.bot.outbox.poke()
        await scenery.until_delivered()
    await store.put_outbox([item(thread, 2, "same words")])
    async with running_bot(guild, store, after=scenery.talk) as later:
        await later.until_delivered()
        assert sum(message.content == "same words" for message in later.of_bot(thread)) == 2


async def test_a_post_that_landed_before_the_network_went_away_for_long_stands_once(scenery: Scenery) -> None:
    thread = await scenery.mention("go")
    begun = scenery.bot.sender.seconds()
    asleep = 0.0
    scenery.bot.sender.seconds = lambda: begun + asleep
    scenery.guild.misbehave(Rule("POST */messages", Reset(landed=True)))
    scenery.guild.misbehave(Rule("POST */messages", ErrorAnswer(503), times=1))
    await scenery.store.put_outbox([item(thread, 1, "n1"), item(thread, 2, "n2")])
    scenery.bot.outbox.poke()
    await scenery.says(thread, "n1")
    asleep = 3_600.0  # the machine slept: what was sent before is not sent again under its old nonce
    scenery.guild.pass_time(hours=1)
    await scenery.until(lambda: scenery.bot.outbox.holds(str(thread)))
    scenery.guild.misbehaviour.clear()
    scenery.bot.outbox.retry_now()
    await scenery.says(thread, "n2")
    assert [message.content for message in scenery.of_bot(thread)][1:] == ["n1", "n2"]


async def test_what_was_deleted_before_it_was_recorded_is_posted_anew(guild: LocalGuild) -> None:
    store = fresh_store(Dying)
    async with running_bot(guild, store) as scenery:
        thread = await scenery.mention("go")
        store.dying = True
        await scenery.talk.finish(scenery.talk.newest(thread), "The answer.")
        first = await scenery.says(thread, "The answer.")
        await guild.delete(first.id)
    store.dying = False
    async with running_bot(guild, store, after=scenery.talk) as later:  # at once: the nonce is still known
        second = await later.says(thread, "The answer.")
        await later.until_delivered()
        assert second.id != first.id
        assert sum("The answer." in message.content for message in later.of_bot(thread)) == 1


async def test_an_owner_that_wakes_with_an_old_list_posts_nothing_that_another_has_delivered(guild: LocalGuild) -> None:
    store = fresh_store()
    async with running_bot(guild, store) as sleeper:
        thread = await sleeper.mention("go")
        guild.misbehave(Rule("POST */messages", Delayed(4.0, landed=True)))
        await store.put_outbox([item(thread, number, f"n{number}") for number in range(1, 5)])
        sleeper.bot.outbox.poke()
        await sleeper.says(thread, "n1")
        async with running_bot(guild, store, after=sleeper.talk) as successor:
            await successor.until_delivered()
            guild.pass_time(hours=1)
            await sleeper.until(lambda: not sleeper.bot.outbox.works(str(thread)))
            await asyncio.sleep(0)
            assert [message.content for message in successor.of_bot(thread)][1:] == ["n1", "n2", "n3", "n4"]


async def test_a_progress_message_that_is_deleted_while_it_is_posted_anew_comes_once_more(scenery: Scenery) -> None:
    thread = await scenery.mention("go")
    first = scenery.of_bot(thread)[0]
    scenery.guild.misbehave(Rule("POST */messages", ErrorAnswer(503, landed=True)))
    await scenery.guild.delete(first.id)
    await scenery.talk.add(scenery.talk.newest(thread), REQUESTED)
    second = await scenery.says(thread, "Thinking")
    await scenery.guild.delete(second.id)  # before the answer to its post has come a second time
    third = await scenery.says(thread, "Thinking")
    assert third.id not in (first.id, second.id)
    await scenery.talk.finish(scenery.talk.newest(thread), "The answer.")
    await scenery.says(thread, "The answer.")
    await scenery.guild.wait_for(lambda _: "Done" in scenery.of_bot(thread)[0].content)
    assert [message.id == third.id for message in scenery.of_bot(thread)] == [True, False]


async def test_what_the_owner_of_a_thread_posted_before_it_died_is_found_by_the_worker_that_waited_for_it(
    guild: LocalGuild,
) -> None:
    async with running_bot(guild, backstage=Backstage(roles=Roles(talks=False))) as worker:
        said, general = item(worker.general, 1, "n1"), str(worker.general)
        lease = await worker.store.acquire(general, "another")
        assert lease is not None
        await worker.store.put_outbox([said])
        worker.bot.outbox.poke()
        await worker.until(lambda: worker.bot.outbox.holds(general))
        await worker.bot.desk.post(Post(general, "n1", nonce_of(said.key, 0, 0)))  # the other one did, and died
        guild.pass_time(hours=3)
        await worker.store.release(lease)
        await worker.until_delivered()
        assert [content for _, content in contents(worker, worker.general)] == ["n1"]
