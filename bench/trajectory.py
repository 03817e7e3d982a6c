"""A long execution as the engine itself writes it: one tool call of 2 kB of output a turn, recorded once in memory."""

from __future__ import annotations

import asyncio
import random
import string
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from pydantic import JsonValue

from agentic.core.events.execution_events import (
    BlobRef,
    Envelope,
    FileChange,
    Person,
    Policy,
    Started,
    Tier,
    ToolRef,
    ToolStarted,
)
from agentic.core.state.conversation import ToolSpec
from agentic.models.scripted.model import ScriptedModel, answer
from agentic.ports.runtime import (
    Answer,
    FinishTool,
    Found,
    Lease,
    Observation,
    Perception,
    Prepared,
    Refused,
    Saved,
    Store,
)
from agentic.runtime.budget_ledger import NO_CAPS, DailyCaps
from agentic.runtime.clock import SystemClock
from agentic.runtime.loop import Loop
from tests.stores import passing_store

THREAD = "1200000000000000001"
OUTPUT_CHARACTERS = 2_000


class InProcess:
    """Two tools that cost nothing: one with 2 kB of output, and ``finish``."""

    def __init__(self) -> None:
        text = {"type": "string"}
        schema: dict[str, JsonValue] = {"type": "object", "properties": {"command": text, "reasoning": text}}
        self._random = random.Random(7)
        self.specs: tuple[ToolSpec, ...] = (
            ToolSpec("shell", "Run a command.", schema, "unkeyed", "execute"),
            ToolSpec("finish", "Finish.", {"type": "object"}, "unkeyed", "read", cognitive=True),
        )

    def prepare(
        self, tool: str, arguments: dict[str, JsonValue], created: frozenset[str] = frozenset()
    ) -> Prepared | Refused:
        return Prepared(arguments, args_sha="0" * 64, effect="unkeyed")

    async def run(self, tool: str, call: str, prepared: Prepared, on_output: Callable[[str], None]) -> Observation:
        if tool == "finish":
            return Observation("ok", "Finished.", completion=FinishTool("done"))
        output = "".join(self._random.choices(string.ascii_letters + " \n", k=OUTPUT_CHARACTERS))
        return Observation("ok", output, exit_code=0)

    diary = ""

    async def recall(self, intent: ToolStarted, created: frozenset[str] = frozenset()) -> None:
        return None

    async def state_of(self, tool: str, arguments: dict[str, JsonValue]) -> str:
        return ""

    async def checkpoint(self) -> Saved:
        return Saved("before")

    async def inspect(self, manifest: str, since: tuple[FileChange, ...]) -> Found:
        return Found()

    async def perceive(self) -> Perception:
        return Perception()

    async def settle(self) -> None:
        return


@dataclass(frozen=True, slots=True)
class Trajectory:
    """A recorded log, with the content it names."""

    envelopes: tuple[Envelope, ...]
    blobs: tuple[tuple[BlobRef, bytes], ...]


def started(toolbox: InProcess, turns: int) -> Started:
    """A task with room for so many turns and no other cap."""
    return Started(
        thread=THREAD,
        task="The tests fail. Find out why and fix the code.",
        requester=Person(id="7", name="Anna"),
        policy=Policy(
            turns_medium=turns + 10,
            max_tokens=10**9,
            max_usd=10**6,
            max_minutes=10**6,
            history="replay_all",  # the longest history there is
            unchanged_turns_escalate=10**6,  # it only looks, and is not stuck
            tiers=(Tier(number=2, models=("scripted/small",)),),
        ),
        tools=tuple(ToolRef(name=spec.name, effect=spec.effect) for spec in toolbox.specs),
    )


async def work(store: Store, lease: Lease, turns: int, caps: DailyCaps = NO_CAPS) -> None:
    """An execution of ``turns`` turns and a last one that finishes, as the loop does it over a store."""
    toolbox = InProcess()
    loop = Loop(store, ScriptedModel(answers(turns)), SystemClock(), build="0.1.0", caps=caps)
    finished = await loop.run(lease, "x1", toolbox, asyncio.Event(), started(toolbox, turns))
    assert finished.finished is not None
    assert finished.turn.number > turns, f"it ended after {finished.turn.number} turns: {finished.finished}"


async def record(turns: int) -> Trajectory:
    """An execution of ``turns`` turns and a last one that finishes."""
    async with passing_store() as store:
        lease = await store.acquire(THREAD, "bench")
        assert lease is not None
        await work(store, lease, turns)
        envelopes = tuple([envelope async for envelope in store.read("x1")])
        return Trajectory(envelopes, tuple([blob async for blob in _blobs(store, envelopes)]))


def answers(turns: int) -> Iterator[Answer]:
    for turn in range(turns):
        arguments = {
            "command": f"sed -n {turn},{turn + 40}p src/module_{turn}.py",
            "reasoning": "I need to see the code.",
        }
        yield answer(f"I look at module {turn} next.", ("shell", arguments))
    yield answer("All done.", ("finish", {"answer": "done"}))


async def _blobs(store: Store, envelopes: tuple[Envelope, ...]):
    seen: set[str] = set()
    for envelope in envelopes:
        segments = getattr(envelope.event, "segments", None)
        references = [segments.system, segments.tools] if segments else []
        output = getattr(envelope.event, "output", None)
        for reference in [*references, *([output] if output else [])]:
            if reference.sha not in seen:
                seen.add(reference.sha)
                content = await store.get_blob(reference.sha)
                assert content is not None
                yield reference, content
