"""Without a model the whole product shows itself and answers nothing: nothing counts, and everybody is told so."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

from agentic.core.events.execution_events import Finished
from agentic.models.scripted.endpoint import ScriptedEndpoint
from agentic.workspace.snapshots.snapshot_store import Snapshots
from bot.app.app import App, AppHome
from bot.config.home import DATABASE, LESSONS
from bot.config.settings import Settings
from bot.history.checkpoint_list import checkpoints_of
from bot.local_discord.local_discord import LocalGuild
from tests.integration.bot.whole import SECONDS, Whole, finishes, whole


@asynccontextmanager
async def unconfigured(home: Path, guild: LocalGuild, **settings: object) -> AsyncGenerator[Whole]:
    """The whole product, for which nobody has configured a model."""
    values = {"home": home, "drain_seconds": 0.1, "sandbox": "bubblewrap", "embeddings": "off", **settings}
    async with App.open(Settings(_env_file=None, **values), AppHome(home), guild=guild) as app:  # type: ignore[call-arg, arg-type]
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
        assert [id.split(":")[1] for id in card.custom_ids()] == ["undo"], "nothing is there to vote on"
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
        assert await records.streams(str(thread)) == ([], []), "nothing is shown of them either"
        assert (await running.app.threads.status(str(thread))).confidence is None


async def test_a_store_in_memory_leaves_no_database_in_the_home_and_nothing_anywhere(
    guild: LocalGuild, tmp_path: Path
) -> None:
    home = tmp_path / "home"
    async with asyncio.timeout(90), unconfigured(home, guild, store="memory") as running:
        thread = await running.task("Write a file")
        assert len(await running.executions(thread)) == 1
        kept = running.app.store._path.parent  # type: ignore[attr-defined]
        assert {one.name for one in kept.iterdir()} >= {DATABASE, LESSONS}
    assert not kept.exists()
    assert [*home.glob("*.sqlite*")] == []


async def test_a_vote_on_the_tour_counts_for_nothing_and_says_so(guild: LocalGuild, tmp_path: Path) -> None:
    async with asyncio.timeout(90), unconfigured(tmp_path / "home", guild) as running:
        thread = await running.task("Write a file")
        (execution,) = await running.executions(thread)
        _, card = running.of_bot(thread)
        for sign in ("👍", "👎", "❌"):
            told = len(running.of_bot(thread))
            await guild.react(card.id, sign)
            await guild.wait_for(lambda _, told=told: len(running.of_bot(thread)) > told, SECONDS)
            assert "nothing to rate" in running.of_bot(thread)[-1].content
        assert await running.app.store.pending(str(thread)) == []
        assert {event.kind for event in await running.outcome(execution)} <= {"checkpoint_saved"}
        assert await running.app.store.labels() == []


async def test_a_tour_is_not_gone_on_with_from_its_middle_once_there_is_a_model(
    guild: LocalGuild, tmp_path: Path
) -> None:
    """Its log holds the tour's own policy; begun anew it is a task like any other."""
    home = tmp_path / "home"
    async with asyncio.timeout(90), ScriptedEndpoint.start([finishes("Now for real.")]) as endpoint:
        async with unconfigured(home, guild) as running:
            thread = await running.task("Say hello in a file")
            (tour,) = await running.executions(thread)
        async with whole(home, endpoint, guild, triage="rules") as running:
            known = await checkpoints_of(running.app.store, Snapshots(home / "checkpoints"), str(thread))
            kept = next(each for each in known if each.seq)
            for number, (name, options) in enumerate(
                (("retry", {"turn": 2}), ("resume", {"checkpoint": kept.id}), ("fork", {"checkpoint": kept.id})), 1
            ):
                await guild.slash(thread, name, options)
                await guild.wait_for(
                    lambda _, number=number: (
                        sum("only the tour" in m.content for m in running.of_bot(thread)) == number
                    ),
                    SECONDS,
                )
            assert await running.executions(thread) == [tour]
            await guild.slash(thread, "retry", {})
            assert (await running.says(thread, "Now for real.")).content.startswith("Now for real.")
