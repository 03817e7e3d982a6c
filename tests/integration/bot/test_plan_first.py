"""A plan first, in the whole product: it is shown, changed by words, agreed to by a press, and only then carried out."""

from __future__ import annotations

from pathlib import Path

from agentic.core.events.execution_events import PlanExited, Started, ToolFinished
from agentic.models.scripted.captured_request import CapturedRequest
from agentic.models.scripted.endpoint import ScriptedEndpoint
from agentic.models.scripted.replies import Reply
from bot.local_discord.local_discord import LocalGuild
from tests.integration.bot.whole import SECONDS, finishes, uses, whole

FIRST, SECOND = "1. Round **half up**.\n2. Delete `old.py`.", "1. Round **half up**.\n2. Nothing else."


def plans(request: CapturedRequest) -> Reply:
    """Writes at once, is refused; proposes, changes the plan, and carries out what was agreed to."""
    steps = (
        uses("write", path="a.py", content="half_up = True\n"),
        uses("propose_plan", plan=FIRST),
        uses("propose_plan", plan=SECOND),
        uses("write", path="a.py", content="half_up = True\n"),
    )
    done = len(request.answers)
    return steps[done] if done < len(steps) else finishes("Prices are rounded half up.")


async def test_nothing_changes_before_the_plan_is_agreed_to(guild: LocalGuild, tmp_path: Path) -> None:
    async with ScriptedEndpoint.start(plans) as endpoint, whole(tmp_path, endpoint, guild) as bot:
        posted = await guild.post(guild.channel().id, f"{guild.bot.mention} plan: round prices half up")
        thread = posted.id
        first = await bot.says(thread, "Delete `old.py`")
        assert "My plan." in first.content
        assert "(recommended)" not in first.content
        assert "write here what should be different" in first.content
        await guild.post(thread, "Leave old.py alone.")
        second = await bot.says(thread, "Nothing else.")
        await bot.app.delivered(str(thread), SECONDS)
        await guild.click(second.id, second.custom_ids()[0])
        await bot.says(thread, "Prices are rounded half up.")
        await guild.wait_for(lambda g: "✔ **Go ahead**" in g.state.find_message(second.id).content, SECONDS)
        log = await bot.log((await bot.executions(thread))[-1])
    started = next(event for event in log if isinstance(event, Started))
    assert started.planning
    results = [event for event in log if isinstance(event, ToolFinished)]
    assert [result.outcome for result in results][:4] == ["refused", "ok", "ok", "ok"], [
        result.preview for result in results
    ]
    assert "Leave old.py alone." in results[1].preview
    assert not any(result.changes for result in results[:3])
    assert results[3].changes
    assert [event.plan for event in log if isinstance(event, PlanExited)] == [SECOND]
