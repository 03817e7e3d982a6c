"""The place where commands run, in this process: a rung whose sandboxes speak the supervisor's protocol over a pipe of ours.

What a command does happens at one moment in the middle of its time, and is written down in the engine's own ledger
(``times``), whatever the bot believes.  A sandbox ends when it is told to, or when its owner's heartbeat stops.  The engine
can die: then every pipe ends, nothing can be started or removed for a while, and what runs goes on until its supervisor
misses the heartbeat.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import os
import shlex
from collections import Counter, deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from agentic.ports.errors import SandboxUnavailable
from agentic.sandbox.backends.bubblewrap import say_hello
from agentic.sandbox.backends.hidden_mounts import Cover
from agentic.sandbox.limits import Limits, Place
from agentic.sandbox.protocol.call_journal import Diary as Opened
from agentic.sandbox.protocol.channel import LENGTHS, pack
from agentic.sandbox.protocol.heartbeat import SHARE, Heartbeat
from agentic.sandbox.sandbox import Sandbox
from agentic.sandbox.supervisor.call_journal import Diary
from tests.chaos.simulated.benches import Effect
from tests.chaos.simulated.town import Town
from tests.chaos.simulated.virtual import context_of, now

MOMENT = 0.01
"""How long the supervisor takes for what is no command."""
HEARTBEAT = 3.0
BEAT = pack({"op": "beat"})
DOWN_SECONDS = 6.0
LINES = (b"one\n", b"two\n")


@dataclass(eq=False, slots=True)
class Running:
    """A command that runs, or one that ran in the background."""

    token: str
    request: int
    key: str = ""
    background: bool = False
    ended: bool = False
    killed: str = ""
    timers: list[asyncio.TimerHandle] = field(default_factory=list)


class Engine:
    """A ``Rung``; ``crossing`` is told of each port that is crossed, and may raise there."""

    name = "simulated"

    def __init__(self, town: Town, holder: Callable[[str], str]) -> None:
        self.town, self.holder = town, holder
        self.effects: list[Effect] = []
        self.times: Counter[str] = Counter()
        self.strangers: list[str] = []
        """Effects for those who no longer owned the thread."""
        self.boxes: list[Box] = []
        self.files: dict[str, dict[str, bytes]] = {}
        self.died_at, self.down_until = -DOWN_SECONDS, 0.0

    @property
    def standing(self) -> list[Box]:
        """Sandboxes that were not ended."""
        return [box for box in self.boxes if not box.gone]

    def dies(self) -> None:
        """Every pipe ends; the supervisors notice when no heartbeat comes any more."""
        self.died_at, self.down_until = now(), now() + DOWN_SECONDS
        self.town.tell("the engine dies")
        for box in self.standing:
            box.cut()

    def owner_is_silent(self, owner: Any, within: float) -> None:
        """A process died: its sandboxes notice."""
        for box in self.standing:
            if box.owner == owner.name:
                asyncio.get_running_loop().call_later(within, box.end, "no heartbeat", context=context_of(None))


class Rung:
    """One process's way to the engine."""

    name = said = "simulated"
    covers = False

    def __init__(self, engine: Engine, owner: str, cross: Callable[[str], Any]) -> None:
        self._engine, self._owner, self.cross = engine, owner, cross
        self._heartbeat = Beats()

    @property
    def owner(self) -> tuple[int, int]:
        """Files belong to whom they belong."""
        return os.geteuid(), os.getegid()

    async def start(
        self,
        thread: str,
        workspace: Path,
        home: Path,
        limits: Limits,
        diary: Opened | None = None,
        covered: Sequence[Cover] = (),
        door: Path | None = None,
        mirror: Path | None = None,
        skills: Path | None = None,
    ) -> Sandbox:
        """A sandbox that has said hello."""
        await self.cross("rung.start")
        await asyncio.sleep(0.2)
        if now() < self._engine.down_until:
            raise SandboxUnavailable("the engine does not answer")
        box = Box(self._engine, self, thread, diary)
        self._engine.boxes.append(box)
        sandbox = Sandbox(box, Place(self.name), limits, thread, self._heartbeat)
        await say_hello(sandbox, lambda words: SandboxUnavailable(f"the simulated sandbox did not start: {words}"))
        return sandbox

    async def reap(self) -> tuple[str, ...]:
        """Nothing outlives its heartbeat."""
        await asyncio.sleep(MOMENT)
        return ()

    async def close(self) -> None:
        """Nothing is held."""


class Beats(Heartbeat):
    """The heartbeat of one process in virtual time: it beats for as long as that process lives, and no thread does it."""

    def __init__(self) -> None:
        super().__init__(now)

    def add(self, thread: str, outlet: Any, seconds: float) -> None:
        """Beat for it until it is removed."""
        self._outlets[outlet] = (thread, seconds)
        self._once(outlet)

    def remove(self, outlet: Any) -> None:
        """Beat for it no longer."""
        self._outlets.pop(outlet, None)

    def _once(self, outlet: Any) -> None:
        if outlet in self._outlets:
            outlet.beat(BEAT)
            asyncio.get_running_loop().call_later(self._outlets[outlet][1] / SHARE, self._once, outlet)


class Way:
    """The owner's end of the pipe to a sandbox (an ``Outlet``)."""

    def __init__(self, box: Box) -> None:
        self._box = box
        self._closed = False

    def write(self, frame: bytes) -> None:
        """What is said to the supervisor."""
        if self._closed:
            raise BrokenPipeError("it was closed")
        self._box.hears(frame)

    def beat(self, frame: bytes) -> None:
        """The owner lives."""
        if not self._closed:
            self._box.hears(frame)

    async def drain(self) -> None:
        """Wait until it was taken."""
        await self._box.rung.cross("pipe.drain")

    def close(self) -> None:
        """Nothing more is said."""
        self._closed = True


class Box:
    """A sandbox: the owner's pipe to it (a ``Transport``), and the supervisor behind it."""

    def __init__(self, engine: Engine, rung: Rung, thread: str, diary: Opened | None) -> None:
        self.engine, self.thread, self.owner = engine, thread, rung._owner
        self.gone = ""
        self.runs: dict[str, Running] = {}
        self.rung = rung
        self.outlet = Way(self)
        self._in = bytearray()
        self._out: deque[bytes] = deque()
        self._came = asyncio.Event()
        self._cut = False
        self._nobody = context_of(None)
        self._loop = asyncio.get_running_loop()
        self._silent: asyncio.TimerHandle | None = None
        where = str(os.dup(diary.descriptor)) if diary is not None and diary.descriptor >= 0 else ""
        self._diary, self._descriptor = Diary(where), int(where or -1)
        self._beat()

    # --- the pipe -------------------------------------------------------------------------------------------------

    async def read(self, size: int) -> bytes:
        """What the supervisor said."""
        while not self._out:
            if self._cut or self.gone:
                return b""
            self._came.clear()
            await self._came.wait()
        return self._out.popleft()

    def hears(self, data: bytes) -> None:
        """What is said to it."""
        self._in += data
        while len(self._in) >= LENGTHS.size:
            head, size = LENGTHS.unpack_from(self._in, 0)
            end = LENGTHS.size + head + size
            if len(self._in) < end:
                return
            header = json.loads(self._in[LENGTHS.size : LENGTHS.size + head])
            payload = bytes(self._in[LENGTHS.size + head : end])
            del self._in[:end]
            if not self._cut and not self.gone:
                self._later(MOMENT / 2, self._take, header, payload)

    async def close(self) -> str:
        """Remove it; an engine that is away cannot, and says so."""
        await self.rung.cross("engine.remove")
        if now() < self.engine.down_until:
            raise SandboxUnavailable("the engine does not answer")
        self.end("it was removed")
        return ""

    def cut(self) -> None:
        """The pipe ends; what runs goes on for now."""
        self._cut = True
        self._came.set()

    # --- the supervisor -------------------------------------------------------------------------------------------

    def end(self, why: str) -> None:
        """Nothing runs there any more."""
        if self.gone:
            return
        self.gone = why
        for run in self.runs.values():
            self._stop(run, why)
        if self._silent is not None:
            self._silent.cancel()
        if self._descriptor >= 0:
            os.close(self._descriptor)
        self._came.set()
        self.engine.town.tell(f"the sandbox of {self.thread} is gone: {why}")

    def _later(self, seconds: float, act: Callable[..., None], *args: Any) -> asyncio.TimerHandle:
        return self._loop.call_later(seconds, act, *args, context=self._nobody)

    def _beat(self) -> None:
        if self._silent is not None:
            self._silent.cancel()
        self._silent = self._later(HEARTBEAT, self.end, "no heartbeat")

    def _say(self, id: int, header: dict[str, Any], payload: bytes = b"") -> None:
        if not self._cut and not self.gone:
            self._out.append(pack({"id": id, **header}, payload))
            self._came.set()

    def _take(self, header: dict[str, Any], payload: bytes) -> None:
        if self.gone:
            return
        op, id = header["op"], header.get("id", 0)
        if op == "beat":
            self._beat()
        elif op in ("exec", "python", "start"):
            self._begin(op, id, header)
        elif op in ("kill", "kill_all"):
            running = [
                run
                for name, run in self.runs.items()
                if (not run.ended and op == "kill_all") or name == header.get("exec")
            ]
            for run in running:
                self._stop(run, header.get("reason", "stopped"))
            self._later(MOMENT, self._say, id, {"killed": len(running)})
        else:
            answer, content = self._answer(op, header, payload)
            self._later(MOMENT / 2, self._say, id, answer, content)

    def _begin(self, op: str, id: int, header: dict[str, Any]) -> None:
        token, seconds = meant(header["code"] if op == "python" else header["command"])
        name = "python" if op == "python" else header["exec"]
        run = self.runs[name] = Running(token, id, header.get("key", ""), background=op == "start")
        if run.key:
            self._diary.began(run.key)
        if token:
            run.timers.append(self._later(seconds / 2, self._acts, run))
        run.timers.append(self._later(seconds, self._ended, run))
        if op == "start":
            self._say(id, {})
        elif header.get("stream"):
            self._say(id, {"event": "output"}, LINES[0])

    def _acts(self, run: Running) -> None:
        """It does what it does."""
        engine = self.engine
        engine.effects.append(Effect(now(), self.thread, run.token, self.owner))
        engine.times[run.token] += 1
        holder = engine.holder(self.thread)
        left = not (holder or run.background or self._cut)  # what was left in the background needs nobody
        if left or holder not in ("", self.owner):
            whose = f"{holder} owned" if holder else "nobody held"
            engine.strangers.append(f"{run.token!r} was done for {self.owner} while {whose} {self.thread}")
        engine.town.tell(f"EFFECT of {run.token} in {self.thread}")

    def _ended(self, run: Running) -> None:
        run.ended = True
        self._result(run, {"exit": 0, "size": 8, "duration": 0.1, "changes": []}, b"".join(LINES))

    def _stop(self, run: Running, why: str) -> None:
        for timer in run.timers:
            timer.cancel()
        if not run.ended:
            run.ended, run.killed = True, why
            self._result(run, {"signal": 9, "killed": why, "changes": []}, b"")

    def _result(self, run: Running, header: dict[str, Any], payload: bytes) -> None:
        if run.key and not (run.background or self.gone):
            self._diary.ended(run.key, header, payload)
        if not run.background:
            self._say(run.request, header, payload)

    def _answer(self, op: str, header: dict[str, Any], payload: bytes) -> tuple[dict[str, Any], bytes]:
        files = self.engine.files.setdefault(self.thread, {})
        path = str(header.get("path", "")).removeprefix("/workspace/")
        match op:
            case "hello":
                return {"version": 1, "python": "3.11", "diary": self._diary.id}, b""
            case "stat" if path not in files:
                return {"exists": path == ".", "path": path, "kind": "dir", "size": 0, "mtime_ns": 1}, b""
            case "stat" | "read" if path in files:
                whole = {"exists": True, "path": path, "kind": "file", "size": len(files[path]), "mtime_ns": 1}
                return {**whole, "sha": _sha(files[path])}, files[path] if op == "read" else b""
            case "read":
                return {"error": "refused", "message": "there is no such file", "path": path}, b""
            case "write":
                return self._write(files, path, header.get("expected"), payload)
            case "list":
                return {"entries": [[name, "file", len(files[name])] for name in sorted(files)]}, b""
            case "poll":
                run = self.runs.get(str(header["exec"]))
                if run is None:
                    return {"error": "missing", "message": "there is no such command"}, b""
                output = b"".join(LINES)[int(header["offset"]) :]
                state = {
                    "running": not run.ended,
                    "exit": 0 if run.ended and not run.killed else None,
                    "killed": run.killed,
                }
                return {**state, "next": len(b"".join(LINES))}, output
            case _:
                return {"changes": []}, b""

    def _write(
        self, files: dict[str, bytes], path: str, expected: object, content: bytes
    ) -> tuple[dict[str, Any], bytes]:
        before = _sha(files[path]) if path in files else ""
        if expected is not None and expected != before:
            return {"error": "conflict", "path": path, "sha": before}, b""
        files[path] = content
        return {"changes": [[path, "modified" if before else "added", before, _sha(content)]]}, b""


def _sha(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def meant(command: str) -> tuple[str, float]:
    """The wish that a command stands for, and how long it takes: ``make p1.3.0 0.4``, ``make('p1.4.0', 0.4)``."""
    words = shlex.split(command.replace("(", " ").replace(")", " ").replace(",", " "))
    while words and words[0] not in ("make", "rm"):
        inner = next((word for word in words if word.startswith(("make ", "rm "))), "")
        words = inner.split()
    if not words:
        return "", 0.05  # a look
    seconds = float(words[2]) if words[0] == "make" else 0.2
    return (words[1] if words[0] == "make" else words[-1]), seconds
