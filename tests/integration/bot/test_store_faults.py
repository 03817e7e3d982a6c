"""The store fails: what was to be shown is kept and shown later, what a person did is refused aloud."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence

import pytest

from agentic.core.events.execution_events import OutboxItem
from agentic.ports.errors import StoreUnavailable
from agentic.ports.runtime import ExecutionRow, OutboxRow
from agentic.stores.sqlite.store import SQLiteStore
from bot.local_discord.local_discord import LocalGuild
from tests.integration.bot.talking import Scenery, running_bot
from tests.integration.bot.test_questions import asking
from tests.stores import fresh_store


class Failing(SQLiteStore):
    """Fails in the methods that ``broken`` names."""

    broken: frozenset[str] = frozenset()

    def check(self, method: str) -> None:
        if method in self.broken:
            raise StoreUnavailable("the disk is full")

    async def undelivered(self, thread: str | None = None) -> list[OutboxRow]:
        self.check("undelivered")
        return await super().undelivered(thread)

    async def undelivered_threads(self) -> list[str]:
        self.check("undelivered")
        return await super().undelivered_threads()

    async def delivered(self, key: str, messages: Sequence[str]) -> None:
        self.check("delivered")
        await super().delivered(key, messages)

    async def execution(self, execution: str) -> ExecutionRow | None:
        self.check("execution")
        return await super().execution(execution)

    async def put_outbox(self, items: Sequence[OutboxItem]) -> None:
        self.check("put_outbox")
        await super().put_outbox(items)

    async def set_fact(self, key: str, value: str) -> None:
        self.check("set_fact")
        await super().set_fact(key, value)


@pytest.fixture
async def store() -> Failing:
    return fresh_store(Failing)


@pytest.fixture
async def scenery(guild: LocalGuild, store: Failing) -> AsyncIterator[Scenery]:
    async with running_bot(guild, store) as scenery:
        yield scenery


@pytest.mark.parametrize("method", ["undelivered", "delivered"])
async def test_what_could_not_be_read_or_recorded_is_delivered_once_later(
    scenery: Scenery, store: Failing, method: str, caplog: pytest.LogCaptureFixture
) -> None:
    thread = await scenery.mention("go")
    store.broken = frozenset((method,))
    await store.put_outbox([OutboxItem(key="x9.1.0", thread=str(thread), execution="x9", sort="notice", text="news")])
    scenery.bot.outbox.poke()
    await scenery.until(lambda: "the disk is full" in caplog.text)
    store.broken = frozenset()
    scenery.bot.outbox.retry_now()
    await scenery.says(thread, "news")
    await scenery.until_delivered()
    assert [message.content for message in scenery.of_bot(thread)][1:] == ["news"]


async def test_a_reaction_an_edit_and_a_click_that_cannot_be_taken_in_are_refused_aloud(
    scenery: Scenery, store: Failing
) -> None:
    thread, question = await asking(scenery)
    await scenery.talk.finish(scenery.talk.newest(thread))
    answer = await scenery.says(thread, "All done.")
    await scenery.until_delivered()
    store.broken = frozenset(("execution",))
    await scenery.guild.react(answer.id, "👍")
    await scenery.says(thread, "couldn't save that")
    await scenery.guild.edit(thread, f"{scenery.guild.bot.mention} other words")
    await scenery.says(scenery.general, "couldn't save that")
    await scenery.guild.click(answer.id, answer.custom_ids()[0])
    await scenery.guild.wait_for(
        lambda g: any(m.ephemeral and "couldn't save that" in m.content for m in g.messages(thread))
    )
    assert len(scenery.talk.got) == 1
    assert question.custom_ids()


async def test_the_answer_comes_although_the_place_of_the_progress_cannot_be_kept(
    scenery: Scenery, store: Failing
) -> None:
    thread = await scenery.mention("go")
    store.broken = frozenset(("set_fact",))
    await scenery.guild.delete(scenery.of_bot(thread)[0].id)
    await scenery.talk.finish(scenery.talk.newest(thread))
    await scenery.says(thread, "All done.")


async def test_a_reply_that_could_not_be_kept_is_one_of_its_message_alone(scenery: Scenery, store: Failing) -> None:
    """A later one of the same kind is another post: of the first nothing is remembered once Discord forgets its nonce."""
    thread = await scenery.mention("go")
    scenery.guild.add_member("bob")
    store.broken = frozenset(("put_outbox",))
    await scenery.guild.post(thread, "and do that as well", author="bob")
    first = await scenery.says(thread, "someone else's task")
    store.broken = frozenset()
    await scenery.guild.post(thread, "please", author="bob")
    second = await scenery.guild.wait_for(
        lambda _: next((m for m in scenery.of_bot(thread) if "someone else" in m.content and m.id != first.id), None)
    )
    assert first.nonce != second.nonce
