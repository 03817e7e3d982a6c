"""Escalations as text: when another tier took over, why, on what evidence, and what came of it; from the log, pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from agentic.core.claims.confidence import told
from agentic.core.events.execution_events import (
    Envelope,
    Escalated,
    Finished,
    Intervened,
    ModelAnswered,
    ModelRequested,
    Started,
    Tier,
    TurnEnded,
)
from bot.messages.report_text import TASK, stamp
from bot.ports.conversation import StatusView
from bot.progress.text import money
from bot.rendering.console_links import turn_link
from bot.rendering.discord_text import fenced, plain

EXECUTIONS = 5
"""So many of the newest executions are in the table."""
ROW = "{:<7} {:>4} {:>10} {:>8}"


@dataclass(frozen=True, slots=True)
class Rise:
    """A change of tier or an advice: its reason, and what came of it until the next one."""

    at: datetime
    turn: int
    from_tier: int
    to_tier: int
    trigger: str
    from_model: str = ""
    to_model: str = ""
    confidence: int | None = None
    usd: float = 0.0
    """US dollars spent until then."""
    turns_after: int = 0
    usd_after: float = 0.0
    confidence_after: int | None = None
    ended: str = ""
    """How the execution ended, for the last change."""
    details: str = ""
    """The address of its task on the console."""


def rises(envelopes: Iterable[Envelope]) -> list[Rise]:
    """Return the changes of tier, in order."""
    found: list[Rise] = []
    turn, tier, usd = 0, 0, 0.0
    sure: int | None = None
    for each in envelopes:
        match each.event:
            case ModelRequested(purpose="turn") as asked:
                turn = asked.turn
            case TurnEnded() as ended:
                sure = told(ended.confidence, None)
                if found:
                    found[-1] = replace(found[-1], turns_after=found[-1].turns_after + 1, confidence_after=sure)
            case ModelAnswered() as answered:
                usd += answered.usd
                if found:
                    found[-1] = replace(found[-1], usd_after=found[-1].usd_after + answered.usd)
            case Escalated() as change:
                tier = change.to_tier
                found.append(
                    Rise(
                        each.at, change.turn or turn, change.from_tier, tier, change.trigger, change.from_model,
                        change.to_model, change.confidence if sure is None else sure, change.usd or usd,
                    )
                )  # fmt: skip
            case Intervened(rule="advice"):
                found.append(Rise(each.at, turn, tier, tier, "", confidence=sure, usd=usd))
            case Finished() as finished if found:
                found[-1] = replace(found[-1], ended=finished.reason)
            case _:
                pass
    return found


def escalation(found: Iterable[Rise], status: StatusView, tiers: Sequence[Tier]) -> str:
    """Show each change of tier with its reason and results, the present tier, and all tiers."""
    lines = [line for rise in found for line in _told(rise)]
    lines = lines or ["No stronger model was needed here."]
    if status.model:
        lines.append(f"Now: tier {status.tier}, {plain(status.model, 80)}.")
    lines += [f"-# tier {tier.number}: {plain(', '.join(tier.models), 150)}" for tier in tiers]
    lines.append(
        "-# A stronger model takes over when I'm stuck, keep failing the same way, or am unsure. 🚀 asks for one at once."
    )
    return "\n".join(lines)


def turns_by_tier(logs: Sequence[Sequence[Envelope]]) -> str:
    """Show which tier answered which turns of the newest executions, how sure it was, and US dollars; '' without turns."""
    lines: list[str] = []
    for log in logs[-EXECUTIONS:]:
        task = next((each.event.task for each in log if isinstance(each.event, Started)), "")
        if rows := [_row(each) for each in stretches(log)]:
            lines += [" ".join(task.split())[:TASK], *rows]
    return fenced("\n".join((ROW.format("turns", "tier", "confidence", "US$"), *lines))) if lines else ""


def _row(one: Stretch) -> str:
    sure = str(one.first_sure) if one.turns == 1 else f"{one.first_sure} → {one.last_sure}"
    numbers = str(one.first) if one.turns == 1 else f"{one.first}–{one.first + one.turns - 1}"
    return ROW.format(numbers, one.tier, sure, f"{one.usd:.4f}" if 0 < one.usd < 0.1 else f"{one.usd:.2f}")


@dataclass(frozen=True, slots=True)
class Stretch:
    """Turns in a row that one tier answered, and what they cost in US dollars."""

    first: int
    turns: int
    tier: int
    first_sure: int
    last_sure: int
    usd: float


def stretches(log: Iterable[Envelope]) -> list[Stretch]:
    """Return the turns of an execution that ended, put together by the tier that answered."""
    found: list[Stretch] = []
    tier, usd = 0, 0.0
    for each in log:
        match each.event:
            case ModelRequested(purpose="turn") as asked:
                tier = asked.tier
            case ModelAnswered() as answered:
                usd += answered.usd
            case TurnEnded() as ended:
                sure = told(ended.confidence, None) or 0
                last = found[-1] if found else None
                if last is not None and last.tier == tier and last.first + last.turns == ended.turn:
                    found[-1] = replace(last, turns=last.turns + 1, last_sure=sure, usd=last.usd + usd)
                else:
                    found.append(Stretch(ended.turn, 1, tier, sure, sure, usd))
                usd = 0.0
            case _:
                pass
    return found


def _told(rise: Rise) -> Iterable[str]:
    by_then = [
        f"confidence {rise.confidence}" if rise.confidence is not None else "",
        f"{money(rise.usd)} spent by then",
    ]
    after = [
        f"{rise.turns_after} turn{'s' * (rise.turns_after != 1)}",
        money(rise.usd_after),
        f"confidence {rise.confidence_after}" if rise.confidence_after is not None else "",
        rise.ended,
    ]
    where = f"{stamp(rise.at)} {turn_link(rise.details, rise.turn)}"
    if not rise.trigger:
        yield f"💡 {where}: a stronger model gave advice"
    else:
        sign = "▲" if rise.to_tier > rise.from_tier else "▼"
        tiers = f"{_tier(rise.from_tier, rise.from_model)} → {_tier(rise.to_tier, rise.to_model)}"
        yield f"{sign} {where}: {tiers}: {plain(rise.trigger)}"
    yield f"-# {', '.join(filter(None, by_then))} · after that: {', '.join(filter(None, after))}"


def _tier(number: int, model: str) -> str:
    bare = plain(model.rpartition("/")[2], 60)
    return f"tier {number} ({bare})" if bare else f"tier {number}"
