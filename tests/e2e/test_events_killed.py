"""Events of a real process that is killed between what is durable and what was told: none is lost, doubles have one key."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

from agentic.core.outside.outline import Outline, follow
from agentic.models.scripted.captured_request import CapturedRequest
from agentic.models.scripted.endpoint import ScriptedEndpoint
from agentic.models.scripted.replies import Reply
from tests.e2e.living import living
from tests.stores import kept_store

DEATHS = ("loop.commit.after:3", "events.delivered:2")
"""Events are durable and nobody was told; somebody was told and the store does not know: each life ends at the next one."""


def script(request: CapturedRequest) -> Reply:
    """Two steps and the end, whatever was lost between."""
    done = len(request.answers)
    if done < 2:
        return Reply(calls=(("write", {"path": f"{done}.txt", "content": "x"}),))
    return Reply(calls=(("finish", {"answer": "All written."}),))


def lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()]


async def expected(home: Path, thread: str) -> list[str]:
    """Keys of all that is to be told, by the logs."""
    async with kept_store(home / "threadwright.sqlite") as store:
        keys: list[str] = []
        for row in await store.executions(thread):
            outline = Outline()
            async for envelope in store.read(row.execution):
                outline, told = follow(outline, envelope)
                keys += [event.key for event in told]
            for envelope in await store.read_outcome(row.execution):
                keys += [event.key for event in follow(outline, envelope, "outcome")[1]]
        return keys


async def test_nothing_is_lost_and_what_comes_twice_has_the_same_key_wherever_the_process_is_killed(
    tmp_path: Path,
) -> None:
    home, path = tmp_path / "home", tmp_path / "events.jsonl"
    thread = ""
    async with asyncio.timeout(180), ScriptedEndpoint.start(script) as endpoint:
        for point in DEATHS:
            async with living(home, endpoint, THREADWRIGHT_EVENTS_FILE=str(path), THREADWRIGHT_FAILPOINT=point) as bot:
                thread = thread or await bot.person.mention("write two files")
                assert await bot.running.ended() == -9
                assert f"failpoint {point.partition(':')[0]}" in bot.running.output
        async with living(home, endpoint, THREADWRIGHT_EVENTS_FILE=str(path)) as bot:
            await bot.person.sees(thread, r"All written\.")
            assert await bot.running.end() == 0
    seen = lines(path)
    first = list({event["key"]: event for event in seen}.values())
    assert [event["key"] for event in first] == await expected(home, thread), "all, in order"
    assert {json.dumps(event) for event in seen} == {json.dumps(event) for event in first}, "doubles are the same"
    assert len(seen) > len(first), "the process was killed between telling and noting"
    assert first[0]["event"] == "execution_started"
    assert "execution_completed" in {event["event"] for event in first}
