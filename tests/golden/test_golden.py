"""Logs of every release are read by today's code.  Their files are never written again once a release is out."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, get_args

import pytest
from pydantic import BaseModel, ValidationError

from agentic.core.audit.verification import verify
from agentic.core.events import execution_events, values
from agentic.core.events.execution_events import Envelope
from agentic.core.events.upcasting import read_envelope
from agentic.core.fold.fold import fold
from agentic.core.rules.decide import RULES_VERSION
from agentic.stores.sqlite.store import SQLiteStore
from bot import BUILD
from bot.cli.replay.decision_check import verdict_of
from bot.cli.replay.invariants import broken_promises
from reflexion.evaluation.trajectory import read_trajectory
from reflexion.lessons.lesson import Lesson, Reflection
from tests.golden.writing import required_fields

FOLDER = Path(__file__).parent
RELEASES = sorted(path.parent for path in FOLDER.glob("*/log.jsonl"))
EVERY_LINE = [
    pytest.param(line, id=f"{path.parent.name}-{path.stem}-{number}")
    for release in RELEASES
    for path in (release / "log.jsonl", release / "outcome.jsonl")
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1)
]
OPEN_MAPS = frozenset(("arguments", "answers", "counted", "models", "prices", "roles", "windows"))
releases = pytest.mark.parametrize("release", RELEASES, ids=lambda path: path.name)


def envelopes(path: Path) -> list[Envelope]:
    return [read_envelope(line) for line in path.read_text(encoding="utf-8").splitlines()]


def runs(release: Path) -> list[Path]:
    """The logs of executions that the real loop ran."""
    return sorted((release / "runs").glob("*.jsonl"))


def shapes(value: object) -> Iterator[type[BaseModel]]:
    """The models inside a value, itself among them."""
    if isinstance(value, BaseModel):
        yield type(value)
        value = [getattr(value, name) for name in type(value).model_fields]
    if isinstance(value, list | tuple):
        for each in value:
            yield from shapes(each)


def with_unknown_fields(value: Any) -> Any:
    """The same JSON as a newer version might have written it: each object has a field more."""
    if isinstance(value, list):
        return [with_unknown_fields(each) for each in value]
    if isinstance(value, dict):
        fields = {key: each if _open(key, each) else with_unknown_fields(each) for key, each in value.items()}
        return {**fields, "of_a_later_version": {"x": [1]}}
    return value


def _open(key: str, value: Any) -> bool:
    """A map whose keys are content and not fields."""
    return key in OPEN_MAPS and isinstance(value, dict)


def kept(old: Any, new: Any) -> bool:
    """Whether everything that stood in the old JSON stands in the new."""
    if isinstance(old, dict):
        return isinstance(new, dict) and all(key in new and kept(each, new[key]) for key, each in old.items())
    if isinstance(old, list):
        return isinstance(new, list) and len(old) == len(new) and all(map(kept, old, new))
    return old == new


def test_this_version_has_a_golden_log_with_every_shape() -> None:
    release = FOLDER / BUILD
    read = [*envelopes(release / "log.jsonl"), *envelopes(release / "outcome.jsonl")]
    known = set(get_args(get_args(execution_events.Event)[0]))
    inside = {
        each
        for each in vars(values).values()
        if isinstance(each, type) and issubclass(each, BaseModel) and each.__module__ == values.__name__
    }
    missing = (known | inside) - {shape for envelope in read for shape in shapes(envelope)} - {values.Frozen}
    how = "add it to tests/golden/writing.py and run python -m tests.golden.writing"
    assert not missing, f"{sorted(each.__name__ for each in missing)} is in no golden log: {how}"


@releases
def test_a_log_is_read_folded_and_judged(release: Path) -> None:
    log = envelopes(release / "log.jsonl")
    assert [envelope.seq for envelope in log] == list(range(1, len(log) + 1))
    execution = fold(log)
    assert execution.finished is not None
    assert execution.finished.reason == "done"
    assert execution.finished.claims[0].verdict == "proven"
    assert (execution.id, execution.thread, execution.tier) == ("xgolden00000", "900", 3)
    assert execution.spent.usd == pytest.approx(0.042 + 0.1)  # its own requests, and what its child spent
    trajectory = read_trajectory(log, envelopes(release / "outcome.jsonl"))
    assert (trajectory.verifier, trajectory.turns_used, trajectory.turns_max) == ("fail", 2, 46)
    assert trajectory.votes == (("100000000000000001", "down"),)


@releases
def test_a_log_holds(release: Path) -> None:
    assert broken_promises(envelopes(release / "log.jsonl"), envelopes(release / "outcome.jsonl")) == ()


@pytest.mark.parametrize(
    "run", [pytest.param(run, id=f"{release.name}-{run.stem}") for release in RELEASES for run in runs(release)]
)
def test_the_rules_decide_again_what_they_decided_in_each_run(run: Path) -> None:
    """Where they do not, they have changed: see tests/golden/running.py for what to do then."""
    log = envelopes(run)
    assert broken_promises(log) == ()
    again = verify(log)
    assert again.divergence is None, verdict_of(again)
    assert again.decisions or rules_of(log) != {RULES_VERSION}


def rules_of(log: list[Envelope]) -> set[int]:
    return {e.event.rules for e in log if isinstance(e.event, execution_events.Started | execution_events.RulesChanged)}


def test_the_rules_as_they_are_have_runs_of_this_version() -> None:
    found = [rules_of(envelopes(run)) for run in runs(FOLDER / BUILD)]
    assert {RULES_VERSION} in found, "python -m tests.golden.running writes them"


@releases
async def test_a_log_goes_through_a_store_unchanged(release: Path, tmp_path: Path) -> None:
    log = envelopes(release / "log.jsonl")
    store = SQLiteStore.open(tmp_path / "log.db")
    lease = await store.acquire("900", "test")
    assert lease is not None
    log = [envelope.model_copy(update={"fence": lease.fence}) for envelope in log]
    await store.append("xgolden00000", 0, lease, log)
    assert [envelope async for envelope in store.read("xgolden00000")] == log
    await store.close()


@pytest.mark.parametrize("line", EVERY_LINE)
def test_nothing_of_an_event_is_lost_by_reading_it(line: str) -> None:
    again = json.loads(Envelope.model_validate_json(line).model_dump_json())
    assert kept(json.loads(line), again)


@pytest.mark.parametrize("line", EVERY_LINE)
def test_unknown_fields_of_a_later_version_are_ignored(line: str) -> None:
    old = json.loads(line)
    newer = with_unknown_fields(old)
    if isinstance(old["event"].get("parts"), dict):  # of a score: an open map
        newer["event"]["parts"] = old["event"]["parts"]
    assert Envelope.model_validate(newer) == Envelope.model_validate(old)


@releases
def test_what_was_optional_when_a_log_was_written_is_optional_for_good(release: Path) -> None:
    """A field that came to be required would make logs unreadable that were written before it was filled."""
    then = json.loads((release / "required.json").read_text(encoding="utf-8"))
    assert not {
        f"{name}.{field}"
        for name, fields in required_fields().items()
        for field in fields
        if field not in then.get(name, fields)
    }


def test_a_kind_that_is_unknown_is_refused_and_not_dropped() -> None:
    line = EVERY_LINE[0].values[0]
    assert isinstance(line, str)
    with pytest.raises(ValidationError, match="of_a_later_version"):
        Envelope.model_validate_json(line.replace('"kind":"started"', '"kind":"of_a_later_version"'))


@releases
def test_reflections_and_lessons_are_read_whole(release: Path) -> None:
    stored = json.loads((release / "learned.json").read_text(encoding="utf-8"))
    for model, name in ((Reflection, "reflection"), (Lesson, "lesson")):
        assert kept(stored[name], model.model_validate(stored[name]).model_dump(mode="json"))
        assert model.model_validate(with_unknown_fields(stored[name])) == model.model_validate(stored[name])
