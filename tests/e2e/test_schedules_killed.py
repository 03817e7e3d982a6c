"""Scheduled tasks and wake-ups whose process is killed wherever it can be: one message, one thread, one task."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from agentic.core.events.execution_events import WakeRequested
from agentic.models.scripted.captured_request import CapturedRequest
from agentic.models.scripted.endpoint import ScriptedEndpoint
from agentic.models.scripted.replies import Reply
from bot.schedules.book import ScheduleBook
from bot.schedules.schedule import ScheduledTask
from bot.schedules.time_rules import Days, next_firing
from tests.chaos.house import House, house
from tests.chaos.nursery import Nursery
from tests.e2e.living import living
from tests.stores import kept_store

DEATHS = (
    "schedule.put.before", "schedule.put.after", "schedule.claimed", "outbox.put.after", "discord.post.before",
    "discord.post.after", "outbox.delivered.before", "outbox.delivered.after", "schedule.announced", "session.save.before",
    "inbox.put.before", "inbox.put.after", "schedule.delivered", "schedule.put.before",
)  # fmt: skip
"""In the order in which a scheduled task passes them; each life ends at the next one."""


async def plan(place: House, thread: int = 0) -> ScheduledTask:
    """A schedule that has just become due, of the person at the page."""
    now = datetime.now(UTC)
    due = now - timedelta(minutes=5)
    rule = Days(days=1, at=due.time().replace(microsecond=0), since=due.date() - timedelta(days=3))
    due = next_firing(rule, "UTC", now - timedelta(days=1))
    made = ScheduledTask(
        id="s0000000001", guild=str(place.guild.guild_id), channel=str(place.general), thread=str(thread or ""),
        person=str(place.guild.you.id), name="you", text="job work one", title="job work one", said="every day",
        timing=rule, next=due,
    )  # fmt: skip
    async with kept_store(place.database) as store:
        assert await ScheduleBook(store).add(made)
    return made


async def kept(place: House, thread: int) -> tuple[int, list[ScheduledTask]]:
    async with kept_store(place.database) as store:
        return len(await store.executions(str(thread))), await ScheduleBook(store).schedules()


async def test_a_scheduled_task_begins_once_wherever_its_process_is_killed(tmp_path: Path) -> None:
    async with Nursery.open() as nursery, house(tmp_path / "home", nursery) as place:
        first = await place.live()
        await place.guild.wait_for(lambda guild: guild.online, timeout=60.0)
        assert await first.end() == 0
        made = await plan(place)
        for point in DEATHS:
            dying = await place.live(point)
            await place.until(dying.ended.is_set)
            assert dying.killed_at == point
        await place.live()
        opening = await place.says(place.general, "job work one")
        await place.says(opening.id, "answer to one.")
        await place.rest()
        assert await place.lives[-1].end() == 0
        assert sum("job work one" in m.content for m in place.said(place.general)) == 1
        assert len(place.guild.threads()) == 1
        assert place.lines(opening.id) == ["one.1", "one.2"]
        executions, (after,) = await kept(place, opening.id)
        assert executions == 1
        assert after.claim is None
        assert (after.last, after.next) == (made.next, next_firing(made.timing, "UTC", datetime.now(UTC)))


@pytest.mark.parametrize("point", ["schedule.put.before", "schedule.put.after", "tool.effect.after"])
async def test_a_wake_up_is_kept_once_though_the_process_is_killed_while_it_is_asked_for(
    tmp_path: Path, point: str
) -> None:
    def script(request: CapturedRequest) -> Reply:
        if request.answers:
            return Reply(calls=(("finish", {"answer": "I look again."}),))
        return Reply(calls=(("wake_me", {"minutes": 90, "why": "see whether it has ended"}),))

    async with asyncio.timeout(120), ScriptedEndpoint.start(script) as endpoint:
        async with living(tmp_path, endpoint, THREADWRIGHT_FAILPOINT=point) as bot:
            thread = await bot.person.mention("import the numbers")
            assert await bot.running.ended() == -9
        async with living(tmp_path, endpoint) as bot:
            said = await bot.person.sees(thread, r"I look again\.")
            assert "⏰ Wakes <t:" in said.text
            assert await bot.running.end() == 0
    async with kept_store(tmp_path / "threadwright.sqlite") as store:
        (wake,) = await ScheduleBook(store).schedules()
        assert (wake.kind, wake.title, wake.claim) == ("wake", "see whether it has ended", None)
        (row,) = await store.executions(thread)
        asked = [one.event async for one in store.read(row.execution) if isinstance(one.event, WakeRequested)]
        assert [(one.wake, one.at) for one in asked] == [(wake.id, wake.next)]
