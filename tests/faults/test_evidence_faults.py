"""Rows 57 and 60: done while the tests fail, and fifty calls at once.

The real loop over real HTTP; in row 57 with the real tools, SQLite and a real sandbox in which real tests run.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from pydantic import JsonValue

from agentic.core.events.execution_events import Finished, Intervened, ToolFinished
from agentic.models.scripted.replies import Reply
from tests.faults.test_loop_faults import FINISH, answers, run
from tests.faults.test_loop_faults import route as route
from tests.integration.loop.housing import House, HouseOf, houses, shell
from tests.integration.tools.bench import Bench, open_bench

CHECK = "python3 -m unittest -q test_cart"
TEST = """\
import unittest, cart
class T(unittest.TestCase):
    def test_sum(self):
        self.assertEqual(cart.total([1, 2]), 3)
    def test_nothing(self):
        self.assertEqual(cart.total([]), 0)
"""
FIX = Reply(
    calls=(("read", {"path": "cart.py"}), ("edit", {"path": "cart.py", "old": "return 0", "new": "return sum(x)"}))
)
BREAK = Reply(calls=(("edit", {"path": "cart.py", "old": "sum(x)", "new": "sum(x) + 0"}),))


def finish(command: str = CHECK, **claim: JsonValue) -> Reply:
    claims: list[JsonValue] = [{"text": "all tests pass", "command": command, **claim}]
    return Reply(calls=(("finish", {"answer": "Fixed.", "claims": claims}),))


@dataclass
class Scene:
    """A cart with a bug and its tests, in a sandbox."""

    house_of: HouseOf
    bench: Bench

    async def work(self, *replies: Reply) -> tuple[House, Finished]:
        house = await self.house_of(*replies)
        running = house.start(self.bench.toolbox, attended=False, snapshots=0, failure_escalates=False)
        async with asyncio.timeout(120):  # the first request of a process loads the model library
            await asyncio.wait((running,))
        return house, await house.ends(running)


@pytest.fixture
async def scene(tmp_path: Path) -> AsyncIterator[Scene]:
    async with houses(tmp_path) as house_of, open_bench() as bench:
        bench.put("cart.py", "def total(x):\n    return 0\n")
        bench.put("test_cart.py", TEST)
        yield Scene(house_of, bench)


async def test_f57_done_while_the_tests_fail_goes_back_with_the_facts_once_and_is_no_success_then(scene: Scene) -> None:
    house, ended = await scene.work(shell(CHECK), finish(), finish(), FINISH)
    assert (ended.reason, [claim.verdict for claim in ended.claims]) == ("failed", ["contradicted"])
    assert ended.claims[0].note == "in its last run 1 of 2 tests failed"
    assert len(house.endpoint.requests) == 3, "sent back once"
    assert "in its last run 1 of 2 tests failed" in house.endpoint.requests[2].messages[-1].text
    assert [event.rule for event in await house.events(Intervened)] == ["evidence"]


async def test_f57_what_was_mended_and_tested_again_is_proven_and_a_stale_run_is_not(scene: Scene) -> None:
    """The run before the last edit proves nothing; it goes back, runs again, and then does."""
    house, ended = await scene.work(
        shell(CHECK), FIX, shell(f"cd /workspace && {CHECK}"), BREAK, finish(), shell(CHECK), finish(exit_code=0)
    )
    assert "stale: it ran before cart.py changed" in house.endpoint.requests[5].messages[-1].text
    assert (ended.reason, [claim.verdict for claim in ended.claims]) == ("done", ["proven"])
    counted = [(done.tests_passed, done.tests_failed) for done in await house.events(ToolFinished)]
    assert [pair for pair in counted if pair != (None, None)] == [(1, 1), (2, 0), (2, 0)]


async def test_f57_a_run_of_no_test_proves_nothing(scene: Scene) -> None:
    empty = "python3 -m unittest -q nothing"
    _, ended = await scene.work(
        shell("echo 'import unittest' > nothing.py"), shell(empty), finish(empty), finish(empty)
    )
    (claim,) = ended.claims
    assert claim.verdict != "proven"
    assert claim.note in ("it ran no tests", "its last run ended with 5"), "by its count, or as newer versions exit"


async def test_f57_tests_that_it_changed_itself_stand_beside_the_claim(scene: Scene) -> None:
    tame = Reply(calls=(("shell", {"command": "sed -i 's/, 3)/, 0)/' test_cart.py"}),))
    _, ended = await scene.work(tame, shell(CHECK), finish())
    (claim,) = ended.claims
    assert (claim.verdict, claim.note) == ("proven", "the tests themselves were changed: test_cart.py")


async def test_f60_fifty_calls_at_once_run_eight_at_a_time_and_each_result_stands_by_its_call(route: str) -> None:
    calls = [("act" if number in (20, 35) else "look", {"name": f"n{number}"}) for number in range(50)]
    async with asyncio.timeout(60):
        ran = await run([Reply(calls=tuple(calls)), FINISH], route)
    assert ran.reason == "done"
    assert ran.toolbox.most_at_once == 8
    assert sorted(ran.toolbox.ran) == sorted(f"n{number}" for number in range(50))
    place = ran.toolbox.ran.index
    assert all(place(f"n{n}") < place("n20") < place(f"n{m}") for n in range(20) for m in range(21, 35)), (
        "in order around writes"
    )
    said = next(said for said in ran.endpoint.requests[1].messages if said.role == "assistant")
    given = answers(ran.endpoint.requests[1])
    assert [answer.id for answer in given] == [call.id for call in said.calls]
    assert len({answer.id for answer in given}) == 50
    assert [answer.text for answer in given] == [f"n{number} seen" for number in range(50)]
