"""A cap that is reached, in the whole product: the question with its buttons, who may give more, what follows."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from agentic.core.events.execution_events import (
    Event,
    Finished,
    PolicyChanged,
    ToolFinished,
    Usage,
)
from agentic.models.scripted.endpoint import ScriptedEndpoint
from bot.local_discord.local_discord import LocalGuild
from bot.local_discord.model.records import Message
from tests.integration.bot.whole import SECONDS, Whole, finishes, uses, whole

LOOK = replace(uses("shell", command="ls"), usage=Usage(input=4_000, output=400))
"""At one dollar a million tokens in and five out: $0.006."""
CAP = 0.005


async def begun(running: Whole, author: str | None = "ann") -> int:
    """The thread of a task that somebody gave."""
    guild = running.guild
    return (await guild.post(guild.channel().id, f"{guild.bot.mention} look around in the files", author=author)).id


def labels(asked: Message) -> list[object]:
    return [button["label"] for button in asked.interactive()]


async def seen_by(guild: LocalGuild, words: str, thread: int, viewer: str) -> None:
    """Somebody reads words that perhaps only they see."""
    await guild.wait_for(lambda g: any(words in m.content for m in g.messages(thread, viewer=viewer)), SECONDS)


async def events(running: Whole, thread: int) -> list[Event]:
    (execution,) = await running.executions(thread)
    return await running.log(execution)


async def test_money_is_given_by_an_operator_and_not_by_who_asked_for_the_task(
    guild: LocalGuild, tmp_path: Path
) -> None:
    """Whoever may not is told who can, and the question stays open; then the work goes on where it was."""
    guild.add_member("ann")
    async with (
        ScriptedEndpoint.start([LOOK, LOOK, finishes("Seen all.")]) as endpoint,
        whole(tmp_path / "home", endpoint, guild, max_usd=CAP) as running,
    ):
        thread = await begun(running)
        asked = await running.says(thread, "I've spent $0.006 of the $0.005 for this task and I'm not done")
        assert not asked.silent
        assert labels(asked)[:3] == ["$0.005 more", "$0.01 more", "Stop here"]
        await guild.click(asked.id, asked.custom_ids()[0], author="ann")
        await seen_by(guild, "Only an operator can give it more", thread, "ann")
        await guild.post(thread, "another 3 dollars", author="ann")
        await running.says(thread, "Only an operator can give this task more money.")
        await guild.post(thread, "that is too dear")
        await running.says(thread, "I couldn't find an amount in that")
        assert len(endpoint.requests) == 1
        await guild.click(asked.id, asked.custom_ids()[0])
        again = await running.says(thread, "I've spent $0.01 of the $0.01 for this task")
        await guild.wait_for(lambda g: "$0.005 more" in g.state.find_message(asked.id).content, SECONDS)
        assert again.id != asked.id
        await guild.post(thread, "another 3 dollars")
        await running.says(thread, "Seen all.")
        log = await events(running, thread)
        assert [e.add_usd for e in log if isinstance(e, PolicyChanged)] == [0.005, 3.0]
        assert [e.outcome for e in log if isinstance(e, ToolFinished)] == ["ok", "ok", "ok"]


async def test_who_asked_for_the_task_may_end_it_where_it_asks_for_money(guild: LocalGuild, tmp_path: Path) -> None:
    guild.add_member("ann")
    async with (
        ScriptedEndpoint.start([replace(LOOK, text="The tests are in src.")]) as endpoint,
        whole(tmp_path / "home", endpoint, guild, max_tokens=1_000) as running,
    ):
        thread = await begun(running)
        asked = await running.says(thread, "I've used 4,400 of the 1,000 tokens for this task")
        await guild.click(asked.id, asked.custom_ids()[2], author="ann")
        end = await running.says(thread, "the budget of 1,000 tokens is used up")
        assert "⏳ **Limit reached**" in end.content
        assert "The tests are in src." in end.content
        assert [e.reason for e in await events(running, thread) if isinstance(e, Finished)] == ["budget"]
        turns = [
            each for each in endpoint.requests if "<<<end of record" not in each.text()
        ]  # what is learned comes after
        assert len(turns) == 1


async def test_a_budget_of_the_day_is_raised_by_an_operator_for_the_whole_server(
    guild: LocalGuild, tmp_path: Path
) -> None:
    guild.add_member("ann")
    async with (
        ScriptedEndpoint.start([finishes("One."), finishes("Two.")]) as endpoint,
        whole(tmp_path / "home", endpoint, guild, max_daily_usd_server=0.01) as running,
    ):
        thread = await begun(running)
        asked = await running.says(thread, "only $0.01 of today's budget of $0.01 for this server is left")
        assert "At 00:00 UTC a new day's budget starts, and I continue by myself" in asked.content
        assert endpoint.requests == []
        await guild.click(asked.id, asked.custom_ids()[0], author="ann")
        await seen_by(guild, "Only an operator can give it more", thread, "ann")
        await guild.post(thread, "$2")
        await running.says(thread, "One.")
        (change,) = [e for e in await events(running, thread) if isinstance(e, PolicyChanged)]
        assert (change.whose, change.add_day_usd, change.by) == ("guild", 2.0, str(guild.you.id))
        other = await begun(running)
        await running.says(other, "Two.")
        await guild.slash(other, "cost", author="ann")
        await seen_by(guild, "this server $0.0", other, "ann")
        await seen_by(guild, "of $2.01 (raised by $2)", other, "ann")


async def test_what_comes_near_a_cap_stands_on_the_card_until_there_is_more(guild: LocalGuild, tmp_path: Path) -> None:
    waits = replace(uses("shell", command="sleep 100"), usage=LOOK.usage)
    async with (
        ScriptedEndpoint.start([LOOK, waits, waits]) as endpoint,
        whole(tmp_path / "home", endpoint, guild, max_usd=0.0125) as running,
    ):
        thread = await begun(running, None)
        card = await running.says(thread, "⏳ Nearly used up: $0.0120 of $0.0125")
        assert "sleep 100" in card.content, "it works on"
        assert card.silent
        assert (await running.says(thread, "I've spent $0.01 of the $0.01 for this task.")).silent, "said once"
        await guild.post(thread, "stop")
        await guild.wait_for(lambda g: "Stopped" in g.state.find_message(card.id).content, SECONDS)
        assert "used up" not in guild.state.find_message(card.id).content
