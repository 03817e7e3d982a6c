"""What an earlier process took in and did not begin: it waits until this process is connected to Discord."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime
from pathlib import Path

import pytest

from agentic.core.events import InboxItem, Person
from agentic.models.endpoint import ScriptedEndpoint
from agentic.ports import SessionRow
from agentic.stores.sqlite import SQLiteStore
from bot.app import App
from bot.guild.local import LocalGuild
from tests.integration.bot.whole import finishes, whole


async def test_a_task_from_before_the_start_is_begun_when_the_bot_is_connected(
    guild: LocalGuild, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What was said before it is read, which needs the connection; before it would be a fault of ours."""
    home = tmp_path / "home"
    home.mkdir()
    async with ScriptedEndpoint.start([finishes("First."), finishes("Second.")]) as endpoint:
        async with whole(home, endpoint, guild) as running:
            thread = await running.task("the first task")
        kept = SQLiteStore.open(home / "threadwright.sqlite")
        row = await kept.session(str(thread))
        assert isinstance(row, SessionRow)
        said = await guild.post(thread, "and now the second one")
        ann = Person(id=str(said.author_id), name="you", level="operator")
        item = InboxItem(
            id=str(said.id), thread=str(thread), sort="task", author=ann, at=datetime.now(UTC), text=said.content,
            message=str(said.id), channel=str(thread),
        )  # fmt: skip
        assert await kept.put(item)
        await kept.close()
        start = App._start  # pyright: ignore[reportPrivateUsage]

        async def late(app: App, token: str) -> None:
            await asyncio.sleep(1.0)
            await start(app, token)

        monkeypatch.setattr(App, "_start", late)
        async with whole(home, endpoint, guild) as running:
            await running.says(thread, "Second.")
            assert not [m for m in running.of_bot(thread) if "fault" in m.content.lower()]
        assert "the first task" in endpoint.requests[-1].text()
