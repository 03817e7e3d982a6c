"""The machine's clock and Discord's differ by minutes, either way: in the whole product over sockets."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from bot.guild.local import LocalGuild
from tests.faults.staging import guild
from tests.faults.whole import SECONDS, Mind, whole

__all__ = ["guild"]


@pytest.mark.parametrize("behind", [0, 5, 90], ids=["as Discord's", "5 minutes behind", "90 minutes behind"])
async def test_a_stop_by_reaction_drops_what_was_queued_before_it_and_not_what_is_said_after_it(
    guild: LocalGuild, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, behind: int
) -> None:
    guild.pass_time(minutes=behind)
    mind = Mind()
    async with whole(guild, tmp_path, mind, monkeypatch) as here:
        thread = await here.mention("hold it")
        await here.says(thread, "Thinking")
        await guild.post(thread, ". afterwards this")
        await here.says(thread, "Queued")
        await guild.react(thread, "🛑")
        assert await here.ended(thread) == ["stopped"]
        await here.app.threads.idle(str(thread))
        mind.go.set()
        await guild.post(thread, "then that")
        await here.says(thread, "answered <then that>")
        async with asyncio.timeout(SECONDS):
            await here.app.threads.idle(str(thread))
        assert len(await here.app.store.executions(str(thread))) == 2
        assert await here.app.store.pending(str(thread)) == []
