"""Where the time of a task went: each moment once, whatever ran side by side."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from pathlib import Path

import pytest

from agentic.core.events.execution_events import (
    Asked,
    Decided,
    Envelope,
    Event,
    Finished,
    HandedOver,
    InputReceived,
    ModelAnswered,
    ModelRequested,
    OwnerChanged,
    Person,
    Started,
    ToolFinished,
    ToolStarted,
    WorkspaceRestored,
)
from agentic.core.events.upcasting import read_envelope
from agentic.core.fold.people import MACHINE
from bot.console.views.time_split import TimeSplit, split

BEGUN = datetime(2026, 11, 26, 9, tzinfo=UTC)
ANN = Person(id="1", name="Ann")
RUNS = sorted((Path(__file__).parents[2] / "golden").glob("*/runs/*.jsonl"))


def asked(turn: int, purpose: str = "turn") -> Event:
    request = f"r{turn}{purpose}"
    return ModelRequested.model_validate(
        {"request": request, "turn": turn, "tier": 2, "model": "m/one", "purpose": purpose}
    )


def answered(turn: int, purpose: str = "turn") -> Event:
    return ModelAnswered(request=f"r{turn}{purpose}", blocks=())


def began(call: str, tool: str = "shell") -> Event:
    return ToolStarted(call=call, provider_id=call, tool=tool, effect="read", arguments={}, args_sha="")


def ended(call: str) -> Event:
    return ToolFinished(call=call, outcome="ok", preview="")


def said(sort: str, by: Person = ANN) -> Event:
    return InputReceived.model_validate({"inbox": sort, "sort": sort, "author": by})


def done() -> Event:
    return Finished(reason="done", answer="")


def of(*log: tuple[float, Event], now: float | None = None) -> TimeSplit:
    start: Event = Started(thread="1", task="t", requester=ANN)
    envelopes = [
        Envelope(execution="e", seq=seq, at=BEGUN + timedelta(seconds=at), fence=1, event=event)
        for seq, (at, event) in enumerate(((0.0, start), *log), 1)
    ]
    return split(envelopes, BEGUN + timedelta(seconds=now) if now is not None else None)


def parts(one: TimeSplit) -> dict[str, float]:
    return {kind: round(seconds, 3) for kind, seconds in one.seconds.items() if seconds}


def test_calls_that_run_side_by_side_count_once() -> None:
    one = of(
        (1, asked(1)), (4, answered(1)), (5, began("a")), (6, began("b")), (8, ended("a")), (11, ended("b")), (12, done()),
    )  # fmt: skip
    assert parts(one) == {"model": 3, "tool": 6, "other": 3}
    assert [(span.kind, span.seconds) for span in one.spans] == [("model", 3), ("tool", 3), ("tool", 5)]


def test_a_question_counts_as_waiting_unless_something_else_works_meanwhile() -> None:
    """The call that asks does not work while it waits; another one beside it does."""
    question = Asked(question="q", call="ask")
    one = of(
        (0, began("ask", "ask_user")), (0, began("long")), (1, question), (3, ended("long")),
        (10, Decided(question="q", by=ANN, choice="yes")), (10, ended("ask")), (11, done()),
    )  # fmt: skip
    assert parts(one) == {"tool": 3, "person": 7, "other": 1}
    assert ("person", 9.0) in [(span.kind, span.seconds) for span in one.spans]


def test_a_pause_lasts_until_the_person_lifts_it_and_what_runs_goes_on_meanwhile() -> None:
    one = of(
        (0, asked(1)), (2, said("pause")), (3, answered(1)), (5, said("pause", MACHINE)), (7, said("resume", MACHINE)),
        (8, said("guidance")), (10, said("resume")), (12, done()),
    )  # fmt: skip
    assert parts(one) == {"model": 3, "person": 7, "other": 2}


def test_time_between_two_processes_is_suspended() -> None:
    one = of((2, HandedOver()), (9, OwnerChanged(worker="b")), (10, done()))
    assert parts(one) == {"suspended": 7, "other": 3}


def test_what_a_dead_process_ran_ends_with_its_last_event() -> None:
    """Nobody knows when it died: what it had begun is not counted on until somebody takes it up."""
    one = of(
        (1, asked(1)), (3, answered(1)), (3, began("a")), (50, OwnerChanged(worker="b")), (51, ended("a")), (52, done())
    )
    assert parts(one) == {"model": 2, "suspended": 47, "other": 3}
    assert [(span.what, span.note) for span in one.spans if span.kind == "tool"] == [("shell", "cut off")]


def test_waiting_for_a_person_stays_that_where_its_process_is_gone() -> None:
    one = of(
        (1, Asked(question="q")), (2, HandedOver()), (60, OwnerChanged(worker="b")),
        (70, Decided(question="q", by=ANN, choice="y")),
    )  # fmt: skip
    assert parts(one) == {"person": 69, "other": 1}


def test_the_time_of_a_task_that_was_copied_is_not_its_own() -> None:
    again = WorkspaceRestored(manifest="", way="rewind", turn=1)
    one = of((0, asked(1)), (9, answered(1)), (1_000, again), (1_001, asked(2)), (1_004, answered(2)))
    assert (parts(one), one.total, one.copied) == ({"model": 3, "other": 1}, 4, 3)
    assert [turn.number for turn in one.turns] == [1, 2]


def test_a_running_task_counts_up_to_now() -> None:
    one = of((1, asked(1)), now=6)
    assert parts(one) == {"model": 5, "other": 1}
    assert [(span.open, span.seconds) for span in one.spans] == [(True, 5)]


def test_clocks_of_two_machines_that_disagree_take_no_time_back() -> None:
    one = of((5, HandedOver()), (3, OwnerChanged(worker="b")), (8, done()))
    assert (one.total, parts(one)) == (8, {"other": 8})


def test_the_parts_of_turns_add_up_to_theirs() -> None:
    one = of(
        (1, asked(0, "triage")), (2, answered(0, "triage")), (3, asked(1)), (5, answered(1)), (5, began("a")),
        (9, ended("a")), (10, asked(2)), (13, answered(2)), (14, done()),
    )  # fmt: skip
    assert [(turn.number, turn.begun, turn.total) for turn in one.turns] == [(0, 0, 3), (1, 3, 7), (2, 10, 4)]
    assert one.turns[1].seconds["tool"] == 4
    sums_up(one)


@pytest.mark.parametrize("run", RUNS, ids=lambda run: f"{run.parents[1].name}-{run.stem}")
def test_the_parts_add_up_to_the_whole_in_every_log_of_a_release(run: Path) -> None:
    envelopes: Sequence[Envelope] = [read_envelope(line) for line in run.read_text().splitlines() if line.strip()]
    sums_up(split(envelopes))


def sums_up(one: TimeSplit) -> None:
    assert sum(one.seconds.values()) == pytest.approx(one.total, abs=1e-6)
    assert sum(turn.total for turn in one.turns) == pytest.approx(one.total, abs=1e-6)
    assert all(earlier.begun <= later.begun for earlier, later in pairwise(one.turns))
    assert all(0 <= span.begun <= span.ended <= one.total for span in one.spans)
