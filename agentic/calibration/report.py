"""How well what was said of executions fits how they came out, per role and model; data for words and pictures."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from agentic.calibration.isotonic import Seen
from agentic.calibration.scoring import ReliabilityPoint, brier, ece, reliability
from agentic.ports.stores import LabelRow


@dataclass(frozen=True, slots=True)
class CalibrationGroup:
    """Executions of a role and a model ('' stands for all of them), judged by the end of each; scores 0-1."""

    role: str
    model: str
    labels: int
    base_rate: float
    shown: float
    """Brier score of what people were shown; the following of what else could have been."""
    heuristic: float
    self_report: float
    constant: float
    """Of the base rate itself."""
    ece: float
    points: tuple[ReliabilityPoint, ...]
    """The reliability diagram of what was shown."""

    @property
    def name(self) -> str:
        """In words."""
        return " · ".join(part for part in (self.role, self.model) if part) or "all"


def report(rows: Sequence[LabelRow]) -> tuple[CalibrationGroup, ...]:
    """All first, then each role, each model, and each role with each model, by number of labels."""
    known = [row for row in rows if row.known and not row.talk and row.looks]
    if not known:
        return ()
    groups: dict[tuple[str, str], list[LabelRow]] = {}
    for row in known:
        for key in {(row.role, ""), ("", row.model), (row.role, row.model)} - {("", "")}:
            groups.setdefault(key, []).append(row)
    made = [_group(role, model, members) for (role, model), members in groups.items()]
    return (_group("", "", known), *sorted(made, key=lambda group: (-group.labels, group.name)))


def _group(role: str, model: str, rows: Sequence[LabelRow]) -> CalibrationGroup:
    rate = sum(bool(row.label) for row in rows) / len(rows)
    shown = _seen(rows, [row.looks[-1].shown for row in rows])
    return CalibrationGroup(
        role=role,
        model=model,
        labels=len(rows),
        base_rate=rate,
        shown=brier(shown),
        heuristic=brier(_seen(rows, [row.looks[-1].heuristic for row in rows])),
        self_report=brier(_seen(rows, [row.looks[-1].self_report for row in rows])),
        constant=brier(_seen(rows, [100 * rate for _ in rows])),
        ece=ece(shown),
        points=reliability(shown),
    )


def _seen(rows: Sequence[LabelRow], scores: Sequence[float]) -> list[Seen]:
    return [(score / 100, float(bool(row.label)), row.weight) for score, row in zip(scores, rows, strict=True)]
