"""Further attempts at a task that failed: by themselves where its check can say whether they worked, else offered.

The whole bot over the local guild: real sockets, files, commands and SQLite; the model is a script over HTTP that knows
which attempt it is by what stands in its prompt.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

from agentic.core.events.execution_events import Started, TrialDecided
from agentic.models.scripted.captured_request import CapturedRequest
from agentic.models.scripted.endpoint import ScriptedEndpoint
from agentic.models.scripted.replies import Reply
from bot.cli.replay.invariants import broken_promises
from bot.local_discord.local_discord import LocalGuild
from tests.integration.bot.whole import SECONDS, Whole, finishes, uses, whole
from tests.waiting import eventually

CHECK = "sh check.sh"
TASK = f"Make `{CHECK}` pass: total.txt has to hold the sum."
PREPARE = "echo 'grep -qx 6 total.txt || { echo \"E  AssertionError: total.txt holds $(cat total.txt)\"; exit 1; }' > check.sh"


def insight(number: int) -> str:
    """A reflection with a token of its own in each field."""
    return json.dumps(
        {
            "what_worked": f"worked{number}: the script runs.", "what_failed": f"failed{number}: the sum is wrong.",
            "root_cause": f"cause{number}: it was guessed.", "strategy_change": f"change{number}: add the numbers up.",
            "key_insight": f"key{number}: the numbers are 1, 2 and 3.", "touches": "none",
        }
    )  # fmt: skip


@dataclass
class Mind:
    """Fails until ``good`` attempts are through; keeps what it was asked."""

    good: int = 3
    turns: list[CapturedRequest] = field(default_factory=list)
    reflections: list[CapturedRequest] = field(default_factory=list)
    while_reflecting: Callable[[], Awaitable[None]] | None = None
    thread: int = 0
    hold: asyncio.Event = field(default_factory=asyncio.Event)
    held: int = 0
    """The attempt that waits for ``hold`` in its first turn."""
    attempt: int = 0

    async def __call__(self, request: CapturedRequest) -> Reply:
        if not request.tools:
            self.reflections.append(request)
            if self.while_reflecting is not None:
                await self.while_reflecting()
            return Reply(insight(len(self.reflections)))
        if len(request.messages) == 1:
            self.attempt += 1
            self.turns.append(request)
            if self.held == self.attempt:
                await self.hold.wait()
        answer = 6 if self.attempt >= self.good else self.attempt
        step = len(request.messages) // 2
        if step == 0:
            wrote = f"echo {answer} > total.txt; echo {answer} > made{self.attempt}"
            return uses("shell", command=f"ls; cat total.txt; {PREPARE}; {wrote}")
        return uses("shell", command=CHECK) if step == 1 else finishes(f"Answer {self.attempt}.")


@asynccontextmanager
async def running_with(mind: Mind, guild: LocalGuild, home: Path, **settings: object) -> AsyncGenerator[Whole]:
    """The bot with this model behind it; it tries again by itself."""
    chosen: dict[str, object] = {"trials": "auto", "triage": "rules", **settings}
    async with ScriptedEndpoint.start(mind) as endpoint, whole(home, endpoint, guild, **chosen) as running:  # type: ignore[arg-type]
        yield running
        mind.hold.set()


async def ended(running: Whole, thread: int, number: int) -> list[Started]:
    """Wait until so many executions have ended and nothing runs; how each began."""
    await running.ended(thread, number)
    begun: list[Started] = []
    names = await running.executions(thread)
    assert len(names) == number
    for name in names:
        first = (await running.log(name))[0]
        assert isinstance(first, Started)
        begun.append(first)
        log = [envelope async for envelope in running.app.store.read(name)]
        assert broken_promises(log, await running.app.store.read_outcome(name)) == ()
    return begun


async def decisions(running: Whole, thread: int) -> list[tuple[str, int]]:
    """What was decided after each execution."""
    return [one for name in await running.executions(thread) for one in await decisions_after(running, name)]


async def decisions_after(running: Whole, execution: str) -> list[tuple[str, int]]:
    """What was decided after one execution."""
    told = await running.outcome(execution)
    return [(event.way, event.attempt) for event in told if isinstance(event, TrialDecided)]


async def test_it_is_tried_again_by_itself_with_what_was_learned_from_the_first_attempts_files(
    guild: LocalGuild, tmp_path: Path
) -> None:
    mind = Mind()
    async with running_with(mind, guild, tmp_path, max_usd=1.0) as running:
        posted = await guild.post(guild.channel().id, f"{guild.bot.mention} {TASK}")
        thread = posted.id
        begun = await ended(running, thread, 3)
        (first, *_) = await running.executions(thread)
        assert [(one.attempt, one.trial_of) for one in begun] == [(1, ""), (2, first), (3, first)]
        assert {one.requester.id for one in begun} == {str(posted.author_id)}
        assert 1.0 > begun[1].policy.max_usd > begun[2].policy.max_usd, "together they cost no more than one may"
        assert await decisions(running, thread) == [("again", 2), ("again", 3), ("leave", 0)]

        second = await running.says(thread, "(attempt 2 of 3)")
        told = "`sh check.sh` still fails, so I'm trying again with what I learned (attempt 2 of 3). 🛑 stops it."
        assert told in second.content
        assert "The files are back as they were before it." in second.content
        third = await running.says(thread, "(attempt 3 of 3)")
        assert "3 files were restored" in third.content
        files = {path.name for path in running.workspace(thread).iterdir()}
        assert files == {"check.sh", "total.txt", "made3"}, "each attempt began from the first one's files"

        system = mind.turns[2].text()
        for number in (1, 2):
            for part in ("worked", "failed", "cause", "change", "key"):
                assert f"{part}{number}: " in system, f"{part}{number} of an earlier attempt"
        assert system.index("change2") < system.index("change1"), "the newest stands first"
        assert "> E  AssertionError: total.txt holds 2" in system
        assert sum(len(one.text.encode()) for one in begun[2].lessons) <= 400 * 4
        assert "change1" not in mind.turns[0].text()
        assert "AFTER ATTEMPT 1" in mind.reflections[1].text()
        assert "change1: add the numbers up." in mind.reflections[1].text(), "so that the second is no repetition"
        assert len(mind.reflections) == 2, "a success is not reflected on"


async def test_a_trial_is_stopped_like_everything_else_and_none_follows(guild: LocalGuild, tmp_path: Path) -> None:
    mind = Mind(good=9, held=2)
    async with running_with(mind, guild, tmp_path) as running:
        posted = await guild.post(guild.channel().id, f"{guild.bot.mention} {TASK}")
        notice = await running.says(posted.id, "(attempt 2 of 3)")
        await guild.wait_for(lambda _: mind.attempt == 2 or None, SECONDS)
        await guild.react(notice.id, "🛑")
        await ended(running, posted.id, 2)
        assert await decisions(running, posted.id) == [("again", 2), ("leave", 0)]
        mind.hold.set()


async def test_whoever_writes_something_new_meanwhile_decides_what_comes_next(
    guild: LocalGuild, tmp_path: Path
) -> None:
    mind = Mind(good=2)  # what was written meanwhile goes well, so that nothing else is tried again

    async def says_something() -> None:
        mind.while_reflecting = None  # once, however often it is asked what it learned
        posted = await guild.post(mind.thread, "Leave it, write a table instead.")

        async def heard() -> bool:
            return any(one.id == str(posted.id) for one in await running.app.store.pending(str(mind.thread)))

        await eventually(heard, "it is in the inbox")

    async with running_with(mind, guild, tmp_path) as running:
        mind.while_reflecting = says_something
        posted = await guild.post(guild.channel().id, f"{guild.bot.mention} {TASK}")
        mind.thread = posted.id
        second = await running.ended(posted.id, 2)
        first, *later = await running.executions(posted.id)
        assert later == [second]
        assert isinstance(begun := (await running.log(second))[0], Started)
        assert begun.task == "Leave it, write a table instead."
        await running.became(first, TrialDecided)
        assert await decisions_after(running, first) == [("offer", 2)]
        assert not any("(attempt 2 of 3)" in message.content for message in running.of_bot(posted.id))
