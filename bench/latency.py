"""From a message to 👀, to its thread, to the first progress and to the answer, in a bot that has been running for a while.

A person stands at the local guild's page; each request to the model takes 0.3 s, and a task is three of them: two commands
and the end.  ``BENCH_BESIDE`` names the folder of another checkout with a ``.venv`` of its own: its bot and this one
take turns, message by message, so that both meet the same noise, and the ratios are given.
"""

from __future__ import annotations

import asyncio
import os
import sys
import tempfile
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median
from time import perf_counter

import aiohttp

from agentic.models.scripted.captured_request import CapturedRequest
from agentic.models.scripted.endpoint import ScriptedEndpoint
from agentic.models.scripted.replies import Reply
from bench.figures import Figure, size
from bench.startup import Person, person, running

MESSAGES = size("MESSAGES", 12, 2)
WARM_UP = 2
BESIDE = os.environ.get("BENCH_BESIDE", "")
MODEL = "anthropic/claude-haiku-4-5"
SECONDS = 60.0
REQUEST_SECONDS = 0.3
ANSWER = "It stands in n.txt."
PARTS = ("eyes", "thread", "progress", "answer")
TARGETS = {"eyes": 180.0, "thread": 250.0, "progress": 320.0, "answer": 1_800.0}
"""Milliseconds: the upper ends of what was measured before."""


@dataclass(slots=True)
class Bot:
    """One running bot, the person before it, and what was measured in milliseconds."""

    me: Person
    live: aiohttp.ClientWebSocketResponse
    channel: str
    name: str
    taken: dict[str, list[float]] = field(default_factory=lambda: {part: [] for part in PARTS})

    async def asked(self) -> dict[str, float]:
        """Milliseconds from a message to each part of what follows."""
        began = perf_counter()
        message = await self.me.post(self.channel, f"<@{self.name}> Write a number into n.txt with the shell.")
        return {part: (at - began) * 1000 for part, at in (await self._seen(message)).items()}

    async def _seen(self, message: str) -> dict[str, float]:
        """When each part of what follows a message was seen; its thread has its id."""
        seen: dict[str, float] = {}
        async with asyncio.timeout(SECONDS):
            while "answer" not in seen:
                event = await self.live.receive_json()
                kind, told = str(event.get("t")), event["d"]
                if kind == "MESSAGE_UPDATE" and told["id"] == message and "👀" in str(told.get("reactions")):
                    seen.setdefault("eyes", perf_counter())
                elif kind == "THREAD_CREATE" and told["id"] == message:
                    seen.setdefault("thread", perf_counter())
                elif kind == "MESSAGE_CREATE" and told["channel_id"] == message and told["author"]["id"] == self.name:
                    seen.setdefault("answer" if ANSWER in str(told["content"]) else "progress", perf_counter())
        return seen


async def figures() -> AsyncIterator[Figure]:
    """Medians of this checkout, and its ratios to the other one where there is one."""
    async with AsyncExitStack() as stack:
        endpoint = await stack.enter_async_context(ScriptedEndpoint.start(_reply, capture_requests=False))
        pythons = [sys.executable] + ([str(Path(BESIDE) / ".venv/bin/python")] if BESIDE else [])
        bots = [await _started(stack, endpoint, python) for python in pythons]
        for number in range(WARM_UP + MESSAGES):
            for bot in bots:
                took = await bot.asked()
                if number >= WARM_UP:
                    for part, milliseconds in took.items():
                        bot.taken[part].append(milliseconds)
        for part in PARTS:
            here, *beside = [median(bot.taken[part]) for bot in bots if bot.taken[part]]
            yield Figure(f"message_to_{part}", here, "ms", "<=", TARGETS[part], f"{MESSAGES} messages")
            for other in beside:
                yield Figure(f"message_to_{part}_ratio", here / other, "x", note=f"beside {other:.0f} ms of the other")


async def _started(stack: AsyncExitStack, endpoint: ScriptedEndpoint, python: str) -> Bot:
    home = stack.enter_context(tempfile.TemporaryDirectory(prefix="bench-latency-"))
    _, link = await stack.enter_async_context(running(endpoint, MODEL, home, python))
    me = await stack.enter_async_context(person(link))
    channel, name = await me.online()
    await asyncio.sleep(5.0)  # what a start loads in the background is there
    return Bot(me, await stack.enter_async_context(me.live()), channel, name)


def _reply(request: CapturedRequest) -> Reply:
    """By how far the task is: two commands, a note, the end."""
    if "finish" not in request.tools:
        return Reply(ANSWER, delay=REQUEST_SECONDS)
    done = len(request.answers)
    if done < 2:
        return Reply(
            "", (("shell", {"command": f"echo {done} > n.txt", "reasoning": "as asked"}),), delay=REQUEST_SECONDS
        )
    if done == 2:
        return Reply("", (("note", {"text": "the number is there"}),), delay=REQUEST_SECONDS)
    return Reply("", (("finish", {"answer": ANSWER}),), delay=REQUEST_SECONDS)
