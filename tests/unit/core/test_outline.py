"""What somebody outside is told of a log: which events, in which order, under which keys, and nothing of anybody's words."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime

import pytest

from agentic.core.events.execution_events import (
    Asked,
    BranchMerged,
    BranchRejected,
    CheckpointSaved,
    CommitCreated,
    Confidence,
    ConfidenceParts,
    Envelope,
    Escalated,
    Event,
    FeedbackGiven,
    Finished,
    Noted,
    Person,
    Reason,
    Reported,
    Started,
    Triaged,
    TurnEnded,
    WorkspaceRestored,
)
from agentic.core.outside.outline import Outline, Stream, follow
from agentic.core.outside.outside_events import OUTSIDE_EVENT, AnyOutsideEvent, as_json

NOW = datetime(2026, 1, 1, tzinfo=UTC)
YOU = Person(id="7", name="Ada Secret")
PARTS = ConfidenceParts(self_report=70, tool_ok=1, same_error=0, tests=0.5, progress=1, corrections=0)
WORDS = "words of a person"


def started(**more: object) -> Started:
    return Started.model_validate({"thread": "100", "task": WORDS, "requester": YOU, **more})


def turn(number: int, shown: int) -> TurnEnded:
    return TurnEnded(turn=number, confidence=Confidence(shown=shown, heuristic=5, parts=PARTS))


def told(*events: Event, stream: Stream = "log", before: Outline | None = None) -> list[AnyOutsideEvent]:
    """What is told of these events."""
    outline, found = before or Outline(), list[AnyOutsideEvent]()
    for seq, event in enumerate(events, 1):
        outline, more = follow(outline, Envelope(execution="x1", seq=seq, at=NOW, fence=1, event=event), stream)
        found += more
    return found


def keys(found: Sequence[AnyOutsideEvent]) -> list[str]:
    return [f"{event.key} {event.event}" for event in found]


def test_an_execution_is_told_from_its_start_with_its_role_to_its_end() -> None:
    found = told(
        started(attempt=2), Noted(text=WORDS), Triaged(talk=False, role="python-coder", complexity="complex", why=WORDS),
        CheckpointSaved(manifest="m1", through_seq=2), Reported(status="stuck", confidence=9, note=WORDS), turn(1, 60),
        turn(2, 40), turn(3, 40), CheckpointSaved(manifest="", through_seq=8, problem=WORDS),
        Finished(reason="done", answer=WORDS, confidence=40),
    )  # fmt: skip
    assert keys(found) == [
        "x1/3 execution_started", "x1/4 checkpoint_saved", "x1/6 turn_completed", "x1/7 turn_completed",
        "x1/7.1 confidence_changed", "x1/8 turn_completed", "x1/10 execution_completed",
    ]  # fmt: skip
    said = [
        event.model_dump(exclude={"key", "execution", "seq", "at", "thread", "parent", "version", "event"})
        for event in found
    ]
    assert said == [
        {"task_type": "task", "role": "python-coder", "complexity": "complex", "attempt": 2},
        {"checkpoint": "m1", "turn": 0, "reason": "first_change"},
        {"turn": 1, "confidence": 60, "status": "stuck"},
        {"turn": 2, "confidence": 40, "status": "progressing"},
        {"turn": 2, "before": 60, "after": 40},
        {"turn": 3, "confidence": 40, "status": "progressing"},
        {"turns": 3, "status": "done", "confidence": 40},
    ]  # fmt: skip
    assert {(event.execution, event.thread, event.parent, event.at) for event in found} == {("x1", "100", "", NOW)}


def test_what_a_person_has_to_do_with_is_told_without_words_of_anybody() -> None:
    commit = CommitCreated(
        offer="o",
        branch="fix",
        commit="c0ffee",
        base="main",
        message=WORDS,
        files=("a", "b"),
        insertions=3,
        deletions=1,
    )
    events: tuple[Event, ...] = (
        started(), Triaged(talk=False),
        Escalated(from_tier=2, to_tier=3, trigger=WORDS, rule="same_error", from_model="small", to_model="large"),
        Asked(question="q1", sort="approval", text=WORDS, expires=NOW), commit, Finished(reason="stuck", answer=WORDS),
    )  # fmt: skip
    found = told(*events)
    lines = b"\n".join(as_json(event) for event in found).decode()
    assert (
        '"event":"model_escalated","from":"small","to":"large","from_tier":2,"to_tier":3,"reason":"same_error"' in lines
    )
    assert (
        '"event":"question_asked","question":"q1","sort":"approval","cap":"","expires":"2026-01-01T00:00:00Z"' in lines
    )
    assert (
        '"event":"commit_created","branch":"fix","commit":"c0ffee","base":"main","files":2,"insertions":3,"deletions":1'
        in lines
    )
    assert [word for word in (WORDS, YOU.name) if word in lines] == []
    assert [OUTSIDE_EVENT.validate_json(line) for line in lines.splitlines()] == found


@pytest.mark.parametrize(
    ("reason", "event"),
    [("stopped", "execution_aborted"), ("cancelled", "execution_aborted"), ("limit", "execution_completed")],
)
def test_each_execution_that_started_ends_in_one_of_two_ways(reason: Reason, event: str) -> None:
    """Also one that was stopped before anybody knew what kind of task it is."""
    assert keys(told(started(role="shell"), Finished(reason=reason, answer=""))) == [
        "x1/2 execution_started", f"x1/2.1 {event}",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("more", "talk", "kind"),
    [
        ({}, True, "talk"), ({"side": True, "parent": "x0"}, True, "side_question"),
        ({"child": True, "parent": "x0"}, False, "part"),
    ],
)  # fmt: skip
def test_it_is_told_what_kind_of_task_it_is_and_whose_part(more: dict[str, object], talk: bool, kind: str) -> None:
    (found,) = told(started(role="shell", **more), Triaged(talk=talk))
    assert found.model_dump(include={"task_type", "parent", "role"}) == {
        "task_type": kind, "parent": more.get("parent", ""), "role": "shell",
    }  # fmt: skip


def test_what_a_fork_copied_is_not_told_again_and_it_starts_where_it_goes_on() -> None:
    copied: list[Event] = [started(forked_from=("x0", 4)), Triaged(talk=False, role="shell"), turn(1, 60), turn(2, 70)]
    found = told(*copied, Noted(text=""), WorkspaceRestored(manifest="m", way="rewind"), turn(3, 50))
    assert keys(found) == ["x1/6 execution_started", "x1/7 turn_completed", "x1/7.1 confidence_changed"]
    assert found[2].model_dump(include={"before", "after"}) == {"before": 70, "after": 50}
    assert told(*copied) == []


def test_what_became_of_a_branch_after_the_end_has_keys_of_its_own() -> None:
    log = Outline(thread="100", announced=True)
    vote = FeedbackGiven(by=YOU, vote="up", why=WORDS)
    merged = BranchMerged(offer="o", branch="fix", commit="c1", by=YOU)
    rejected = BranchRejected(offer="o", branch="other", commit="c2", by=YOU)
    found = told(vote, merged, rejected, stream="outcome", before=log)
    assert keys(found) == ["x1/outcome/2 branch_merged", "x1/outcome/3 branch_rejected"]
    assert keys(told(merged, stream="outcome")) == [
        "x1/outcome/1 branch_merged"
    ]  # of a copy, whose start nobody was told
    assert found[0].model_dump(include={"branch", "commit", "thread"}) == {
        "branch": "fix",
        "commit": "c1",
        "thread": "100",
    }


def test_what_follows_can_begin_anywhere_and_is_the_same() -> None:
    """From the outline that was read of the log up to there, also of events that nobody is told of."""
    events = (
        started(),
        Noted(text=""),
        Triaged(talk=False),
        Reported(status="done", confidence=9),
        turn(1, 50),
        turn(2, 51),
    )
    whole = told(*events)
    for cut in range(len(events)):
        outline = Outline()
        later: list[AnyOutsideEvent] = []
        for seq, event in enumerate(events, 1):
            outline, more = follow(outline, Envelope(execution="x1", seq=seq, at=NOW, fence=1, event=event))
            later += more if seq > cut else ()
        assert later == [event for event in whole if event.seq > cut]
