"""A trial begins once, though its process is killed after it was decided on, and again when it had just begun."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

from agentic.core.events.execution_events import Started, TrialDecided
from agentic.models.scripted.captured_request import CapturedRequest
from agentic.models.scripted.endpoint import ScriptedEndpoint
from agentic.models.scripted.replies import Reply
from bot.cli.replay.invariants import broken_promises
from tests.e2e.living import living
from tests.e2e.processes import Running, environment, started
from tests.stores import kept_store

CHECK = "sh check.sh"
INSIGHT = json.dumps(
    {
        "what_worked": "The script runs.", "what_failed": "The file is missing.", "root_cause": "It was never written.",
        "strategy_change": "Write done.txt first.", "key_insight": "The check looks for done.txt.", "touches": "none",
    }
)  # fmt: skip
KILLS = ("store.outcome.after:6", "act.after")
"""The sixth thing in what became of the first attempt is the decision to try again."""


def script(request: CapturedRequest) -> Reply:
    """The first attempt fails; one that knows why does not."""
    if not request.tools:
        return Reply(INSIGHT)
    knows = "Write done.txt first." in request.text()
    steps = [
        ("shell", {"command": f"echo 'test -e done.txt' > check.sh; echo x >> runs.txt; {'touch done.txt' * knows}"}),
        ("shell", {"command": CHECK}),
        ("finish", {"answer": "The check passes." if knows else "It fails."}),
    ]
    return Reply(calls=(steps[min(len(request.messages) // 2, 2)],))


async def died(running: Running, point: str) -> None:
    assert await running.ended() == -9, f"{point}\n{running.output}"
    assert f"failpoint {point.partition(':')[0]}" in running.output


async def test_f76_a_trial_begins_once_though_its_process_is_killed_twice(tmp_path: Path) -> None:
    settings = {"THREADWRIGHT_TRIALS": "auto", "THREADWRIGHT_TRIAGE": "rules"}
    async with asyncio.timeout(200), ScriptedEndpoint.start(script) as endpoint:
        async with living(tmp_path, endpoint, **settings, THREADWRIGHT_FAILPOINT=KILLS[0]) as bot:
            thread = await bot.person.mention(f"Make `{CHECK}` pass.")
            await died(bot.running, KILLS[0])
        chosen = {**settings, "THREADWRIGHT_TIER_2": "anthropic/claude-haiku-4-5", "THREADWRIGHT_SANDBOX": "bubblewrap"}
        env = environment(tmp_path, endpoint.environment(), **chosen, THREADWRIGHT_FAILPOINT=KILLS[1])
        async with started("run", env=env, cwd=tmp_path) as running:  # it may die before its page is there
            await died(running, KILLS[1])
        async with living(tmp_path, endpoint, **settings) as bot:
            await bot.person.sees(thread, r"The check passes\.")
            await bot.person.sees(thread, r"That took 2 attempts")
            said = [message.text for message in await bot.person.reads(thread)]
            assert sum("(attempt 2 of 3)" in text for text in said) == 1
            assert (bot.workspace(thread) / "runs.txt").read_text() == "x\n", "from the first attempt's files, once"
            assert await bot.running.end() == 0
    async with kept_store(tmp_path / "threadwright.sqlite") as store:
        rows = await store.executions(thread)
        assert [row.finished for row in rows] == ["done", "done"] or [row.finished for row in rows] == [
            "failed",
            "done",
        ]
        first, second = [[envelope async for envelope in store.read(row.execution)] for row in rows]
        began = second[0].event
        assert isinstance(began, Started)
        assert (began.trial_of, began.attempt) == (rows[0].execution, 2)
        after = await store.read_outcome(rows[0].execution)
        assert [e.event.way for e in after if isinstance(e.event, TrialDecided)] == ["again"]
        assert broken_promises(first, after) == ()
        assert broken_promises(second, await store.read_outcome(rows[1].execution)) == ()
