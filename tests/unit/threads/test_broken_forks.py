"""A fork that breaks because of a fault of ours: who asked is told, and it stays for the next start."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest

from agentic.core.events.execution_events import InboxItem, OutboxItem
from agentic.ports.runtime import SessionRow
from agentic.runtime.clock import SystemClock
from agentic.workspace.snapshots.snapshot_store import Snapshots
from bot.actions.fork import Forking
from bot.threads.fork_requests import Forks
from tests.integration.bot.test_undoing import ANN, Scene


async def test_a_fork_that_breaks_is_told_once_and_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    scene = Scene(tmp_path)

    async def tell(item: OutboxItem) -> None:
        await scene.store.put_outbox([item])

    async def broken(*_: object) -> None:
        raise RuntimeError("a fault of ours")

    monkeypatch.setattr(Forking, "fork", broken)
    forking = Forking(scene.store, SystemClock(), scene.workshop, Snapshots(tmp_path / "checkpoints"), "me", tell)
    item = InboxItem(id="900", thread="100", sort="fork", author=ANN, at=datetime.now(UTC))
    await scene.store.put(item)
    for _ in range(2):
        forks = Forks(forking, lambda _: None)
        forks.take(item, SessionRow("100", "", ""))
        for task in forks.tasks:
            await task
    (row,) = await scene.store.undelivered("100")
    assert "fork failed" in row.item.text
    assert [one.id for one in await scene.store.pending("100")] == ["900"]
