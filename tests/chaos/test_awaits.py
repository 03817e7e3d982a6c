"""A scripted execution with every kind of tool, struck at its awaits in turn: every promise holds all the same.

`make chaos` strikes at each of them in every way; here a fifth of them: every other one is cancelled, and the rest are
struck in one of the other ways, in turn.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import pytest

from tests.chaos.awaits.harness import FAILS, Run, struck
from tests.chaos.awaits.many import Plan, Tally, strikes
from tests.chaos.awaits.sabotage import MENDS, missed
from tests.chaos.awaits.scene import PLAYS
from tests.chaos.awaits.trampoline import CountedLoop, Steps, Strike, cancelled, cancelled_late, cancelled_twice
from tests.chaos.simulated.simulation import quiet
from tests.chaos.simulated.virtual import Life, context_of

OTHER = ("cancelled twice", "interrupted twice", "stopped", "ended", "engine dies", "engine dies, stopped")
PLAN: Plan = {
    "kinds": ((*(way for other in OTHER for way in ("cancelled", other)), FAILS, FAILS), 1),
    "crowd": (("cancelled late", "engine dies", "stalled"), 1),
    "stopped": (("cancelled twice", FAILS), 1),
    "restarted": (("interrupted twice", FAILS), 1),
    "lost": (("cancelled", FAILS), 1),
}
"""Of the awaits that stand in the same frames the last one stands for all."""


@pytest.mark.parametrize("plan", [{name: ways} for name, ways in PLAN.items()], ids=lambda plan: next(iter(plan)))
def test_an_execution_that_is_struck_at_any_of_its_awaits_keeps_every_promise(plan: Plan) -> None:
    tally = Tally()
    for outcome in strikes(plan, in_turn=5):
        tally.add(outcome)
    assert tally.problems == []
    (name, (ways, _)) = next(iter(plan.items()))
    assert [way for way in ways if tally.runs[f"{name}: {way}"] < 2] == [], tally.runs


@pytest.mark.parametrize("mend", MENDS)
def test_without_a_mend_the_strikes_show_what_it_mended(mend: str) -> None:
    assert missed(mend), f"nothing shows that {mend!r} is missing"


def test_a_strike_is_the_same_each_time_and_says_where_it_was() -> None:
    run = Run("kinds", "cancelled", 300)
    with quiet():
        first, again = (struck(PLAYS["kinds"], run, story=True) for _ in range(2))
    assert first.where.startswith(("agentic/", "bot/"))
    assert first.where.partition(" (task")[0] == again.where.partition(" (task")[0]
    assert first.story == again.story


@pytest.mark.parametrize(
    ("act", "came"),
    [
        (cancelled, ["cancelled at 0", "ending at 1", "over at 3"]),
        (cancelled_late, ["cancelled at 1", "ending at 2", "over at 4"]),
        (cancelled_twice, ["cancelled at 0", "over at 0"]),
        (lambda steps: setattr(steps, "longer", 5.0), ["woke at 6", "over at 6"]),
    ],
    ids=["cancelled", "cancelled late", "cancelled twice", "longer"],
)
def test_a_task_is_struck_while_it_waits(act: Callable[[Steps], None], came: list[str]) -> None:
    loop, said = CountedLoop(), list[str]()
    loop.strike = Strike(1, act)

    async def work() -> None:
        try:
            await asyncio.sleep(1.0)
            said.append(f"woke at {loop.time():g}")
        except asyncio.CancelledError:
            said.append(f"cancelled at {loop.time():g}")
            await asyncio.sleep(1.0)
            said.append(f"ending at {loop.time():g}")
            await asyncio.sleep(2.0)
            raise
        finally:
            said.append(f"over at {loop.time():g}")

    async def world() -> None:
        await asyncio.wait((loop.create_task(work(), context=context_of(Life())),))

    with quiet():
        loop.run_until_complete(world())
        loop.dispose()
    assert said == came
