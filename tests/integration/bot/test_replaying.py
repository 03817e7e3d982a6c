"""`threadwright replay` over stored logs: what it lists, what it says of a fork, and its exit codes."""

from __future__ import annotations

import json
from pathlib import Path

import apsw
import pytest

from agentic.core.events.execution_events import Envelope, Finished, Started
from agentic.core.rules.decide import RULES_VERSION
from agentic.stores.sqlite.store import SQLiteStore
from bot import BUILD
from bot.cli.replay.replay import (
    NEWEST,
    UNVERIFIED,
    newest,
    replay,
)
from bot.config.home import DATABASE
from bot.config.settings import Settings
from tests.golden.test_golden import FOLDER, envelopes

RUNS = FOLDER / BUILD / "runs"
FORK = RUNS / f"forked_{RULES_VERSION}.jsonl"
WORK = RUNS / f"work_{RULES_VERSION}.jsonl"


async def keep(home: Path, *logs: list[Envelope]) -> Settings:
    """Logs as they were run, in the store of a home."""
    store = SQLiteStore.open(home / DATABASE)
    for log in logs:
        first = log[0].event
        assert isinstance(first, Started)
        for fence in sorted({envelope.fence for envelope in log}):
            while (lease := await store.acquire(first.thread, "me")) is None or lease.fence < fence:
                pass
            part = [envelope.model_copy(update={"fence": lease.fence}) for envelope in log if envelope.fence == fence]
            await store.append(log[0].execution, part[0].seq - 1, lease, part)
    await store.close()
    return Settings(home=home)


def source_of(fork: list[Envelope], **event: object) -> list[Envelope]:
    """The log that a fork was copied from, as far as it was copied."""
    first = fork[0].event
    assert isinstance(first, Started)
    assert first.forked_from is not None
    name, through = first.forked_from
    began = first.model_copy(update={"forked_from": None, "thread": "100", "inbox": "1", **event})
    copied = [envelope.model_copy(update={"execution": name}) for envelope in fork[:through]]
    return [copied[0].model_copy(update={"event": began}), *copied[1:]]


def changed_at(log: list[Envelope], seq: int, **update: object) -> list[Envelope]:
    return [e.model_copy(update={"event": e.event.model_copy(update=update)}) if e.seq == seq else e for e in log]


async def test_a_log_that_other_rules_decided_holds_and_is_not_verified(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    older = changed_at(envelopes(WORK), 1, rules=RULES_VERSION + 5)
    settings = await keep(tmp_path, older)
    assert await replay(settings, older[0].execution) == 0
    assert "The log is sound: every check passed." in capsys.readouterr().out
    assert await replay(settings, older[0].execution, deciding_again=True) == UNVERIFIED
    assert f"decided by rules of version {RULES_VERSION + 5}" in capsys.readouterr().out


async def test_the_first_decision_that_is_another_is_shown_and_exit_1(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    log = envelopes(WORK)
    end = log[-1].event
    assert isinstance(end, Finished)
    settings = await keep(tmp_path, changed_at(log, len(log), answer="Something else."))
    assert await replay(settings, log[0].execution, deciding_again=True) == 1
    said = capsys.readouterr().out
    assert f"The rules decide otherwise, first at event {len(log)}:" in said
    assert f"answer: 'Something else.' in the log, {end.answer!r} by the rules" in said


async def test_a_fork_is_verified_with_what_it_was_copied_from(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    fork = envelopes(FORK)
    source = source_of(fork)
    name = fork[0].execution
    assert await replay(await keep(tmp_path / "1", source, fork), name, deciding_again=True) == 0
    said = capsys.readouterr().out
    assert f"decisions since event {len(source)}." in said
    assert f"Events 1 to {len(source)} are those of {source[0].execution}, where they were decided:" in said
    assert said.count("Verified:") == 2

    assert await replay(await keep(tmp_path / "2", fork), name, deciding_again=True) == UNVERIFIED
    assert "whose log is not in this database" in capsys.readouterr().out

    other = changed_at(source, 2, by="model")
    assert await replay(await keep(tmp_path / "3", other, fork), name, deciding_again=True) == 1
    assert "event 2 is another there" in capsys.readouterr().out

    elsewhere = source_of(fork, rules=RULES_VERSION + 5)
    assert await replay(await keep(tmp_path / "4", elsewhere, fork), name, deciding_again=True) == UNVERIFIED


async def test_the_newest_executions_are_listed_and_a_damaged_database_hides_no_other(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert await newest(Settings(home=tmp_path)) == 1
    assert "Start one" in capsys.readouterr().err
    log = envelopes(WORK)
    many = [[e.model_copy(update={"execution": f"x{number:03}"}) for e in log[:2]] for number in range(NEWEST + 3)]
    settings = await keep(tmp_path, *many)
    await keep(tmp_path / "tasks" / "20260101", log)
    (tmp_path / "tasks" / "20250101").mkdir()
    (tmp_path / "tasks" / "20250101" / DATABASE).write_bytes(b"no database " * 100)
    assert await newest(settings) == 0
    said = capsys.readouterr()
    assert len(said.out.splitlines()) == NEWEST
    assert f"the newest {NEWEST} of {NEWEST + 4}" in said.err
    assert "20250101" in said.err
    assert "open" in said.out.splitlines()[0]
    assert await newest(settings, deciding_again=True) == 1
    assert "name the EXECUTION" in capsys.readouterr().err


async def test_a_log_of_a_newer_version_is_refused_in_a_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    log = envelopes(WORK)
    settings = await keep(tmp_path, log)
    from tests.faults.test_version_faults import rewrite

    rewrite(tmp_path / DATABASE, 2, json.dumps({"kind": "of_a_later_version"}), 1, log[0].execution)
    assert await replay(settings, log[0].execution) == 1
    said = capsys.readouterr().err
    assert "was written by a newer Threadwright" in said
    assert "update Threadwright" in said
    assert apsw.Connection(str(tmp_path / DATABASE)).execute("SELECT count(*) FROM events").get == len(log)
