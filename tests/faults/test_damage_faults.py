"""What is stored is damaged: said where people look, nothing silently fresh, and the rest works on."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from pathlib import Path

import apsw
import pytest

from agentic.models.scripted.captured_request import CapturedRequest
from agentic.models.scripted.replies import Reply
from bot.cli.doctor import store as look
from bot.cli.main import perform
from bot.config.settings import Settings
from bot.local_discord.local_discord import LocalGuild
from tests.faults.staging import guild
from tests.faults.whole import Mind, whole

__all__ = ["guild"]


@dataclass
class Holding(Mind):
    """Answers what is to stay only after the restart."""

    later: asyncio.Event = field(default_factory=asyncio.Event)

    async def __call__(self, request: CapturedRequest) -> Reply:
        if any("stay" in message.text for message in request.messages):
            await self.later.wait()
        return await super().__call__(request)


async def test_f83_a_damaged_log_is_put_aside_and_every_other_thread_goes_on(
    guild: LocalGuild, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Bits of one open execution flip while the bot is down: its thread is told and works on, the other goes on."""
    mind = Holding()
    async with whole(guild, tmp_path, mind, monkeypatch) as bot:
        hurt, well = await bot.mention("stay here"), await bot.mention("stay there")
        for thread in (hurt, well):
            await bot.logged(thread, "model_requested")
        asking = await bot.mention("ask about the colour")
        question = await bot.says(asking, "Which one?")
        await bot.state(asking, "asking")
    connection = apsw.Connection(str(tmp_path / "threadwright.sqlite"))
    for one in (hurt, asking):
        (number,) = connection.execute("SELECT id FROM executions WHERE thread = ?", (str(one),)).fetchone() or (0,)
        damage = "UPDATE events SET event = replace(event, 'a', 'e') WHERE execution = ? AND seq = 2"
        connection.execute(damage, (number,))
    connection.close()
    settings = Settings(home=tmp_path)
    told = await asyncio.to_thread(look, settings, thoroughly=True)
    assert (told.state, "/2 does not match its checksum" in told.why) == ("limited", True)
    assert "threadwright import BACKUP" in told.todo
    mind.later.set()
    async with whole(guild, tmp_path, mind, monkeypatch) as bot:
        await bot.says(hurt, "set the task aside")
        await bot.says(well, "answered <stay there>")
        await bot.says(asking, "set the task aside")
        closed = await bot.says(asking, "No longer open: this task's log is damaged")
        assert closed.id == question.id
        assert all(button["disabled"] for row in closed.components for button in row["components"])
        await guild.post(hurt, "something new")
        await bot.says(hurt, "answered <something new>")
        assert await bot.ended(hurt) == ["damaged", "done"]
        assert await bot.ended(well) == ["done"]
    async with whole(guild, tmp_path, mind, monkeypatch) as bot:
        await bot.mention("hello")
        assert sum("set the task aside" in message.content for message in bot.said(hurt)) == 1, "it is said once"


def test_f83_a_damaged_file_is_named_with_what_brings_it_back(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """`run`, `doctor` and `replay` over a file whose pages are broken, and over a lost one: no fresh start, no traceback."""
    monkeypatch.setenv("THREADWRIGHT_HOME", str(tmp_path))
    monkeypatch.setenv("THREADWRIGHT_SANDBOX", "host")
    from agentic.stores.sqlite.store import SQLiteStore

    async def make() -> None:
        await SQLiteStore.open(tmp_path / "threadwright.sqlite").close()

    asyncio.run(make())
    path = tmp_path / "threadwright.sqlite"
    good = path.read_bytes()
    for damaged in (good[:2048] + b"\x5a" * 4096 + good[6144:], good[:5000], b""):
        path.write_bytes(damaged)
        for command in (["run"], ["replay", "x1"]):
            assert perform(command) == 1
            said = capsys.readouterr().err
            assert "threadwright import BACKUP --into FOLDER" in said, (command, said)
            assert "Traceback" not in said
        told = look(Settings(), thoroughly=True)
        assert (told.state, "threadwright import BACKUP" in told.todo) == ("missing", True), told
        assert path.read_bytes()[:5000] == damaged[:5000], "nothing was made anew"
