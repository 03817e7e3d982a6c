"""`threadwright costs` over a real store."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import pytest

from agentic.core.events.execution_events import Finished
from agentic.ports.runtime import SessionRow
from agentic.stores.sqlite.store import SQLiteStore
from bot.cli.main import perform
from bot.config.home import DATABASE
from tests.unit.bot.test_reckoning import TIERS, turn
from tests.unit.core.building import Log


async def _kept(home: Path) -> None:
    log = Log(tiers=TIERS)
    turn(log, 10)
    log.add(Finished(reason="done", answer="x"))
    store = SQLiteStore.open(home / DATABASE)
    try:
        await store.save_session(SessionRow("100", "1", "77"))
        lease = await store.acquire("100", "me")
        assert lease is not None
        envelopes = [envelope.model_copy(update={"fence": lease.fence}) for envelope in log.envelopes]
        await store.append("x1", 0, lease, envelopes)
    finally:
        await store.close()


def test_what_tasks_cost_is_told_with_an_estimate_and_its_assumptions_by_server_role_and_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("THREADWRIGHT_HOME", str(tmp_path))
    monkeypatch.setenv("THREADWRIGHT_PRICES", "m2=1/1,m4=5000000/5000000")
    assert perform(["costs"]) == 0
    asyncio.run(_kept(tmp_path))
    assert perform(["costs", "--by", "guild"]) == 0
    told = capsys.readouterr().out
    assert "77 " in told
    assert "An estimate" in told
    assert "Always cheap: a task that needed a stronger model counts as not solved" in told
    assert "$50.00-$50.00" in told
    assert perform(["costs", "--json", "--guild", "77", "--role", "general", "--by", "month", "--days", "36000"]) == 0
    rows = json.loads(capsys.readouterr().out)["rows"]
    assert [row["name"] for row in rows] == ["2026-01", "all"]
    assert (rows[-1]["solved"], rows[-1]["usd_per_solved"]) == (1, 10.0)
    assert rows[-1]["estimate"]["always_premium"]["usd_per_solved"] == [50.0, 50.0]
    for missing in (["--guild", "78"], ["--role", "dba"], ["--days", "0.001"]):
        assert perform(["costs", *missing]) == 1
    with pytest.raises(SystemExit):
        perform(["costs", "--days", "none"])


def test_that_logs_were_deleted_is_said_beside_what_the_others_cost(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    async def bury() -> None:
        store = SQLiteStore.open(tmp_path / DATABASE)
        try:
            await store.bury(["x1"])
        finally:
            await store.close()

    monkeypatch.setenv("THREADWRIGHT_HOME", str(tmp_path))
    asyncio.run(_kept(tmp_path))
    asyncio.run(bury())
    word = "1 earlier task is not shown: the log was deleted (logs are kept for 30 days)."
    for order, said in (([], True), (["--guild", "77"], True), (["--guild", "78"], False), (["--days", "1"], False)):
        assert perform(["costs", *order]) == 1
        assert (word in capsys.readouterr().err) == said
