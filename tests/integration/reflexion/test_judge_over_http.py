"""A judge of another family, asked over HTTP: what it costs, what it counts, and when it is not asked."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from agentic.core.events.execution_events import Evaluated, ModelAnswered, ModelRequested
from agentic.models.scripted.captured_request import CapturedRequest
from agentic.models.scripted.replies import Reply
from agentic.runtime.budget_ledger import DailyCaps
from reflexion.judge.judge import JudgeCandidate
from reflexion.lessons.judge_trust import LABELLED
from tests.integration.reflexion.courtroom import JUDGE, calls_in, court, judging, reading
from tests.unit.reflexion.logs import ANN, BEN, MODEL, Did, Log, edit
from tests.waiting import eventually

TODAY = "guild g1 2026-11-21"


def works(execution: str = "x1", thread: str = "900") -> Log:
    """An execution of an OpenAI model that changed a file and checked nothing."""
    log = Log(task="Say hello in greet.py.", execution=execution, thread=thread)
    return log.does(Did("cat greet.py", 0, "print('bye')")).does(edit("greet.py")).ends()


async def test_three_readings_are_paid_recorded_and_the_middle_one_counts(tmp_path: Path) -> None:
    gives = {1: 6, 2: 1, 3: 3}
    arrived: list[int] = []

    def script(request: CapturedRequest) -> Reply:
        arrived.append(request.number)
        return reading(request, gives[request.number])

    async with asyncio.timeout(60), court(tmp_path, script, caps=DailyCaps(guild=1.0)) as at:
        await at.has_judged(30, LABELLED - 30)
        evaluated = await at.hears(works())
        (judged,) = await at.judged()
        events = await at.outcome()
        asked = [event for event in events if isinstance(event, ModelRequested)]
        answers = [event for event in events if isinstance(event, ModelAnswered)]
        assert [(each.purpose, each.attempt, each.model, each.tier) for each in asked] == [
            ("judge", number, JUDGE, 2) for number in (1, 2, 3)
        ]
        kinds = ["evaluated", *["model_requested"] * 3]
        assert [event.kind for event in events[:4]] == kinds, (
            "what costs nothing first; said before any of them is sent"
        )
        assert judged.requests == tuple(each.request for each in asked)
        assert (judged.shares, judged.share, judged.model, judged.problem) == ((0.1667, 0.5, 1.0), 0.5, JUDGE, "")
        assert [item.yes for item in judged.items] == [True] * 3 + [False] * 3
        assert all(item.evidence.startswith("TURN 1, shell: cat greet.py") for item in judged.items if item.yes)
        assert (evaluated.judge_weight, evaluated.parts["judge"], evaluated.parts["unjudged"]) == (1.0, 7.5, 0.0)
        assert await at.store.spent_usd(TODAY) == pytest.approx(sum(each.usd for each in answers), abs=2e-9)
        assert all(0 < each.usd < 0.01 for each in answers)
        row = (await at.lessons.verdicts("g1"))[-1]
        assert (row.execution, row.judge, row.judge_model, row.right, row.ok) == ("x1", 0.5, JUDGE, None, None)
    assert len(arrived) == 3


async def test_a_judge_has_no_say_before_fifty_labelled_readings_and_one_by_what_it_proved_to_be_worth(
    tmp_path: Path,
) -> None:
    async with asyncio.timeout(60), court(tmp_path, reading) as at:
        await at.has_judged(30, LABELLED - 31)
        first = await at.hears(works())
        assert (first.judge_weight, first.parts["judge"], first.parts["unjudged"]) == (0.0, 0.0, 7.5)
        await at.reflexion.feedback("x1", BEN, "up")
        again = await at.reflexion.after("x1")
        assert again.judge_weight == 0.0, "an execution's own vote does not raise the weight of its own reading"
        second = await at.hears(works("x2", "901"))
        assert (second.judge_weight, second.parts["judge"]) == (1.0, 15.0), (
            "the fiftieth label was the vote on the first"
        )
        assert second.score == first.score + 6
        assert len(at.readings) == 6, "a vote pays for no second reading"
    async with asyncio.timeout(60), court(tmp_path / "backwards", reading) as at:
        await at.has_judged(30, 30, swapped=True)
        assert (await at.hears(works())).judge_weight == 0.0


async def test_a_reading_outlives_the_process_and_is_not_asked_for_again(tmp_path: Path) -> None:
    async with asyncio.timeout(60), court(tmp_path, reading) as at:
        first = await at.hears(works())
    async with asyncio.timeout(60), court(tmp_path, reading, mode="off") as at:
        assert await at.reflexion.after("x1") == first
        liked = await at.reflexion.feedback("x1", ANN, "up")
        assert liked.parts["user"] == 15.0
        assert at.endpoint.requests == []
        assert [event.kind for event in await at.outcome()].count("judged") == 1
        row = (await at.lessons.verdicts("g1"))[-1]
        assert (row.judge, row.right) == (1.0, True), "the vote is a label for the reading that was made before it"


@pytest.mark.parametrize(
    "judges",
    [
        (),
        (JudgeCandidate("openai/gpt-5.4-mini", 2),),  # of the executor's own family
        (JudgeCandidate("anthropic/house-model", 2),),  # whose name does not tell its family, and has no price
    ],
)
async def test_without_a_model_of_another_family_nobody_is_asked(
    tmp_path: Path, judges: tuple[JudgeCandidate, ...]
) -> None:
    async with asyncio.timeout(60), court(tmp_path, reading, judges=judges) as at:
        evaluated = await at.hears(works())
        assert (evaluated.flags, at.endpoint.requests, await at.judged()) == ((), [], [])


async def test_the_first_of_another_family_is_asked_and_one_that_is_named_only_about_others(tmp_path: Path) -> None:
    several = (JudgeCandidate("openai/gpt-5.4-mini", 2), JudgeCandidate(MODEL, 3), JudgeCandidate(JUDGE, 3))
    async with asyncio.timeout(60), court(tmp_path, reading, judges=several) as at:
        await at.hears(works())
        assert {request.model for request in at.readings} == {JUDGE}
    async with asyncio.timeout(60), court(tmp_path / "own", reading, judges=(JudgeCandidate(MODEL, named=True),)) as at:
        assert (await at.hears(works())).flags == ()
        assert at.endpoint.requests == []


async def test_a_family_that_did_some_of_the_work_judges_none_of_it(tmp_path: Path) -> None:
    log = Log(task="Say hello in greet.py.")
    log.add(ModelRequested(request="r", turn=1, tier=2, model=JUDGE), ModelAnswered(request="r", blocks=(), usd=0))
    log.does(edit("greet.py")).ends()
    assert next(each.event.model for each in reversed(log.events) if isinstance(each.event, ModelRequested)) == MODEL
    async with asyncio.timeout(60), court(tmp_path, reading) as at:
        await at.hears(log)
        assert (at.endpoint.requests, await at.judged()) == ([], [])


async def test_where_no_money_is_left_nobody_is_asked_and_nothing_stays_set_aside(tmp_path: Path) -> None:
    async with asyncio.timeout(60), court(tmp_path, reading, caps=DailyCaps(guild=0.007)) as at:
        evaluated = await at.hears(works())
        (judged,) = await at.judged()
        assert judged.problem == "the budget of the day has no room for it"
        assert (evaluated.flags, at.endpoint.requests) == (("judge",), [])
        assert await at.store.spent_usd(TODAY) == 0.0
    async with asyncio.timeout(60), court(tmp_path / "own", reading) as at:
        poor = works()
        poor.events[0] = poor.events[0].model_copy(
            update={
                "event": poor.events[0].event.model_copy(
                    update={"policy": poor.policy.model_copy(update={"max_usd": 0.001})}
                )
            }
        )
        assert (await at.hears(poor)).flags == ()
        assert (at.endpoint.requests, await at.judged()) == ([], [])


async def test_the_judge_is_shown_neither_what_checks_came_to_nor_what_people_said(tmp_path: Path) -> None:
    async with asyncio.timeout(60), court(tmp_path, reading) as at:
        log = Log(task="Mend it.").does(edit("a.py"), Did("pytest", 1, "E   assert 3 == 4\n1 failed", tests=(2, 1)))
        await at.hears(log.hears("correction", "Not like that!").ends("failed", "I could not."))
        text = at.readings[0].text()
        assert "a check of the work; what it came to is left out here" in text
        for told in ("assert 3", "1 failed", "exit code 1", "Not like that"):
            assert told not in text
        assert calls_in(at.readings[0])[1].startswith("TURN 1, shell: pytest (a check")


async def test_a_process_that_dies_while_it_judges_leaves_the_next_one_to_do_it(tmp_path: Path) -> None:
    async with asyncio.timeout(60), court(tmp_path, lambda _: Reply.stall_after(0)) as at:
        dying = asyncio.create_task(at.hears(works()))
        await eventually(lambda: len(at.endpoint.requests) >= 3)
        dying.cancel()
        with pytest.raises(asyncio.CancelledError):
            await dying
    async with asyncio.timeout(60), court(tmp_path, reading) as at:
        assert (await at.reflexion.after("x1")).flags == ()
        assert await at.paid() == (6, 3, 0)
        (judged,) = await at.judged()
        assert judged.share == 1.0
        assert all(judging(request) for request in at.endpoint.requests)
        scores = [event.score for event in await at.outcome() if isinstance(event, Evaluated)]
        assert len(scores) == 1
