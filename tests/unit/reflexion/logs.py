"""Builds logs of executions, turn by turn, the way the loop writes them."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Self

from pydantic import JsonValue

from agentic.core.events.execution_events import (
    Barred,
    ChosenLesson,
    Claim,
    Confidence,
    ConfidenceParts,
    Envelope,
    Event,
    FileChange,
    Finished,
    InputReceived,
    Intervened,
    ModelAnswered,
    ModelFailed,
    ModelRequested,
    Outcome,
    Person,
    Policy,
    Reason,
    Started,
    ToolFinished,
    ToolStarted,
    TurnEnded,
)

EPOCH = datetime(2026, 11, 1, 9, 0, tzinfo=UTC)
ANN = Person(id="100", name="ann")
BEN = Person(id="200", name="ben")
MODEL = "openai/scripted"
SURE = Confidence(
    shown=70,
    heuristic=70,
    parts=ConfidenceParts(self_report=70, tool_ok=1, same_error=0, tests=0.5, progress=1, corrections=0),
)


@dataclass(frozen=True, slots=True)
class Did:
    """One call of a turn and what came of it."""

    command: str
    exit_code: int | None = 0
    says: str = ""
    outcome: Outcome | None = None
    tests: tuple[int, int] | None = None
    changes: tuple[FileChange, ...] = ()
    tool: str = "shell"
    error: str = ""
    fallback: str = ""
    expectation: str = ""
    barred: Barred = ""
    place: str = ""

    def result(self, call: str) -> ToolFinished:
        outcome: Outcome = self.outcome or ("ok" if self.exit_code in (None, 0) else "failed")
        passed, failed = self.tests or (None, None)
        return ToolFinished(
            call=call, outcome=outcome, preview=self.says, exit_code=self.exit_code, changes=self.changes,
            tests_passed=passed, tests_failed=failed, error=self.error, barred=self.barred, place=self.place,
        )  # fmt: skip

    def intent(self, call: str) -> ToolStarted:
        named = {"shell": "command", "python": "code"}.get(self.tool, "path")
        arguments: dict[str, JsonValue] = {named: self.command, "fallback": self.fallback}
        return ToolStarted(
            call=call, provider_id=f"p{call}", tool=self.tool, effect="unkeyed", arguments=arguments, args_sha="0",
            expectation=self.expectation,
        )  # fmt: skip


def edit(path: str, before: str = "1", after: str = "2") -> Did:
    """A write that changed a file."""
    change = FileChange(path=path, kind="modified" if before else "added", sha_before=before, sha_after=after)
    return Did(path, None, "written", changes=(change,), tool="write")


def kept_off(place: str, barred: Barred = "hidden", tool: str = "read") -> Did:
    """A call that a rule kept off a place."""
    return Did(place, None, "'…' was refused", "refused", tool=tool, barred=barred, place=place)


@dataclass(slots=True)
class Log:
    """A log that grows; ``events`` are its envelopes."""

    task: str = "Make the tests of the parser pass."
    thread: str = "900"
    execution: str = "x1"
    policy: Policy = field(default_factory=Policy)
    lessons: tuple[ChosenLesson, ...] = ()
    events: list[Envelope] = field(default_factory=list)
    turn: int = 0

    def __post_init__(self) -> None:
        started = Started(
            thread=self.thread, task=self.task, requester=ANN, policy=self.policy, lessons=self.lessons, inbox="1"
        )
        self.add(started)

    def add(self, *events: Event) -> Self:
        for event in events:
            seq = len(self.events) + 1
            at = EPOCH + timedelta(seconds=seq)
            self.events.append(Envelope(execution=self.execution, seq=seq, at=at, fence=1, event=event))
        return self

    def does(self, *calls: Did, usd: float = 0.0) -> Self:
        """A turn with these calls."""
        self.turn += 1
        request = f"req{self.turn}"
        self.add(ModelRequested(request=request, turn=self.turn, tier=2, model=MODEL))
        self.add(ModelAnswered(request=request, blocks=(), usd=usd))
        for number, did in enumerate(calls):
            call = f"{request}.{number}"
            self.add(did.intent(call), did.result(call))
        return self.add(TurnEnded(turn=self.turn, confidence=SURE))

    def fails_to_ask(self) -> Self:
        """A turn in which the provider did not answer."""
        request = f"req{self.turn + 1}"
        self.add(ModelRequested(request=request, turn=self.turn + 1, tier=2, model=MODEL))
        return self.add(ModelFailed(request=request, failure="unavailable"))

    def nudged(self, rule: str) -> Self:
        return self.add(Intervened(rule=rule, text="…"))

    def hears(self, sort: str, text: str = "", by: Person = ANN, target: str = "") -> Self:
        item = InputReceived.model_validate(
            {"inbox": f"i{len(self.events)}", "sort": sort, "author": by, "text": text, "target": target}
        )
        return self.add(item)

    def ends(self, reason: Reason = "done", answer: str = "It is done.", claims: tuple[Claim, ...] = ()) -> Self:
        return self.add(Finished(reason=reason, answer=answer, claims=claims))
