"""How an execution came out is read from its log and what people said of it, the most trusted source first."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import Literal

import pytest

from agentic.calibration.labelling import TRUST, UNDER_WAY, examples, label_of
from agentic.calibration.report import report
from agentic.core.claims.features import FEATURES
from agentic.core.events.execution_events import (
    BranchMerged,
    BranchRejected,
    Envelope,
    Evaluated,
    Event,
    FeedbackGiven,
    FileChange,
    Finished,
    Reason,
    Started,
    TurnEnded,
    WorkspaceRestored,
)
from agentic.core.state.execution import Execution
from agentic.ports.runtime import LabelRow
from tests.unit.core.building import BEGUN, BOSS, GUEST, YOU, Log


def run(reason: Reason = "done", *, tests: tuple[int, int] | None = None, turns: int = 5) -> Log:
    log = Log(repeats_nudged=99, repeats_escalate=99)
    for turn in range(turns):
        log.answer(f"confidence: {60 + turn}", ("look", {}))
        made = FileChange(path=f"{turn}.txt", kind="added", sha_after="1")
        log.use(0, tests=tests if turn == turns - 1 else None, changes=(made,))
        log.settle()
    log.add(Finished(reason=reason, answer="It is done.", confidence=64))
    return log


def row(log: Log, *outcome: Event) -> LabelRow:
    after = [
        Envelope(execution="x1", seq=n, at=BEGUN + timedelta(days=1), fence=0, event=event)
        for n, event in enumerate(outcome, start=1)
    ]
    made = label_of(log.envelopes, after, "guild 1")
    assert made is not None
    return made


def vote(which: Literal["up", "down", "none"], by: object = YOU) -> FeedbackGiven:
    return FeedbackGiven.model_validate({"by": by, "vote": which})


PASSED = Evaluated(score=90, parts={}, verifier="pass")
FAILED = Evaluated(score=20, parts={}, verifier="fail")
MERGED = BranchMerged(offer="o", branch="b", commit="c", by=BOSS)
REJECTED = BranchRejected(offer="o", branch="b", commit="c", by=BOSS)


@pytest.mark.parametrize(
    ("log", "outcome", "source", "label"),
    [
        (run(), (), "", None),
        (run("stuck"), (), "", None),
        (run("limit"), (), "", None),
        (run("stopped"), (), "", None),
        (run("cancelled"), (PASSED,), "", None),
        (run("stopped"), (vote("down"),), "person", False),
        (run(tests=(3, 0)), (), "tests", True),
        (run(tests=(3, 1)), (), "tests", False),
        (run(tests=(3, 1)), (MERGED,), "merge", True),
        (run(tests=(3, 0)), (MERGED, REJECTED), "merge", False),
        (run(tests=(3, 1)), (PASSED,), "verifier", True),
        (run(), (PASSED, FAILED, MERGED), "verifier", False),
        (run(), (Evaluated(score=60, parts={}),), "", None),
        (run(), (PASSED, vote("down")), "person", False),
        (run(), (FAILED, vote("up")), "person", True),
        (run(), (FAILED, vote("up"), vote("none")), "verifier", False),
        (run(), (PASSED, vote("down"), vote("up")), "person", True),
        (run(), (PASSED, vote("up"), vote("down", GUEST)), "person", True),
        (run(), (FAILED, vote("up", BOSS), vote("down", GUEST)), "verifier", False),
    ],
)
def test_the_most_trusted_source_says_how_it_came_out(
    log: Log, outcome: tuple[Event, ...], source: str, label: bool | None
) -> None:
    made = row(log, *outcome)
    assert (made.source, made.label) == (source, label)
    assert made.weight == TRUST[made.source]


def test_an_outage_says_nothing_about_the_work() -> None:
    log = Log()
    log.answer(("look", {}))
    log.use(0)
    log.settle()
    log.fail("unavailable")
    log.add(Finished(reason="failed", answer="The provider did not answer."))
    assert row(log).label is None


def test_what_could_be_seen_is_kept_half_way_and_at_the_end() -> None:
    log = run(tests=(3, 0), turns=7)
    made = row(log, PASSED)
    assert [look.turn for look in made.looks] == [3, 7]
    assert (made.thread, made.guild, made.role, made.model, made.tier) == ("100", "guild 1", "", "small-a", 2)
    assert (made.final, made.up, made.down, made.talk) == (64, 0, 0, False)
    ended = [each.event.confidence for each in log.envelopes if isinstance(each.event, TurnEnded)]
    assert [look.heuristic for look in made.looks] == [ended[2].heuristic, ended[6].heuristic]
    assert [look.shown for look in made.looks] == [ended[2].shown, ended[6].shown]
    assert [look.self_report for look in made.looks] == [62, 66]
    assert set(made.looks[-1].features) == set(FEATURES)
    assert made.looks[-1].features["tests_all"] == 1.0
    half, end = examples([made])
    assert (half.end, end.end) == (False, True)
    assert (half.mass, end.mass) == (UNDER_WAY, 1.0)
    assert end.heuristic == ended[6].heuristic / 100
    assert [look.turn for look in row(run(turns=1)).looks] == [1]


def test_what_runs_and_side_questions_have_no_label_and_talk_teaches_nothing() -> None:
    running = Log()
    assert label_of(running.envelopes, (), "") is None
    assert label_of((), (), "") is None
    side = Log(side=True)
    side.add(Finished(reason="done", answer="Yes."))
    assert label_of(side.envelopes, (), "") is None
    said = Log(talk=True)
    said.answer("Hello.")
    said.settle()
    said.add(Finished(reason="done", answer="Hello."))
    talk = row(said, vote("up"))
    assert talk.talk
    assert talk.label is True
    assert examples([talk]) == []
    assert examples([row(run("stopped"))]) == []


def forked(log: Log, through: int, *more: Event) -> Log:
    """A log that begins with a copy of another through an event, and ends as it is told."""
    first = log.envelopes[0].event
    assert isinstance(first, Started)
    fork = Log(triaged=False)
    fork.envelopes, fork.execution = [], Execution(id="x1")
    fork.add(first.model_copy(update={"forked_from": ("x0", through)}))
    fork.add(*[each.event for each in log.envelopes[1:through]])
    fork.add(WorkspaceRestored(manifest="m"), *more)
    return fork


def test_what_a_fork_was_copied_with_gives_no_second_label() -> None:
    """Its tests, its votes and its turns are told where they happened; only what it did itself counts for it."""
    log = run(tests=(3, 0))
    log.envelopes.pop()  # before it ended
    log.say("feedback", "up")
    through = len(log.envelopes)
    finished = Finished(reason="done", answer="It is done.", confidence=70)
    idle = forked(log, through, finished)
    made = row(idle, PASSED)
    assert (made.label, made.source, made.looks, made.up) == (None, "", (), 0)
    looked = forked(log, through)
    looked.answer(("look", {}))
    looked.use(0)
    looked.settle()
    looked.add(finished)
    made = row(looked, PASSED)
    assert (made.label, made.source, len(made.looks)) == (None, "", 1)
    assert row(looked, PASSED, vote("down")).label is False
    tested = forked(log, through)
    tested.answer(("shell", {"command": "pytest"}))
    tested.use(0, exit_code=1, tests=(2, 1))
    tested.settle()
    tested.add(finished)
    assert (row(tested).label, row(tested).source) == (False, "tests")
    assert (row(tested, FAILED).label, row(tested, FAILED).source) == (False, "verifier")


def test_how_it_ended_counts_for_nothing_in_rows_of_earlier_versions_too() -> None:
    old = replace(row(run(tests=(3, 0))), source="reason", weight=0.3)
    assert old.label is True
    assert not old.known
    assert examples([old]) == []
    assert report([old]) == ()


def test_votes_given_while_it_ran_are_evidence_and_no_sign_of_it() -> None:
    """What is fitted sees the confidence without them, else it would learn the labels by heart."""
    log = Log()
    for turn in range(2):
        log.answer("confidence: 60", ("look", {"path": str(turn)}))
        log.use(0)
        log.settle()
        log.say("feedback", "down")
    sure = log.execution.confidence
    assert sure is not None
    assert sure.moved_from is not None
    log.add(Finished(reason="done", answer="It is done.", confidence=sure.shown))
    made = row(log)
    assert (made.label, made.source, made.down) == (False, "person", 1)
    assert (made.final, made.looks[-1].heuristic) == (sure.moved_from[0], sure.moved_from[1])


def test_the_report_tells_each_role_and_model() -> None:
    good, bad = row(run(), PASSED), row(run("stuck"), FAILED)
    rows = [good, bad, good, row(run("stopped"))]
    groups = report(rows)
    assert [(group.name, group.labels) for group in groups] == [("all", 3), ("small-a", 3)]
    shown = good.looks[-1].shown / 100
    assert groups[0].base_rate == pytest.approx(2 / 3)
    assert groups[0].shown == pytest.approx(((1 - shown) ** 2 * 2 + shown**2) / 3)
    assert groups[0].constant == pytest.approx(2 / 9)
    assert len(groups[0].points) == 1
    assert report([]) == ()
