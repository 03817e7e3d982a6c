"""Triage in the loop: what a cheap model is asked beside the turns, what its failure costs, and talk that has to act."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from agentic.core.events.execution_events import Finished, Triaged
from agentic.core.events.values import Tier
from agentic.models.scripted.model import Script, answer
from agentic.ports.errors import ModelError, ModelUnavailable
from agentic.ports.runtime import Answer
from tests.integration.loop.conftest import Stage

TIERS = (Tier(number=1, models=("cheap",)), Tier(number=2, models=("small",)))
UNSURE = "the whales are singing tonight"
FINISH = answer("", ("finish", {"answer": "It is done."}))
StageOf = Callable[[Script], Stage]


async def place(stage: Stage, task: str = UNSURE) -> tuple[Triaged, Finished, list[str]]:
    """How the task was placed, how it ended, and which models were asked."""
    stage.lease = await stage.store.acquire(stage.lease.thread, "me") or stage.lease
    execution = await stage.run(task, tiers=TIERS)
    triaged = (await stage.events("triaged"))[-1]
    assert isinstance(triaged, Triaged)
    assert execution.finished is not None
    return triaged, execution.finished, [asked.model for asked in stage.model.asked]


async def test_a_cheap_model_places_what_the_rules_cannot_and_sees_the_message_as_data(stage_of: StageOf) -> None:
    stage = stage_of([answer('{"kind": "talk"}', usd=0.001), answer("How lovely.")])
    triaged, ended, models = await place(stage)
    assert (triaged.talk, triaged.by, models) == (True, "model", ["cheap", "small"])
    assert (ended.reason, ended.answer, ended.claims) == ("done", "How lovely.", ())
    asked, talk = stage.model.asked
    assert asked.prompt.tools == talk.prompt.tools == ()
    (text,) = [message.text for message in asked.prompt.messages]
    mark = text.partition(" ")[0]
    assert text == f"{mark} [The message]\n{UNSURE}\n{mark} [End of the message]"
    assert asked.max_tokens <= 300
    assert UNSURE in talk.prompt.messages[0].text, "the turn's own request holds the task, and nothing of the triage"
    assert len(talk.prompt.messages) == 1


@pytest.mark.parametrize("came", [ModelUnavailable("down"), answer("I would say it is talk"), answer("")])
async def test_its_failure_or_nonsense_blocks_nothing(stage_of: StageOf, came: Answer | ModelError) -> None:
    stage = stage_of([came, FINISH])
    triaged, ended, models = await place(stage)
    assert (triaged.talk, triaged.by, ended.reason, models) == (False, "rule", "done", ["cheap", "small"])
    assert stage.model.asked[1].prompt.tools


async def test_talk_in_which_the_model_has_to_act_gets_its_tools_in_the_next_request(stage_of: StageOf) -> None:
    stage = stage_of([answer("TASK"), answer("", ("act", {"name": "a"})), FINISH])
    triaged, ended, models = await place(stage, "hello!")
    assert (triaged.talk, ended.answer, models) == (False, "It is done.", ["small"] * 3)
    first, second, _ = stage.model.asked
    assert first.prompt.tools == ()
    assert {spec.name for spec in second.prompt.tools} >= {"act", "finish"}
    assert "This is a task after all" in second.prompt.messages[-1].text
    assert stage.toolbox.ran == ["a"]
