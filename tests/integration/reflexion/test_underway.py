"""What is being learned when the next attempt begins: what it waits for, what is used again, and what it all cost."""

from __future__ import annotations

import asyncio

import pytest

from agentic.core.events.execution_events import (
    Event,
    FeedbackGiven,
    Judged,
    ModelAnswered,
    ModelFailed,
    ModelRequested,
    Policy,
    Reflected,
    Started,
    TextBlock,
)
from agentic.models.scripted.model import Asked, ScriptedModel, answer
from agentic.ports.runtime import Answer
from agentic.runtime.budget_ledger import NO_CAPS, BudgetLedger
from agentic.runtime.clock import SystemClock
from bot.history.attempts import attempts_at
from reflexion import in_progress
from reflexion.evaluation.billed_requests import read_again, standing
from reflexion.evaluation.outcome_stream import OutcomeStream, owes
from reflexion.judge.judge import Judge, JudgeCandidate
from reflexion.service import Reflexion
from tests.integration.reflexion.conftest import REFLECTS, House, house
from tests.integration.reflexion.test_cycle import FAILS, TASK, failed
from tests.stores import fresh_lessons, fresh_store
from tests.unit.reflexion.logs import ANN, Log, edit

JUDGE = "claude-haiku-4-5"


async def test_the_next_attempt_waits_for_the_reflection_and_not_for_the_judge_who_comes_after() -> None:
    reflects, judges = asyncio.Event(), asyncio.Event()

    async def script(asked: Asked) -> Answer:
        await (judges if asked.model == JUDGE else reflects).wait()
        return answer("no reading" if asked.model == JUDGE else REFLECTS)

    model = ScriptedModel(script, prices={"openai/scripted": (1.0, 2.0), JUDGE: (1.0, 2.0)})
    at = House(fresh_lessons(), model)
    judge = Judge(
        model, BudgetLedger(at.store, NO_CAPS), at.clock, at.lessons, (JudgeCandidate(JUDGE, 2),), mode="always"
    )
    at.reflexion = Reflexion(at.store, at.lessons, model, at.clock, judge=judge)
    execution = await at.keep(failed())
    learns = asyncio.create_task(at.reflexion.after(execution))
    waits = asyncio.create_task(at.reflexion.known("900"))
    elsewhere = asyncio.create_task(at.reflexion.known("901"))
    async with asyncio.timeout(60):
        await elsewhere
        while not model.asked:
            await asyncio.sleep(0)
        assert not waits.done()
        reflects.set()
        await waits
        assert len((await at.reflexion.lessons_for("900", "g1", TASK)).chosen) == 1
        assert not learns.done()
        assert await owes(at.store, execution, await at.outcome(execution))
        judges.set()
        assert (await learns).flags == ("judge",)
    kinds = [event.kind for event in await at.outcome(execution)]
    assert kinds.index("reflected") < kinds.index("judged")
    assert not await owes(at.store, execution, await at.outcome(execution))


async def test_nobody_waits_longer_than_learning_may_take(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(in_progress, "PATIENCE", 0.05)
    at = house(lambda _: asyncio.Event().wait())  # type: ignore[arg-type, return-value]
    learns = asyncio.create_task(at.reflexion.after(await at.keep(failed())))
    async with asyncio.timeout(60):
        await at.reflexion.known("900")
        assert not learns.done()
        await at.reflexion.known("900")  # the second one finds that its patience is over
    learns.cancel()
    await asyncio.gather(learns, return_exceptions=True)


def request(id: str, attempt: int = 1, purpose: str = "reflection", model: str = "m") -> ModelRequested:
    event = {"request": id, "turn": 1, "tier": 2, "model": model, "purpose": purpose, "attempt": attempt}
    return ModelRequested.model_validate(event | {"reserved_usd": 0.25})


def reply(id: str, usd: float = 0.0) -> ModelAnswered:
    return ModelAnswered(request=id, blocks=(TextBlock(text=id),), usd=usd)


DOWN = ModelFailed(request="r2", failure="unavailable", message="overloaded")
SAID = FeedbackGiven(by=ANN, vote="down", why="It is too short.")


@pytest.mark.parametrize(
    ("events", "stands"),
    [
        ((request("r1"), reply("r1")), {1: reply("r1")}),
        ((request("r1"), request("r2", 2), reply("r1"), DOWN), {1: reply("r1"), 2: DOWN}),
        ((request("r1"), request("r3"), reply("r3")), {1: reply("r3")}),
        ((request("r1"), reply("r1"), Reflected(reflection="")), {}),
        ((request("r1"), reply("r1"), SAID), {}),
        ((request("r1"), reply("r1"), SAID.model_copy(update={"why": ""}), Judged()), {1: reply("r1")}),
        ((request("r1", purpose="judge"), reply("r1")), {}),
        ((request("r1", model="other"), reply("r1")), {}),
    ],
)  # fmt: skip
def test_an_answer_stands_until_something_was_made_of_it_or_the_question_is_another_one(
    events: tuple[Event, ...], stands: dict[int, Event]
) -> None:
    assert standing(events, "reflection", "m") == stands


def test_what_stands_reads_as_it_did_when_it_came() -> None:
    assert read_again(DOWN) == "the model could not be asked (unavailable): overloaded"
    read = read_again(reply("r1", usd=0.5))
    assert isinstance(read, Answer)
    assert (read.blocks, read.usd) == ((TextBlock(text="r1"),), 0.5)


async def test_what_the_attempts_at_a_task_left_of_its_money_is_without_what_judging_and_reflecting_cost() -> None:
    at = House(fresh_lessons(), ScriptedModel([]), store=fresh_store())
    for number, trial_of in ((1, ""), (2, "x1")):
        log = Log(task=TASK, execution=f"x{number}", policy=Policy(max_usd=1.0)).does(edit("a.py"), usd=0.1).does(FAILS)
        first = log.events[0]
        assert isinstance(first.event, Started)
        started = first.event.model_copy(update={"trial_of": trial_of, "attempt": number})
        log.events[0] = first.model_copy(update={"event": started})
        await at.keep(log.ends("failed"))
    await at.keep(Log(task="Something else.", execution="x3").does(edit("b.py"), usd=0.5).ends())
    before = await attempts_at(at.store, "900", "x2")
    assert (before.first, before.most, round(before.left_usd, 3)) == ("x1", 2, 0.8)
    for execution, *events in (
        ("x1", request("r1"), reply("r1", usd=0.03), request("r2", purpose="judge"), request("r3"), DOWN),
        ("x2", request("r4", purpose="judge"), reply("r4", usd=0.02)),
        ("x3", request("r5"), reply("r5", usd=0.2)),
    ):
        stream = OutcomeStream(at.store, SystemClock(), str(execution))
        await stream.add(*(event for event in events if not isinstance(event, str)))
    left = (await attempts_at(at.store, "900", "x2")).left_usd
    assert round(left, 3) == 0.8 - 0.03 - 0.02 - 0.25, (
        "what is lost counts as it was reserved, what failed for nothing not"
    )
