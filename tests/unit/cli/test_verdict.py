"""What a log must hold, each promise broken once."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from agentic.core.events import (
    Envelope,
    Event,
    Finished,
    ModelAnswered,
    ModelRequested,
    Person,
    Started,
    ToolFinished,
    ToolStarted,
)
from bot.commandline.story import line_of
from bot.commandline.verdict import broken_promises

STARTED = Started(thread="1", task="fix it", requester=Person(id="7", name="Ann"))
ASKED = ModelRequested(request="r1", turn=1, tier=2, model="m")
ANSWERED = ModelAnswered(request="r1", blocks=())
BEGAN = ToolStarted(call="r1.0", provider_id="p", tool="shell", effect="unkeyed", arguments={}, args_sha="s")
ENDED = ToolFinished(call="r1.0", outcome="ok", preview="fine", exit_code=0)
DONE = Finished(reason="done", answer="it works")
WHOLE = (STARTED, ASKED, ANSWERED, BEGAN, ENDED, DONE)


def log(*events: Event, fences: tuple[int, ...] = ()) -> list[Envelope]:
    at = datetime(2026, 1, 1, tzinfo=UTC)
    return [
        Envelope(execution="x1", seq=seq, at=at, fence=fences[seq - 1] if fences else 1, event=event)
        for seq, event in enumerate(events, 1)
    ]


def test_a_whole_log_holds() -> None:
    assert broken_promises(log(*WHOLE)) == ()


def test_an_unfinished_log_may_hold_open_calls_and_requests() -> None:
    assert broken_promises(log(STARTED, ASKED)) == ()
    assert broken_promises(log(STARTED, ASKED, ANSWERED, BEGAN)) == ()


@pytest.mark.parametrize(
    ("events", "said"),
    [
        ((), "empty"),
        ((ASKED,), "begins with"),
        ((*WHOLE, ASKED), "follows the end"),
        ((STARTED, BEGAN, BEGAN, ENDED, DONE), "begun 2 times"),
        ((STARTED, BEGAN, ENDED, ENDED, DONE), "has 2 results"),
        ((STARTED, BEGAN, DONE), "has no result"),
        ((STARTED, ASKED, ANSWERED, ANSWERED, DONE), "has 2 answers"),
        ((STARTED, ANSWERED, DONE), "never made"),
        ((STARTED, ASKED, DONE), "has no answer"),
    ],
)
def test_each_broken_promise_is_named(events: tuple[Event, ...], said: str) -> None:
    assert any(said in one for one in broken_promises(log(*events)))


def test_a_fence_never_falls_and_numbers_follow_each_other() -> None:
    assert any("fence" in one for one in broken_promises(log(STARTED, ASKED, ANSWERED, fences=(2, 3, 2))))
    gap = [envelope.model_copy(update={"seq": envelope.seq + (envelope.seq > 1)}) for envelope in log(STARTED, ASKED)]
    assert any("numbered" in one for one in broken_promises(gap))


def test_a_keyed_call_may_be_begun_again() -> None:
    keyed = BEGAN.model_copy(update={"effect": "keyed", "key": "k"})
    assert broken_promises(log(STARTED, keyed, keyed, ENDED, DONE)) == ()


def test_the_story_tells_who_asked_what_was_done_and_how_it_ended() -> None:
    told = "\n".join(line_of(envelope) for envelope in log(*WHOLE))
    assert "Ann asked: fix it" in told
    assert "began shell" in told
    assert "ok (exit 0): fine" in told
    assert "done: it works" in told
