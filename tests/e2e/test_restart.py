"""What a crash leaves behind, and what is learned from a failure, across processes."""

from __future__ import annotations

import asyncio
import json
import re
import secrets
from datetime import UTC, datetime, timedelta
from pathlib import Path

from agentic.models.scripted.captured_request import CapturedRequest
from agentic.models.scripted.endpoint import ScriptedEndpoint
from agentic.models.scripted.replies import Reply
from bot.sessions.lease import LEASE_SECONDS
from tests.e2e.living import living
from tests.stores import kept_store
from tests.waiting import eventually

REVIEWER = "You review one attempt"
FINISH = Reply(calls=(("finish", {"answer": "It is done."}),))


async def reflected(home: Path) -> None:
    """Wait until a reflection is kept."""
    async with kept_store(home / "threadwright.sqlite") as store:

        async def kept() -> bool:
            rows = await store.newest_executions(1_000)
            return "reflected" in [e.event.kind for row in rows for e in await store.read_outcome(row.execution)]

        await eventually(kept)


async def taken_up(home: Path) -> datetime:
    """When the second owner of the one execution wrote its first event."""
    async with kept_store(home / "threadwright.sqlite") as store:
        (row,) = await store.newest_executions(1_000)
        log = [envelope async for envelope in store.read(row.execution)]
        return next(envelope.at for envelope in log if envelope.fence != log[0].fence)


async def test_f74_a_killed_process_goes_on_without_running_the_command_twice(tmp_path: Path) -> None:
    command = "echo once >> runs.txt; sleep 120"

    def script(request: CapturedRequest) -> Reply:
        if len(request.messages) > 3:
            return FINISH
        if len(request.messages) == 3:
            return Reply(calls=(("shell", {"command": command}),))
        beside = ("python", {"code": "kept = 1"}), ("shell", {"command": "sleep 119", "background": True})
        return Reply(calls=beside)

    async with asyncio.timeout(120), ScriptedEndpoint.start(script) as endpoint:
        async with living(tmp_path, endpoint) as bot:
            thread = await bot.person.mention("count")
            await eventually((bot.workspace(thread) / "runs.txt").exists)
            await bot.running.kill()
        async with living(tmp_path, endpoint) as bot:
            online = datetime.now(UTC)
            await bot.person.sees(thread, r"interrupted and am continuing from turn 2")
            await bot.person.sees(thread, r"Python interpreter's variables; .*sleep 119.*; files in /tmp")
            await bot.person.sees(thread, r"The step that was cut off had changed files: .*runs\.txt")
            await bot.person.sees(thread, r"outcome is unknown")
            await bot.person.sees(thread, r"It is done\.")
            assert (bot.workspace(thread) / "runs.txt").read_text() == "once\n"
            assert len(endpoint.requests) == 3
            asked = endpoint.requests[2]
            assert "unknown" in asked.answers[-1].text
            assert "added runs.txt" in asked.text()
            assert "the Python interpreter's variables" in asked.text()
            await bot.person.sees(thread, r"changed by a step that was cut off: .*runs\.txt")
            said = [message.text for message in await bot.person.reads(thread)]
            answers = [text for text in said if "It is done." in text]
            assert len(answers) == 1
            assert re.search(r"Outcome unknown: .*once >> runs\.txt", answers[0])
            assert await bot.running.end() == 0
    assert await taken_up(tmp_path) - online < timedelta(seconds=LEASE_SECONDS / 2), (
        "no lease of the dead is waited for"
    )


async def test_f74_a_read_whose_result_was_lost_runs_again_and_that_of_a_command_is_known(tmp_path: Path) -> None:
    """Killed when the call has had its effect, and before its result is noted."""

    def script(request: CapturedRequest) -> Reply:
        if not request.answers:
            return Reply(calls=(("shell", {"command": "echo seven | tee -a kept.txt"}),))
        return Reply(calls=(("read", {"path": "kept.txt"}),)) if len(request.messages) < 4 else FINISH

    async with asyncio.timeout(150), ScriptedEndpoint.start(script) as endpoint:
        dies = {"THREADWRIGHT_FAILPOINT": "tool.effect.after"}
        async with living(tmp_path, endpoint, **dies) as bot:
            thread = await bot.person.mention("count")
            assert await bot.running.ended() == -9
        async with living(tmp_path, endpoint, **dies) as bot:
            assert await bot.running.ended() == -9
        async with living(tmp_path, endpoint) as bot:
            await bot.person.sees(thread, r"It is done\.")
            said = [message.text for message in await bot.person.reads(thread)]
            assert not any("outcome is unknown" in text for text in said), "its sandbox had written down how it ended"
            assert (bot.workspace(thread) / "kept.txt").read_text() == "seven\n"
            read, wrote = endpoint.requests[-1].answers[-1].text, endpoint.requests[-1].answers[0].text
            assert "seven" in read
            assert "exit 0" in wrote
            assert "seven" in wrote


async def test_what_a_failing_command_said_reaches_the_next_attempt_of_its_thread_and_no_other(tmp_path: Path) -> None:
    token = f"gear-{secrets.token_hex(4)}"
    seen: list[str] = []

    def script(request: CapturedRequest) -> Reply:
        text = request.text()
        if request.system.startswith(REVIEWER):
            found = re.search(r"misfit of (\S+)", text)
            assert found, "the reviewer is shown what the command said"
            seen.append(found[1])
            return Reply(json.dumps(_reflection(found[1])))
        if "assemble" not in text or "once more" in text:
            return FINISH
        if not request.answers:
            return Reply(calls=(("shell", {"command": "cat note.txt >&2; exit 4"}),))
        return Reply(calls=(("finish", {"answer": "It could not be assembled.", "success": False}),))

    async with asyncio.timeout(120), ScriptedEndpoint.start(script) as endpoint:
        async with living(tmp_path, endpoint) as bot:
            thread = await bot.person.mention("wait for me")
            await bot.person.sees(thread, r"It is done\.")
            bot.workspace(thread).mkdir(parents=True, exist_ok=True)
            bot.workspace(thread).joinpath("note.txt").write_text(f"misfit of {token}\n")
            before = len(await bot.person.reads(thread))
            await bot.person.say(thread, "assemble the clock")
            await bot.person.sees(thread, r"could not be assembled", after=before)
            await reflected(tmp_path)
            assert await bot.running.end() == 0
        async with living(tmp_path, endpoint) as bot:
            first = len(endpoint.requests)
            before = len(await bot.person.reads(thread))
            await bot.person.say(thread, "once more, please")
            await bot.person.sees(thread, r"It is done\.", after=before)
            other = await bot.person.mention("water the plants")
            await bot.person.sees(other, r"It is done\.")
            assert await bot.running.end() == 0
    again, unrelated = endpoint.requests[first:]
    assert seen == [token]
    assert token in again.messages[0].text, "it came by the reflection, not by the history"
    assert token not in unrelated.text()


def _reflection(what: str) -> dict[str, str]:
    return {
        "what_worked": "Reading the note showed the reason.",
        "what_failed": f"The clock was not assembled, because of a misfit of {what}.",
        "root_cause": f"The part {what} does not fit.",
        "strategy_change": f"Measure {what} before assembling.",
        "key_insight": f"{what} has to be measured first.",
        "touches": "none",
    }
