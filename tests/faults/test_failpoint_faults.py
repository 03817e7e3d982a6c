"""Rows 11, 74 and 76 of the fault catalogue: real processes that die at named points, and what comes of it.

The whole matrix is part of `make chaos`; here it is an eighth of it, which by the seed.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncGenerator
from pathlib import Path

import pytest
import pytest_asyncio

from agentic.core.events.execution_events import Envelope, ToolFinished, ToolStarted
from agentic.stores.sqlite.store import SQLiteStore
from bot.local_discord.faults.rules import Delayed, Rule
from bot.outbound.live.task_signs import DONE
from tests.chaos.house import House, house, read_through
from tests.chaos.matrix import all_points, matrix
from tests.chaos.nursery import Nursery
from tests.chaos.outside import judged
from tests.waiting import BOUND

pytestmark = [
    pytest.mark.asyncio(loop_scope="module"),
]

SEED = int(os.environ.get("SEED", "1"))
PARTS = 8


@pytest_asyncio.fixture(loop_scope="module", scope="module")
async def nursery() -> AsyncGenerator[Nursery]:
    async with Nursery.open() as nursery:
        yield nursery


async def dies_and_goes_on(place: House, kind: str, failpoint: str) -> int:
    """A task during which the process dies at a point, and which the next process ends; its thread."""
    first = await place.live()
    await place.guild.wait_for(lambda guild: guild.online, timeout=60.0)
    await place.says(await place.give("talk", "first"), "answer to first.")
    await place.rest()  # it is also noted that this was said, so that the next one dies at its own first post
    await first.end()
    await place.guild.wait_for(lambda guild: not guild.online, timeout=60.0)
    thread = await place.give(kind, "job")
    dying = await place.live(failpoint)
    async with asyncio.timeout(BOUND):
        await dying.ended.wait()
    assert dying.was_killed
    assert dying.killed_at == failpoint.partition(":")[0]
    await place.live()
    await place.says(thread, "answer to job.")
    await place.rest()
    assert await place.lives[-1].end() == 0
    return thread


async def log_of(place: House, thread: int) -> list[Envelope]:
    store = SQLiteStore.open(place.database)
    try:
        (row,) = await store.executions(str(thread))
        return [envelope async for envelope in store.read(row.execution)]
    finally:
        await store.close()


async def test_f76_the_invariants_hold_after_a_kill_at_every_failpoint(tmp_path: Path, nursery: Nursery) -> None:
    orders = all_points()[SEED % PARTS :: PARTS]
    counts = await matrix(orders, tmp_path, nursery, SEED)
    assert counts.problems == []
    assert counts.kills == len(orders)
    assert counts.violations == 0


@pytest.mark.parametrize(("moment", "begun"), [("before", 2), ("after", 1)])
async def test_f74_a_command_runs_once_and_what_it_came_to_is_known_where_its_owner_dies_around_it(
    tmp_path: Path, nursery: Nursery, moment: str, begun: int
) -> None:
    """What had not begun begins; what had ended has the result that its sandbox wrote down."""
    async with house(tmp_path / "home", nursery) as place:
        thread = await dies_and_goes_on(place, "work", f"tool.effect.{moment}")
        assert place.lines(thread) == ["job.1", "job.2"]
        assert not any("outcome is unknown" in message.content for message in place.said(thread))
        log = await log_of(place, thread)
        intents = [e.event.call for e in log if isinstance(e.event, ToolStarted)]
        assert intents.count(intents[0]) == begun
        results = [e.event for e in log if isinstance(e.event, ToolFinished)]
        assert [result.outcome for result in results] == ["ok"] * 5
        assert results[0].exit_code == 0
        assert [change.path for change in results[0].changes] == ["calls.txt"]
        assert (await judged(place)).problems == []


async def test_f76_a_message_that_was_kept_and_not_acknowledged_yet_is_acknowledged_by_the_next_process(
    tmp_path: Path, nursery: Nursery
) -> None:
    async with house(tmp_path / "home", nursery) as place:
        await place.live()
        await place.guild.wait_for(lambda guild: guild.online, timeout=60.0)
        await place.says(await place.give("talk", "first"), "answer to first.")
        await place.rest()
        place.guild.misbehave(Rule("PUT */reactions/*", Delayed(600.0), times=None))
        late = await place.give("talk", "late")
        await place.says(late, "answer to late.")
        aside = await place.guild.post(place.guild.add_channel("aside").id, "not for the bot")
        await place.until(lambda: read_through(place.database, aside.channel_id) >= aside.id)
        assert read_through(place.database, place.general) < late, "what is read is written for all channels at once"
        await place.lives[-1].kill()
        await place.guild.wait_for(lambda guild: not guild.online, timeout=60.0)
        place.guild.misbehaviour.clear()
        await place.live()
        await place.guild.wait_for(
            lambda guild: guild.bot_user_id in guild.state.find_message(late).reactors(DONE), timeout=60.0
        )
        await place.rest()
        assert await place.lives[-1].end() == 0
        assert (await judged(place)).problems == []


@pytest.mark.parametrize(("kind", "number"), [("talk", 1), ("work", 2)])
async def test_f11_what_was_posted_by_a_process_that_died_before_it_knew_stands_once(
    tmp_path: Path, nursery: Nursery, kind: str, number: int
) -> None:
    """The first post of a task is its progress message, the second its answer, where it takes longer than that message."""
    async with house(tmp_path / "home", nursery) as place:
        await dies_and_goes_on(place, kind, f"discord.post.after:{number}")
        counts = await judged(place)
        assert counts.problems == []
        assert counts.doubled == counts.lost == 0


@pytest.mark.parametrize(
    ("sabotage", "kind", "failpoint"),
    [
        ("nonces", "talk", "discord.post.after"),
        ("intents", "work", "tool.effect.after"),
        ("diaries", "work", "tool.effect.after"),
    ],
)
async def test_f76_without_a_safeguard_the_same_kill_is_seen_as_a_violation(
    tmp_path: Path, nursery: Nursery, sabotage: str, kind: str, failpoint: str
) -> None:
    async with house(tmp_path / "home", nursery.careless(sabotage)) as place:
        await dies_and_goes_on(place, kind, failpoint)
        counts = await judged(place)
        assert (counts.doubled if sabotage == "nonces" else counts.unkeyed_twice) == 1
