"""The judge in the whole product: asked by the bot after a task, about work of a model of another family."""

from __future__ import annotations

import asyncio
from pathlib import Path

from agentic.core.events.execution_events import Evaluated, Judged, ModelRequested
from agentic.models.scripted.captured_request import CapturedRequest
from agentic.models.scripted.endpoint import ScriptedEndpoint
from agentic.models.scripted.replies import Reply
from bot.local_discord.local_discord import LocalGuild
from tests.integration.bot.whole import SECONDS, finishes, uses, whole
from tests.integration.reflexion.courtroom import calls_in, judging, reading

WORKER, OTHER = "anthropic/claude-haiku-4-5", "openai/gpt-5.4-mini"


def script(request: CapturedRequest) -> Reply:
    if judging(request):
        written = next(line for line in calls_in(request) if "greet.py" in line)
        return reading(request, 3, written)
    return finishes("It greets.") if request.answers else uses("write", path="greet.py", content="print('hello')\n")


async def test_a_task_is_judged_by_a_model_of_another_family_from_what_was_really_done(
    tmp_path: Path, guild: LocalGuild
) -> None:
    async with ScriptedEndpoint.start(script) as endpoint:
        async with whole(tmp_path, endpoint, guild, tier_2=(WORKER,), tier_3=(OTHER,), judge="always") as bot:
            async with asyncio.timeout(SECONDS):
                await bot.app.warmed.wait()  # the judge's library takes seconds to load, which are not the judge's
            thread = await bot.task("Write a greet.py that says hello.")
            (execution,) = await bot.executions(thread)
            outcome = await bot.became(execution, Evaluated)
            (judged,) = (event for event in outcome if isinstance(event, Judged))
            (evaluated,) = (event for event in outcome if isinstance(event, Evaluated))
            assert (judged.model, judged.share, judged.problem) == (OTHER, 0.5, "")
            assert judged.items[0].evidence.startswith("TURN 1, write: greet.py -> ok")
            assert (evaluated.judge_weight, evaluated.flags) == (0.0, ()), "fifty labels are not there yet"
            spent = [event.reserved_usd for event in outcome if isinstance(event, ModelRequested)]
            assert len(spent) == 3
            assert all(usd > 0 for usd in spent)
        readings = [request for request in endpoint.requests if judging(request)]
        assert {request.model for request in readings} == {OTHER.partition("/")[2]}
        assert "It greets." in readings[0].text()
