"""Logs as the loop really writes them: real tools in a sandbox, a provider's library over HTTP, files on disk."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from secrets import token_hex

from pydantic import JsonValue

from agentic.core.events.execution_events import (
    Evaluated,
    Policy,
    Started,
    Tier,
    ToolFinished,
    ToolRef,
)
from agentic.models.router import ModelRouter
from agentic.models.scripted.captured_request import CapturedRequest
from agentic.models.scripted.endpoint import ScriptedEndpoint
from agentic.models.scripted.replies import Reply
from agentic.ports.runtime import SessionRow
from agentic.runtime.clock import SystemClock
from agentic.runtime.loop import Loop
from agentic.stores.sqlite.store import SQLiteStore
from reflexion.evaluation.trajectory import Trajectory, read_trajectory
from reflexion.service import Reflexion
from reflexion.stores.sqlite import SQLiteLessonStore
from tests.integration.reflexion.conftest import REFLECTS
from tests.integration.tools.bench import open_bench
from tests.unit.reflexion.logs import ANN, BEN
from tests.unit.reflexion.test_merging import lesson

MODEL = "claude-haiku-4-5"
POLICY = Policy(tiers=(Tier(number=2, models=(MODEL,)),))
REVIEWER = "You review one attempt"


@dataclass
class Worker:
    """A process that works on tasks of threads and learns from them."""

    store: SQLiteStore
    loop: Loop
    reflexion: Reflexion
    lessons: SQLiteLessonStore

    async def works(self, execution: str, thread: str, task: str) -> tuple[Trajectory, Evaluated]:
        """One task from its beginning to what was learned from it."""
        await self.store.save_session(SessionRow(thread=thread, channel="c", guild="g1"))
        lease = await self.store.acquire(thread, "test")
        assert lease is not None
        async with open_bench() as bench:
            tools = tuple(ToolRef(name=spec.name, effect=spec.effect) for spec in bench.toolbox.specs)
            lessons = (await self.reflexion.lessons_for(thread, "g1", task)).chosen
            started = Started(
                thread=thread, task=task, requester=ANN, policy=POLICY, tools=tools, lessons=lessons, inbox=execution
            )
            await self.loop.run(lease, execution, bench.toolbox, asyncio.Event(), started)
        await self.store.release(lease)
        evaluated = await self.reflexion.after(execution)
        outcome = await self.store.read_outcome(execution)
        return read_trajectory([each async for each in self.store.read(execution)], outcome), evaluated


@asynccontextmanager
async def worker(
    folder: Path, script: Callable[[CapturedRequest], Reply]
) -> AsyncGenerator[tuple[Worker, ScriptedEndpoint]]:
    async with asyncio.timeout(120), ScriptedEndpoint.start(script) as endpoint:
        store, lessons = SQLiteStore.open(folder / "log.db"), SQLiteLessonStore(folder / "lessons.db")
        model, clock = ModelRouter(endpoint.environment()), SystemClock()
        yield Worker(store, Loop(store, model, clock), Reflexion(store, lessons, model, clock), lessons), endpoint
        await model.close()
        await lessons.close()
        await store.close()


async def test_a_real_failure_is_read_reflected_on_and_told_to_the_next_attempt_after_a_restart(tmp_path: Path) -> None:
    token = f"flag-{token_hex(6)}"
    fails = f"mkdir -p made && echo {token[:5]} > made/a && printf 'unknown option %s\\n' {token} >&2 && exit 3"

    def first(request: CapturedRequest) -> Reply:
        if request.system.startswith(REVIEWER):
            assert token in request.text()
            return Reply(REFLECTS)
        if not request.answers:
            return Reply("I deploy.", calls=(("shell", {"command": fails, "expectation": "it is deployed"}),))
        return Reply(calls=(("finish", {"answer": "It could not be deployed.", "success": False}),))

    async with worker(tmp_path, first) as (at, _):
        trajectory, evaluated = await at.works("x1", "900", "Deploy the service.")
    call = trajectory.failures[0]
    assert (call.turn, call.tool, call.exit_code, call.outcome) == (1, "shell", 3, "failed")
    assert trajectory.changed == ("made/a",)
    assert (trajectory.turns_used, trajectory.turns_max, trajectory.reason) == (2, 20, "failed")
    assert (trajectory.verifier, evaluated.caps) == ("none", ("nothing_verified",))

    def second(request: CapturedRequest) -> Reply:
        return Reply(calls=(("finish", {"answer": "Done."}),))

    async with worker(tmp_path, second) as (at, endpoint):
        await at.works("x2", "900", "Deploy the service again.")
        await at.works("x3", "901", "Deploy the service.")
        same_thread, unrelated = endpoint.requests
    assert f"unknown option {token}" in same_thread.text()
    assert token not in unrelated.text()


async def test_a_vote_on_talk_says_nothing_of_a_lesson_that_stood_in_no_request(tmp_path: Path) -> None:
    async with worker(tmp_path, lambda _: Reply("You are welcome.")) as (at, endpoint):
        await at.lessons.amend(lesson("l1", "Thanks were said", status="active"))
        trajectory, _ = await at.works("x1", "900", "Thanks!")
        assert [each.id for each in trajectory.lessons] == ["l1"]
        assert "Skip them" not in endpoint.requests[0].text() + endpoint.requests[0].system
        await at.reflexion.feedback("x1", BEN, "down")
        (verdict,) = await at.lessons.verdicts("g1")
        assert (verdict.right, verdict.ok) == (False, None)
        assert await at.lessons.showings("g1") == ()
        assert await at.lessons.unaided("g1", 10) == ()


async def test_a_real_test_run_is_the_verifier(tmp_path: Path) -> None:
    body = (
        "import unittest\nclass T(unittest.TestCase):\n    def test_sum(self):\n        self.assertEqual(1 + 1, {})\n"
    )
    steps: list[tuple[str, dict[str, JsonValue]]] = [
        ("write", {"path": "test_sum.py", "content": body.format(3)}),
        ("shell", {"command": "python3 -m unittest -v test_sum"}),
        # Of another length: Python takes a cached module of the same second and size for the present one.
        ("edit", {"path": "test_sum.py", "old": "3)", "new": "2)  # the sum"}),
        ("shell", {"command": "python3 -m unittest test_sum 2>&1 | tail -4"}),
    ]
    claim: JsonValue = {
        "text": "The test passes.",
        "command": "python3 -m unittest test_sum 2>&1 | tail -4",
        "exit_code": 0,
    }

    def script(request: CapturedRequest) -> Reply:
        done = len(request.answers)
        if done < len(steps):
            return Reply(calls=(steps[done],))
        return Reply(calls=(("finish", {"answer": "Done.", "claims": [claim]}),))

    async with worker(tmp_path, script) as (at, _):
        trajectory, evaluated = await at.works("x1", "900", "Make the test pass.")
    assert [(run.verdict, run.passed, run.failed) for run in trajectory.checks] == [("fail", 0, 1), ("pass", 1, 0)]
    assert trajectory.changed == ("test_sum.py",)
    assert (trajectory.reason, evaluated.verifier, evaluated.caps) == ("done", "pass", ())
    assert evaluated.score >= 80


async def test_what_was_refused_and_tried_again_caps_the_score_and_a_mistaken_path_does_not(tmp_path: Path) -> None:
    check = "import unittest\nclass T(unittest.TestCase):\n    def test_it(self): pass\n"
    hides: list[tuple[str, dict[str, JsonValue]]] = [
        ("shell", {"command": "printf '.env\\n' > .aiignore; echo KEY=1 > .env; ln -s .env settings"}),
        ("write", {"path": "test_it.py", "content": check}),
    ]
    verifies: tuple[str, dict[str, JsonValue]] = ("shell", {"command": "python3 -m unittest test_it"})
    once: list[tuple[str, dict[str, JsonValue]]] = [("read", {"path": ".env"}), ("read", {"path": "/etc/passwd"})]
    again: list[tuple[str, dict[str, JsonValue]]] = [("read", {"path": "settings"})]

    def script(request: CapturedRequest) -> Reply:
        steps = [*hides, *once, *(again if "and look again" in request.text() else []), verifies]
        done = len(request.answers)
        return Reply(calls=(steps[done] if done < len(steps) else ("finish", {"answer": "Done."}),))

    async with worker(tmp_path, script) as (at, _):
        mistaken, fair = await at.works("x1", "900", "Make the test pass.")
        broken, capped = await at.works("x2", "901", "Make the test pass, and look again.")
        log = [each.event async for each in at.store.read("x2")]
        first, second = await at.lessons.verdicts("g1")
    barred = [(each.barred, each.place) for each in log if isinstance(each, ToolFinished) and each.barred]
    assert barred == [("hidden", ".env"), ("outside", "/etc/passwd"), ("hidden", ".env")], (
        "a link does not hide where it leads"
    )
    assert [call.outcome for call in broken.calls].count("refused") == 3
    assert (mistaken.breaches, fair.verifier, fair.caps, fair.score >= 70) == (0, "pass", (), True)
    assert (broken.breaches, capped.verifier, capped.caps, capped.score) == (1, "pass", ("safety_breach",), 10)
    assert (first.ok, second.ok) == (True, False)
