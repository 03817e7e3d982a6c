"""Faults between machines and AWS: who owns a thread, requests that are refused or broken, objects that are gone."""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import pytest

from agentic.aws.aws_place import AwsPlace
from agentic.aws.bucket import WorkspaceObjects
from agentic.aws.clients import Clients
from agentic.core.events.execution_events import Noted, OutboxItem
from agentic.ports.errors import LeaseLost, SequenceConflict
from agentic.ports.runtime import SessionRow
from agentic.sandbox.pool import Sandboxes
from agentic.stores.aws.aws_inspection import inspect
from agentic.stores.aws.store import AwsStore
from agentic.workspace.snapshots.shared_copies import SharedCopies
from agentic.workspace.snapshots.snapshot_store import Snapshots
from bot.workspace.folders import Workspaces
from bot.workspace.sandboxes import EARLIER_FILES, Workshop
from tests.aws.wire_faults import WireFaults
from tests.integration.stores.samples import begin, envelopes, log_of, notes, take

TRANSACTION = "dynamodb.TransactWriteItems"
ANSWERED_LATE = 60.0


@pytest.fixture
async def wire(aws_place: AwsPlace) -> AsyncIterator[WireFaults]:
    """The way to AWS, which can be broken."""
    async with WireFaults(aws_place.endpoint) as wire:
        yield wire


class Machine:
    """A worker's way to the store, by a clock of its own."""

    def __init__(self, place: AwsPlace, ahead: float = 0.0) -> None:
        self.ahead = ahead
        self.store = AwsStore.open(place, lambda: time.time() + self.ahead)


@pytest.fixture
async def machines(aws_place: AwsPlace, wire: WireFaults) -> AsyncIterator[tuple[Machine, Machine]]:
    """Two of them; the first one's way can be broken."""
    both = Machine(replace(aws_place, endpoint=wire.address)), Machine(aws_place)
    yield both
    for each in both:
        await each.store.close()


async def test_f79_of_two_machines_that_race_for_a_thread_one_owns_it(machines: tuple[Machine, Machine]) -> None:
    lease = await begin(machines[0].store)
    await machines[0].store.release(lease)

    async def race(machine: Machine, name: str) -> None:
        for attempt in range(25):
            while (lease := await machine.store.acquire("thread", f"{name}-{attempt}")) is None:
                await asyncio.sleep(0)
            head = len(await log_of(machine.store, "x1"))
            await machine.store.append("x1", head, lease, envelopes("x1", lease, head, notes(1)))
            await machine.store.release(lease)

    await asyncio.gather(race(machines[0], "one"), race(machines[1], "other"))
    log = await log_of(machines[0].store, "x1")
    assert [each.seq for each in log] == list(range(1, 52))
    fences = [each.fence for each in log]
    assert fences == sorted(set(fences)), "a fence was used by two owners"


async def test_f80_an_owner_that_slept_beyond_its_lease_writes_nothing_more(
    machines: tuple[Machine, Machine], wire: WireFaults
) -> None:
    sleeper, successor = machines
    stale = await begin(sleeper.store)
    assert await successor.store.acquire("thread", "successor") is None
    successor.ahead = ANSWERED_LATE
    lease = await take(successor.store, owner="successor")
    await successor.store.append("x1", 1, lease, envelopes("x1", lease, 1, notes(1)))
    for head in (1, 2):
        with pytest.raises((LeaseLost, SequenceConflict)):
            await sleeper.store.append("x1", head, stale, envelopes("x1", stale, head, notes(1)))
    assert not await sleeper.store.renew(stale)
    assert [each.fence for each in await log_of(sleeper.store, "x1")] == [stale.fence, lease.fence]


async def test_f81_a_clock_an_hour_off_costs_a_lease_and_never_two_owners(
    machines: tuple[Machine, Machine], aws_place: AwsPlace
) -> None:
    """It is told at the start, before it does even that."""
    right, wrong = machines
    for hour in (3_600.0, -3_600.0):
        wrong.ahead = hour
        (told,) = [each for each in await inspect(aws_place, lambda: time.time() + wrong.ahead) if each.part == "clock"]
        assert told.verdict == "wrong"
        execution, thread = f"x{hour}", f"t{hour}"
        lease = await take(right.store, thread)
        await begin(right.store, execution, lease)
        theirs = await wrong.store.acquire(thread, "other")
        owner, other = (right, wrong) if theirs is None else (wrong, right)
        held, gone = (lease, replace(lease, fence=lease.fence - 1)) if theirs is None else (theirs, lease)
        await owner.store.append(execution, 1, held, envelopes(execution, held, 1, notes(1)))
        with pytest.raises((LeaseLost, SequenceConflict)):
            await other.store.append(execution, 2, gone, envelopes(execution, gone, 2, notes(1)))
        assert len(await log_of(right.store, execution)) == 2


async def test_f87_what_dynamodb_refuses_is_tried_again_or_an_answer_and_large_payloads_go_to_the_bucket(
    machines: tuple[Machine, Machine], wire: WireFaults
) -> None:
    behind, direct = machines
    lease = await begin(behind.store)
    wire.break_next(TRANSACTION, "throttled", "conflict", "broken", "lost")
    large = Noted(text=os.urandom(700_000).hex())
    await behind.store.append("x1", 1, lease, envelopes("x1", lease, 1, [large]))
    assert wire.seen["s3.PutObject"] == 1
    assert [each.event for each in await log_of(direct.store, "x1", 1)] == [large], "read at once by another machine"
    sent = wire.seen[TRANSACTION]
    with pytest.raises(SequenceConflict):
        await behind.store.append("x1", 1, lease, envelopes("x1", lease, 1, notes(1)))
    assert wire.seen[TRANSACTION] == sent + 1, "a condition that failed is an answer, and is not asked again"


@pytest.fixture
async def ways(aws_place: AwsPlace, wire: WireFaults) -> AsyncIterator[tuple[Clients, Clients]]:
    """The ways of two machines to the bucket, which can be broken."""
    both = Clients(replace(aws_place, endpoint=wire.address)), Clients(replace(aws_place, endpoint=wire.address))
    yield both
    for each in both:
        await each.close()


async def test_f89_where_the_newest_files_are_gone_the_copy_before_is_used_and_that_is_said(
    ways: tuple[Clients, Clients], wire: WireFaults, tmp_path: Path
) -> None:
    """What only stumbles or breaks off is asked for again."""
    told: list[OutboxItem] = []

    async def tell(item: OutboxItem) -> None:
        told.append(item)

    def workshop(number: int) -> Workshop:
        home = tmp_path / str(number)
        shared = SharedCopies(WorkspaceObjects(ways[number]), home / "checkpoints")
        snapshots = Snapshots(home / "checkpoints", shared=shared)
        return Workshop(
            Sandboxes(home, lambda: asyncio.sleep(0)), Workspaces(home / "work"), lambda *_: asyncio.sleep(0),  # type: ignore[arg-type, return-value]
            snapshots=snapshots, tell=tell,
        )  # fmt: skip

    one, other = workshop(0), workshop(1)
    row = SessionRow(thread="1", channel="1", guild="1")
    await one.furnish(row, None)
    work = one.workspaces.folder("1")
    assert one.snapshots is not None
    for words in ("first", "second"):
        (work / "notes.md").write_text(words)
        (work / f"{words}.bin").write_bytes(os.urandom(2_000))
        wire.break_next("s3.PutObject", "throttled", "broken", "cut", "lost")
        assert (await one.snapshots.save("1", work)).problem == ""
    packs = [name async for name in WorkspaceObjects(ways[0]).names("threads/1/checkpoints/packs/")]
    await WorkspaceObjects(ways[0]).erase(max(packs))
    wire.break_next("s3.GetObject", "throttled", "broken", "cut")
    await other.furnish(row, None)
    assert (other.workspaces.folder("1") / "notes.md").read_text() == "first"
    assert [(item.thread, item.text) for item in told] == [("1", EARLIER_FILES)]
    await other.furnish(row, None)
    assert len(told) == 1
