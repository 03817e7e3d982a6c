"""What a whole bot asks of AWS for a task of 20 turns: a gateway and a worker as processes, a real sandbox, a local AWS.

Each turn writes a file, so each leaves a snapshot; three daily caps count the money.  A turn takes as long as one of a
real model, for much is asked by the clock.  Counted on the wire, beside what the same processes ask while
nothing is to be done.
"""

from __future__ import annotations

import asyncio
import os
import tempfile
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from time import monotonic

from agentic.aws.aws_place import AwsPlace
from agentic.models.scripted.captured_request import CapturedRequest
from agentic.models.scripted.endpoint import ScriptedEndpoint
from agentic.models.scripted.replies import Reply
from bench.aws_requests import Asked, CountingWire
from bench.aws_task import MOST_PUTS, MOST_REQUESTS, MOST_UNITS
from bench.figures import Figure, size
from bench.part_process import part, rested
from bot.local_discord import LocalGuild

TURNS = size("TURNS", 20, 3)
PACE = size("PACE", 7.0, 0.1)
"""Seconds of a turn's model: with its command a task takes two and a half minutes."""
IDLE_SECONDS = size("IDLE_SECONDS", 30.0, 1.0)
RESTED_SECONDS = size("RESTED_SECONDS", 5.0, 1.0)
SECONDS = 600.0
CAPS = {
    "THREADWRIGHT_MAX_DAILY_USD_PERSON": "100",
    "THREADWRIGHT_MAX_DAILY_USD_SERVER": "100",
    "THREADWRIGHT_MAX_DAILY_USD": "100",
    "THREADWRIGHT_MAX_TURNS_MEDIUM": str(2 * TURNS),  # or it asks whether to go on, and nobody answers
}
ANSWER = "The notes are written."


@dataclass(frozen=True, slots=True)
class Task:
    """What one task came to, of it what was asked beyond what an idle bot asks, and that by the minute."""

    all: Asked
    seconds: float
    idle: Asked
    idle_seconds: float

    def by_the_clock(self, part: str) -> float:
        """Requests of a part that the same time costs anyway."""
        return self.idle.requests[part] / self.idle_seconds * self.seconds

    def own(self, part: str) -> float:
        """Requests of a part that the task made."""
        return max(0.0, self.all.requests[part] - self.by_the_clock(part))

    @property
    def requests(self) -> float:
        """All that the task made."""
        return sum(self.own(part) for part in self.all.requests)


async def figures() -> AsyncIterator[Figure]:
    """Without and with a queue of events, at the same time; then by part."""
    from deploy.aws_local.emulator import mini_stack
    from deploy.aws_local.resources import CREDENTIALS, make_resources

    os.environ.update(CREDENTIALS)
    with mini_stack() as endpoint:
        places = {telling: make_resources(endpoint, f"bot-{telling}") for telling in ("silent", "telling")}
        silent, telling = await asyncio.gather(_task(replace(places["silent"], events="")), _task(places["telling"]))
    note = f"{TURNS} turns with a file each, three daily caps, {silent.seconds:.0f} s"
    for name, task in (("", silent), ("_with_events", telling)):
        yield Figure(f"aws_bot{name}_requests", task.requests, "requests", "<=", MOST_REQUESTS, note)
        yield Figure(f"aws_bot{name}_write_units", task.all.units.total(), "units", "<=", MOST_UNITS, note)
        yield Figure(f"aws_bot{name}_puts", task.all.puts, "puts", "<=", MOST_PUTS, note)
    idle = silent.idle.requests.total() / silent.idle_seconds * 60
    yield Figure(
        "aws_bot_idle_requests_a_minute", idle, "requests", note="a gateway and a worker without anything to do"
    )
    for each in sorted(telling.all.requests, key=telling.own, reverse=True):
        note = f"with events: {telling.own(each):.0f}; {telling.all.units[each]:.0f} write units; and "
        note += f"{telling.by_the_clock(each):.0f} that an idle bot asks too"
        name = each.replace(" ", "_")
        yield Figure(f"aws_bot_requests_{name}", silent.own(each), "requests", note=note)


async def _task(place: AwsPlace) -> Task:
    from deploy.aws_local.resources import environment

    turns = 0

    def script(request: CapturedRequest) -> Reply:
        nonlocal turns
        if "finish" not in request.tools:
            return Reply("It went well.")
        turns += 1
        if turns > TURNS:
            return Reply("All is there.", (("finish", {"answer": ANSWER}),), delay=PACE)
        command = f"echo 'line {turns}' >> notes.txt && seq {turns} {turns + 450}"
        return Reply(f"I write line {turns}.", (("shell", {"command": command}),), delay=PACE)

    async with AsyncExitStack() as stack:
        home = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="bench-aws-bot-")))
        endpoint = await stack.enter_async_context(ScriptedEndpoint.start(script, capture_requests=False))
        guild = await stack.enter_async_context(await LocalGuild.start())
        wire = await stack.enter_async_context(CountingWire(place.endpoint))
        settings = {**environment(replace(place, endpoint=wire.address)), **endpoint.environment(), **CAPS}
        settings = {name: value for name, value in settings.items() if value}
        gateway = await stack.enter_async_context(part("gateway", home, guild, settings))
        worker = await stack.enter_async_context(part("worker", home, guild, settings))
        await rested(gateway, RESTED_SECONDS)
        await rested(worker, RESTED_SECONDS)
        before, began = wire.asked.copy(), monotonic()
        await asyncio.sleep(IDLE_SECONDS)
        idle, idle_seconds = wire.asked.since(before), monotonic() - began
        before, began = wire.asked.copy(), monotonic()
        posted = await guild.post(guild.channel().id, f"{guild.bot.mention} Write {TURNS} lines of notes.")
        await guild.wait_for(lambda guild: _answered(guild, posted.id), SECONDS)
        await rested(worker, RESTED_SECONDS)  # what is learned and told of it belongs to the task
        await rested(gateway, RESTED_SECONDS)
        return Task(wire.asked.since(before), monotonic() - began, idle, idle_seconds)


def _answered(guild: LocalGuild, thread: int) -> bool:
    there = any(one.id == thread for one in guild.threads())
    return there and any(ANSWER in one.content for one in guild.messages(thread))
