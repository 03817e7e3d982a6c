"""A fortieth of the simulation: it holds, it is the same for the same seed, and it sees what is broken on purpose."""

from __future__ import annotations

import asyncio

import pytest

from tests.chaos.simulated.mishaps import FAULTS
from tests.chaos.simulated.simulation import WITHOUT, quiet, simulate
from tests.chaos.simulated.virtual import Life, VirtualLoop, context_of

SEED = 4


def test_simulated_executions_with_faults_keep_every_promise() -> None:
    counts = simulate(SEED, 250)
    assert counts.problems == []
    assert counts.executions >= 250
    assert counts.holds, counts.line()
    assert [fault for fault in FAULTS if not counts.faults[fault]] == []


def test_the_same_seed_gives_the_same_figures_and_another_gives_others() -> None:
    first, again, other = (simulate(seed, 20) for seed in (SEED, SEED, SEED + 1))
    assert (first.line(), first.faults) == (again.line(), again.faults)
    assert first.faults != other.faults


@pytest.mark.parametrize("without", WITHOUT)
def test_without_a_safeguard_the_judge_sees_a_violation_soon(without: str) -> None:
    counts = simulate(SEED, 600, without=without, enough=1)
    seen = {"intents": counts.unkeyed_twice, "nonces": counts.doubled, "fences": counts.other}
    assert seen[without], counts.line()


def test_a_dead_process_does_nothing_more_and_a_frozen_one_goes_on_later() -> None:
    loop, said = VirtualLoop(), list[str]()
    dead, frozen = Life(), Life()

    async def work(name: str) -> None:
        try:
            await asyncio.sleep(5.0)
            said.append(f"{name} at {loop.time():g}")
        finally:
            said.append(f"{name} leaves")

    async def world() -> None:
        for name, life in (("dead", dead), ("frozen", frozen), ("living", Life())):
            loop.create_task(work(name), context=context_of(life))
        await asyncio.sleep(1.0)
        dead.dead = frozen.frozen = True
        await asyncio.sleep(60.0)
        loop.thaw(frozen)
        await asyncio.sleep(1.0)

    with quiet():
        loop.run_until_complete(world())
        assert said == ["living at 5", "living leaves", "frozen at 61", "frozen leaves"]
        loop.dispose()
