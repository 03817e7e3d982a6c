"""A guild that sends 500 messages, and another one's first turn meanwhile: a gateway and two workers over a local AWS.

What waits in the queue comes in SQS's order.  MiniStack hands messages over as they came, whatever their group (the first
figure says so), so the order of fair queues is made here: a queue of MiniStack's for each group, of which the one is
asked first that has fewest messages in flight, as SQS says of its fair queues.  All else is the product's own: its doorbell
with heartbeats, its room, slots, leases and store.  All three share a process, and so a processor.
"""

from __future__ import annotations

import asyncio
import itertools
import os
import random
import re
from collections import Counter
from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack
from dataclasses import dataclass, field, replace
from statistics import median
from time import monotonic
from typing import Any
from unittest.mock import patch

from agentic.aws.aws_place import AwsPlace
from agentic.core.events.execution_events import InboxItem, Person
from agentic.doorbells import queue_doorbell as queues
from agentic.doorbells.doorbell import Ring
from agentic.doorbells.queue_doorbell import QueueDoorbell
from agentic.models.scripted.model import Asked, answer
from agentic.ports.runtime import Answer
from agentic.runtime.clock import SystemClock
from agentic.stores.aws.store import AwsStore
from bench.figures import Figure, size
from bot.threads.registry import Threads
from bot.threads.take_up import TakeUp
from tests.unit.threads.house import house

MESSAGES = size("MESSAGES", 500, 12)
SAMPLES = size("SAMPLES", 9, 2)
WORKERS = 2
ROOM = size("ROOM", 16, 2)
"""Tasks that a worker has at once."""
LATENCY = size("LATENCY", 10.0, 0.3)
"""Seconds of the model, twice in a task; half as much to half as much again in the noisy guild, or all would end at once."""
EVERY = size("EVERY", 1.5, 0.1)
"""Seconds between two messages of the quiet guild."""
MOST_TIMES = 2.0
LOOK_SECONDS = 0.05
HEAR_SECONDS = 5.0
SECONDS = 300.0
AT_ONCE = 20
GROUPS = ("noisy", "quiet")
ANN = Person(id="7", name="Ann")
Samples = list[tuple[float, float, float]]
_NUMBER = re.compile(r"thread number (\d+)\b")
_numbers = itertools.count(1)


@dataclass(slots=True)
class FairLine:
    """What all workers know of one SQS: what is in flight of each group, and when each thread's ring was handed over."""

    in_flight: Counter[str] = field(default_factory=Counter[str])
    rung: dict[str, float] = field(default_factory=dict[str, float])
    handed_over: dict[str, float] = field(default_factory=dict[str, float])


class FairDoorbell:
    """A doorbell in the order of fair queues, over a queue for each group."""

    def __init__(self, groups: Mapping[str, QueueDoorbell], line: FairLine) -> None:
        self._groups, self._line = groups, line
        self._group_of: dict[str, str] = {}

    @property
    def keeps_line(self) -> bool:
        """The queue does."""
        return True

    async def ring(self, thread: str, guild: str) -> None:
        """Put it into its group's queue."""
        await self._groups[guild].ring(thread, guild)
        self._line.rung[thread] = monotonic()

    async def heard(self, most: int) -> list[Ring]:
        """Messages of the group that has fewest in flight."""
        until = monotonic() + HEAR_SECONDS
        while monotonic() < until:
            for group in sorted(self._groups, key=self._line.in_flight.__getitem__):
                if rings := await self._groups[group].heard(most):
                    self._line.in_flight[group] += len(rings)
                    self._group_of |= {ring.receipt: group for ring in rings}
                    self._line.handed_over |= {ring.thread: monotonic() for ring in rings}
                    return rings
            await asyncio.sleep(LOOK_SECONDS)
        return []

    async def acknowledge(self, ring: Ring) -> None:
        """Take it out of its queue, and out of what is in flight."""
        if group := self._group_of.pop(ring.receipt, ""):
            self._line.in_flight[group] -= 1
            await self._groups[group].acknowledge(ring)

    async def close(self) -> None:
        """Each group's queue closes by itself."""


@dataclass(slots=True)
class World:
    """Gateway, workers, and when each thread's model was asked first."""

    gateway: Threads
    line: FairLine
    asked: dict[str, float] = field(default_factory=dict[str, float])
    answered: dict[str, float] = field(default_factory=dict[str, float])
    quiet: set[str] = field(default_factory=set[str])

    async def say(self, guild: str) -> str:
        """A task in a thread of its own."""
        thread = str(10**18 + next(_numbers))
        if guild == "quiet":
            self.quiet.add(thread)
        item = InboxItem(
            id=thread, thread=thread, sort="task", author=ANN, at=SystemClock().now(), text=f"thread number {thread}"
        )
        await self.gateway.deliver(item, guild=guild)
        return thread

    async def first_turn(self) -> tuple[float, float, float]:
        """Of a task of the quiet guild: seconds until its model is asked, of these in the queue, until it answered."""
        began = monotonic()
        thread = await self.say("quiet")
        async with asyncio.timeout(SECONDS):
            while thread not in self.answered:
                await asyncio.sleep(LOOK_SECONDS)
        queued = self.line.handed_over[thread] - self.line.rung[thread]
        return self.asked[thread] - began, queued, self.answered[thread] - began

    async def first_turns(self) -> Samples:
        """One after the other, without waiting for what the one before comes to."""

        async def later(number: int) -> tuple[float, float, float]:
            await asyncio.sleep(number * EVERY)
            return await self.first_turn()

        return await asyncio.gather(*(later(number) for number in range(SAMPLES)))


async def figures() -> AsyncIterator[Figure]:
    """What MiniStack makes of groups; then the quiet guild's first turn, alone and beside the noisy one."""
    from deploy.aws_local.emulator import mini_stack
    from deploy.aws_local.resources import CREDENTIALS, client, make_resources

    os.environ.update(CREDENTIALS)
    with mini_stack() as endpoint:
        sqs = client("sqs", endpoint)
        place, behind = _place_in_line(sqs)
        note = f"of {behind}, 5 of the noisy group being in flight; fair queues of SQS hand it over first"
        yield Figure("ministack_quiet_group_is_handed_over_as", place, "message", note=note)
        urls = {group: str(sqs.create_queue(QueueName=f"rings-{group}")["QueueUrl"]) for group in GROUPS}
        with patch.object(queues, "WAIT_SECONDS", 0):
            quiet, noisy = await _measured(make_resources(endpoint, "noisy"), urls)
    (alone, _, alone_turn), (beside, queued, beside_turn) = (
        tuple(median(each) for each in zip(*samples, strict=True)) for samples in (quiet, noisy)
    )
    longest = max(each[0] for each in noisy)
    note = f"{MESSAGES} messages, {WORKERS} workers with room for {ROOM}, median of {SAMPLES}"
    yield Figure(
        "noisy_guild_first_turn_over_quiet",
        beside_turn / alone_turn,
        "x",
        "<=",
        MOST_TIMES,
        f"{note}; until its answer",
    )
    yield Figure("noisy_guild_until_model_asked_over_quiet", beside / alone, "x", note=note)
    yield Figure("noisy_guild_until_model_asked_alone", alone, "s")
    yield Figure("noisy_guild_until_model_asked", beside, "s", note=f"the longest: {longest:.2f}")
    room = 2 * LATENCY / (WORKERS * ROOM)
    yield Figure(
        "noisy_guild_in_the_queue", queued, "s", note=f"until a worker has room: a task ends each {room:.2f} s"
    )
    own = (beside - queued) / alone
    yield Figure("noisy_guild_on_our_side_over_quiet", own, "x", "<=", MOST_TIMES, "all but the wait for room")


def _place_in_line(sqs: Any) -> tuple[int, int]:
    """As which message that of a quiet group comes, which was sent last, and of how many."""
    url = sqs.create_queue(QueueName="order")["QueueUrl"]
    for number in range(20):
        sqs.send_message(QueueUrl=url, MessageBody=f"noisy {number}", MessageGroupId="noisy")
    in_flight = len(sqs.receive_message(QueueUrl=url, MaxNumberOfMessages=5, VisibilityTimeout=300)["Messages"])
    sqs.send_message(QueueUrl=url, MessageBody="quiet", MessageGroupId="quiet")
    bodies: list[str] = []
    while found := sqs.receive_message(QueueUrl=url, VisibilityTimeout=300).get("Messages", []):
        bodies += [message["Body"] for message in found]
    return bodies.index("quiet") + 1, 21 - in_flight


async def _measured(place: AwsPlace, urls: Mapping[str, str]) -> tuple[Samples, Samples]:
    async with AsyncExitStack() as stack:
        line, clock = FairLine(), SystemClock()

        def bell() -> FairDoorbell:
            groups = {group: QueueDoorbell(replace(place, queue=url)) for group, url in urls.items()}
            for each in groups.values():
                stack.push_async_callback(each.close)
            return FairDoorbell(groups, line)

        def opened() -> AwsStore:
            store = AwsStore.open(place)
            stack.push_async_callback(store.close)
            return store

        async def script(asked: Asked) -> Answer:
            text = " ".join((*(each.text for each in asked.prompt.messages), asked.prompt.tail))
            if (found := _NUMBER.search(text)) is None:
                return answer("It went well.")
            world.asked.setdefault(found[1], monotonic())
            await asyncio.sleep(LATENCY if found[1] in world.quiet else LATENCY * random.uniform(0.5, 1.5))
            if found[1] in world.answered:
                return answer("", ("finish", {"answer": "done"}))
            world.answered[found[1]] = monotonic()
            return answer("", ("work", {}))

        gateway = await stack.enter_async_context(
            house([], store=opened(), owner="gateway", works=False, doorbell=bell())
        )
        world = World(gateway.threads, line)
        for number in range(WORKERS):
            store, hears = opened(), bell()
            worker = await stack.enter_async_context(
                house(script, store=store, owner=f"worker {number}", doorbell=hears, limit=ROOM)
            )
            take_up = TakeUp(worker.threads, store, hears, clock, ROOM, lambda _: None)
            working = asyncio.create_task(take_up.run(), name=f"worker {number}")
            stack.push_async_callback(_ended, working)
        await world.first_turn()  # the first requests make the clients
        quiet = await world.first_turns()
        for _ in range(0, MESSAGES, AT_ONCE):
            await asyncio.gather(*(world.say("noisy") for _ in range(min(AT_ONCE, MESSAGES))))
        async with asyncio.timeout(SECONDS):
            while line.in_flight["noisy"] < WORKERS * ROOM * 3 / 4:
                await asyncio.sleep(LOOK_SECONDS)
        return quiet, await world.first_turns()


async def _ended(working: asyncio.Task[None]) -> None:
    working.cancel()
    await asyncio.gather(working, return_exceptions=True)
