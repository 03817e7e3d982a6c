"""The sink: what it keeps, and whom it wakes."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from agentic.core.events.execution_events import (
    Envelope,
    Event,
    Finished,
    ModelRequested,
    Noted,
    Person,
    Started,
    ToolFinished,
    ToolStarted,
    Triaged,
)
from bot.progress.feed import TAIL_SHOWN, Feed, folded
from bot.progress.model import Progress
from tests.stores import fresh_store

START = datetime(2026, 1, 2, tzinfo=UTC)
STARTED = Started(thread="50", task="t", requester=Person(id="1", name="Ann"))
REQUESTED = ModelRequested(request="r", turn=1, tier=2, model="m")


def envelope(seq: int, event: Event) -> Envelope:
    return Envelope(execution="x1", seq=seq, at=START + timedelta(seconds=seq), fence=1, event=event)


def test_what_a_person_sees_wakes_the_board_and_what_is_posted_wakes_the_outbox() -> None:
    feed = Feed()
    feed.saw(envelope(1, STARTED))
    feed.saw(envelope(2, Triaged(talk=False)))
    assert feed.outbox.is_set()
    feed.outbox.clear()
    feed.saw(envelope(3, Noted(text="n")))
    assert not feed.changed.is_set()
    feed.saw(envelope(4, REQUESTED))
    assert feed.changed.is_set()
    assert not feed.outbox.is_set()
    assert feed.take_dirty() == ["x1"]
    assert not feed.changed.is_set()
    feed.saw(envelope(5, Finished(reason="done", answer="a")))
    assert feed.outbox.is_set()


def test_the_streamed_tail_is_bounded_and_ends_with_its_source() -> None:
    feed = Feed()
    feed.saw(envelope(1, STARTED))
    feed.streamed("x1", "y" * 5_000)
    assert len(feed.tail("x1")) == TAIL_SHOWN
    call = ToolStarted(call="c", provider_id="p", tool="shell", effect="read", arguments={}, args_sha="")
    feed.saw(envelope(2, call))
    feed.streamed("x1", "output")
    feed.saw(envelope(3, ToolFinished(call="c", outcome="ok", preview="")))
    assert feed.tail("x1") == ""


def test_an_execution_of_an_earlier_process_is_not_made_up_from_its_end() -> None:
    feed = Feed()
    feed.saw(envelope(7, REQUESTED))
    assert feed.progress("x1") is None
    assert feed.take_dirty() == ["x1"]
    loaded = Progress("x1", seq=7, turn=1)
    feed.load(loaded)
    feed.saw(envelope(7, REQUESTED.model_copy(update={"turn": 9})))
    assert loaded.turn == 1
    feed.load(Progress("x1", seq=3))
    assert feed.progress("x1") is loaded


def test_a_gap_is_noticed_and_leads_to_a_new_look_at_the_log() -> None:
    feed = Feed()
    feed.saw(envelope(1, STARTED))
    feed.saw(envelope(3, REQUESTED))
    assert feed.progress("x1") is None
    assert feed.take_dirty() == ["x1"]


async def test_the_read_model_can_be_had_from_the_log() -> None:
    store, feed = fresh_store(), Feed()
    lease = await store.acquire("50", "test")
    assert lease is not None
    log = [envelope(1, STARTED), envelope(2, REQUESTED)]
    await store.append("x1", 0, lease, [one.model_copy(update={"fence": lease.fence}) for one in log])
    for one in log:
        feed.saw(one)
    assert await folded(store, "x1") == feed.progress("x1")
    feed.forget("x1")
    assert feed.progress("x1") is None
