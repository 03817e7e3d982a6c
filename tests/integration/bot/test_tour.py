"""Without a model the whole product shows itself and answers nothing: nothing counts, and everybody is told so."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

from agentic.core.events import Finished
from bot.app import App, Place
from bot.guild.local import LocalGuild
from bot.settings import Settings
from tests.integration.bot.whole import Whole


@asynccontextmanager
async def unconfigured(home: Path, guild: LocalGuild, **settings: object) -> AsyncGenerator[Whole]:
    """The whole product, for which nobody has configured a model."""
    values = {"home": home, "drain_seconds": 0.1, "sandbox": "bubblewrap", "embeddings": "off", **settings}
    async with App.open(Settings(_env_file=None, **values), Place(home), guild=guild) as app:  # type: ignore[call-arg, arg-type]
        await app.online()
        yield Whole(app, guild, home)
    guild.restore()


async def test_the_tour_is_no_answer_and_nothing_is_counted_of_it(guild: LocalGuild, tmp_path: Path) -> None:
    async with asyncio.timeout(90), unconfigured(tmp_path / "home", guild, trials="auto") as running:
        thread = await running.task("Review the code and fix the failing test in cart.py")
        (execution,) = await running.executions(thread)
        progress, card = running.of_bot(thread)
        for message in (progress, card):
            assert message.content.startswith("ℹ️ **Tour, no model is configured**"), message.content
            for word in ("✅", "Done", "confidence", "$", "scripted/tour", "How I know", "code-reviewer", "learned"):
                assert word not in message.content, message.content
        assert "ANTHROPIC_API_KEY" in card.content, "what to do"
        (ended,) = [event for event in await running.log(execution) if isinstance(event, Finished)]
        assert (ended.reason, ended.confidence, ended.claims) == ("tour", 0, ())
        after = [event.kind for event in await running.outcome(execution)]
        assert set(after) <= {"checkpoint_saved"}, "no score, no reflection, no further attempt"
        store, lessons = running.app.store, running.app.bot.backstage.lessons
        assert await store.labels() == []
        assert lessons is not None
        assert list(await lessons.reflections(str(guild.guild_id), str(thread), 5)) == []
        records = running.app.bot.records
        assert await records.trends(str(thread)) == []
        assert await records.costs([str(thread)]) == []
        assert await records.streams(str(thread)) == ([], []), "no picture of them either"
        assert (await running.app.threads.status(str(thread))).confidence is None


async def test_a_vote_on_the_tour_counts_for_nothing_and_says_so(guild: LocalGuild, tmp_path: Path) -> None:
    async with asyncio.timeout(90), unconfigured(tmp_path / "home", guild) as running:
        thread = await running.task("Write a file")
        (execution,) = await running.executions(thread)
        _, card = running.of_bot(thread)
        for sign in ("👍", "👎", "❌"):
            told = len(running.of_bot(thread))
            await guild.react(card.id, sign)
            await guild.wait_for(lambda _, told=told: len(running.of_bot(thread)) > told, 20)
            assert "counts for nothing" in running.of_bot(thread)[-1].content
        assert await running.app.store.pending(str(thread)) == []
        assert {event.kind for event in await running.outcome(execution)} <= {"checkpoint_saved"}
        assert await running.app.store.labels() == []
