"""How well it is noticed that an execution is stuck: labelled trajectories of families that no rule was tuned by.

Noticed is what the product does: a trigger of ``escalation`` fires at the end of a turn.  A stuck trajectory counts as
noticed where that is in or after the turn from which it is stuck; a healthy one where it is at all, and a stuck one where it
is earlier, are false alarms.  Nothing follows from a trigger here: each log goes on as it was told.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from agentic.core.fold.fold import evolve
from agentic.core.rules.escalation import trigger
from agentic.core.rules.nudges import repetition as nudged
from agentic.core.state.execution import Execution
from bench.figures import Figure
from bench.stuck_others import hermes, openhands
from bench.trajectories import trajectories
from bench.trajectories.story import Split, Trajectory


@dataclass(frozen=True, slots=True)
class Verdict:
    """Of one trajectory: the first turn at which a rule fired, 0 where none did."""

    trajectory: Trajectory
    fired: int

    @property
    def noticed(self) -> bool:
        return bool(self.trajectory.stuck_from) and self.fired >= self.trajectory.stuck_from

    @property
    def false_alarm(self) -> bool:
        return bool(self.fired) and not self.noticed


Judge = Callable[[Trajectory], tuple[int, int]]
"""The first turns at which it would nudge and at which it would call for more; 0 where it would not."""


def product(trajectory: Trajectory) -> tuple[int, int]:
    """The rules of the product, over the fold of the log."""
    execution = Execution()
    first = nudge = 0
    for envelope in trajectory.envelopes:
        execution = evolve(execution, envelope)
        if envelope.event.kind == "turn_ended":
            if not first and trigger(execution):
                first = execution.turn.number
            if not nudge and nudged(execution):
                nudge = execution.turn.number
    return nudge, first


def judged(split: Split, judge: Judge) -> tuple[list[Verdict], list[Verdict]]:
    """What a judge says of all trajectories of a side: its nudges and its calls for more."""
    told = [(trajectory, judge(trajectory)) for trajectory in trajectories(split)]
    return [Verdict(t, nudge) for t, (nudge, _) in told], [Verdict(t, fired) for t, (_, fired) in told]


def recall(verdicts: Sequence[Verdict]) -> float:
    """The share of stuck ones that were noticed."""
    stuck = [verdict for verdict in verdicts if verdict.trajectory.stuck_from]
    return sum(verdict.noticed for verdict in stuck) / len(stuck)


def false_alarms(verdicts: Sequence[Verdict]) -> float:
    """The share of all that were called stuck when they were not: healthy ones, and stuck ones before their turn."""
    healthy = [verdict for verdict in verdicts if not verdict.trajectory.stuck_from]
    early = sum(verdict.false_alarm for verdict in verdicts if verdict.trajectory.stuck_from)
    return (sum(verdict.false_alarm for verdict in healthy) + early) / len(healthy)


def by_family(verdicts: Sequence[Verdict]) -> str:
    """Each family: noticed of stuck, false alarms of healthy."""
    lines: list[str] = []
    for family in dict.fromkeys(verdict.trajectory.family for verdict in verdicts):
        some = [verdict for verdict in verdicts if verdict.trajectory.family == family]
        stuck = [verdict for verdict in some if verdict.trajectory.stuck_from]
        healthy = [verdict for verdict in some if not verdict.trajectory.stuck_from]
        alarms = sum(verdict.false_alarm for verdict in some)
        noticed = f"{sum(verdict.noticed for verdict in stuck)}/{len(stuck)} noticed, " if stuck else ""
        lines.append(f"{family}: {noticed}{alarms} false of {len(healthy)} healthy")
    return "; ".join(lines)


def delay(verdicts: Sequence[Verdict]) -> float:
    """The median of turns from the first that leads nowhere to the one at whose end it is noticed, both counted."""
    turns = sorted(v.fired - v.trajectory.stuck_from + 1 for v in verdicts if v.noticed)
    return turns[len(turns) // 2] if turns else 0.0


def figures() -> Iterator[Figure]:
    """The held-out families with their targets, then the tuning families, then the rules of others."""
    for split, name in (("test", "stuck"), ("tuning", "stuck_tuning")):
        nudges, fired = judged(split, product)
        aims = (0.95, 0.02) if split == "test" else (None, None)
        counts = sum(bool(verdict.trajectory.stuck_from) for verdict in fired)
        note = f"{counts} stuck, {len(fired) - counts} healthy; {by_family(fired)}"
        yield Figure(f"{name}_recall", recall(fired), "share", ">=", aims[0], note)
        yield Figure(f"{name}_false_alarms", false_alarms(fired), "share", "<=", aims[1], f"{split} families")
        yield Figure(f"{name}_delay", delay(fired), "turns", note="median, from the first turn that leads nowhere")
        yield Figure(f"{name}_nudge_recall", recall(nudges), "share", note="told so, before a stronger model is called")
        yield Figure(f"{name}_nudge_false_alarms", false_alarms(nudges), "share", note="a note too many costs little")
    for name, judge in (("openhands", openhands), ("hermes", hermes)):
        nudges, fired = judged("test", judge)
        note = f"their rules as published; {by_family(fired)}"
        yield Figure(f"stuck_{name}_recall", recall(fired), "share", note=note)
        yield Figure(f"stuck_{name}_false_alarms", false_alarms(fired), "share")
        yield Figure(f"stuck_{name}_nudge_recall", recall(nudges), "share")
        yield Figure(f"stuck_{name}_nudge_false_alarms", false_alarms(nudges), "share")
