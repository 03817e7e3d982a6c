"""What people read of the caps of an execution is what its rules go by, and is shown from four fifths on."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import timedelta
from pathlib import Path

import pytest

from agentic.core.events.execution_events import (
    Asked,
    Decided,
    Envelope,
    Event,
    InputReceived,
    ModelAnswered,
    ModelFailed,
    ModelRequested,
    OwnerChanged,
    Policy,
    PolicyChanged,
    Quarantined,
    Triaged,
    Usage,
    WorkspaceRestored,
)
from agentic.core.events.upcasting import read_envelope
from agentic.core.fold.fold import evolve
from agentic.core.fold.people import worked
from agentic.core.rules.used_up_limits import minute_cap, token_cap, usd_cap
from agentic.core.state.execution import Execution
from bot.progress.cap_usage import Limits, Use
from bot.progress.text import progress_text
from tests.unit.bot.following import ANN, START, STARTED, after

RUNS = sorted((Path(__file__).parents[2] / "golden").glob("*/runs/*.jsonl"))


def as_the_rules_count(execution: Execution, envelope: Envelope) -> tuple[Use, ...]:
    seconds = worked(execution, execution.resting_since or envelope.at)
    return (
        Use("usd", execution.spent.usd, usd_cap(execution)),
        Use("tokens", execution.spent.tokens, token_cap(execution)),
        Use("turns", execution.turn.number, execution.turn_limit),
        Use("minutes", seconds / 60, minute_cap(execution)),
    )


def holds(log: Iterable[Envelope]) -> Limits:
    """At each position both count the same."""
    execution, limits = Execution(), Limits()
    for envelope in log:
        execution = evolve(execution, envelope)
        limits.take(envelope)
        assert limits.uses() == as_the_rules_count(execution, envelope), envelope.event
    return limits


@pytest.mark.parametrize("path", RUNS, ids=lambda path: path.stem)
def test_they_are_counted_as_the_rules_count_them(path: Path) -> None:
    limits = holds(read_envelope(line) for line in path.read_text(encoding="utf-8").splitlines())
    assert limits.usd or "money" not in path.stem


def said(sort: str, **more: object) -> InputReceived:
    return InputReceived.model_validate({"inbox": "i", "sort": sort, "author": ANN, **more})


def test_what_was_lost_counts_as_reserved_and_no_time_runs_while_nobody_works() -> None:
    asked = Asked(question="q", sort="extension", text="more?", what="minutes")
    given = PolicyChanged(question="q", by="7", add_minutes=30, add_usd=2, add_tokens=5, add_turns=7)
    events: list[tuple[int, Event]] = [
        (0, STARTED), (1, Triaged(talk=False, complexity="simple")), (2, requested(1)), (3, lost()), (4, requested(1)),
        (5, answered(usd=0.5, tokens=300)), (6, asked), (56, Decided(question="q", by=ANN, choice="more")), (57, given),
        (58, said("pause")), (70, OwnerChanged(worker="v")), (90, said("resume")), (95, OwnerChanged(worker="w")),
        (99, Quarantined()), (140, said("guidance", text="go on")), (141, requested(2)),
        (200, WorkspaceRestored(manifest="m", way="rewind", turn=1)), (201, requested(2)),
    ]  # fmt: skip
    limits = holds(
        Envelope(execution="x", seq=seq, at=START + timedelta(minutes=minute), fence=1, event=event)
        for seq, (minute, event) in enumerate(events, 1)
    )
    usd, tokens, turns, minutes = limits.uses()
    assert (usd.used, usd.cap) == (1.5, 7.0), "a dollar was reserved for what was lost"
    assert (tokens.used, tokens.cap, turns.used, turns.cap) == (300, 2_000_005, 2, 17)
    assert minutes.cap == 90
    assert minutes.used < 20, "of 201, of which a person held or was asked for most"


def requested(turn: int) -> ModelRequested:
    return ModelRequested(request=f"r{turn}", turn=turn, tier=2, model="scripted/plain", reserved_usd=1.0)


def answered(usd: float = 0.0, tokens: int = 0) -> ModelAnswered:
    return ModelAnswered(request="r", blocks=(), usd=usd, usage=Usage(input=tokens))


def lost() -> ModelFailed:
    return ModelFailed(request="r1", failure="lost")


def capped(**caps: float) -> Event:
    return STARTED.model_copy(update={"policy": Policy.model_validate(caps)})


def shown(*events: Event, verbosity: str = "normal") -> str:
    return progress_text(after(*events), verbosity=verbosity)  # type: ignore[arg-type]


def test_nothing_is_said_of_caps_that_are_far() -> None:
    assert "sed up" not in shown(STARTED, requested(15), answered(usd=3.99, tokens=1_599_999))
    assert "used" not in shown(STARTED, requested(15), answered(usd=3.99), verbosity="quiet")


@pytest.mark.parametrize(
    ("events", "line"),
    [
        ((STARTED, requested(1), answered(usd=4.0)), "⏳ Nearly used up: $4.00 of $5.00"),
        ((STARTED, requested(1), answered(tokens=1_600_000)), "⏳ Nearly used up: 1,600,000 of 2,000,000 tokens"),
        ((STARTED, requested(16)), "⏳ Nearly used up: 16 of 20 turns"),
        ((STARTED, requested(18), answered(usd=4.5)), "⏳ Nearly used up: $4.50 of $5.00 · 18 of 20 turns"),
        ((capped(max_minutes=1), requested(1), answered(), requested(1)), "⏳ Used up: 1 of 1 minute"),
        ((capped(max_minutes=1.25), requested(1), answered(), requested(1)), "⏳ Nearly used up: 1 of 1.25 minutes"),
        ((STARTED, requested(18), answered(usd=5.01)), "⏳ Used up: $5.01 of $5.00"),
    ],
)
def test_a_cap_that_comes_near_stands_on_the_card_with_what_is_used_of_it(events: tuple[Event, ...], line: str) -> None:
    assert line in shown(*events).splitlines()
    assert " used · 🛑 stops me" in shown(*events, verbosity="quiet")


def test_it_is_gone_when_there_is_more_room_and_at_the_end() -> None:
    near = (STARTED, requested(1), answered(usd=4.5))
    assert "Nearly used up" in shown(*near)
    assert "used up" not in shown(*near, PolicyChanged(question="q", by="7", add_usd=5))


def test_time_alone_brings_it_near() -> None:
    progress = after(STARTED, requested(1))
    assert progress.latest is not None
    late = progress.latest + timedelta(minutes=50)
    assert "⏳ Nearly used up: 50 of 60 minutes" in progress_text(progress, now=late).splitlines()
    asked = after(STARTED, requested(1), Asked(question="q", sort="question", text="which?"))
    assert "used up" not in progress_text(asked, now=late)
