"""How an execution came out, and what could be seen of it under way: read from its log and outcome, and nothing else.

So labels can be derived again at any time, and what a newer version reads in a trajectory is read in old ones too.  The
most trusted source that says something counts:

    person    the votes that stand, the requester's counting double; a correction of the result is a 👎
    verifier  the last check of the work, as the evaluator read it
    merge     an offered branch was merged, or turned down
    tests     the last test run, where nothing was evaluated

How it ended is no evidence: whoever says "done" may be wrong, and whoever gave up may have been right.  Nor is what a
fork or a retry was copied with, which counts where it happened.  What people stopped or dropped, and what an outage of the
provider ended, says nothing about the work.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from agentic.calibration.fitting import Example
from agentic.core.claims import completion
from agentic.core.claims.call_counts import call_of
from agentic.core.claims.confidence import (
    MOST_SHOWN,
    before_votes,
    model_of,
    role_of,
    vote_of,
)
from agentic.core.claims.features import features_of
from agentic.core.events.execution_events import (
    BranchMerged,
    BranchRejected,
    Envelope,
    Evaluated,
    Event,
    FeedbackGiven,
    InputReceived,
    Started,
    ToolFinished,
    TurnEnded,
)
from agentic.core.fold.fold import evolve
from agentic.core.state.execution import Execution
from agentic.ports.stores import LabelRow, LabelSource, Look

TRUST: dict[LabelSource, float] = {"person": 1.0, "verifier": 1.0, "merge": 0.9, "tests": 0.8, "reason": 0.0, "": 0.0}
"""How much a label of this source counts."""
UNDER_WAY = 0.5
"""How much a look under way counts beside the one at the end."""
REQUESTER = 2
"""Votes of the requester count so often."""


def label_of(log: Iterable[Envelope], outcome: Iterable[Envelope], guild: str) -> LabelRow | None:
    """The row of an execution, None while it runs, for side questions and for the tour, which nothing can be learned from."""
    execution = Execution()
    looks: list[Look] = []
    votes: dict[str, str] = {}
    own = _Own()
    for envelope in log:
        own.take(execution, envelope)
        if isinstance(envelope.event, TurnEnded) and own.began:
            looks.append(_look(execution, envelope.event))
        execution = evolve(execution, envelope)
        if own.began:
            _vote(envelope.event, votes)
    if execution.finished is None or execution.started is None or execution.policy.tour:
        return None
    if execution.side or execution.child:
        return None
    after = [envelope.event for envelope in outcome]
    for event in after:
        _vote(event, votes)
    source, label = _outcome(execution, after, votes, own)
    return LabelRow(
        execution=execution.id,
        thread=execution.thread,
        guild=guild,
        role=role_of(execution),
        model=model_of(execution),
        tier=execution.tier,
        label=label,
        source=source,
        weight=TRUST[source],
        final=_final(execution),
        up=sum(vote == "up" for vote in votes.values()),
        down=sum(vote == "down" for vote in votes.values()),
        talk=execution.talk,
        looks=_chosen(looks),
    )


def examples(rows: Iterable[LabelRow]) -> list[Example]:
    """What labels teach: each look at an execution whose outcome is known."""
    made: list[Example] = []
    for row in rows:
        if row.label is None or not row.known or row.talk:
            continue
        for look in row.looks:
            end = look is row.looks[-1]
            mass = row.weight * (1.0 if end else UNDER_WAY)
            made.append(
                Example(row.execution, look.features, row.label, mass, look.role, look.model, look.heuristic / 100, end)
            )
    return made


@dataclass(slots=True)
class _Own:
    """What of a log is an execution's own, and what of it could say how the work came out."""

    copied: int = 0
    """Through which event it is a copy."""
    began: bool = False
    ran: bool = False
    """A command ran."""
    tested: bool = False
    """Tests were counted."""

    def take(self, execution: Execution, envelope: Envelope) -> None:
        event = envelope.event
        if isinstance(event, Started) and event.forked_from is not None:
            self.copied = event.forked_from[1]
        self.began = envelope.seq > self.copied
        if not self.began or not isinstance(event, ToolFinished) or event.outcome not in ("ok", "failed"):
            return
        call = call_of(execution, event.call)
        self.ran = self.ran or (call is not None and "command" in call.block.arguments)
        self.tested = self.tested or event.tests_passed is not None or event.tests_failed is not None


def _final(execution: Execution) -> int:
    """The confidence it ended with, without what votes moved: they are counted on their own."""
    sure, end = execution.confidence, execution.finished
    if sure is not None and sure.moved_from is not None:
        return min(sure.moved_from[0], MOST_SHOWN)
    return end.confidence if end is not None else 0


def _look(execution: Execution, event: TurnEnded) -> Look:
    """The end of a turn, with what it recorded then; its features are read anew."""
    self_report = event.confidence.parts.self_report
    shown, heuristic = before_votes(event.confidence)
    proven = completion.proven(execution)
    return Look(
        turn=event.turn,
        features=features_of(execution, self_report, proven=proven),
        self_report=self_report,
        heuristic=heuristic,
        shown=shown,
        role=role_of(execution),
        model=model_of(execution),
    )


def _chosen(looks: Sequence[Look]) -> tuple[Look, ...]:
    """The last look, and one half-way: more of the same execution would say the same again."""
    return (looks[len(looks) // 2 - 1], looks[-1]) if len(looks) > 1 else tuple(looks)


def _vote(event: Event, votes: dict[str, str]) -> None:
    if isinstance(event, FeedbackGiven):
        person, vote = event.by.id, event.vote
    elif isinstance(event, InputReceived) and event.sort == "feedback":
        person, vote = event.author.id, vote_of(event)
    else:
        return
    votes.pop(person, None)
    if vote in ("up", "down"):
        votes[person] = vote


def _outcome(
    execution: Execution, after: Sequence[Event], votes: dict[str, str], own: _Own
) -> tuple[LabelSource, bool | None]:
    balance = sum(
        (REQUESTER if person == execution.requester.id else 1) * (1 if vote == "up" else -1)
        for person, vote in votes.items()
    )
    if balance:
        return "person", balance > 0
    reason = execution.finished.reason if execution.finished else "cancelled"
    if reason in ("stopped", "cancelled") or (reason == "failed" and execution.failure.last is not None):
        return "", None
    verdict = next((event.verifier for event in reversed(after) if isinstance(event, Evaluated)), "none")
    if verdict != "none" and (own.ran or not own.copied):
        return "verifier", verdict == "pass"
    for event in reversed(after):
        if isinstance(event, BranchMerged | BranchRejected):
            return "merge", isinstance(event, BranchMerged)
    tests = execution.judged.tests
    if tests is not None and sum(tests) and own.tested:
        return "tests", tests[1] == 0
    return "", None
