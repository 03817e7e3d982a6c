"""Forks that break because of a fault of ours, or that two processes begin: who asked is told once."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime
from pathlib import Path

import pytest

from agentic.core.events.execution_events import InboxItem, OutboxItem
from agentic.ports.runtime import SessionRow
from agentic.runtime.clock import SystemClock
from agentic.workspace.snapshots.snapshot_store import Snapshots
from bot.actions.fork import Forking
from bot.ports.actions import Forked, NotDone
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


@pytest.mark.parametrize("made", [True, False], ids=["the other one makes it", "the other one dies"])
async def test_a_fork_that_another_process_makes_is_left_to_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, made: bool
) -> None:
    scene, forked, looked = Scene(tmp_path), list[str](), asyncio.Event()

    async def tell(item: OutboxItem) -> None:
        await scene.store.put_outbox([item])

    async def fork(_: Forking, item: InboxItem, source: SessionRow) -> Forked:
        forked.append(item.id)
        raise NotDone("There is nothing to fork.")

    class Looking(SystemClock):
        async def sleep(self, seconds: float) -> None:
            looked.set()
            await super().sleep(min(seconds, 0.01))

    monkeypatch.setattr(Forking, "fork", fork)
    forking = Forking(scene.store, Looking(), scene.workshop, Snapshots(tmp_path / "checkpoints"), "me", tell)
    item = InboxItem(id="900", thread="100", sort="fork", author=ANN, at=datetime.now(UTC))
    await scene.store.put(item)
    lease = await scene.store.acquire("fork: 900", "another")
    assert lease is not None
    forks = Forks(forking, lambda _: None)
    forks.take(item, SessionRow("100", "", ""))
    (task,) = forks.tasks
    async with asyncio.timeout(60):
        await looked.wait()
        assert not forked
        if made:
            await scene.store.discard(["900"])
        await scene.store.release(lease)
        await task
    assert (forked, len(await scene.store.undelivered("100"))) == (([], 0) if made else (["900"], 1))
    assert not await scene.store.pending("100")
