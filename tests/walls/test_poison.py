"""What cannot be sent holds no thread: it is told once, also after a restart, and what follows arrives."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from typing import Any

import pytest

from agentic.core.events.execution_events import OutboxItem
from bot.local_discord.faults.rules import (
    ErrorAnswer,
    Fault,
    Reset,
    Rule,
)
from bot.local_discord.local_discord import LocalGuild
from bot.local_discord.model.permission_flags import Permission
from bot.outbound.discord_api import DiscordApi, Post
from bot.outbound.outbox import PATIENCE
from bot.rendering.discord_text import storable
from tests.integration.bot.talking import Scenery, running_bot
from tests.stores import fresh_store
from tests.waiting import eventually
from tests.walls.tally import Wall

NAMES = (
    "a\nb.txt", "a\r\nContent-Type: text/html\r\n\r\nb.txt", "a\rb.txt", "a\x00b.txt", "a\x1b[2Jb.txt", "\x85\x0b\x0c.txt",
    "a\u2028b\u2029c.txt", "\ud800.txt", "x" * 300 + ".txt", "é" * 300, "\u202egnp.exe", '";filename="b.txt', "'\"`\\.txt",
    "..", ".", "", "/", "a/../../b", "con", "🤖\u200d" * 60, "@everyone.txt", "SPOILER_x.png", "\u2066a\u2069", "%0a%0d.txt",
)  # fmt: skip


@pytest.fixture
async def guild() -> AsyncIterator[LocalGuild]:
    """An empty guild on loopback."""
    async with await LocalGuild.start() as guild:
        yield guild


def notice(thread: int, number: int, text: str, **more: object) -> OutboxItem:
    item = OutboxItem(key=f"x1.{number}.0", thread=str(thread), execution="x1", sort="notice", text=text)
    return item.model_copy(update=more)


async def put(scenery: Scenery, *items: OutboxItem) -> None:
    await scenery.store.put_outbox(items)
    scenery.bot.outbox.poke()


async def insisting(scenery: Scenery, holds: Callable[[], object]) -> None:
    """Wait for something while what was held back is tried again at once."""

    def held() -> object:
        scenery.bot.outbox.retry_now()
        return holds()

    await eventually(held)


def told(scenery: Scenery, thread: int) -> list[str]:
    return [message.content for message in scenery.of_bot(thread) if "couldn't send" in message.content]


@pytest.mark.wall("output")
async def test_a_file_of_any_name_arrives_and_what_follows_it(guild: LocalGuild, wall: Wall) -> None:
    async with running_bot(guild) as scenery:
        thread = await scenery.mention("go")
        for number, name in enumerate(NAMES):
            kept = storable(name)  # as it stands in what is to be posted
            scenery.files[kept] = b"content"
            await put(scenery, notice(thread, number, f"with file {number}.", files=(kept,)))
        await put(scenery, notice(thread, 999, "what follows"))
        await scenery.says(thread, "what follows")
        for number, name in enumerate(NAMES):
            message = await scenery.says(thread, f"with file {number}.")
            arrived = [file.filename for file in message.attachments]
            legible = len(arrived) == 1 and arrived[0].isprintable() and not {"/", '"', "\\"} & set(arrived[0])
            wall.held(name, legible and len(arrived[0].encode()) <= 120, f"arrived as {arrived}")


POISON: dict[str, Fault] = {
    "400": ErrorAnswer(400, 50035, "Invalid Form Body"),
    "400 of a filter": ErrorAnswer(400, 200000, "Message was blocked by automatic moderation"),
    "413": ErrorAnswer(413, 40005, "Request entity too large"),
    "403 for a reason nobody knows": ErrorAnswer(403, 50999, "Cannot do that"),
    "404 of something else": ErrorAnswer(404, 10014, "Unknown Emoji"),
    "unknown message": ErrorAnswer(404, 10008, "Unknown Message"),
    "405": ErrorAnswer(405, 0, "Method not allowed"),
}


class Poisoned:
    """Has Discord refuse every post that holds the word, in whatever form: a fault of the request, not of the place."""

    def __init__(self, scenery: Scenery, act: Callable[[Post], Any]) -> None:
        self._create = scenery.bot.desk._create
        self._act = act
        scenery.bot.desk._create = self  # type: ignore[method-assign]

    async def __call__(self, post: Post) -> str:
        texts = [post.content, *(file.content.decode("utf-8", "replace") for file in post.files)]
        if any("POISON" in text for text in texts):
            await self._act(post)
        return await self._create(post)


@pytest.mark.wall("output")
@pytest.mark.parametrize("kind", POISON)
async def test_what_discord_refuses_for_ever_is_told_once_and_the_thread_goes_on(guild: LocalGuild, kind: str) -> None:
    store = fresh_store()
    async with running_bot(guild, store) as scenery:
        thread = await scenery.mention("go")
        answering = asyncio.Lock()

        async def refuse(post: Post) -> None:
            async with answering:  # the request really goes out, and Discord refuses it
                guild.misbehave(Rule("POST */messages", POISON[kind]))
                await scenery.bot.get_partial_messageable(thread).send("refused")

        Poisoned(scenery, refuse)
        await put(scenery, notice(thread, 1, "POISON"), notice(thread, 2, "what follows"))
        await insisting(scenery, lambda: any("what follows" in m.content for m in scenery.of_bot(thread)))
        assert len(told(scenery, thread)) == 1
        await scenery.until_delivered()
    async with running_bot(guild, store) as scenery:
        await put(scenery, notice(thread, 3, "after the restart"))
        await scenery.says(thread, "after the restart")
        assert len(told(scenery, thread)) == 1
        assert not [message for message in scenery.of_bot(thread) if "POISON" in message.content]


@pytest.mark.wall("output")
@pytest.mark.parametrize(
    "fault",
    [ValueError("Newline in headers"), TypeError("x"), KeyError("x"), RecursionError(), AssertionError()],
    ids=repr,
)
async def test_a_request_that_cannot_even_be_made_is_told_once(guild: LocalGuild, fault: Exception) -> None:
    async with running_bot(guild) as scenery:
        thread = await scenery.mention("go")

        async def fail(post: Post) -> None:
            raise fault

        Poisoned(scenery, fail)
        await put(scenery, notice(thread, 1, "POISON"), notice(thread, 2, "what follows"))
        await scenery.says(thread, "what follows")
        await scenery.until_delivered()
        assert len(told(scenery, thread)) == 1
        assert type(fault).__name__ in told(scenery, thread)[0]


@pytest.mark.wall("output")
@pytest.mark.parametrize("then", ["still poison", "fit by now"])
async def test_what_was_told_before_a_process_died_is_not_told_again(
    guild: LocalGuild, then: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = fresh_store()
    create, delivered = DiscordApi._create, store.delivered
    whys = iter((ValueError, *([TypeError] * 9)))  # another process may find another reason

    async def fails(desk: DiscordApi, post: Post) -> str:
        if poison and "couldn't send" not in post.content and "what follows" not in post.content:
            raise next(whys)
        return await create(desk, post)

    async def dies(key: str, messages: object) -> None:
        await asyncio.Event().wait()  # the process dies before it is recorded

    poison = False
    monkeypatch.setattr(DiscordApi, "_create", fails)
    async with running_bot(guild, store) as scenery:
        thread = await scenery.mention("go")
        poison = True
        monkeypatch.setattr(store, "delivered", dies)
        await put(scenery, notice(thread, 1, "POISON"))
        await scenery.until(lambda: told(scenery, thread))
    monkeypatch.setattr(store, "delivered", delivered)
    guild.forget_nonces()
    poison = then == "still poison"
    async with running_bot(guild, store) as scenery:
        await put(scenery, notice(thread, 2, "what follows"))
        await scenery.says(thread, "what follows")
        await scenery.until_delivered()
        assert len(told(scenery, thread)) == 1
        assert [m.content for m in scenery.of_bot(thread)].count("POISON") == (not poison)


@pytest.mark.wall("output")
async def test_a_file_that_discord_does_not_take_does_not_take_the_words_with_it(guild: LocalGuild) -> None:
    async with running_bot(guild) as scenery:
        thread = await scenery.mention("go")
        scenery.files["big.bin"] = b"x" * 1000
        guild.misbehave(Rule("POST */messages", ErrorAnswer(413, 40005, "Request entity too large")))
        await put(scenery, notice(thread, 1, "the words", files=("big.bin", "gone.txt")), notice(thread, 2, "next"))
        await scenery.says(thread, "next")
        message = await scenery.says(thread, "the words")
        assert not message.attachments
        assert "Not attached, because Discord rejected it: `big.bin`" in message.content
        assert "`gone.txt` (not readable)" in message.content


@pytest.mark.wall("output")
async def test_without_the_right_to_attach_files_the_words_arrive(guild: LocalGuild) -> None:
    async with running_bot(guild) as scenery:
        thread = await scenery.mention("go")
        scenery.files["a.txt"] = b"x"
        guild.deny(scenery.general, Permission.ATTACH_FILES)
        await put(scenery, notice(thread, 1, "the words", files=("a.txt",)), notice(thread, 2, "next"))
        await scenery.says(thread, "next")
        assert "`a.txt`" in (await scenery.says(thread, "the words")).content


@pytest.mark.wall("output")
async def test_an_upload_that_always_breaks_off_is_given_up_and_an_outage_is_not(guild: LocalGuild) -> None:
    async with running_bot(guild) as scenery:
        thread = await scenery.mention("go")
        scenery.bot.sender._first_pause = 0.001
        guild.misbehave(Rule("*", Reset(), times=None))
        await put(scenery, notice(thread, 1, "of the outage"))
        for _ in range(PATIENCE + 2):
            scenery.bot.outbox.retry_now()
            await scenery.until(lambda: not scenery.bot.outbox.works(str(thread)))
        guild.misbehaviour.clear()
        await insisting(scenery, lambda: "of the outage" in [m.content for m in scenery.of_bot(thread)])

        async def reset(post: Post) -> None:
            raise ConnectionResetError

        Poisoned(scenery, reset)
        await put(scenery, notice(thread, 2, "POISON"), notice(thread, 3, "what follows"))
        await insisting(scenery, lambda: any("what follows" in m.content for m in scenery.of_bot(thread)))
        assert len(told(scenery, thread)) == 1
