"""What a machine keeps of threads that another machine was told to forget."""

from __future__ import annotations

from pathlib import Path

import pytest

from agentic.core.events.ids import child_id
from agentic.ports.errors import StoreUnavailable
from agentic.ports.stores import SessionRow
from bot.retention.local_folders import LocalFolders
from bot.workspace.folders import Workspaces
from tests.stores import fresh_store


async def test_folders_of_threads_that_are_no_more_are_forgotten_and_no_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store, workspaces, forgotten = fresh_store(), Workspaces(tmp_path / "work"), list[str]()
    assert workspaces.threads() == []

    async def forget(thread: str) -> None:
        workspaces.forget(thread)
        forgotten.append(thread)

    folders = LocalFolders(workspaces.threads, store, forget)
    await store.save_session(SessionRow("100", "1", "1"))
    for thread in ("100", "200", "200w" + child_id("r1.0", 0)):
        workspaces.folder(thread)
    await folders.round()
    assert forgotten == ["200"]
    assert workspaces.threads() == ["100"]

    async def away(_: str) -> SessionRow | None:
        raise StoreUnavailable("it is away")

    monkeypatch.setattr(store, "session", away)
    with pytest.raises(StoreUnavailable):
        await folders.round()
    assert workspaces.threads() == ["100"], "who cannot be asked for is still there"
