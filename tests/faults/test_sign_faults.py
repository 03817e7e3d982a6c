"""🛑 wherever the agent is, and while the bot is down: rows 22 and 23, in the whole product over sockets."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from agentic.core.events.execution_events import (
    CheckpointSaved,
    Event,
    Finished,
    ModelAnswered,
    ModelFailed,
    Started,
    ToolFinished,
    ToolStarted,
)
from agentic.models.scripted.captured_request import CapturedRequest
from agentic.models.scripted.endpoint import ScriptedEndpoint
from agentic.models.scripted.replies import Reply
from agentic.workspace.snapshots.manifest import Entry, Manifest
from agentic.workspace.snapshots.restore import Restored
from agentic.workspace.snapshots.snapshot_store import Snapshots
from bot.local_discord.local_discord import LocalGuild
from bot.workspace.attachments import download
from tests.faults.staging import guild
from tests.integration.bot.whole import SECONDS, Whole, finishes, uses, whole
from tests.waiting import eventually

__all__ = ["guild"]

PROMISED = 2.0
SIGNS = {"custom_emoji": ("777=🛑",)}


async def mention(bot: Whole, text: str) -> int:
    posted = await bot.guild.post(bot.guild.channel().id, f"{bot.guild.bot.mention} {text}")
    return posted.id


async def until(bot: Whole, thread: int, holds: Callable[[list[Event]], object]) -> list[Event]:
    """The log of the thread's newest execution, once something holds of it."""

    async def found() -> list[list[Event]]:
        names = await bot.executions(thread)
        events = await bot.log(names[-1]) if names else []
        return [events] if holds(events) else []

    return (await eventually(found))[0]


async def stopped(bot: Whole, thread: int) -> list[Event]:
    """React with 🛑 on the task's message; the log, once the execution ended, which takes no longer than promised."""
    since = time.monotonic()
    await bot.guild.react(thread, "🛑")
    events = await until(bot, thread, lambda log: any(isinstance(event, Finished) for event in log))
    assert time.monotonic() - since <= PROMISED
    finished = next(event for event in events if isinstance(event, Finished))
    assert finished.reason == "stopped"
    ended = [event.call for event in events if isinstance(event, ToolFinished)]
    assert {event.call for event in events if isinstance(event, ToolStarted)} <= set(ended)
    assert len(ended) == len(set(ended))
    return events


async def test_f22_a_stop_during_a_question_ends_it_and_closes_its_buttons(guild: LocalGuild, tmp_path: Path) -> None:
    ask = uses("ask_user", question="Which database?", options=["SQLite", "Postgres"])
    async with ScriptedEndpoint.start([ask]) as endpoint, whole(tmp_path, endpoint, guild) as bot:
        thread = await mention(bot, "migrate the schema")
        question = await bot.says(thread, "Which database?")
        events = await stopped(bot, thread)
        assert any(isinstance(event, ToolFinished) and event.outcome == "cancelled" for event in events)
        await guild.wait_for(
            lambda g: all(button.get("disabled") for button in g.state.find_message(question.id).interactive()), SECONDS
        )
        assert len(endpoint.requests) == 1


async def test_f22_a_stop_during_a_back_off_asks_no_model_again(guild: LocalGuild, tmp_path: Path) -> None:
    overloaded = Reply(status=529, headers={"retry-after": "30"})
    async with ScriptedEndpoint.start(lambda _: overloaded) as endpoint, whole(tmp_path, endpoint, guild) as bot:
        thread = await mention(bot, "migrate the schema")
        await until(bot, thread, lambda log: any(isinstance(event, ModelFailed) for event in log))
        await stopped(bot, thread)
        asked = len(endpoint.requests)
        await bot.app.threads.idle(str(thread))
        assert len(endpoint.requests) == asked


async def test_f23_a_stop_of_somebody_who_only_looks_ends_nothing(guild: LocalGuild, tmp_path: Path) -> None:
    guild.add_member("vic", (guild.add_role("watchers").id,))

    def script(request: CapturedRequest) -> Reply:
        return finishes("went on") if request.answers else uses("ask_user", question="Which one?", options=["a", "b"])

    roles = {"viewers": ("watchers",)}
    async with ScriptedEndpoint.start(script) as endpoint:
        async with whole(tmp_path, endpoint, guild, **roles) as before:
            thread = await mention(before, "count")
            question = await before.says(thread, "Which one?")
            await before.app.delivered(str(thread), SECONDS)
        await guild.react(thread, "🛑", author="vic")
        async with whole(tmp_path, endpoint, guild, **roles) as bot:
            await guild.click(question.id, question.custom_ids()[0])
            await bot.says(thread, "went on")


async def test_f22_a_stop_during_a_checkpoint_begins_nothing_after_it(guild: LocalGuild, tmp_path: Path) -> None:
    write = uses("write", path="new.txt", content="never")
    async with (
        ScriptedEndpoint.start([Reply(text="Hello."), write]) as endpoint,
        whole(tmp_path, endpoint, guild) as bot,
    ):
        thread = await bot.task("hi")
        await asyncio.to_thread(filled, bot.workspace(thread))
        await bot.guild.post(thread, "write the file new.txt")
        await until(bot, thread, lambda log: _task(log) == "write the file new.txt" and _answered(log))
        events = await stopped(bot, thread)
        assert not any(isinstance(event, CheckpointSaved | ToolStarted) for event in events)
        assert [event.outcome for event in events if isinstance(event, ToolFinished)] == ["cancelled"]
        assert not (bot.workspace(thread) / "new.txt").exists()


def _task(log: list[Event]) -> str:
    return log[0].task if log and isinstance(log[0], Started) else ""


def _answered(log: list[Event]) -> bool:
    return any(isinstance(event, ModelAnswered) for event in log)


def filled(folder: Path) -> None:
    """A workspace that takes seconds to keep."""
    for number in range(120):
        (folder / f"d{number}").mkdir()
        for each in range(100):
            (folder / f"d{number}" / f"f{each}").write_text(f"{number} {each}")


async def test_f22_a_stop_during_a_download_or_in_line_calls_the_task_off_and_says_so(
    guild: LocalGuild, tmp_path: Path
) -> None:
    async def silent(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while await reader.read(1 << 16):
                pass
        finally:
            writer.close()

    def script(request: CapturedRequest) -> Reply:
        return finishes() if request.answers else uses("shell", command="sleep 300", timeout=600)

    server = await asyncio.start_server(silent, "127.0.0.1", 0)
    nowhere = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/data.csv"
    connected = asyncio.Event()

    async def slow(_: str, most: int) -> bytes:
        connected.set()
        return await download(nowhere, most)

    async with ScriptedEndpoint.start(script) as endpoint, whole(tmp_path, endpoint, guild, max_executions=1) as bot:
        bot.app.workshop.download = slow
        words = f"{guild.bot.mention} sum this up"
        posted = await guild.post(guild.channel().id, words, files=[("data.csv", b"1;2")])
        await asyncio.wait_for(connected.wait(), SECONDS)
        await called_off(bot, posted.id)
        running = await mention(bot, "wait for long")
        await until(bot, running, lambda log: any(isinstance(event, ToolStarted) for event in log))
        waiting = await mention(bot, "wait in line")
        await bot.says(waiting, "Waiting")
        await called_off(bot, waiting)
        await stopped(bot, running)
    server.close()


async def called_off(bot: Whole, thread: int) -> None:
    """React with 🛑; it is told as soon as promised, and nothing was begun and nothing is left."""
    since = time.monotonic()
    await bot.guild.react(thread, "🛑")
    await bot.says(thread, "Stopped before it started; nothing was done.")
    assert time.monotonic() - since <= PROMISED
    await bot.app.threads.idle(str(thread))
    assert await bot.executions(thread) == []
    assert await bot.app.store.pending(str(thread)) == []


async def test_f22_a_stop_during_an_undo_is_answered_at_once_and_the_undo_is_whole(
    guild: LocalGuild, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun, may_go_on = asyncio.Event(), asyncio.Event()
    restore = Snapshots.restore

    async def held(
        self: Snapshots, thread: str, folder: Path, wanted: dict[str, Entry | None], now: Manifest
    ) -> Restored:
        begun.set()
        await may_go_on.wait()
        return await restore(self, thread, folder, wanted, now)

    monkeypatch.setattr(Snapshots, "restore", held)
    write = uses("write", path="new.txt", content="made")
    async with ScriptedEndpoint.start([write, finishes()]) as endpoint, whole(tmp_path, endpoint, guild) as bot:
        thread = await bot.task("write the file new.txt")
        card = await bot.says(thread, "It is done.")
        (undo,) = [str(b["custom_id"]) for b in card.interactive() if str(b["custom_id"]).startswith("tw:undo:")]
        await guild.click(card.id, undo)
        await asyncio.wait_for(begun.wait(), SECONDS)
        await guild.react(thread, "🛑")
        await bot.says(thread, "rather than stop halfway")
        assert (bot.workspace(thread) / "new.txt").exists()
        may_go_on.set()
        await bot.says(thread, "Undone: removed 1 file this task had created: `new.txt`.")
        assert not (bot.workspace(thread) / "new.txt").exists()
        await bot.app.threads.idle(str(thread))
        assert await bot.app.store.pending(str(thread)) == []
