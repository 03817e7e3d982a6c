"""Logs of executions that get stuck, for tests of what follows."""

from __future__ import annotations

from agentic.core.display.outbox_items import visible
from agentic.core.events.execution_events import (
    Confidence,
    Escalated,
    ModelAnswered,
    ModelRequested,
    Reported,
    TextBlock,
    Triaged,
    TurnEnded,
    Usage,
)
from agentic.core.events.values import FileChange
from agentic.core.state.actions import Consult
from tests.unit.core.building import Log
from tests.unit.core.test_confidence import parts

THREE = tuple({"number": n, "models": (f"lab/m{n}",)} for n in (2, 3, 4))
ONE = ({"number": 2, "models": ("lab/m2",)},)
CHANGE = FileChange(path="a.py", kind="modified", sha_before="1", sha_after="2")


def turn(log: Log, *, error: str = "", changed: bool = True, score: int = 90, status: str = "", name: str = "") -> None:
    """One turn with a call and a given confidence; another call each time unless it is named."""
    log.answer(("shell", {"command": name or f"do {log.execution.seq}"}))
    if status:
        log.add(Reported.model_validate({"status": status, "confidence": 20}))
    changes = (CHANGE.model_copy(update={"sha_after": str(log.execution.seq)}),) if changed else ()
    log.use(0, "failed" if error else "ok", error=error, exit_code=int(bool(error)), changes=changes)
    number = log.execution.turn.number
    log.add(TurnEnded(turn=number, confidence=Confidence(shown=score, heuristic=score, parts=parts())))


def changes_of_tier(log: Log) -> list[Escalated]:
    log.settle()
    return [envelope.event for envelope in log.envelopes if isinstance(envelope.event, Escalated)]


def new(**policy: object) -> Log:
    log = Log(**{"tiers": THREE, "turns_medium": 99, "advise_first": False, **policy})
    log.add(Triaged(talk=False, changes_files=True))
    return log


def announced(log: Log, event: Escalated) -> str:
    before = log.execution
    log.add(event)
    (notice,) = visible(before, log.envelopes[-1])
    return notice.text


def requested(log: Log, asked: Consult) -> str:
    name = f"r{log.execution.seq + 1}"
    log.add(ModelRequested(request=name, turn=asked.turn, purpose=asked.purpose, tier=asked.tier, model=asked.model))
    return name


def consulted(log: Log, asked: Consult, text: str) -> None:
    request = requested(log, asked)
    log.add(ModelAnswered(request=request, blocks=(TextBlock(text=text),), usage=Usage(output=5), usd=0.001))


def same_error(log: Log) -> None:
    turn(log, error="E: it broke here")


def gives_up(log: Log, **arguments: object) -> None:
    log.answer(("finish", {"answer": "I cannot.", "success": False, **arguments}))  # pyright: ignore[reportArgumentType]
    log.use(0)
    log.settle()
