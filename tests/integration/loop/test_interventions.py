"""Each nudge as a model gets it: in the next request that reaches the endpoint, as a note of ours, and only there first."""

from __future__ import annotations

import pytest
from pydantic import JsonValue

from agentic.core.events.execution_events import Escalated, Intervened
from agentic.core.events.ids import execution_id
from agentic.core.prompt.user_messages import NOTE
from agentic.models.scripted.replies import Reply
from tests.faults.test_loop_faults import Ran, run
from tests.integration.loop.conftest import THREAD
from tests.integration.loop.housing import HouseOf, shell, workspace

FINISH = Reply(calls=(("finish", {"answer": "It is done."}),))
HALF = Reply(text="Here is the first half of", stop="length")
MEANS_TO = Reply(text="I found it. Let me fix the test now.")
CLAIM: dict[str, JsonValue] = {
    "answer": "All is well.",
    "claims": [{"text": "It builds.", "command": "make", "exit_code": 0}],
}


def look(name: str) -> Reply:
    return Reply(calls=(("look", {"name": name}),))


async def intervened(ran: Ran) -> list[str]:
    log = [envelope.event async for envelope in ran.store.read(execution_id(THREAD, "1"))]
    return [event.rule for event in log if isinstance(event, Intervened)]


@pytest.mark.parametrize(
    ("rule", "script", "words"),
    [
        ("empty_answer", [Reply()], "Your last answer was empty."),
        ("truncated_answer", [HALF, HALF], "cut off at the length limit again"),
        ("productivity", [MEANS_TO, MEANS_TO, MEANS_TO], "For 3 turns you used no tool that looks or acts."),
        (
            "repetition",
            [look("a"), look("a"), look("a")],
            "You repeat yourself: the same step with the same result 3 times.",
        ),
        (
            "evidence",
            [
                Reply(calls=(("act", {"name": "make", "command": "make", "fails": True}),)),
                Reply(calls=(("finish", CLAIM),)),
            ],
            "the log does not bear it out",
        ),
    ],
    ids=lambda value: value if isinstance(value, str) and " " not in value else "",
)
async def test_a_nudge_stands_in_the_next_request_and_in_none_before(
    rule: str, script: list[Reply], words: str
) -> None:
    ran = await run([*script, FINISH], "openai")
    assert ran.reason == "done"
    assert rule in await intervened(ran)
    texts = [request.text() for request in ran.endpoint.requests]
    assert [words in text for text in texts] == [False] * len(script) + [True]
    last = ran.endpoint.requests[-1].messages[-1]
    assert f"{NOTE} " in last.text
    assert words in last.text


async def test_a_run_that_goes_well_is_told_only_where_it_is() -> None:
    names = [f"part {number}" for number in range(6)]
    ran = await run([*(look(name) for name in names), FINISH], "anthropic")
    assert set(await intervened(ran)) == {"snapshot"}
    assert ran.endpoint.requests[-1].text().count(NOTE) == 3


async def test_with_real_tools_a_poller_is_left_alone_and_a_repetition_whose_times_differ_is_noticed(
    house_of: HouseOf,
) -> None:
    poll = shell("sleep 0; cat src/app.py")
    same = shell("date; date +%s%N; cat src/app.py")
    async with workspace() as (toolbox, _):
        house = await house_of(*[poll] * 6, *[same] * 4, FINISH)
        tiers = [{"number": 2, "models": ["openai/gpt-4o-mini"]}, {"number": 3, "models": ["openai/gpt-4o"]}]
        ended = await house.ends(house.start(toolbox, tiers=tiers))
    assert ended.reason == "done"
    nudges = [event for event in await house.events(Intervened) if event.rule == "repetition"]
    assert [nudge.text.count("3 times") for nudge in nudges] == [1]
    (escalated,) = await house.events(Escalated)
    assert escalated.trigger == "the same step with the same result 4 times"
    assert [request.model for request in house.endpoint.requests][:11] == ["gpt-4o-mini"] * 10 + ["gpt-4o"]
