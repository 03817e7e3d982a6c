"""What cannot be begun holds no thread: it is told once, and what was said after it is done."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from agentic.core.events.execution_events import InboxItem, Started
from agentic.ports.errors import PathRefused, SandboxUnavailable, StoreCorrupt
from agentic.ports.runtime import SessionRow, Toolbox
from bot.local_discord.local_discord import LocalGuild
from bot.sessions.start import Beginning
from tests.faults.whole import Mind, Whole, whole

begin = Beginning.__call__
LEFT_OUT = "couldn't start this"


@pytest.fixture
async def guild() -> AsyncIterator[LocalGuild]:
    """An empty guild on loopback."""
    async with await LocalGuild.start() as guild:
        yield guild


def poisoned(monkeypatch: pytest.MonkeyPatch, fault: Exception) -> list[str]:
    """Has what holds the word never begin; returns what was tried."""
    tried: list[str] = []

    async def begins(self: Beginning, item: InboxItem, session: SessionRow, toolbox: Toolbox) -> Started:
        if "POISON" in item.text:
            tried.append(item.text)
            raise fault
        return await begin(self, item, session, toolbox)

    monkeypatch.setattr(Beginning, "__call__", begins)
    return tried


def told(here: Whole, thread: int) -> list[str]:
    return [message.content for message in here.said(thread) if LEFT_OUT in message.content]


@pytest.mark.wall("output")
@pytest.mark.parametrize(
    "fault",
    [ValueError("embedded null byte"), OSError(36, "File name too long"), UnicodeError("surrogates"), PathRefused("x", "no"),
     StoreCorrupt("a log"), RecursionError()],
    ids=repr,
)  # fmt: skip
async def test_what_never_begins_is_told_once_and_what_follows_is_done(
    guild: LocalGuild, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, fault: Exception
) -> None:
    tried = poisoned(monkeypatch, fault)
    async with whole(guild, tmp_path, Mind(), monkeypatch) as here:
        thread = await here.mention("first")
        await here.says(thread, "answered <first>")
        await here.ended(thread)
        await guild.post(thread, f"{guild.bot.mention} POISON")
        await here.says(thread, LEFT_OUT)
        await guild.post(thread, f"{guild.bot.mention} second")
        await here.says(thread, "answered <second>")
        await here.ended(thread)
        assert 1 < len(tried) <= 5
        assert len(told(here, thread)) == 1
        assert not await here.app.store.pending(str(thread))
    async with whole(guild, tmp_path, Mind(), monkeypatch) as here:
        await guild.post(thread, f"{guild.bot.mention} third")
        await here.says(thread, "answered <third>")
        assert len(told(here, thread)) == 1


@pytest.mark.wall("output")
async def test_a_thread_that_begins_with_what_never_begins_says_so_and_works(
    guild: LocalGuild, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    poisoned(monkeypatch, KeyError("x"))
    async with whole(guild, tmp_path, Mind(), monkeypatch) as here:
        thread = await here.mention("POISON")
        assert "(KeyError)" in (await here.says(thread, LEFT_OUT)).content
        await guild.post(thread, f"{guild.bot.mention} second")
        await here.says(thread, "answered <second>")
        assert len(told(here, thread)) == 1


@pytest.mark.wall("output")
async def test_what_cannot_begin_for_want_of_a_sandbox_is_kept(
    guild: LocalGuild, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tried = poisoned(monkeypatch, SandboxUnavailable("no engine"))
    async with whole(guild, tmp_path, Mind(), monkeypatch) as here:
        thread = await here.mention("POISON now")
        for number in range(1, 5):
            await here.says(thread, "no engine", number)
            await here.app.threads.idle(str(thread))
            await guild.post(thread, f"{guild.bot.mention} go on {number}")
        await here.says(thread, "no engine", 5)
        await here.app.threads.idle(str(thread))
        assert len(tried) >= 5
        assert not told(here, thread)
        monkeypatch.setattr(Beginning, "__call__", begin)
        await guild.post(thread, f"{guild.bot.mention} now it is there")
        await here.says(thread, "answered <POISON now>")
