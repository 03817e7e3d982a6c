"""What is deleted in time, what never is, and that nothing which is needed goes with it: both stores, then the file."""

from __future__ import annotations

import asyncio
import os
import threading
from collections.abc import Sequence
from datetime import datetime, timedelta
from pathlib import Path

import pytest

from agentic.core.events.execution_events import (
    BlobRef,
    Envelope,
    Event,
    FeedbackGiven,
    Finished,
    InputReceived,
    OutboxItem,
    Person,
    Started,
    ToolFinished,
)
from agentic.ports.errors import LogInvalid
from agentic.ports.runtime import (
    LabelRow,
    Lease,
    Scope,
    SessionRow,
    Store,
)
from agentic.stores.checks import blob_ref
from agentic.stores.sqlite.file.connection import connect
from agentic.stores.sqlite.file.copy import open_quietly
from agentic.stores.sqlite.maintenance import deletion as pieces
from agentic.stores.sqlite.maintenance import integrity, transfer
from agentic.stores.sqlite.store import SQLiteStore
from tests.integration.stores.samples import (
    ANNA,
    NOW,
    envelopes,
    finish,
    inbox_item,
    log_of,
    notes,
    outbox_item,
    sqlite,
    started,
    take,
)
from tests.waiting import eventually, eventually_true

OLD = NOW - timedelta(days=40)
BEFORE = NOW - timedelta(days=30)
A_STEP = 90
"""Events of one append, which takes 96 items."""
LABEL = LabelRow("x1", "thread", "g", "", "m", 2, True, "person", 1.0, 80)


def placed(execution: str, lease: Lease, events: Sequence[Event], at: datetime = OLD, after: int = 0) -> list[Envelope]:
    """Events of a moment."""
    return [each.model_copy(update={"at": at}) for each in envelopes(execution, lease, after, events)]


async def ended(
    store: Store, execution: str, at: datetime = OLD, thread: str = "thread", content: bytes = b"", more: int = 0
) -> BlobRef:
    """A finished execution, the output of one call being ``content``."""
    lease = await take(store, thread, execution)
    ref = blob_ref(content or execution.encode(), "text/plain")
    result = ToolFinished(call="c", outcome="ok", preview="", output=ref)
    events: list[Event] = [started(thread), *notes(more), result, Finished(reason="done", answer="done")]
    said = OutboxItem(key=f"{execution}.3.0", thread=thread, execution=execution, sort="answer", text="done")
    log, named = placed(execution, lease, events, at), [(ref, content or execution.encode())]
    for first in range(0, len(log), A_STEP):  # the content with the event that names it, as the loop does it
        step, ends = log[first : first + A_STEP], first + A_STEP >= len(log)
        await store.append(execution, first, lease, step, [said] if ends else (), blobs=named if ends else ())
    await store.delivered(said.key, [f"m-{execution}"])
    await store.release(lease)
    return ref


async def swept(store: Store) -> None:
    """All pieces of a round."""
    while await store.expire(BEFORE):
        pass
    for thread in await store.burials():
        while await store.clear(thread):
            pass
    while await store.sweep_blobs():
        pass


async def test_a_finished_log_expires_with_its_messages_and_contents_and_that_it_was_there_stays_known(
    store: Store,
) -> None:
    ref = await ended(store, "x1", content=b"all that it printed")
    await store.put_label(LABEL)
    await store.put(inbox_item("i1"))
    await store.discard(["i1"])
    fence = (await take(store)).fence
    await swept(store)
    assert await store.execution("x1") is None
    assert await store.newest_executions(1_000) == []
    assert await log_of(store, "x1") == []
    assert await store.outbox_row("x1.3.0") is None
    assert await store.by_message("m-x1") is None
    assert await store.get_blob(ref.sha) is None
    was = await store.was_buried("x1")
    assert was is not None
    assert (was.thread, was.started_at) == ("thread", OLD)
    assert await store.buried("thread") == [was]
    assert await store.labels() == [LABEL], "labels never expire"
    assert await store.put(inbox_item("i1")) is False, "what was taken in once is never taken in again"
    assert (await take(store)).fence > fence, "a fence never goes back"
    with pytest.raises(LogInvalid, match="x1"):
        await store.append_outcome("x1", placed("x1", Lease("thread", "", 0), [FeedbackGiven(by=ANNA, vote="up")]))


async def test_what_is_young_or_was_voted_on_lately_or_stands_beside_open_work_is_kept(store: Store) -> None:
    await ended(store, "young", NOW - timedelta(days=29), "one")
    await ended(store, "voted", OLD, "two")
    vote = placed("voted", Lease("two", "", 0), [FeedbackGiven(by=ANNA, vote="up")], NOW - timedelta(days=1))
    await store.append_outcome("voted", vote)
    await ended(store, "before-open", OLD, "three")
    lease = await take(store, "three")
    await store.append("open", 0, lease, placed("open", lease, [started("three")]))
    await ended(store, "before-inbox", OLD, "four")
    await store.put(inbox_item("i4", "four"))
    await ended(store, "before-outbox", OLD, "five")
    await store.put_outbox([outbox_item("waits", "five")])
    await swept(store)
    kept = {"young", "voted", "before-open", "open", "before-inbox", "before-outbox"}
    assert {row.execution for row in await store.newest_executions(1_000)} == kept
    await finish(store, "open", lease, 1)
    await store.discard(["i4"])
    await store.delivered("waits", ["m"])
    await swept(store)
    left = {row.execution for row in await store.newest_executions(1_000)}
    assert left == {"young", "voted", "open"}, "the one that was open ended now, and its age counts from then"


async def test_content_that_a_younger_log_names_too_stays(store: Store) -> None:
    shared = await ended(store, "old", content=b"the same output")
    await ended(store, "young", NOW, "other", content=b"the same output")
    await swept(store)
    assert await store.get_blob(shared.sha) == b"the same output"
    assert await store.execution("old") is None


async def test_what_was_delivered_long_ago_goes_and_what_waits_or_asks_about_a_lesson_stays(store: Store) -> None:
    lesson = OutboxItem(key="lesson", thread="thread", execution="", sort="lesson", text="approve?")
    notices = [OutboxItem(key=key, thread="thread", execution="", sort="notice", text=key) for key in ("told", "waits")]
    await store.put_outbox([*notices, lesson])
    await store.delivered("told", ["m1"])
    await store.delivered("lesson", ["m2"])
    await store.expire_outbox(OLD, OLD - timedelta(days=30))
    await store.put_outbox([notices[0].model_copy(update={"key": "later"})])
    await store.delivered("later", ["m3"])
    assert not await store.expire_outbox(NOW, BEFORE)
    assert await store.outbox_row("told") is None
    assert await store.by_message("m1") is None
    assert [row.item.key for row in await store.undelivered()] == ["waits"]
    assert await store.by_message("m2") is not None
    assert await store.by_message("m3") is not None
    await store.put_outbox([outbox_item("next")])
    await store.delivered("next", ["m4"])
    found = await store.by_message("m4")
    assert found is not None
    assert found.item.key == "next", "no later item gets the number of one that went"


async def test_a_thread_that_is_no_more_goes_whole_once_nothing_in_it_is_open(store: Store) -> None:
    await ended(store, "x1", NOW)
    lease = await take(store)
    await store.append("x2", 0, lease, placed("x2", lease, [started()], NOW))
    await store.save_session(SessionRow("thread", "c", "g", "a title"))
    await store.put(inbox_item("i1"))
    await store.put_outbox([outbox_item("k1"), outbox_item("k2", "other")])
    await store.set_fact("titled: thread", "a title")
    assert not await store.forget_thread("thread", ("titled: thread",))
    assert len(await store.executions("thread")) == 2
    await finish(store, "x2", lease, 1)
    assert await store.forget_thread("thread", ("titled: thread",))
    await swept(store)
    assert await store.executions("thread") == []
    assert await store.session("thread") is None
    assert await store.pending("thread") == []
    assert await store.undelivered("thread") == []
    assert await store.fact("titled: thread") is None
    assert await store.buried("thread") == []
    assert [row.item.key for row in await store.undelivered()] == ["k2"]
    assert await store.put(inbox_item("i1")) is False
    assert (await take(store)).fence > lease.fence


async def test_a_log_can_be_rewritten_in_its_places_only_once_it_has_ended(store: Store) -> None:
    lease = await take(store)
    said = InputReceived(inbox="i", sort="guidance", author=Person(id="8", name="Ben"), text="my secret plan")
    log = placed("x1", lease, [started(), said], NOW)
    await store.append("x1", 0, lease, log)
    erased = [log[0], log[1].model_copy(update={"event": said.model_copy(update={"text": "[erased]"})})]
    assert not await store.rewrite("x1", erased, [])
    await finish(store, "x1", lease, 2)
    last = (await log_of(store, "x1"))[-1]
    assert not await store.rewrite("x1", erased, []), "not as many events as there are"
    assert await store.rewrite("x1", [*erased, last], [])
    assert await log_of(store, "x1") == [*erased, last]
    assert not await store.rewrite("nobody", erased, [])


async def test_days_of_the_ledger_are_forgotten_but_today_and_what_is_set_aside(store: Store) -> None:
    mine, other, today = (
        Scope(name, 1.0) for name in ("person 7 2026-01-01", "guild 9 2026-01-01", "person 7 2026-03-01")
    )
    await store.reserve_usd("a", (mine, other), 0.2)
    await store.settle_usd("a", 0.1)
    await store.reserve_usd("b", (today,), 0.3)
    await store.reserve_usd("c", (Scope("person 8 2026-01-01", 1.0),), 0.4)
    await store.erase_spending("person 7", "2026-03-01")
    assert [await store.spent_usd(each.name) for each in (mine, other, today)] == [0.0, 0.1, 0.3]
    await store.erase_spending("*", "2026-03-01")
    assert await store.spent_usd(other.name) == 0.0
    assert await store.spent_usd("person 8 2026-01-01") == 0.4, "it is still set aside"


async def test_executions_that_mention_somebody_are_found_also_by_a_vote(store: Store) -> None:
    await ended(store, "x1", OLD)
    await ended(store, "x2", NOW, "other")
    await store.append_outcome(
        "x2", placed("x2", Lease("other", "", 0), [FeedbackGiven(by=Person(id="99", name="Ben"), vote="up")], NOW)
    )
    assert await store.mentioning('"id":"7"') == ["x1", "x2"]
    assert await store.mentioning('"id":"99"') == ["x2"]
    await swept(store)
    assert await store.mentioning('"id":"7"') == ["x2"]


async def test_how_much_is_kept_is_counted(store: Store) -> None:
    await ended(store, "x1", OLD)
    await ended(store, "x2", NOW, "other")
    kept = await store.kept()
    assert (kept.executions, kept.open, kept.events, kept.oldest, kept.outbox) == (2, 0, 6, OLD, 2)


# --- the file ------------------------------------------------------------------------------------------------------


async def test_a_process_that_ends_between_any_two_pieces_leaves_a_store_that_holds_and_the_next_goes_on(
    tmp_path: Path,
) -> None:
    path = tmp_path / "threadwright.db"
    store = SQLiteStore.open(path)
    ref = await ended(store, "x1", more=2 * pieces.EVENTS_A_PIECE)
    await ended(store, "x2", NOW, "other", content=b"kept")
    await store.close()
    rounds = 0
    more = True
    while more:
        store = SQLiteStore.open(path)  # one piece a life
        more = bool(await store.expire(BEFORE)) or any(
            [await store.clear(each) for each in (await store.burials())[:1]]
        )
        more = more or await store.sweep_blobs()
        rounds += 1
        assert integrity.whole(path) == ()
        assert len(await log_of(store, "x1")) in (0, 203)
        assert len(await log_of(store, "x2")) == 3
        await store.close()
    assert rounds > 5
    async with sqlite(tmp_path) as store:
        assert await store.get_blob(ref.sha) is None
        assert await store.get_blob(blob_ref(b"kept", "").sha) == b"kept"
    assert connect(str(path)).execute("SELECT count(*) FROM events").get == 3


async def test_content_that_is_stored_or_named_again_while_it_is_swept_stays(tmp_path: Path) -> None:
    async with sqlite(tmp_path) as store:
        await ended(store, "x1", content=b"again")
        await ended(store, "x2", OLD, "two", content=b"copied")
        await store.bury(["x1", "x2"])
        for thread in await store.burials():
            while await store.clear(thread):
                pass
        await ended(store, "x3", NOW, "other", more=pieces.MARKED_A_PIECE)
        assert await store.sweep_blobs(), "it has begun, and read a part of the events"
        again = await ended(store, "x4", NOW, "four", content=b"again")
        lease = await take(store, "five")
        copied = ToolFinished(call="c", outcome="ok", preview="", output=blob_ref(b"copied", "text/plain"))
        await store.append("x5", 0, lease, placed("x5", lease, [started("five"), copied], NOW))
        while await store.sweep_blobs():
            pass
        assert await store.get_blob(again.sha) == b"again"
        assert await store.get_blob(blob_ref(b"copied", "").sha) == b"copied"


async def test_content_of_a_log_that_takes_the_place_of_one_deleted_in_the_middle_of_a_sweep_stays(
    tmp_path: Path,
) -> None:
    """SQLite gives the numbers of the last rows again once those are deleted."""
    async with sqlite(tmp_path) as store:
        await ended(store, "x1", content=b"gone")
        await store.bury(["x1"])
        while await store.clear("thread"):
            pass
        await ended(store, "x2", NOW, "two", more=pieces.MARKED_A_PIECE)
        await ended(store, "x3", NOW, "three", more=pieces.MARKED_A_PIECE)
        assert await store.sweep_blobs()
        assert await store.sweep_blobs(), "nearly all events were read"
        await store.bury(["x3"])
        while await store.clear("three"):
            pass
        ref = await ended(store, "x4", NOW, "four", content=b"needed")
        while await store.sweep_blobs():
            pass
        assert await store.get_blob(ref.sha) == b"needed"


async def test_a_damaged_message_hinders_nothing_from_going(tmp_path: Path) -> None:
    async with sqlite(tmp_path) as store:
        await store.put_outbox([outbox_item("k1"), outbox_item("k2", "other")])
        await store.delivered("k1", ["m1"])
        await store.delivered("k2", ["m2"])
    connection = connect(str(tmp_path / "threadwright.db"))
    connection.execute("UPDATE outbox SET item = '{cut off'")
    connection.close()
    async with sqlite(tmp_path) as store:
        await store.expire_outbox(OLD, OLD)
        assert await store.forget_thread("other")
        assert not await store.expire_outbox(NOW, BEFORE)
        assert await store.by_message("m1") is None
        assert await store.by_message("m2") is None


async def test_a_large_content_goes_with_its_file_and_one_that_is_being_written_stays(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with sqlite(tmp_path) as store:
        await ended(store, "x1", content=b"1" * 1_100_000)
        await ended(store, "x2", NOW, "other", content=b"2" * 1_100_000)
        files = {path for path in (tmp_path / "blobs").rglob("*") if path.is_file()}
        assert len(files) == 2
        await swept(store)
        assert {path for path in (tmp_path / "blobs").rglob("*") if path.is_file()} == files, "they are too young"
        monkeypatch.setattr(pieces, "FILE_SECONDS", -1.0)
        await ended(store, "x3", OLD, "three")
        await swept(store)
        (left,) = [path for path in (tmp_path / "blobs").rglob("*") if path.is_file()]
        assert left.read_bytes()[:1] == b"2"
    assert integrity.whole(tmp_path / "threadwright.db") == ()


async def test_a_large_content_that_is_needed_again_in_the_moment_in_which_its_file_is_deleted_is_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    content, unlink, deleting = b"1" * 1_100_000, Path.unlink, threading.Event()
    async with sqlite(tmp_path) as store:
        ref = await ended(store, "x1", content=content)
        file = tmp_path / "blobs" / ref.sha[:2] / ref.sha[2:]
        os.utime(file, (0, 0))
        folder = f":{file.parent.stat().st_ino} "

        def asked_for() -> bool:
            return any("->" in line and folder in line for line in Path("/proc/locks").read_text().splitlines())

        def slow(path: Path, missing_ok: bool = False) -> None:
            if path == file:
                deleting.set()
                eventually_true(lambda: again.done() or asked_for(), "it is kept again, or waited for")
            unlink(path, missing_ok)

        monkeypatch.setattr(Path, "unlink", slow)
        sweeping = asyncio.create_task(swept(store))
        again = asyncio.get_running_loop().create_future()
        await eventually(deleting.is_set)
        await ended(store, "x2", NOW, "other", content=content)
        again.set_result(None)
        await sweeping
        assert await store.get_blob(ref.sha) == content


async def test_what_was_deleted_is_not_to_be_found_in_the_file_and_its_room_is_used_again(tmp_path: Path) -> None:
    path = tmp_path / "threadwright.db"
    secret = b"a word that must not stay: tangerine"
    for number in range(4):
        async with sqlite(tmp_path) as store:
            await ended(store, f"x{number}", content=secret * 5_000)
            await swept(store)
            await ended(store, f"y{number}", OLD, "other")
            await swept(store)
        assert b"tangerine" not in path.read_bytes()
        first = path.stat().st_size if number == 0 else first  # noqa: F821  # set in the first round
    assert path.stat().st_size <= first + 100_000
    async with sqlite(tmp_path) as store:
        assert (await store.kept()).free > 0


async def test_what_was_deleted_leaves_the_write_ahead_log_too_as_soon_as_nobody_reads(tmp_path: Path) -> None:
    def found() -> set[str]:
        return {each.name for each in tmp_path.rglob("*") if each.is_file() and b"tangerine" in each.read_bytes()}

    async with sqlite(tmp_path) as store:
        await ended(store, "x1", content=b"a word that must not stay: tangerine" * 100)
        await ended(store, "x2", NOW, "other", content=b"kept")
        looking = open_quietly(tmp_path / "threadwright.db")
        looking.execute("BEGIN")
        looking.execute("SELECT count(*) FROM events").fetchone()
        await swept(store)
        assert not await store.scrub()
        assert found() == {"threadwright.db-wal"}
        looking.close(force=True)
        assert await store.scrub()
        assert found() == set()
        length = (tmp_path / "threadwright.db-wal").stat().st_size
        await ended(store, "x3", NOW, "three")
        assert (tmp_path / "threadwright.db-wal").stat().st_size == length, (
            "it is laid out again: no append lets it grow"
        )
        assert len(await log_of(store, "x2")) == 3
    assert integrity.whole(tmp_path / "threadwright.db") == ()


async def test_what_was_imported_counts_from_then_and_may_come_again_after_it_expired(tmp_path: Path) -> None:
    async with sqlite(tmp_path) as store:
        await ended(store, "x1")
    path = tmp_path / "threadwright.db"
    looking = open_quietly(path)
    whole = transfer.stored(looking, "x1")
    assert whole is not None
    looking.close(force=True)
    async with sqlite(tmp_path) as store:
        await swept(store)
    looking = open_quietly(path)
    assert transfer.stored(looking, "x1") is None
    assert transfer.names(looking, "thread") == []
    looking.close(force=True)
    with transfer.opened(path) as connection:
        assert transfer.bring_in(connection, whole)
    async with sqlite(tmp_path) as store:
        await swept(store)
        row = await store.execution("x1")
        assert row is not None
        assert row.finished == "done"
        assert isinstance((await log_of(store, "x1"))[0].event, Started)
