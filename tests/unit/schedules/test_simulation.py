"""Thousands of times over a year of restarts, set clocks and clock changes: each comes once, or is said to have passed.

The real ticker over the real store; only the clock and Discord are the test's. A process may end at any await: before
a time is claimed, after it, before and after its task lies in an inbox.
"""

from __future__ import annotations

import asyncio
import random
from collections import Counter
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

import pytest

from agentic.core.events.execution_events import InboxItem, Person
from agentic.stores.sqlite.store import SQLiteStore
from bot.schedules.book import ScheduleBook
from bot.schedules.schedule import GRACE, Begun, ScheduledTask, firing_id
from bot.schedules.ticker import Later, Ticker
from bot.schedules.time_rules import Timing, next_firing
from bot.schedules.words import read_timing
from tests.stores import fresh_inline_store

PLANS = (
    ("Europe/Berlin", "every day at 2:30"), ("America/New_York", "weekdays at 1:15"),
    ("Australia/Lord_Howe", "every day at 2:10"),
    ("Australia/Lord_Howe", "*/30 1 * * *"), ("America/St_Johns", "every 50 hours"), ("Asia/Kathmandu", "every 70 hours"),
    ("Africa/Casablanca", "0 2,3 * * *"), ("Pacific/Chatham", "30 2 * * *"), ("America/Santiago", "every day at midnight"),
    ("Europe/Dublin", "every 3 days at 1:30"), ("Atlantic/Azores", "0 0 * * 0"), ("America/New_York", "45 1-2 * * *"),
)  # fmt: skip
BEGIN = datetime(2027, 1, 1, tzinfo=UTC)
WANTED, YEAR = 3_000, timedelta(days=366)
ANN = Person(id="7", name="Ann")


@dataclass
class Clock:
    """True time, and what the machine shows: an hour ahead or behind at times."""

    true: datetime = BEGIN
    wrong: timedelta = timedelta(0)
    booted: datetime = BEGIN

    def now(self) -> datetime:
        return self.true + self.wrong

    def monotonic(self) -> float:
        return (self.true - self.booted).total_seconds()

    async def sleep(self, seconds: float) -> None:
        raise AssertionError("nothing waits by this clock")


class Died(BaseException):
    """The process ended here."""


@dataclass
class World:
    """What outlives a process, and the dice."""

    dice: random.Random
    store: SQLiteStore = field(default_factory=fresh_inline_store)
    clock: Clock = field(default_factory=Clock)
    begun: Counter[str] = field(default_factory=Counter[str])
    """How often the task of each time began."""
    passed: Counter[str] = field(default_factory=Counter[str])
    missed: Counter[str] = field(default_factory=Counter[str])
    """By schedule: times that came with a later one, or had passed."""
    said: set[str] = field(default_factory=set[str])
    deaths: int = 0
    jumps: int = 0

    async def pass_time(self, wait: timedelta) -> None:
        """Until the next time, or a little before or after it: what a sleeping ticker would not notice is left out."""
        near = min(await self.dues(), default=self.clock.now()) - self.clock.now()
        off = timedelta(seconds=self.dice.choice((-40, 0, 1, 1, 1, 30, 1_000, 5_000)))
        self.clock.true += max(wait, near + off, timedelta(seconds=1))

    async def dues(self) -> list[datetime]:
        return [row.due for row in await self.store.schedules() if row.due is not None]

    def may_die(self) -> None:
        if self.dice.random() < 0.04:
            self.deaths += 1
            raise Died

    async def carry(self, schedule: ScheduledTask) -> ScheduledTask:
        """What Discord and the inbox would do: a task begins once for its id."""
        claim = schedule.claim
        assert claim is not None
        self.may_die()
        if self.dice.random() < 0.03:
            raise Later("Discord is away", 60.0)
        if claim.id not in self.said:  # an outbox keeps a key once
            self.said.add(claim.id)
            self.missed[schedule.id] += claim.missed
            self.passed[schedule.id] += claim.passed
        self.may_die()
        if not claim.passed:
            item = InboxItem(id=claim.id, thread="t", sort="queue", author=ANN, at=claim.at, text=schedule.text)
            if await self.store.put(item):
                self.begun[claim.id] += 1
        self.may_die()
        return schedule.settled(Begun(thread="t", item=claim.id))


async def live(world: World, moments: int) -> None:
    """One process, until it has looked so often, or dies."""
    ticker = Ticker(world.store, ScheduleBook(world.store), world.clock, world)
    try:
        for _ in range(moments):
            wait = await ticker.look()
            for task in [*ticker._working.values()]:  # pyright: ignore[reportPrivateUsage]
                await asyncio.wait([task])
                if isinstance(error := task.exception(), Died):
                    raise error
            await world.pass_time(wait)
            if world.dice.random() < 0.01:
                world.jumps += 1
                world.clock.wrong = timedelta(hours=world.dice.choice((-1, 0, 0, 1)))
    except Died:
        pass
    finally:
        await ticker.close()


def planned(rule: Timing, zone: str, until: datetime) -> list[datetime]:
    found: list[datetime] = []
    at: datetime | None = BEGIN
    while (at := next_firing(rule, zone, at or BEGIN)) is not None and at <= until:
        found.append(at)
    return found


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
async def test_thousands_of_times_come_once_each_over_restarts_set_clocks_and_clock_changes(
    capsys: pytest.CaptureFixture[str],
) -> None:
    world, restarts = World(random.Random(20261125)), 0
    rules: dict[str, tuple[str, Timing]] = {}
    for number, (zone, words) in enumerate(PLANS):
        rule = read_timing(words, zone, BEGIN)
        rules[f"s{number}"] = (zone, rule)
        await ScheduleBook(world.store).add(
            ScheduledTask(
                id=f"s{number}", guild="g", channel="c", person="7", name="Ann", text="look", title="look", said=words,
                timing=rule, zone=zone, next=next_firing(rule, zone, BEGIN),
            )
        )  # fmt: skip
    while world.clock.true - BEGIN < YEAR:
        await live(world, world.dice.randrange(5, 60))
        restarts += 1
        down = world.dice.choice((0.0, 0.01, 0.2, 1, 5, 30)) if world.dice.random() < 0.2 else 0.001
        world.clock.true += timedelta(hours=down)
        world.clock.booted = world.clock.true - timedelta(seconds=world.dice.randrange(1, 1000))
    world.clock.wrong = timedelta(0)
    calm = World(random.Random(1), world.store, world.clock, world.begun, world.passed, world.missed, world.said)
    calm.may_die = lambda: None  # type: ignore[method-assign]
    for _ in range(5):
        await live(calm, 3)
    expected = missed = 0
    for row in await world.store.schedules():
        schedule = ScheduledTask.model_validate_json(row.body)
        zone, rule = rules[schedule.id]
        assert schedule.claim is None
        assert schedule.last is not None
        times = planned(rule, zone, schedule.last)
        ids = {firing_id(schedule.id, at) for at in times}
        begun = {id for id in world.begun if id.startswith(f"{schedule.id}.")}
        assert begun <= ids
        left_out = world.missed[schedule.id] + world.passed[schedule.id]
        assert len(begun) + left_out == len(times), (schedule.said, len(begun), left_out, len(times))
        expected += len(times)
        missed += left_out
    begun = sum(world.begun.values())
    assert set(world.begun.values()) == {1}
    with capsys.disabled():
        print(
            f"\n{begun:,} of {expected:,} times began a task once each; {missed:,} passed while nobody looked, and that was "
            f"said; {restarts:,} restarts, {world.deaths:,} of them in the middle; {world.jumps:,} set clocks; "
            f"{(world.clock.true - BEGIN).days:,} days; GRACE {GRACE}"
        )
    assert begun >= WANTED
    assert world.jumps > 20
    assert world.deaths > 100
