"""What many processes keep in the table besides logs: money, schedules, what is deleted; also where the wire fails."""

from __future__ import annotations

import asyncio
import random
import threading
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from agentic.aws.aws_place import AwsPlace
from agentic.aws.bucket import Bucket, Version
from agentic.aws.items import number, text
from agentic.core.events.execution_events import Finished, InputReceived, OutboxItem
from agentic.ports.stores import ScheduleRow, Scope
from agentic.stores.aws import layout
from agentic.stores.aws.store import AwsStore
from agentic.stores.aws.subjects import retention
from tests.aws.wire_faults import Fault, FaultPlan, WireFaults
from tests.integration.stores.samples import ANNA, NOW, envelopes, log_of, notes, started, take
from tests.integration.stores.test_retention import BEFORE, OLD, ended, placed
from tests.integration.stores.test_search import found

CAP = Scope("guild 9 2026-03-01", 1.0)
SECRET = "tangerine " * 40_000


@asynccontextmanager
async def workers(place: AwsPlace, count: int) -> AsyncGenerator[Sequence[AwsStore]]:
    """So many processes' stores."""
    stores = [AwsStore.open(place) for _ in range(count)]
    try:
        yield stores
    finally:
        for store in stores:
            await store.close()


async def test_eight_workers_who_share_a_cap_never_overshoot_it_also_where_the_wire_fails(aws_place: AwsPlace) -> None:
    rates: dict[Fault, float] = {"conflict": 0.2, "throttled": 0.05, "lost": 0.1, "half": 0.05, "doubled": 0.1}
    async with WireFaults(aws_place.endpoint) as wire, workers(replace(aws_place, endpoint=wire.address), 8) as stores:
        wire.plan = FaultPlan(18, rates, ("dynamodb.TransactWriteItems",))
        asked = [store.reserve_usd(f"x{at}/{n}", (CAP,), 0.09) for at, store in enumerate(stores) for n in range(4)]
        granted = [full is None for full in await asyncio.gather(*asked)]
        assert sum(granted) == 11
        assert await stores[0].spent_usd(CAP.name) == pytest.approx(0.99)
        settled = [f"x{at}/{n}" for at in range(8) for n in range(4)]
        await asyncio.gather(*(store.settle_usd(key, 0.05) for store in stores for key in settled[::2]))
        await asyncio.gather(*(store.release_usd(key) for store in stores[:2] for key in settled[1::2]))
        kept = sum(yes for yes, key in zip(granted, settled, strict=True) if key in settled[::2])
        assert await stores[7].spent_usd(CAP.name) == pytest.approx(0.05 * kept)
        assert await stores[7].unsettled_usd("") == []
        scope = await stores[0]._table.get(layout.scope(CAP.name))  # pyright: ignore[reportPrivateUsage]
        assert scope is not None
        assert number(scope, "held") == 0


async def test_a_schedule_that_was_kept_although_the_answer_was_lost_is_kept(aws_place: AwsPlace) -> None:
    async with (
        WireFaults(aws_place.endpoint) as wire,
        workers(replace(aws_place, endpoint=wire.address), 1) as (store,),
    ):
        wire.plan = FaultPlan(1, {"lost": 0.5}, ("dynamodb.PutItem", "dynamodb.UpdateItem"))
        for name in range(6):
            kept = await store.put_schedule(ScheduleRow(f"s{name}", "g", "7", "", NOW, "{}"))
            assert kept is not None
            assert await store.put_schedule(replace(kept, body="again")) == replace(kept, body="again", revision=2)
            assert await store.put_schedule(replace(kept, body="late")) is None
        assert wire.broken


async def test_a_process_that_ends_between_any_two_pieces_leaves_what_the_next_goes_on_with(
    aws_place: AwsPlace, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And with what is deleted goes what of it lies in the bucket, in every version."""
    monkeypatch.setattr(retention, "ITEMS_A_PIECE", 1)
    async with workers(aws_place, 1) as (store,):
        ref = await ended(store, "x1", content=SECRET.encode())
        shared = await ended(store, "x2", OLD, "two", content=b"kept" * 9_000)
        await ended(store, "x3", NOW, "other", content=b"kept" * 9_000)
        lease = await take(store, "four")
        long = started("four").model_copy(update={"task": _noise(200_000)})
        events = [long, *notes(3), Finished(reason="done", answer="done")]
        for at, each in enumerate(placed("x4", lease, events)):
            await store.append("x4", at, lease, [each])
        assert [each async for each in store._aws.bucket.objects("threads/four/")]  # pyright: ignore[reportPrivateUsage]
    pieces, more = 0, True
    while more:
        async with workers(aws_place, 1) as (store,):  # one piece a life
            more = bool(await store.expire(BEFORE, 1)) or any(
                [await store.clear(each) for each in (await store.burials())[:1]]
            )
            more = more or await store.sweep_blobs()
            assert len(await log_of(store, "x1")) in (0, 3)
            assert len(await log_of(store, "x3")) == 3
        pieces += 1
    assert pieces > 8
    async with workers(aws_place, 1) as (store,):
        assert await store.get_blob(ref.sha) is None
        assert await store.get_blob(shared.sha) == b"kept" * 9_000
        bucket = store._aws.bucket  # pyright: ignore[reportPrivateUsage]
        answer = await bucket.call("list_object_versions")
        left = [each["Key"] for each in (*answer.get("Versions", []), *answer.get("DeleteMarkers", []))]
        assert all(name.startswith("blobs/") for name in left)
        assert {name.replace("/", "")[5:] for name in left} <= {shared.sha}
        items = [item async for item in store._table.query("four")]  # pyright: ignore[reportPrivateUsage]
        assert {text(item, "sk").partition("#")[0] for item in items} == {"GONE", "LEASE"}


def _noise(size: int) -> str:
    """Text that cannot be packed."""

    return random.Random(1).randbytes(size // 2).hex()


def _put_after_the_look(patch: pytest.MonkeyPatch, store: AwsStore, content: bytes) -> None:
    """Once a sweep has looked at what there is, a content comes again."""
    look = Bucket.versions

    async def looked(bucket: Bucket, names: Sequence[str]) -> list[Version]:
        seen = await look(bucket, names)
        await store.put_blob(content)
        return seen

    patch.setattr(Bucket, "versions", looked)


async def test_content_that_is_put_again_while_it_is_swept_stays(
    aws_place: AwsPlace, monkeypatch: pytest.MonkeyPatch
) -> None:
    content = _noise(60_000).encode()
    async with workers(aws_place, 2) as (one, two):
        for size in (len(content), 3_000):
            ref = await ended(one, f"x{size}", OLD, f"t{size}", content=content[:size])
            await one.bury([f"x{size}"])
            while await one.clear(f"t{size}"):
                pass
            with monkeypatch.context() as patch:
                _put_after_the_look(patch, two, content[:size])
                while await one.sweep_blobs():
                    pass
            assert await two.get_blob(ref.sha) == content[:size]


async def test_what_was_erased_is_found_by_no_process_and_stands_in_no_copy_of_it(
    aws_place: AwsPlace, tmp_path: Path
) -> None:
    place = replace(aws_place, copies=tmp_path)
    async with workers(place, 2) as (one, two):
        lease = await take(one)
        said = InputReceived(inbox="i", sort="guidance", author=ANNA, text="my zebraword")
        log = envelopes("x1", lease, 0, [started(), said, Finished(reason="done", answer="done")])
        await one.append("x1", 0, lease, log)
        for store in (one, two):
            assert await found(store, "zebraword") == ["my zebraword"]
        clean = [log[0], log[1].model_copy(update={"event": said.model_copy(update={"text": "[erased]"})}), log[2]]
        assert await one.rewrite("x1", clean, [])
        assert await found(two, "zebraword") == []
        assert await found(two, "erased") == ["[erased]"]
        assert await found(one, "zebraword") == []
    for path in tmp_path.iterdir():
        assert b"zebraword" not in path.read_bytes()


async def test_a_search_that_was_given_up_hinders_no_later_one(aws_place: AwsPlace) -> None:
    async with workers(aws_place, 1) as (store,):
        lease = await take(store)
        await store.append("x1", 0, lease, envelopes("x1", lease, 0, [started("thread", "a page"), *notes(2)]))
        held, begun = threading.Event(), threading.Event()

        def slow(_: object) -> None:
            begun.set()
            held.wait(60)

        given_up = asyncio.create_task(store._aws.words.do(slow))  # pyright: ignore[reportPrivateUsage]
        await asyncio.to_thread(begun.wait, 30)
        given_up.cancel()
        later = asyncio.create_task(found(store, "page"))
        await asyncio.wait([given_up])
        held.set()
        assert await later == ["a page"]


async def test_many_processes_find_the_same_in_the_same_order_page_by_page(aws_place: AwsPlace) -> None:
    async with workers(aws_place, 3) as stores:
        for at in range(9):
            lease = await take(stores[at % 3], f"t{at}")
            log = envelopes(f"x{at}", lease, 0, [started(f"t{at}", f"page {at}"), *notes(2)])
            await stores[at % 3].append(f"x{at}", 0, lease, log)
        for store in stores:
            assert await found(store, "page") == [f"page {at}" for at in reversed(range(9))]


async def test_what_an_execution_said_goes_with_its_log_and_a_later_receipt_too(aws_place: AwsPlace) -> None:
    async with workers(aws_place, 1) as (store,):
        await ended(store, "x1")
        await store.delivered("x1.3.0", ["m-later"])
        await store.put_outbox(
            [OutboxItem(key="x10.1.0", thread="thread", execution="x10", sort="answer", text="of another")]
        )
        await store.bury(["x1"])
        while await store.clear("thread"):
            pass
        assert await store.by_message("m-later") is None
        assert await store.by_message("m-x1") is None
        assert [item.key for item in await store.said_in("thread")] == ["x10.1.0"]


async def test_what_was_settled_does_not_say_for_whom_and_its_key_counts_once(aws_place: AwsPlace) -> None:
    async with workers(aws_place, 1) as (store,):
        await store.reserve_usd("x/1", (Scope("guild 9 2026-01-01", 1.0),), 0.5)
        await store.settle_usd("x/1", 0.5)
        item = await store._table.get(layout.reservation("x/1"))  # pyright: ignore[reportPrivateUsage]
        assert item is not None
        assert "guild 9" not in str(item), "what was settled does not say for whom it was"
        await store.erase_spending("guild 9", "2026-01-02")
        assert await store.spent_usd("guild 9 2026-01-01") == 0.0
        assert await store.reserve_usd("x/1", (Scope("guild 9 2026-01-01", 1.0),), 0.5) is None
        assert await store.spent_usd("guild 9 2026-01-01") == 0.0, "its key counted once"
