"""How near the shown confidence is to the best possible number, in the simulated world of docs/calibration.md."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from statistics import mean, median
from time import process_time

from agentic.calibration.fitting import Example, fitted
from agentic.calibration.labelling import TRUST, UNDER_WAY
from agentic.calibration.scoring import ece
from agentic.core.claims.confidence import of_turn
from agentic.core.claims.features import features_of
from agentic.core.events.calibrator import Calibrator, probability
from agentic.core.state.execution import Execution
from bench.calibration_world import Run, World, runs
from bench.figures import Figure, size

SEEDS = {
    "usual": range(1, 1 + size("SEEDS", 24, 1)),
    "easy": range(1, 1 + size("SEEDS", 8, 1)),
    "silent": range(1, 1 + size("SEEDS", 8, 1)),
}
LABELS = (50, 200, 1_000)
JUDGED = range(100_000, 101_000)
WEAK = 0.3
"""How much a label from the way a run ended counts here: the bot keeps none such, and has to bear sources as weak."""
TARGETS = {50: 1.2, 200: 1.1, 1_000: 1.1}


@dataclass(frozen=True, slots=True)
class Look:
    """What is known of a run at one point, and the probability of its success (at its end)."""

    run: Run
    features: dict[str, float]
    heuristic: float
    self_report: float
    truth: float


@dataclass(frozen=True, slots=True)
class Judgement:
    """Brier scores in expectation, of one seed with one number of labels."""

    shown: float
    best: float
    base_rate: float
    heuristic: float
    self_report: float
    under_way: float
    """Over that of the base rate."""
    ece: float
    kind: str


def figures() -> Iterator[Figure]:
    """Every line of the page's table."""
    judged: dict[tuple[World, int], list[Judgement]] = {}
    seconds: list[float] = []
    worlds: tuple[World, ...] = ("usual", "easy", "silent")
    for world in worlds:
        for seed in SEEDS[world]:
            learnt = [(run, look_at(run, run.end, done=True)) for run in runs(world, seed, range(max(LABELS)))]
            ends = [look_at(run, run.end, done=True) for run in runs(world, seed, JUDGED)]
            for labels in LABELS:
                examples = [example for run, look in learnt[:labels] for example in examples_of(run, look)]
                began = process_time()
                calibrator = fitted(examples)
                if labels == max(LABELS):
                    seconds.append(process_time() - began)
                judged.setdefault((world, labels), []).append(judgement(calibrator, learnt[:labels], ends))
    yield from _told(judged)
    yield Figure(
        "calibration_fit_1000_labels",
        1e3 * median(seconds),
        "ms",
        "<=",
        200,
        "of processor time; the median of all fits",
    )


def _told(judged: dict[tuple[World, int], list[Judgement]]) -> Iterator[Figure]:
    for labels in LABELS:
        usual, easy, silent = (judged[world, labels] for world in ("usual", "easy", "silent"))
        ratio = mean(each.shown for each in usual) / mean(each.best for each in usual)
        kinds = ", ".join(sorted({each.kind for each in usual}))
        of = f"calibration_{labels}_labels"
        yield Figure(f"{of}_over_bayes", ratio, "x", "<=", TARGETS[labels], f"{len(usual)} seeds; {kinds}")
        harmed = partial(_worst, against="base_rate")
        yield Figure(f"{of}_over_base_rate_worst", harmed([*usual, *easy]), "x", "<=", 1.0)
        yield Figure(f"{of}_over_base_rate_silent_worst", harmed(silent), "x", "<=", 1.02)
        yield Figure(f"{of}_over_heuristic_worst", _worst(usual, "heuristic"), "x", "<=", 1.0)
        yield Figure(f"{of}_over_self_report_worst", _worst(usual, "self_report"), "x", "<=", 1.0)
        under_way = mean(each.under_way for each in usual)
        yield Figure(f"{of}_under_way_over_base_rate", under_way, "x", note="its end is not known yet")
        yield Figure(f"{of}_ece", mean(each.ece for each in usual), "", note="10 bins, at the end")


def _worst(judged: Sequence[Judgement], against: str) -> float:
    return round(max(each.shown / float(getattr(each, against)) for each in judged), 9)


def look_at(run: Run, execution: Execution, *, done: bool) -> Look:
    """What the bot would make of a state."""
    tests = execution.judged.tests
    proven = (tests is not None and tests[1] == 0) if done else None
    value = of_turn(execution, proven=proven)
    features = features_of(execution, value.parts.self_report, proven=proven)
    return Look(run, features, value.heuristic / 100, value.parts.self_report / 100, run.truth)


def examples_of(run: Run, end: Look) -> Iterator[Example]:
    """What is stored of a run: its end, and a look under way."""
    trust = WEAK if run.source == "reason" else TRUST[run.source]
    looks = [(end, trust, True)]
    if run.under_way is not None:
        looks.insert(0, (look_at(run, run.under_way, done=False), trust * UNDER_WAY, False))
    for look, mass, last in looks:
        yield Example(
            run.end.id, look.features, run.label, mass, run.role, run.model, heuristic=look.heuristic, end=last
        )


def judgement(calibrator: Calibrator | None, learnt: Sequence[tuple[Run, Look]], ends: Sequence[Look]) -> Judgement:
    """The scores on runs that were not fitted on."""
    base = mean(run.label for run, _ in learnt)
    said = [_shown(calibrator, look) for look in ends]
    under_way = [
        look_at(look.run, look.run.under_way, done=False) for look in ends[::4] if look.run.under_way is not None
    ]
    on_the_way = [(_shown(calibrator, look), look.truth) for look in under_way]
    return Judgement(
        shown=_expected([(value, look.truth) for value, look in zip(said, ends, strict=True)]),
        best=_expected([(look.truth, look.truth) for look in ends]),
        base_rate=_expected([(base, look.truth) for look in ends]),
        heuristic=_expected([(look.heuristic, look.truth) for look in ends]),
        self_report=_expected([(look.self_report, look.truth) for look in ends]),
        under_way=_expected(on_the_way) / _expected([(base, truth) for _, truth in on_the_way]),
        ece=ece([(value, look.truth, 1.0) for value, look in zip(said, ends, strict=True)]),
        kind=calibrator.kind if calibrator is not None else "heuristic",
    )


def _shown(calibrator: Calibrator | None, look: Look) -> float:
    value = None if calibrator is None else probability(calibrator, look.run.role, look.run.model, look.features)
    return look.heuristic if value is None else value


def _expected(rows: Sequence[tuple[float, float]]) -> float:
    return mean(truth * (1 - truth) + (said - truth) ** 2 for said, truth in rows)
