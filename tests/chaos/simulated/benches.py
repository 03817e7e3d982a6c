"""Where commands run in a simulated world: one sandbox a thread, which ends when its owner's heartbeat stops.

What a command does happens at one moment somewhere in its time, outside of every process: it happens also when whoever
began it has died meanwhile, unless the sandbox has noticed that first.
"""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import json
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import TYPE_CHECKING, cast

from pydantic import JsonValue

from agentic.core.events.execution_events import FileChange, ToolStarted
from agentic.ports.children import Children
from agentic.ports.errors import CallNotBegun, SandboxLost
from agentic.ports.runtime import (
    Found,
    Observation,
    Perception,
    Prepared,
    Preview,
    Refused,
    Saved,
    Toolbox,
    ToolSpec,
)
from agentic.tools.ask_user import ASK_TOOL
from agentic.tools.base.tool import CallContext
from agentic.tools.finish import FINISH_TOOL
from agentic.tools.notes import REPORT_TOOL
from agentic.tools.subagent import SUBAGENT_TOOL
from tests.chaos.simulated.town import Town
from tests.chaos.simulated.virtual import context_of, now

if TYPE_CHECKING:
    from agentic.tools.base.tool import AgentWorld
    from tests.chaos.simulated.processes import Process

HEARTBEAT = 3.0
PARAMETERS: dict[str, JsonValue] = {"type": "object", "properties": {}}
SHELL = ToolSpec("shell", "Run a command.", PARAMETERS, "unkeyed", "execute")
READ = ToolSpec("read", "Read a file.", PARAMETERS, "read", "read")
WRITE = ToolSpec("write", "Write a file.", PARAMETERS, "keyed", "write")
REAL = {tool.name: tool for tool in (ASK_TOOL, FINISH_TOOL, REPORT_TOOL, SUBAGENT_TOOL)}
SPECS = (SHELL, READ, WRITE, *(tool.spec for tool in REAL.values()))


@dataclass(frozen=True, slots=True)
class Effect:
    """Something that a command did to the world."""

    at: float
    thread: str
    token: str
    owner: str


@dataclass(eq=False, slots=True)
class Command:
    """One that runs."""

    token: str
    done: asyncio.Future[bool]
    """True once it has ended by itself, False when its sandbox is gone."""
    timers: tuple[asyncio.TimerHandle, ...] = ()


@dataclass(eq=False, slots=True)
class Bench:
    """A sandbox that runs."""

    thread: str
    owner: Process
    commands: dict[str, Command] = field(default_factory=dict)
    lost: bool = False


class Benches:
    """All of them, and what was done in them."""

    def __init__(self, town: Town, holder: Callable[[str], str]) -> None:
        self.town, self.holder = town, holder
        self.strangers: list[str] = []
        """Effects for those who no longer owned the thread."""
        self.effects: list[Effect] = []
        self.times: Counter[str] = Counter()
        """How often each wish for an effect without a key came true."""
        self.unavailable_until = 0.0
        self.running: dict[str, Bench] = {}

    def begin(self, bench: Bench, call: str, token: str, seconds: float, *, counts: bool) -> Command:
        """A command starts; what it does happens somewhere in the middle."""
        loop = asyncio.get_running_loop()
        command = Command(token, loop.create_future())
        nobody = context_of(None)
        moment = seconds * self.town.dice("moments").random()
        timers = [loop.call_later(seconds, self._ended, bench, call, context=nobody)]
        if counts:
            timers.append(loop.call_later(moment, self._acts, bench, token, context=nobody))
        command.timers = tuple(timers)
        bench.commands[call] = command
        return command

    def kill(self, bench: Bench, call: str) -> None:
        """A command ends at once; what it has not done yet it will not do."""
        command = bench.commands.pop(call, None)
        if command is not None:
            for timer in command.timers:
                timer.cancel()
            if not command.done.done():
                command.done.set_result(False)

    def lose(self, bench: Bench, why: str) -> None:
        """The sandbox is gone with all that runs in it."""
        if bench.lost:
            return
        bench.lost = True
        for call in list(bench.commands):
            self.kill(bench, call)
        if self.running.get(bench.thread) is bench:
            del self.running[bench.thread]
        self.town.tell(f"the sandbox of {bench.thread} (of {bench.owner.name}) is gone: {why}")

    def owner_is_silent(self, owner: Process, within: float) -> None:
        """Its sandboxes notice in a while that nobody holds them any more; without fences they do not care."""
        if self.town.without == "fences":
            return
        for bench in [one for one in self.running.values() if one.owner is owner]:
            asyncio.get_running_loop().call_later(within, self._notice, bench, context=context_of(None))

    def _notice(self, bench: Bench) -> None:
        if bench.owner.life.dead or bench.owner.life.frozen:
            self.lose(bench, "its owner's heartbeat stopped")

    def _acts(self, bench: Bench, token: str) -> None:
        self.effects.append(Effect(now(), bench.thread, token, bench.owner.name))
        self.times[token] += 1
        holder = self.holder(bench.thread)
        if holder not in ("", bench.owner.name):
            self.strangers.append(f"{token!r} was done for {bench.owner.name} while {holder} owned {bench.thread}")
        self.town.tell(f"EFFECT of {token} in {bench.thread} (of {bench.owner.name})")

    def _ended(self, bench: Bench, call: str) -> None:
        command = bench.commands.pop(call, None)
        if command is not None and not command.done.done():
            command.done.set_result(True)


class Tools(Toolbox):
    """The tools of one agent of a process."""

    def __init__(self, process: Process, benches: Benches, thread: str, children: Children | None = None) -> None:
        self._process, self._benches, self._thread, self._children = process, benches, thread, children
        self._town = benches.town
        self._dice = self._town.dice("benches")
        self._bench: Bench | None = None
        self._told = ""
        self._begun: set[str] = set()
        self._opening = asyncio.Lock()

    @property
    def specs(self) -> tuple[ToolSpec, ...]:
        """Three of the simulation, and the real ones that need no sandbox."""
        return SPECS

    def _mine(self, bench: Bench) -> list[str]:
        """What runs and is this agent's to end."""
        return list(bench.commands)

    def prepare(
        self, tool: str, arguments: dict[str, JsonValue], created: frozenset[str] = frozenset()
    ) -> Prepared | Refused:
        """As the real one."""
        if tool in REAL:
            return REAL[tool].prepare(arguments, created)
        sha = hashlib.sha256(json.dumps([tool, arguments], sort_keys=True).encode()).hexdigest()
        spec = next((one for one in SPECS if one.name == tool), None)
        if spec is None or not arguments:
            return Refused(f"There is no such call: {tool}.")
        gated = str(arguments.get("command", "")).startswith("danger")
        return Prepared(
            arguments, sha, spec.effect, key=sha[:16] if spec.effect == "keyed" else "",
            gate="deletes files of others" if gated else "", who_may="operator",
        )  # fmt: skip

    @property
    def diary(self) -> str:
        return ""

    async def recall(self, intent: ToolStarted, created: frozenset[str] = frozenset()) -> None:
        return None

    async def preview(self, tool: str, prepared: Prepared) -> Preview | Refused:
        return Preview()

    async def state_of(self, tool: str, arguments: dict[str, JsonValue]) -> str:
        """Nothing else changes here what a call would touch."""
        await asyncio.sleep(0.05)
        return "same"

    async def checkpoint(self) -> Saved:
        """Some time, and now and then no room."""
        await asyncio.sleep(self._dice.uniform(0.02, 0.3))
        if self._town.strikes("checkpoint_slow"):
            await asyncio.sleep(self._dice.uniform(5.0, 200.0))
        if self._town.strikes("checkpoint_fails"):
            return Saved(problem="there is no room")
        return Saved(manifest=f"m{self._dice.randrange(10**9)}")

    async def run(self, tool: str, call: str, prepared: Prepared, on_output: Callable[[str], None]) -> Observation:
        """Run a call in the thread's sandbox; it is killed, acknowledged, when this is cancelled."""
        if tool in REAL:
            context = CallContext(call, prepared.timeout, on_output, self._no_files, children=self._children)
            return await REAL[tool].run(prepared, context)
        bench = await self._open()
        token = str(prepared.arguments.get("command", prepared.arguments.get("path", "")))
        seconds = float(str(prepared.arguments.get("seconds", 0.02)))
        self._begun.add(call)
        command = self._benches.begin(bench, call, token, seconds, counts=prepared.effect == "unkeyed")
        await self._process.cross(f"while {tool} runs")
        try:
            ended = await asyncio.shield(command.done)
        except asyncio.CancelledError:
            self._benches.kill(bench, call)
            await self._acknowledged()
            raise
        if not ended:
            self._told = "the sandbox was lost"
            raise SandboxLost("its processes were ended")
        await self._process.cross(f"after {tool} ran")
        failed = self._dice.random() < 0.1
        return Observation("failed" if failed else "ok", f"{token}: done", exit_code=int(failed), error="no" * failed)

    async def inspect(self, manifest: str, since: tuple[FileChange, ...]) -> Found:
        return Found()

    async def perceive(self) -> Perception:
        """Whether the sandbox was lost."""
        told, self._told = self._told, ""
        return Perception(environment=told)

    async def settle(self) -> None:
        """End what runs, acknowledged."""
        bench = self._bench
        if bench is not None and not bench.lost:
            for call in self._mine(bench):
                self._benches.kill(bench, call)
            await self._acknowledged()

    async def _acknowledged(self) -> None:
        await asyncio.sleep(self._dice.uniform(0.01, 0.1))
        if self._town.strikes("sandbox_late"):
            await asyncio.sleep(self._dice.uniform(2.0, 6.0))

    async def _open(self) -> Bench:
        async with self._opening:
            return await self._opened()

    async def _opened(self) -> Bench:
        bench = self._benches.running.get(self._thread)
        owned = bench is not None and (bench.owner is self._process or self._town.without == "fences")
        if bench is None or not owned:
            await asyncio.sleep(self._dice.uniform(0.1, 0.5))
            if now() < self._benches.unavailable_until:
                raise CallNotBegun("the engine does not answer")
            with contextlib.suppress(KeyError):
                self._benches.lose(self._benches.running[self._thread], "another owner has the thread")
            bench = self._benches.running[self._thread] = Bench(self._thread, self._process)
        self._bench = bench
        return bench

    async def _no_files(self) -> AgentWorld:
        """What is too long to be shown is not kept here."""
        return cast("AgentWorld", SimpleNamespace(outputs=SimpleNamespace(keep=lambda text: "")))


class ChildTools(Tools):
    """Those of an agent beside others: it asks nobody, has no helpers, and ends only what it began."""

    @property
    def specs(self) -> tuple[ToolSpec, ...]:
        """All but two."""
        return tuple(spec for spec in SPECS if spec.name not in (ASK_TOOL.name, SUBAGENT_TOOL.name))

    def _mine(self, bench: Bench) -> list[str]:
        """What it began."""
        return [call for call in bench.commands if call in self._begun]

    def prepare(
        self, tool: str, arguments: dict[str, JsonValue], created: frozenset[str] = frozenset()
    ) -> Prepared | Refused:
        """What it has not it cannot call."""
        if tool not in {spec.name for spec in self.specs}:
            return Refused(f"There is no tool '{tool}'.")
        return super().prepare(tool, arguments, created)
