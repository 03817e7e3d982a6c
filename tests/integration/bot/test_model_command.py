"""`/model`: which model answers, and choosing another, from the next task on."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from agentic.core.events.execution_events import ModelRequested, Policy, Started
from agentic.models.scripted.endpoint import ScriptedEndpoint
from bot.local_discord.local_discord import LocalGuild
from bot.ports.conversation import StatusView
from tests.integration.bot.commanding import Desk, desk, words
from tests.integration.bot.whole import SECONDS, Whole, finishes, whole

HAIKU, SONNET = "anthropic/claude-haiku-4-5", "anthropic/claude-sonnet-4-6"


async def chosen(running: Whole, place: int, name: str, scope: str) -> None:
    """The owner chooses a model."""
    await running.guild.slash(place, "model", {"name": name, "scope": scope})
    await running.guild.wait_for(
        lambda g: any("Running tasks keep their model" in m.content for m in g.messages(place, viewer=g.you)), SECONDS
    )


async def begun(running: Whole, thread: int) -> tuple[Policy, str]:
    """The policy of the newest execution, and the model it asked first."""
    log = await running.log((await running.executions(thread))[-1])
    assert isinstance(log[0], Started)
    return log[0].policy, next(
        each.model for each in log if isinstance(each, ModelRequested) and each.purpose == "turn"
    )


async def test_the_nearest_choice_is_what_the_next_task_there_starts_with(guild: LocalGuild, tmp_path: Path) -> None:
    async with (
        asyncio.timeout(120),
        ScriptedEndpoint.start([finishes(f"Answer {number}.") for number in range(20)]) as endpoint,
        whole(tmp_path / "home", endpoint, guild, tier_3=(SONNET,), triage="rules") as running,
    ):
        thread = await running.task("Fix the rounding in cart.py")
        policy, first = await begun(running, thread)
        assert (policy.starting_tier, policy.start_chosen, first) == (2, "", HAIKU)
        await chosen(running, guild.channel().id, "claude-sonnet-4-6", "channel")
        await running.task("Fix the rounding in cart.py", thread)
        policy, first = await begun(running, thread)
        assert (policy.starting_tier, policy.start_chosen, first) == (3, SONNET, SONNET)
        await chosen(running, thread, "tier2", "thread")
        await running.task("Fix the rounding in cart.py", thread)
        assert (await begun(running, thread))[1] == HAIKU
        other = await running.task("Fix the rounding in cart.py")
        assert (await begun(running, other))[1] == SONNET, "another thread of the channel"


async def shown(one: Desk, place: int) -> str:
    return words(await one.slash(place, "model"))


async def test_it_shows_tiers_models_and_prices_and_what_a_new_task_starts_with_and_why(guild: LocalGuild) -> None:
    async with desk(guild) as one:
        thread = await one.worked()
        said = await shown(one, thread)
        assert "starts with **small** (tier 2): the default" in said
        assert "• tier 1, sorts messages: `acme/tiny` $0.10 / $0.40" in said
        assert "▶ tier 2, fast: `acme/small` $1.00 / $5.00, then `acme/other` $0.50 / $2.00" in said
        assert "• tier 3, balanced: `acme/large` $15.00 / $75.00, then `acme/unpriced` (price not known)" in said
        await one.slash(thread, "model", {"name": "other", "scope": "server"})
        said = await shown(one, thread)
        assert "starts with **other** (tier 2): set for the server" in said
        assert "▶ tier 2, fast: `acme/other` $0.50 / $2.00, then `acme/small`" in said
        assert "**model**: acme/other (set for the server)" in words(await one.slash(thread, "settings show"))
        await one.slash(thread, "model", {"name": "tier3"})
        assert "starts with **large** (tier 3): set for this thread" in await shown(one, thread)
        assert "starts with **other**" in await shown(one, one.scenery.general)
        await one.scenery.bot.preferences.put("thread", str(thread), "model", "acme/gone")
        said = await shown(one, thread)
        assert "starts with **small** (tier 2): `acme/gone` was set for this thread, but it is not configured" in said
        said = words(await one.slash(thread, "model", {"name": "auto"}))
        assert said.startswith(
            "This thread is back to `acme/other`, set for the server. Running tasks keep their model."
        )
        told = words(await one.slash(thread, "settings set", {"name": "model", "value": "auto", "scope": "server"}))
        assert told == "The whole server is back to the default. Running tasks keep their model.\n"
        assert "**model**: auto (default)" in words(await one.slash(thread, "settings show"))


async def test_what_works_now_is_shown_beside_what_the_next_task_starts_with(
    guild: LocalGuild, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def working(thread: str) -> StatusView:
        return StatusView(state="busy", tier=3, model="acme/large")

    async with desk(guild) as one:
        thread = await one.scenery.mention("go")
        monkeypatch.setattr(one.scenery.talk, "status", working)
        said = await shown(one, thread)
        assert "starts with **small**" in said
        assert "Working now: **large** (tier 3)." in said


async def test_a_model_without_a_price_or_configuration_is_refused_and_not_proposed(guild: LocalGuild) -> None:
    async with desk(guild) as one:
        thread = await one.worked()
        said = words(await one.slash(thread, "model", {"name": "acme/unpriced"}))
        assert "price of acme/unpriced is not known" in said
        assert "THREADWRIGHT_PRICES" in said
        said = words(await one.slash(thread, "settings set", {"name": "model", "value": "gpt-9", "scope": "server"}))
        assert "no model or tier `gpt-9`" in said
        assert (await one.scenery.bot.preferences.of(str(thread))).model == "auto"
        assert await one.proposes(thread, "model", "name") == [
            "auto", "tier2", "tier3", "acme/small", "acme/other", "acme/large",
        ]  # fmt: skip
        values = {"name": "model"}
        assert "acme/large" in await one.proposes(thread, "settings set", "value", "large", values=values)


async def test_where_no_model_is_configured_that_is_said(guild: LocalGuild) -> None:
    async with desk(guild) as one:
        one.scenery.bot.backstage = type(one.scenery.bot.backstage)()
        assert "No model is configured" in await shown(one, one.scenery.general)


async def test_a_word_before_a_task_chooses_its_model_for_those_who_may_and_is_refused_or_passed_over_in_words(
    guild: LocalGuild, tmp_path: Path
) -> None:
    guild.add_member("Bo")
    bo = f"{guild.bot.mention} model: strongest fix the rounding in cart.py"
    async with ScriptedEndpoint.start([finishes(f"Answer {number}.") for number in range(20)]) as endpoint:
        async with whole(tmp_path / "home", endpoint, guild, tier_3=(SONNET,), triage="rules") as running:
            thread = await running.task("model: claude-sonnet-4-6 plan: fix the rounding in cart.py")
            policy, first = await begun(running, thread)
            assert (policy.starting_tier, policy.start_chosen, first) == (3, SONNET, SONNET)
            started = (await running.log((await running.executions(thread))[-1]))[0]
            assert isinstance(started, Started)
            assert started.planning
            assert "claude-sonnet-4-6" in running.of_bot(thread)[-1].content, "the footer names it"

            for plain in ("Fix the rounding in cart.py", "model: the cart needs a rounding, fix cart.py"):
                await running.task(plain, thread)
                assert (await begun(running, thread))[1] == HAIKU, "the word counted for one task"

            before = await running.executions(thread)
            await guild.post(thread, "model: claude-sonet-4-6 fix the rounding")
            refused = await running.says(thread, "Not started.")
            assert "no model or tier `claude-sonet-4-6` here" in refused.content
            assert "`claude-sonnet-4-6`" in refused.content.replace("anthropic/", "")
            await running.app.threads.idle(str(thread))
            assert await running.executions(thread) == before
            assert await running.app.store.pending(str(thread)) == []
            await running.task("model: tier3 fix the rounding in cart.py", thread)
            assert (await begun(running, thread))[1] == SONNET, "the thread goes on after a refusal"

            posted = await guild.post(guild.channel().id, bo, author="Bo")
            told = await running.says(posted.id, "You can't choose the model of a task here")
            assert "takes the level owner, and yours is executor" in told.content
            await running.says(posted.id, "Answer")
            assert (await begun(running, posted.id))[1] == HAIKU, "it is done as usual, and nothing is lost"
        async with whole(
            tmp_path / "home", endpoint, guild, tier_3=(SONNET,), triage="rules", task_model="executor"
        ) as running:
            posted = await guild.post(guild.channel().id, bo, author="Bo")
            await running.says(posted.id, "Answer")
            assert (await begun(running, posted.id))[1] == SONNET, "a setting may let everybody choose"
