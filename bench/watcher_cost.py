"""What the shipped watchers add to a task of 20 turns: requests, and tokens at four characters each.

The product's own loop works through turns of one call with 2 kB of output; each fourth command holds a word at which the
safety watcher looks.  A watcher answers in 20 tokens.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

from agentic.core.events.execution_events import Usage, Watcher
from agentic.models.scripted.model import Asked, ScriptedModel, answer
from agentic.ports.runtime import Answer
from agentic.runtime.clock import SystemClock
from agentic.runtime.loop import Loop
from bench.figures import Figure, size
from bench.trajectory import THREAD, InProcess, started
from bot.equipment.watcher_files import WatcherFiles
from tests.stores import passing_store

TURNS = size("TURNS", 20, 6)
COMMANDS = ("ls -la src", "pytest -q", "sed -n 1,80p src/app.py", "rm old.log && pytest -q")
ANSWERED = 20


async def figures() -> AsyncIterator[Figure]:
    """Both watchers, then each alone; the turns themselves beside them."""
    shipped = WatcherFiles(Path("/nowhere")).read().watchers
    for name, watchers in (("both", shipped), *((one.name, (one,)) for one in shipped)):
        turns, looks = await _asked(watchers)
        much = f"{sum(turns):.0f} tokens of {len(turns)} turns, before any cache"
        yield Figure(f"watching_{name}_requests", len(looks), f"per {TURNS} turns")
        yield Figure(f"watching_{name}_tokens", sum(looks) + ANSWERED * len(looks), f"per {TURNS} turns", note=much)


async def _asked(watchers: tuple[Watcher, ...]) -> tuple[list[float], list[float]]:
    """Tokens of each request: of turns, and of watchers."""
    turns: list[float] = []
    looks: list[float] = []

    def script(asked: Asked) -> Answer:
        prompt = asked.prompt
        said = sum(len(each.text) + sum(len(one.text) for one in each.answers) for each in prompt.messages)
        tools = sum(len(spec.description) + len(str(spec.parameters)) for spec in prompt.tools)
        tokens = (len(prompt.system) + said + tools + len(prompt.tail)) / 4
        if prompt.system.startswith("You look on"):
            looks.append(tokens)
            return answer('{"verdict": "fine"}', usage=Usage(input=int(tokens), output=ANSWERED))
        turns.append(tokens)
        if len(turns) > TURNS:
            return answer("", ("finish", {"answer": "done"}))
        return answer("I go on.", ("shell", {"command": COMMANDS[len(turns) % len(COMMANDS) - 1]}))

    toolbox = InProcess()
    begun = started(toolbox, TURNS)
    policy = begun.policy.model_copy(update={"snapshots": 0, "repeats_escalate": 10**6, "stale_turns_escalate": 10**6})
    begun = begun.model_copy(update={"watchers": watchers, "policy": policy})
    async with passing_store() as store:
        lease = await store.acquire(THREAD, "bench")
        assert lease is not None
        loop = Loop(store, ScriptedModel(script), SystemClock())
        await loop.run(lease, "x1", toolbox, asyncio.Event(), begun)
    return turns, looks
