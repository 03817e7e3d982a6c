"""Rows 13, 14, 15 and 18 of the fault catalogue: what happens to the place where something runs, over real sockets."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from agentic.core.events.execution_events import InputReceived
from agentic.ports.stores import SessionRow
from bot.catch_up import catch_up
from bot.catch_up.access_monitor import Tending
from bot.local_discord.local_discord import LocalGuild
from bot.local_discord.model.permission_flags import Permission
from tests.faults.staging import guild
from tests.faults.whole import Mind, Whole, here, running, whole
from tests.waiting import eventually

__all__ = ["guild", "here"]


async def test_f13_an_archived_thread_is_unarchived_and_answered(here: Whole) -> None:
    thread = await running(here)
    await here.guild.archive(thread)
    here.mind.go.set()
    await here.says(thread, "answered <hold it>")
    assert not here.guild.state.channel(thread).archived
    assert await here.ended(thread) == ["done"]


async def test_f13_a_locked_thread_is_paused_the_parent_channel_is_told_and_it_goes_on_when_it_is_unlocked(
    here: Whole,
) -> None:
    thread = await running(here, "work and hold")
    await here.guild.archive(thread, locked=True)
    await here.state(thread, "paused")
    told = await here.says(here.general, "was locked, so I paused")
    assert f"<#{thread}>" in told.content
    here.mind.go.set()
    await here.logged(thread, "model_answered")
    assert not (here.app.settings.home / "workspaces" / str(thread) / "result.txt").exists()
    assert len(here.mind.asked) == 1
    await here.guild.react(thread, "▶")
    await held(here, thread, "pause", "resume", "pause")
    await here.state(thread, "paused")
    assert len(here.mind.asked) == 1, "who lets it go on where it cannot be heard gets the pause again"
    await here.guild.change_thread(thread, archived=False, locked=False)
    await here.says(thread, "answered <work and hold>")
    assert await here.ended(thread) == ["done"]
    assert sum("was locked" in m.content for m in here.said(here.general)) == 1, "it is told once"


async def held(here: Whole, thread: int, *sorts: str) -> None:
    """Wait until these pauses and resumes, and no others, stand in the log."""
    [row] = await here.app.store.executions(str(thread))

    async def are_there() -> bool:
        events = [envelope.event async for envelope in here.app.store.read(row.execution)]
        return [e.sort for e in events if isinstance(e, InputReceived)] == list(sorts)

    await eventually(are_there, f"{sorts} in the log")


@pytest.mark.parametrize("broken_off", [False, True])
async def test_f13_a_thread_that_was_locked_while_nobody_listened_is_paused_at_the_start(
    guild: LocalGuild, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, broken_off: bool
) -> None:
    """Also where Discord's connection begins anew between the pause and its notice, which breaks the look at it off."""
    looks, parent = asyncio.Event(), Tending._parent  # pyright: ignore[reportPrivateUsage]

    async def first_waits(tending: Tending, row: SessionRow) -> str:
        if broken_off and not looks.is_set():
            looks.set()
            await asyncio.Event().wait()
        return await parent(tending, row)

    monkeypatch.setattr(Tending, "_parent", first_waits)
    if broken_off:
        monkeypatch.setattr(catch_up, "FIRST_SECONDS", 2.0)  # for so long what is broken off is waited for
    mind = Mind()
    async with whole(guild, tmp_path, mind, monkeypatch) as here:
        thread = await running(here)
        await here.app.threads.close()
    await guild.archive(thread, locked=True)
    mind = Mind()
    mind.go.set()
    async with whole(guild, tmp_path, mind, monkeypatch) as here:
        await here.state(thread, "paused")
        if broken_off:
            await looks.wait()
            here.app.bot.catching.connected()
            here.app.bot.catching.ready()
        await here.says(here.general, "was locked, so I paused")
        await here.app.threads.close()
    async with whole(guild, tmp_path, mind, monkeypatch) as here:
        await here.state(thread, "paused")
        await here.app.bot.catching.caught_up.wait()
        assert sum("was locked" in m.content for m in here.said(here.general)) == 1, "however often it starts"
        assert mind.asked == []
        await guild.change_thread(thread, archived=False, locked=False)
        await here.says(thread, "answered <hold it>")


async def forgotten(here: Whole, thread: int) -> None:
    """Wait until nothing of a thread is kept: its execution has ended, for nothing that is open is deleted."""
    store, state = here.app.store, here.app.settings.home

    async def nothing() -> bool:
        left = await store.session(str(thread)) or await store.executions(str(thread)) or await store.burials()
        return not left

    await eventually(nothing)
    assert await store.undelivered(str(thread)) == []
    assert await store.pending(str(thread)) == []
    assert not (state / "workspaces" / str(thread)).exists()
    await here.until(lambda: here.app.threads.state(str(thread)) == "unknown", "it is no session")


async def test_f14_a_deleted_channel_cancels_what_runs_in_its_threads_and_frees_them(here: Whole) -> None:
    channel = here.guild.add_channel("short-lived")
    posted = await here.guild.post(channel.id, f"{here.guild.bot.mention} hold it")
    await here.until(lambda: here.mind.asked, "the model is asked")
    await here.guild.delete_channel(channel.id)
    await forgotten(here, posted.id)
    assert await here.app.store.acquire(str(posted.id), "somebody else") is not None
    assert len(here.mind.asked) == 1


async def test_f14_nothing_is_shown_in_a_deleted_thread_any_more_and_nothing_of_it_stays(here: Whole) -> None:
    thread = await running(here)
    bot = here.app.bot
    [execution] = [row.execution for row in await here.app.store.executions(str(thread))]
    await here.guild.delete_channel(thread)
    await forgotten(here, thread)
    await here.until(lambda: bot.feed.progress(execution) is None, "its progress is let go")
    await here.until(lambda: not any(task.get_name() == f"progress of {execution}" for task in asyncio.all_tasks()))


async def test_f14_a_thread_that_was_deleted_while_nobody_listened_is_cancelled_at_the_start(
    guild: LocalGuild, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with whole(guild, tmp_path, Mind(), monkeypatch) as here:
        thread = await running(here)
        await here.app.threads.close()
    await guild.delete_channel(thread)
    mind = Mind()
    mind.go.set()
    async with whole(guild, tmp_path, mind, monkeypatch) as here:
        await forgotten(here, thread)
        assert mind.asked == []


async def test_f14_copies_of_the_files_of_a_deleted_thread_go_also_where_nobody_listened(
    guild: LocalGuild, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    mind = Mind()
    async with whole(guild, tmp_path, mind, monkeypatch) as here:
        earlier, stays, now = [await here.mention("work") for _ in range(3)]
        for thread in (earlier, stays, now):
            await here.says(thread, "answered <work>")
            assert await here.ended(thread) == ["done"]
        copies = tmp_path / "checkpoints"
        assert {path.name for path in copies.iterdir()} >= {str(earlier), str(stays), str(now)}
        await guild.delete_channel(now)
        await forgotten(here, now)
        assert not (copies / str(now)).exists(), "the copies are deleted with the thread"
    await guild.delete_channel(earlier)
    async with whole(guild, tmp_path, mind, monkeypatch) as here:
        await forgotten(here, earlier)
        assert not (copies / str(earlier)).exists(), "and at the next start"
        assert len(await here.app.store.executions(str(stays))) == 1
        assert (copies / str(stays)).is_dir()


async def test_f15_a_kicked_bot_pauses_what_runs_and_goes_on_when_it_is_readmitted(here: Whole) -> None:
    thread = await running(here)
    here.guild.remove_bot()
    await here.state(thread, "paused")
    here.mind.go.set()
    await here.guild.post(thread, "be quick")
    here.guild.readmit_bot()
    await here.says(thread, "answered <hold it>")
    assert await here.ended(thread) == ["done"]
    assert sum("answered <hold it>" in m.content for m in here.said(thread)) == 1
    assert any("be quick" in asked for asked in here.mind.asked), "what was said meanwhile is read"


@pytest.mark.parametrize("right", [Permission.SEND_MESSAGES_IN_THREADS, Permission.VIEW_CHANNEL], ids=["write", "see"])
async def test_f15_rights_lost_in_the_middle_pause_it_and_it_goes_on_when_they_return(
    here: Whole, right: Permission
) -> None:
    thread = await running(here)
    here.guild.deny(here.general, right)
    await here.state(thread, "paused")
    here.mind.go.set()
    await here.logged(thread, "model_answered")
    here.guild.deny(here.general)
    await here.says(thread, "answered <hold it>")
    assert await here.ended(thread) == ["done"]


async def test_f15_what_a_person_paused_is_not_resumed_when_rights_return(here: Whole) -> None:
    thread = await running(here)
    await here.guild.react(thread, "⏸")
    await here.says(thread, "**Pausing** when the current step ends")
    here.guild.deny(here.general, Permission.SEND_MESSAGES_IN_THREADS)
    here.guild.deny(here.general)
    await here.guild.post(thread, "and mind the tabs")
    await here.says(thread, "use it when you resume")
    here.mind.go.set()
    assert here.app.threads.state(str(thread)) == "paused"
    await here.guild.react(thread, "▶")
    await here.says(thread, "answered <hold it>")


async def test_f18_a_task_whose_message_is_deleted_before_anything_was_done_is_cancelled(here: Whole) -> None:
    thread = await running(here)
    await here.guild.delete(thread)
    assert await here.ended(thread) == ["cancelled"]


async def test_f18_the_deletion_of_a_task_that_has_begun_is_noted_and_it_goes_on(here: Whole) -> None:
    thread = await here.mention("ask me first")
    await here.says(thread, "Which one?")
    await here.guild.delete(thread)
    await here.says(thread, "was deleted")
    await here.guild.post(thread, "this")
    await here.says(thread, "answered <ask me first>")
    assert "deleted the message with the task" in here.mind.asked[-1]


async def test_f18_a_queued_task_whose_message_is_deleted_never_begins(here: Whole) -> None:
    thread = await running(here)
    queued = await here.guild.post(thread, ". then this")
    await here.says(thread, "Queued")
    await here.guild.delete(queued.id)
    await here.says(thread, "so I dropped it")
    here.mind.go.set()
    assert await here.ended(thread) == ["done"]
