"""🚀: a person asks for a stronger model, on the wire and in the thread."""

from __future__ import annotations

from pathlib import Path

from agentic.core.events.execution_events import Escalated, ToolStarted
from agentic.models.scripted.captured_request import CapturedRequest
from agentic.models.scripted.endpoint import ScriptedEndpoint
from agentic.models.scripted.replies import Reply
from bot.local_discord.local_discord import LocalGuild
from tests.integration.bot.whole import Whole, finishes, held, uses, whole
from tests.waiting import eventually

SMALL, LARGE = "claude-haiku-4-5", "claude-sonnet-5"


def _waits(name: str) -> Reply:
    return uses("shell", command=f"{held(name)}; echo {name}", reasoning="it comes")


def script(request: CapturedRequest) -> Reply:
    """Two commands that wait for the test, then the end."""
    return {1: _waits("one"), 2: _waits("two")}.get(request.number, finishes("All green."))


async def _works(bot: Whole, thread: int, number: int) -> None:
    """Until the command of this turn runs."""
    (execution, *_) = await eventually(lambda: bot.executions(thread), "a task has begun")
    await bot.logged(execution, ToolStarted, number)


async def test_the_rocket_on_the_card_sends_the_next_request_to_the_next_tier_and_says_so(
    tmp_path: Path, guild: LocalGuild
) -> None:
    async with ScriptedEndpoint.start(script) as endpoint:
        tiers = {"tier_2": (f"anthropic/{SMALL}",), "tier_3": (f"anthropic/{LARGE}",)}
        async with whole(tmp_path, endpoint, guild, **tiers) as bot:
            posted = await guild.post(
                guild.channel().id, f"{guild.bot.mention} Make the tests pass in this repository."
            )
            thread = posted.id
            await _works(bot, thread, 1)
            await guild.react(bot.of_bot(thread)[0].id, "🚀")
            receipt = await bot.says(thread, f"🚀 A stronger model, {LARGE}, takes over with the next step.")
            assert "A turn of claude-sonnet-5 costs about twice as much" in receipt.content
            await bot.let_go(thread, "one")
            await bot.says(thread, f"⬆ Handed over from {SMALL} (tier 2) to {LARGE} (tier 3):")
            await _works(bot, thread, 2)
            await guild.post(thread, "escalate")
            await bot.says(thread, f"🚀 {LARGE} is already the strongest model.")
            await bot.let_go(thread, "two")
            answer = await bot.says(thread, "All green.")
            await bot.app.threads.idle(str(thread))
            assert [request.model for request in endpoint.requests] == [SMALL, LARGE, LARGE]
            assert "You take over from a weaker model, because" in endpoint.requests[1].text()
            (execution,) = await bot.executions(thread)
            (change,) = [event for event in await bot.log(execution) if isinstance(event, Escalated)]
            assert (change.rule, change.from_model, change.usd > 0) == ("person", f"anthropic/{SMALL}", True)
            await guild.react(answer.id, "🚀")
            await bot.says(thread, "Nothing is running here, so there is nothing to hand over.")
            assert len(endpoint.requests) == 3


async def test_a_stronger_model_that_is_not_known_gives_way_to_the_one_that_worked_before(
    tmp_path: Path, guild: LocalGuild
) -> None:
    def answers(request: CapturedRequest) -> Reply:
        if request.model == LARGE:
            return Reply.error(404)
        return _waits("one") if request.number == 1 else finishes("All green.")

    async with ScriptedEndpoint.start(answers) as endpoint:
        tiers = {"tier_2": (f"anthropic/{SMALL}",), "tier_3": (f"anthropic/{LARGE}",)}
        async with whole(tmp_path, endpoint, guild, **tiers) as bot:
            words = f"{guild.bot.mention} Make the tests pass in this repository."
            thread = (await guild.post(guild.channel().id, words)).id
            await _works(bot, thread, 1)
            await guild.react(bot.of_bot(thread)[0].id, "🚀")
            await bot.says(thread, f"🚀 A stronger model, {LARGE}, takes over with the next step.")
            await bot.let_go(thread, "one")
            told = await bot.says(thread, f"⬇ Back to {SMALL} (tier 2): the provider doesn't know {LARGE}.")
            assert "`THREADWRIGHT_TIER_3`" in told.content
            await bot.says(thread, "All green.")
            assert [request.model for request in endpoint.requests] == [SMALL, LARGE, SMALL]
