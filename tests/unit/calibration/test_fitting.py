"""A calibrator learns from labels what the trajectories tell, and no more; how good it is, is told by the scores."""

from __future__ import annotations

import hashlib
import math

import pytest

from agentic.calibration.fitting import LEAST_LABELS, Example, fitted
from agentic.calibration.isotonic import isotonic
from agentic.calibration.logistic import Prior, fit, said_by
from agentic.calibration.scoring import brier, ece, reliability, wilson
from agentic.core.claims.features import FEATURES
from agentic.core.events.calibrator import Calibrator, probability


def chance(seed: int, what: str) -> float:
    return int.from_bytes(hashlib.blake2b(f"{seed} {what}".encode(), digest_size=8).digest()) / 2**64


def example(seed: int, *, telling: bool = True, role: str = "shell", heuristic: float = 0.8) -> Example:
    """Failures tell (or do not) how it comes out: 0, 1 or 2 of them, right with .9, .5, .1."""
    failed = float(int(3 * chance(seed, "failed")))
    right = (0.9, 0.5, 0.1)[int(failed)] if telling else 0.5
    features = dict.fromkeys(FEATURES, 0.0) | {"failed_lately": failed}
    label = chance(seed, "label") < right
    return Example(f"x{seed}", features, label, 1.0, role, "model", heuristic)


def said(calibrator: Calibrator | None, features: dict[str, float], role: str = "shell") -> float:
    assert calibrator is not None
    value = probability(calibrator, role, "model", features)
    assert value is not None
    return value


def test_few_labels_teach_nothing() -> None:
    assert fitted([]) is None
    assert fitted([example(seed) for seed in range(LEAST_LABELS - 1)]) is None
    assert fitted([Example(f"x{n}", {}, label=True, mass=0.0) for n in range(50)]) is None
    assert fitted([example(seed) for seed in range(LEAST_LABELS)]) is not None


def test_what_trajectories_tell_is_learnt() -> None:
    calibrator = fitted([example(seed) for seed in range(500)])
    assert calibrator is not None
    assert calibrator.labels == 500
    told = [said(calibrator, dict.fromkeys(FEATURES, 0.0) | {"failed_lately": n}) for n in (0.0, 1.0, 2.0)]
    assert told == pytest.approx([0.9, 0.5, 0.1], abs=0.12)


def test_where_they_tell_nothing_it_is_the_base_rate() -> None:
    calibrator = fitted([example(seed, telling=False) for seed in range(300)])
    told = [said(calibrator, dict.fromkeys(FEATURES, 0.0) | {"failed_lately": n}) for n in (0.0, 2.0)]
    assert told == pytest.approx([0.5, 0.5], abs=0.12)
    same = [Example(f"x{n}", dict.fromkeys(FEATURES, 0.0), n % 4 == 0, 1.0, heuristic=0.9) for n in range(40)]
    assert said(fitted(same), {}) == pytest.approx(0.25, abs=0.03)


def test_a_role_with_few_labels_is_drawn_towards_all_others() -> None:
    usual = [Example(f"a{n}", {}, n % 2 == 0, 1.0, "shell", "model", 0.9) for n in range(200)]
    rare = [Example(f"b{n}", {}, label=True, mass=1.0, role="dba", model="model", heuristic=0.9) for n in range(3)]
    many = [Example(f"c{n}", {}, n % 10 > 0, 1.0, "planner", "model", 0.9) for n in range(200)]
    calibrator = fitted([*usual, *rare, *many])
    assert calibrator is not None
    shell, dba, planner = (said(calibrator, {}, role) for role in ("shell", "dba", "planner"))
    assert shell == pytest.approx(0.5, abs=0.05)
    assert planner == pytest.approx(0.9, abs=0.05)
    assert shell < dba < 0.9
    assert shell < said(calibrator, {}, "a role that nobody has seen") < planner


def test_a_heuristic_that_is_clearly_better_stays() -> None:
    flags = [chance(seed, "label") < 0.5 for seed in range(60)]
    knowing = [Example(f"x{n}", {}, right, 1.0, heuristic=0.95 if right else 0.05) for n, right in enumerate(flags)]
    assert fitted(knowing) is None


def test_the_same_labels_give_the_same_calibrator_and_its_id_is_its_content() -> None:
    one, two = (fitted([example(seed) for seed in range(80)]) for _ in range(2))
    assert one == two
    assert one is not None
    other = fitted([example(seed) for seed in range(81)])
    assert other is not None
    assert len(one.id) == 12
    assert other.id != one.id
    assert Calibrator.model_validate_json(one.model_dump_json()) == one


def test_labels_that_are_trusted_less_move_it_less() -> None:
    base = [example(seed, telling=False) for seed in range(60)]
    features = dict.fromkeys(FEATURES, 0.0)
    sure = fitted([*base, *(Example(f"y{n}", features, True, 1.0, "r", "model") for n in range(60))])
    weak = fitted([*base, *(Example(f"y{n}", features, True, 0.1, "r", "model") for n in range(60))])
    assert said(weak, features, "r") < said(sure, features, "r")


def test_steps_are_put_on_top_where_what_is_said_is_bent() -> None:
    """Right exactly where there is neither nothing nor much: no straight line says that."""
    rows: list[Example] = []
    for seed in range(600):
        turns = 4 * chance(seed, "turns")
        right = chance(seed, "label") < (0.95 if turns < 0.8 else 0.35)
        features = dict.fromkeys(FEATURES, 0.0) | {"turns": turns}
        rows.append(Example(f"x{seed}", features, right, 1.0, heuristic=0.9))
    calibrator = fitted(rows)
    assert calibrator is not None
    assert calibrator.kind == "isotonic"
    features = dict.fromkeys(FEATURES, 0.0)
    assert said(calibrator, features | {"turns": 0.2}) > 0.8
    assert said(calibrator, features | {"turns": 2.0}) == pytest.approx(0.35, abs=0.1)


def test_newton_finds_where_the_slope_is_nought() -> None:
    ones, values = [1.0] * 40, [chance(seed, "value") for seed in range(40)]
    labels = [float(chance(seed, "label") < 0.3 + 0.4 * value) for seed, value in enumerate(values)]
    priors = (Prior(0.2, 0.5), Prior(1.0, 2.0))
    found = fit([ones, values], labels, ones, priors)
    missed = [label - value for label, value in zip(labels, said_by([ones, values], found.weights), strict=True)]
    slopes = [
        sum(m * v for m, v in zip(missed, column, strict=True)) - prior.precision * (weight - prior.mean)
        for column, prior, weight in zip((ones, values), priors, found.weights, strict=True)
    ]
    assert slopes == pytest.approx([0.0, 0.0], abs=0.02)


def test_isotonic_steps_grow() -> None:
    rows = [(n / 200, float(chance(n, "label") < (n / 200) ** 2), 1.0) for n in range(200)]
    knots = isotonic(rows)
    assert [came for _, came in knots] == sorted({came for _, came in knots})
    assert len(knots) > 2
    assert isotonic([(n / 50, float(n < 25), 1.0) for n in range(50)]) == ()
    assert isotonic([]) == ()


def test_scores() -> None:
    assert brier([]) == 0.25
    assert brier([(1.0, 1.0, 1.0), (0.5, 0.0, 1.0)]) == 0.125
    assert brier([(1.0, 1.0, 1.0), (0.5, 0.0, 3.0)]) == pytest.approx(0.1875)
    honest = [(0.25, float(n % 4 == 0), 1.0) for n in range(40)]
    assert ece(honest) == pytest.approx(0.0, abs=0.1)
    assert ece([(0.77, float(n % 5 == 0), 1.0) for n in range(50)]) == pytest.approx(0.57, abs=0.01)
    assert ece([]) == 0.0


def test_the_diagram_has_bins_of_equal_mass_with_what_is_known_of_each() -> None:
    rows = [(n / 100, float(chance(n, "label") < n / 100), 1.0) for n in range(100)]
    points = reliability(rows)
    assert [point.count for point in points] == [10] * 10
    assert [point.said for point in points] == sorted(point.said for point in points)
    assert all(0 <= point.low <= point.came <= point.high <= 1 for point in points)
    assert len(reliability(rows[:12])) == 2
    assert reliability([]) == ()
    low, high = wilson(0.5, 100)
    assert (round(low, 3), round(high, 3)) == (0.404, 0.596)
    assert wilson(0.0, 0) == (0.0, 1.0)
    assert math.isclose(wilson(1.0, 10)[1], 1.0)
