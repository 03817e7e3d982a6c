"""A start: what an earlier process took in and did not begin waits for the connection; what was running goes first."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime
from pathlib import Path

import pytest

from agentic.core.events.execution_events import InboxItem, OutboxItem, Person
from agentic.models.scripted.captured_request import CapturedRequest
from agentic.models.scripted.endpoint import ScriptedEndpoint
from agentic.models.scripted.replies import Reply
from agentic.ports.runtime import SessionRow
from agentic.stores.sqlite.store import SQLiteStore
from bot.app.app import App
from bot.catch_up.catch_up import CatchingUp
from bot.local_discord.local_discord import LocalGuild
from tests.integration.bot.whole import SECONDS, finishes, whole


async def test_a_task_from_before_the_start_is_begun_when_the_bot_is_connected(
    guild: LocalGuild, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What was said before it is read, which needs the connection; before it would be a fault of ours."""
    home = tmp_path / "home"
    home.mkdir()
    async with ScriptedEndpoint.start([finishes("First."), finishes("Second.")]) as endpoint:
        async with whole(home, endpoint, guild) as running:
            thread = await running.task("the first task")
        kept = SQLiteStore.open(home / "threadwright.sqlite")
        row = await kept.session(str(thread))
        assert isinstance(row, SessionRow)
        said = await guild.post(thread, "and now the second one")
        ann = Person(id=str(said.author_id), name="you", level="operator")
        item = InboxItem(
            id=str(said.id), thread=str(thread), sort="task", author=ann, at=datetime.now(UTC), text=said.content,
            message=str(said.id), channel=str(thread),
        )  # fmt: skip
        assert await kept.put(item)
        await kept.close()
        start, goes_on = App._start, CatchingUp.before_going_on  # pyright: ignore[reportPrivateUsage]
        waits = asyncio.Event()

        async def waits_for_it(catching: CatchingUp, thread: str) -> None:
            waits.set()
            await goes_on(catching, thread)

        async def late(app: App, token: str) -> None:
            await asyncio.wait_for(waits.wait(), SECONDS)
            await start(app, token)

        monkeypatch.setattr(CatchingUp, "before_going_on", waits_for_it)
        monkeypatch.setattr(App, "_start", late)
        async with whole(home, endpoint, guild) as running:
            await running.says(thread, "Second.")
            assert not [m for m in running.of_bot(thread) if "fault" in m.content.lower()]
        assert "the first task" in endpoint.requests[-1].text()


async def test_what_was_running_goes_on_before_what_is_still_to_be_posted_elsewhere(
    guild: LocalGuild, tmp_path: Path
) -> None:
    """At Discord's pace a hundred posts take seconds; a person may wait for each of them, but nobody works meanwhile."""
    home = tmp_path / "home"
    home.mkdir()
    owed = [guild.add_channel(f"owed-{number}").id for number in range(100)]
    asked, posted = asyncio.Event(), 0
    goes_on = asyncio.Event()

    async def script(_: CapturedRequest) -> Reply:
        nonlocal posted
        posted = sum(bool(guild.messages(channel)) for channel in owed)
        asked.set()
        await goes_on.wait()
        return finishes()

    async with ScriptedEndpoint.start(script) as endpoint:
        async with whole(home, endpoint, guild):
            await guild.post(guild.channel().id, f"{guild.bot.mention} work")
            await asked.wait()
        kept = SQLiteStore.open(home / "threadwright.sqlite")
        await kept.put_outbox(
            [OutboxItem(key=f"o{to}", thread=str(to), execution="", sort="notice", text="owed") for to in owed]
        )
        await kept.close()
        asked.clear()
        async with asyncio.timeout(SECONDS), whole(home, endpoint, guild):
            await asked.wait()
            assert posted < len(owed) / 2, f"{posted} of {len(owed)} were posted first"
            goes_on.set()
            await guild.wait_for(lambda guild: all(guild.messages(channel) for channel in owed), SECONDS)
