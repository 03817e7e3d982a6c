"""Rows 31, 40 and 41 in the whole product: a gated command, an approval in Discord, rights as they are at the press."""

from __future__ import annotations

from pathlib import Path

import pytest

from agentic.core.events.execution_events import (
    Asked,
    Decided,
    Event,
    Finished,
    ToolFinished,
    ToolStarted,
)
from agentic.models.scripted.captured_request import CapturedRequest
from agentic.models.scripted.endpoint import Script, ScriptedEndpoint
from agentic.models.scripted.replies import Reply
from bot.local_discord.local_discord import LocalGuild
from bot.local_discord.model.records import Message
from tests.faults.staging import guild
from tests.integration.bot.whole import SECONDS, Whole, finishes, uses, whole

__all__ = ["guild"]

COMMAND = "mkdir -p kept && touch kept/file && rm -rf kept"


def destroys(command: str) -> Script:
    """It wants to run a command, and ends whatever becomes of it."""

    def script(request: CapturedRequest) -> Reply:
        return finishes("It is over.") if request.answers else uses("shell", command=command, reasoning="tidy up")

    return script


async def asked(bot: Whole, author: str | None = None) -> tuple[int, Message]:
    guild = bot.guild
    posted = await guild.post(guild.channel().id, f"{guild.bot.mention} tidy up the folder", author=author)
    shown = await bot.says(posted.id, "Approval needed")
    await bot.app.delivered(str(posted.id), SECONDS)
    return posted.id, shown


async def log_of(bot: Whole, thread: int) -> list[Event]:
    return await bot.log((await bot.executions(thread))[-1])


@pytest.mark.parametrize(("number", "ran"), [(0, True), (1, False)], ids=["allowed", "denied"])
async def test_f73_what_destroys_runs_only_after_an_approval_and_then_once(
    guild: LocalGuild, tmp_path: Path, number: int, ran: bool
) -> None:
    async with ScriptedEndpoint.start(destroys(COMMAND)) as endpoint, whole(tmp_path, endpoint, guild) as bot:
        thread, shown = await asked(bot)
        assert COMMAND in shown.content
        assert not any(isinstance(event, ToolStarted) for event in await log_of(bot, thread))
        await guild.click(shown.id, shown.custom_ids()[number])
        await bot.says(thread, "It is over.")
        events = await log_of(bot, thread)
        starts = [event for event in events if isinstance(event, ToolStarted) and event.tool == "shell"]
        assert len(starts) == ran
        question = next(event.question for event in events if isinstance(event, Asked))
        assert [event.approval for event in starts] == [question] * ran
        ends = [event.outcome for event in events if isinstance(event, ToolFinished)]
        assert ends[0] == ("ok" if ran else "denied")
        words = "Allowed once** by" if ran else "Denied** by"
        await guild.wait_for(lambda g: words in g.state.find_message(shown.id).content, SECONDS)


@pytest.mark.wall("rights")
async def test_f41_a_role_lost_between_the_request_and_the_approval_is_refused(
    guild: LocalGuild, tmp_path: Path
) -> None:
    guild.add_member("bob")
    guild.add_member("chief", (guild.add_role("chiefs").id,))
    settings = {"operators": ("chiefs",)}
    async with (
        ScriptedEndpoint.start(destroys(COMMAND)) as endpoint,
        whole(tmp_path, endpoint, guild, **settings) as bot,
    ):
        thread, shown = await asked(bot, "bob")
        guild.set_roles("chief", ())
        for name in ("chief", "bob"):
            await guild.click(shown.id, shown.custom_ids()[0], author=name)
            await guild.wait_for(
                lambda g, name=name: any("Only an operator" in m.content for m in g.messages(thread, viewer=name)),
                SECONDS,
            )
        assert not any(isinstance(event, Decided | ToolStarted | Finished) for event in await log_of(bot, thread))
        await guild.click(shown.id, shown.custom_ids()[3], author="bob")
        await guild.wait_for(lambda g: "the task was stopped" in g.state.find_message(shown.id).content, SECONDS)
