"""Writes the golden runs of this release: ``python -m tests.golden.running`` (again whenever the rules' version counts up).

Each is the log of an execution that the real loop ran, with a scripted model and small tools.  The rules are run again
over them in the tests: a change of the rules that would have continued one of them otherwise shows there.  Then either
the change was not meant, or ``RULES_VERSION`` counts up, the runs of earlier rules stay as they are, and those of this
version are written beside them.
"""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from pydantic import JsonValue

from agentic.core.events.execution_events import (
    Envelope,
    InputReceived,
    PolicyChanged,
    Started,
    Tier,
    WorkspaceRestored,
)
from agentic.core.events.ids import execution_id
from agentic.core.rules.decide import RULES_VERSION
from agentic.core.state.conversation import ToolSpec
from agentic.core.state.execution import Execution
from agentic.models.scripted.model import (
    Asked,
    Script,
    ScriptedModel,
    answer,
)
from agentic.ports.errors import ModelKeyRefused, ModelUnavailable
from agentic.ports.runtime import Answer, Observation, Prepared, Refused
from agentic.runtime.clock import SystemClock
from agentic.runtime.loop import Loop
from agentic.stores.sqlite.store import SQLiteStore
from bot import BUILD
from tests.golden.writing import FOLDER
from tests.integration.loop.conftest import NAMED, THREAD, YOU, Bench, Stage
from tests.waiting import eventually

NAME = execution_id(THREAD, "1")
FORK = execution_id("200", "9")
FINISH = answer("", ("finish", {"answer": "It is done."}))
TIERS = (Tier(number=2, models=("small", "other/small")), Tier(number=3, models=("large",)))


@dataclass
class Gated(Bench):
    """Tools, one of which a person must allow."""

    specs: tuple[ToolSpec, ...] = (*Bench.specs, ToolSpec("wipe", "Delete.", NAMED, "keyed", "execute"))
    hangs: str = ""
    """The tool whose calls do not end."""

    async def run(self, tool: str, call: str, prepared: Prepared, on_output: Callable[[str], None]) -> Observation:
        if tool == self.hangs:
            await asyncio.Event().wait()
        return await super().run(tool, call, prepared, on_output)

    def prepare(
        self, tool: str, arguments: dict[str, JsonValue], created: frozenset[str] = frozenset()
    ) -> Prepared | Refused:
        prepared = super().prepare(tool, arguments, created)
        gated = isinstance(prepared, Prepared) and tool == "wipe"
        return replace(prepared, gate="deletes", who_may="executor") if gated else prepared


@asynccontextmanager
async def staged(script: Script) -> AsyncIterator[Stage]:
    """A thread of its own, its lease taken."""
    with tempfile.TemporaryDirectory() as folder:
        store = SQLiteStore.open(Path(folder) / "threadwright.sqlite")
        model = ScriptedModel(script)
        lease = await store.acquire(THREAD, "me")
        assert lease is not None
        yield Stage(store, model, Gated(), asyncio.Event(), lease, Loop(store, model, SystemClock()))  # pyright: ignore[reportArgumentType]
        await store.close()


async def until(stage: Stage, kind: str, count: int = 1) -> None:
    """An event of this kind is durable, the ``count``-th."""

    async def durable() -> bool:
        return len(await stage.events(kind)) >= count

    await eventually(durable)


async def work() -> list[Envelope]:
    """Reads together, writes in order, one that is refused and one that fails."""
    calls = [("look", {"name": name}) for name in "ab"]
    script = [
        answer("I look.\nconfidence: 60", *calls, ("act", {"name": "c"}), ("act", {"wrong": 1})),
        answer("", ("act", {"name": "d", "fails": True}), ("nothing", {})),
        answer("That is it."),
        FINISH,
    ]
    return await _plain(script)


async def talk() -> list[Envelope]:
    """Talk is answered without tools."""
    return await _plain([answer("Hello.")], "hello")


async def many_turns() -> list[Envelope]:
    """A checkpoint every few turns, the limit, and more turns."""
    script = [answer("I act.", ("act", {"name": str(n)})) for n in range(6)]
    async with staged([*script, answer("", ("look", {})), FINISH]) as stage:
        running = asyncio.create_task(stage.run(turns_medium=6, checkpoint_turns=2))
        await until(stage, "asked")
        await stage.say("answer", "5 more, but mind the end")
        await running
        return await _log(stage)


async def failing() -> list[Envelope]:
    """Providers that fail, empty answers, a stronger model, and a person who is asked what now."""
    broken = ("act", {"fails": True})
    script = [
        ModelUnavailable("down"), ModelUnavailable("down"), answer("", broken), ModelKeyRefused("no"),
        *[answer("", broken)] * 2, answer(""), answer("", stop="length"), *[answer("confidence: 20", broken)] * 3,
        answer("", ("act", {})), FINISH,
    ]  # fmt: skip
    async with staged(script) as stage:
        running = asyncio.create_task(stage.run(tiers=TIERS, retry_base_seconds=0.01, escalation_hysteresis=1))
        await _answering(stage, running, "Look at the other file.")
        return await _log(stage)


async def stopped() -> list[Envelope]:
    """A stop in the middle of calls."""
    async with staged([answer("", ("act", {"until": "never"}), ("act", {})), FINISH]) as stage:
        running = asyncio.create_task(stage.run())
        await until(stage, "tool_started")
        await stage.say("guidance", "never mind")
        await stage.say("stop")
        await running
        return await _log(stage)


async def asked() -> list[Envelope]:
    """A tool's question, two approvals, one of them denied, a pause and what was said in it."""
    ask, wipe = ("ask_user", {}), ("wipe", {"name": "x"})
    async with staged([answer("", ask, wipe, ("act", {"until": "said"})), answer("", wipe), FINISH]) as stage:
        running = asyncio.create_task(stage.run())
        await until(stage, "asked")
        await stage.say("answer", "B")
        await until(stage, "asked", 2)
        await stage.say("answer", "yes")
        await until(stage, "tool_started", 3)
        await stage.say("pause")
        await stage.say("guidance", "leave x")
        await until(stage, "input_received", 4)
        stage.toolbox.gates["said"].set()
        await until(stage, "tool_finished", 3)
        await stage.say("resume")
        await until(stage, "asked", 3)
        await stage.say("answer", "no, leave it")
        await running
        return await _log(stage)


async def interrupted() -> list[Envelope]:
    """Owners that die: in a request, in a read, in a call whose outcome is then unknown; after three it is left alone."""

    async def script(asked: Asked) -> Answer:
        if not stage.toolbox.hangs:
            await asyncio.Event().wait()
        answered = any(message.answers for message in asked.prompt.messages)
        return FINISH if answered else answer("", ("look", {}), ("act", {}))

    async with staged(script) as stage:
        task = asyncio.create_task(stage.run())
        dies = (("model_requested", 1, ""), ("tool_started", 1, "look"), ("tool_started", 3, "act"))
        for owner, (kind, count, stage.toolbox.hangs) in enumerate(dies):
            await until(stage, kind, count)
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)
            task = asyncio.create_task(_taken_up(stage, f"owner{owner}"))
        await until(stage, "quarantined")
        await stage.say("guidance", "go on")
        await task
        return await _log(stage)


async def out_of_money() -> list[Envelope]:
    """The budget is used up: an operator is asked, who asked for it ends it."""
    async with staged([answer("", ("look", {}), usd=0.02)]) as stage:
        await _answering(stage, asyncio.create_task(stage.run(max_usd=0.01)), "Stop here")
        return await _log(stage)


async def out_of_time() -> list[Envelope]:
    """The wall-time cap ends a call in the middle, and more time is given."""
    async with staged([answer("", ("act", {"until": "never"})), FINISH]) as stage:
        await _answering(stage, asyncio.create_task(stage.run(max_minutes=0.003)), "20 minutes")
        return await _log(stage)


async def unattended() -> list[Envelope]:
    """Nobody can be asked: what must be approved is not done, and at the limit it ends."""
    return await _plain([answer("", ("wipe", {})), answer("", ("look", {}))], attended=False, turns_medium=2)


async def forked() -> list[Envelope]:
    """A copy up to a checkpoint, that goes on in another thread."""
    async with staged([answer("", ("act", {"name": "a"})), FINISH, answer("", ("look", {})), FINISH]) as stage:
        await stage.run()
        log = await _log(stage)
        through = next(e.seq for e in log if e.event.kind == "checkpoint_saved")
        first = log[0].event
        assert isinstance(first, Started)
        began = first.model_copy(update={"thread": "200", "forked_from": (NAME, through), "inbox": "9"})
        lease = await stage.store.acquire("200", "me")
        assert lease is not None
        copied = [e.model_copy(update={"execution": FORK, "fence": lease.fence}) for e in log[:through]]
        copied[0] = copied[0].model_copy(update={"event": began})
        back = WorkspaceRestored(manifest="before", by=began.requester)
        more = (
            back,
            PolicyChanged(by="you", add_usd=1.0),
            InputReceived(inbox="9", sort="guidance", author=YOU, text="b"),
        )
        now = stage.loop.clock.now()
        goes_on = [
            Envelope(execution=FORK, seq=seq, at=now, fence=lease.fence, event=event)
            for seq, event in enumerate(more, through + 1)
        ]
        await stage.store.append(FORK, 0, lease, [*copied, *goes_on])
        await stage.loop.run(lease, FORK, stage.toolbox, stage.doorbell)
        return await _log(stage, FORK)


SCENES: tuple[Callable[[], Awaitable[list[Envelope]]], ...] = (
    work, talk, many_turns, failing, stopped, asked, interrupted, out_of_money, out_of_time, unattended, forked,
)  # fmt: skip


async def _plain(script: Script, task: str = "Do the work.", **policy: object) -> list[Envelope]:
    async with staged(script) as stage:
        await stage.run(task, **policy)
        return await _log(stage)


async def _answering(stage: Stage, running: asyncio.Task[Execution], text: str) -> None:
    """The same answer to whatever is asked, until it ends."""
    asked = 0

    async def ended() -> bool:
        nonlocal asked
        if asked < len(await stage.events("asked")):
            asked += 1
            await stage.say("answer", text)
        return running.done()

    await eventually(ended)
    await running


async def _taken_up(stage: Stage, owner: str) -> Execution:
    await stage.store.release(stage.lease)
    lease = await stage.store.acquire(THREAD, owner)
    assert lease is not None
    stage.lease = lease
    return await stage.loop.run(lease, NAME, stage.toolbox, stage.doorbell)


async def _log(stage: Stage, execution: str = NAME) -> list[Envelope]:
    return [envelope async for envelope in stage.store.read(execution)]


async def main() -> None:
    """Write the runs of this version."""
    folder = FOLDER / BUILD / "runs"
    folder.mkdir(exist_ok=True)
    for scene in SCENES:
        log = await scene()
        lines = "".join(envelope.model_dump_json() + "\n" for envelope in log)
        (folder / f"{scene.__name__}_{RULES_VERSION}.jsonl").write_text(lines, encoding="utf-8")


if __name__ == "__main__":
    asyncio.run(main())
