"""The role that was decided, or chosen, is what the model is told, and which tools it has."""

from __future__ import annotations

import asyncio
from pathlib import Path

from agentic.core.events.execution_events import Started, ToolFinished
from agentic.models.scripted.endpoint import ScriptedEndpoint
from bot.local_discord.local_discord import LocalGuild
from tests.integration.bot.whole import SECONDS, finishes, uses, whole

REVIEW = "You review code; you do not change it."


async def test_a_reviewer_is_told_so_and_has_no_tool_that_changes(guild: LocalGuild, tmp_path: Path) -> None:
    script = [uses("write", path="a.py", content="x"), uses("shell", command="ls"), finishes("Two findings.")]
    async with (
        asyncio.timeout(90),
        ScriptedEndpoint.start(script) as endpoint,
        whole(tmp_path / "home", endpoint, guild) as running,
    ):
        thread = await running.task("Review my last commit, please.")
        asked = [request for request in endpoint.requests if "write" not in request.tools]
        assert len(asked) == 3
        assert REVIEW in asked[0].system
        assert {request.system for request in asked} == {asked[0].system}, "the prefix stays the same"
        (execution,) = await running.executions(thread)
        results = [event for event in await running.log(execution) if isinstance(event, ToolFinished)]
        assert [result.outcome for result in results] == ["refused", "ok", "ok"]
        assert "no tool 'write'" in results[0].preview
        assert not (running.workspace(thread) / "a.py").exists()


async def test_the_role_that_somebody_chose_counts_over_the_words(guild: LocalGuild, tmp_path: Path) -> None:
    async with (
        asyncio.timeout(90),
        ScriptedEndpoint.start([finishes("One."), finishes("Two.")]) as endpoint,
        whole(tmp_path / "home", endpoint, guild) as running,
    ):
        thread = await running.task("Fix the rounding in cart.py")
        await guild.slash(thread, "settings set", {"name": "role", "value": "code-reviewer", "scope": "thread"})
        await guild.wait_for(
            lambda g: any("is now **code-reviewer**" in m.content for m in g.messages(thread, viewer=g.you)), SECONDS
        )
        await running.task("Fix the rounding in cart.py", thread)
        first, second = await running.executions(thread)
        begun = (await running.log(second))[0]
        assert isinstance(begun, Started)
        assert begun.role == "code-reviewer"
        before, *_, after = (request.system for request in endpoint.requests)
        assert "Your role: python-coder." in before
        assert REVIEW in after
        assert first != second
