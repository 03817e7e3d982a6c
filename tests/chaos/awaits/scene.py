"""The scripted execution that is struck, and all that stands around it.

Real are the loop with its rules, the toolbox with its tools, the pool of sandboxes and the owner's end of each, the purse,
sessions, threads, leases, recovery, intake, the outbox, the board and the desk.  Simulated are the supervisor
(``engine.py``), the model's script, the disk behind the store, the server, and people, who answer what they are asked.

``KINDS`` is one task with every kind of tool; in ``CROWD`` three threads want the one sandbox that there may be.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import shutil
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from agentic.core.events.execution_events import FileChange, Policy, Tier
from agentic.models.scripted.model import answer
from agentic.ports.children import Children
from agentic.ports.errors import ModelUnavailable, SandboxUnavailable, StoreUnavailable
from agentic.ports.runtime import (
    Answer,
    Found,
    Meter,
    Prompt,
    Saved,
    Toolbox,
)
from agentic.runtime.budget_ledger import DailyCaps
from agentic.sandbox.pool import Choice, Sandboxes
from agentic.tools.toolbox import STANDARD, StandardToolbox
from agentic.workspace.workspace import RealWorld
from bot.access.permissions import Speaker
from bot.sessions.recovery import settle_leftovers
from tests.chaos.awaits.engine import Engine, Rung
from tests.chaos.simulated.client import Client, refused
from tests.chaos.simulated.keeping import Access, Truth
from tests.chaos.simulated.minds import plan_of
from tests.chaos.simulated.place import Guild
from tests.chaos.simulated.processes import Process, World
from tests.chaos.simulated.town import Town
from tests.chaos.simulated.virtual import VirtualLoop, context_of, now

ADA = Speaker("5000", "Ada", "operator")
CHEAP, FAST = "a/cheap", "a/fast"
POLICY = Policy(
    tiers=(Tier(number=1, models=(CHEAP,)), Tier(number=2, models=(FAST,))), max_usd=20.0, max_minutes=60,
    retry_base_seconds=0.1,
)  # fmt: skip
CAPS = DailyCaps(person=500.0, guild=500.0, bot=500.0)
RESERVED, COSTS = 0.5, 0.0001
AGAIN_SECONDS = 10.0
"""People who are asked press again after so long."""
MEMORY = "/dev/shm"
HIDDEN = "secret.txt"
WORK = ("session ", "execution in ", "lease of ", "sandbox-", "x")
"""How the asyncio tasks of an execution, and of what it holds, are called."""

Turn = list[tuple[str, dict[str, Any]]]


@dataclass(frozen=True, slots=True)
class Play:
    """What is done in a world: how many threads, how many sandboxes for them, and each task's script."""

    name: str
    tasks: int
    sandboxes: int
    script: Callable[[str], list[Turn]]
    words: str
    deeds: tuple[tuple[float, str], ...] = ()
    """What happens at which second besides, by the name of a method of ``Stage``."""


def _every_kind(plan: str) -> list[Turn]:
    return [
        [("read", {"path": "a.txt"}), ("list", {"path": "."}), ("shell", {"command": f"make {plan}.0 0.3"})],
        [("write", {"path": "new.txt", "content": "one\n"}), ("python", {"code": f"make('{plan}.1', 0.3)"})],
        [("shell", {"command": f"make {plan}.2 0.6", "background": True})],
        [("job", {"job": "x2", "wait": 0}), ("note", {"text": "the job was begun"})],
        [("shell", {"command": f"rm -rf {plan}.4"})],
        [("ask_user", {"question": "Which colour?", "options": ["red", "blue"]})],
        [("shell", {"command": f"make {plan}.6 0.2"})],
        [("finish", {"answer": f"All of {plan} is there."})],
    ]


def _commands(plan: str) -> list[Turn]:
    return [
        [("shell", {"command": f"make {plan}.0 0.5"})],
        [("shell", {"command": f"make {plan}.1 0.2"})],
        [("finish", {"answer": f"All of {plan} is there."})],
    ]


def _in_the_middle(plan: str) -> list[Turn]:
    return [
        [("shell", {"command": f"make {plan}.0 2.0", "background": True})],
        [("read", {"path": "a.txt"}), ("shell", {"command": f"make {plan}.1 3.0"})],
        [("shell", {"command": f"make {plan}.2 0.2"})],
        [("finish", {"answer": f"All of {plan} is there."})],
    ]


RUN = "run the commands of the list and tell me (plan {plan})"
MIDDLE = 3.5
"""By then the command of the second turn runs."""
KINDS = Play("kinds", 1, 2, _every_kind, "the whales are singing tonight (plan {plan})")
CROWD = Play("crowd", 3, 1, _commands, RUN)
STOPPED = Play("stopped", 1, 1, _in_the_middle, RUN, ((MIDDLE, "people_stop"),))
RESTARTED = Play("restarted", 1, 1, _in_the_middle, RUN, ((MIDDLE, "processes_end"),))
LOST = Play("lost", 1, 1, _in_the_middle, RUN, ((MIDDLE, "engine_dies"),))
PLAYS = {play.name: play for play in (KINDS, CROWD, STOPPED, RESTARTED, LOST)}


class Minds:
    """A ``LanguageModel`` that goes through the script by the number of answers it was given back."""

    def __init__(self, play: Play) -> None:
        self.play = play

    def price(self, model: str, tokens_in: int, tokens_out: int) -> float | None:
        """Far more than it will cost."""
        return RESERVED

    async def close(self) -> None:
        """Nothing is open."""

    def answer(self, model: str, prompt: Prompt) -> Answer:
        """The next turn."""
        if model == CHEAP:
            kind = {"kind": "task", "complexity": "simple", "changes_files": False}
            return answer(json.dumps(kind), usd=COSTS)
        script = self.play.script(plan_of(prompt.messages[0].text))
        turn = sum(message.role == "assistant" for message in prompt.messages)
        return answer("confidence: 80\nI go on.", *script[min(turn, len(script) - 1)], usd=COSTS)


class Asked:
    """One process's way to the model."""

    def __init__(self, actor: Actor) -> None:
        self._actor, self._minds = actor, actor.world.minds
        self.price, self.close = self._minds.price, self._minds.close

    async def answer(
        self,
        model: str,
        prompt: Prompt,
        *,
        max_tokens: int,
        timeout: float,
        on_text: Callable[[str], None] | None = None,
        meter: Meter | None = None,
    ) -> Answer:
        """Asked once."""
        await self._actor.port("model", lambda: ModelUnavailable("overloaded", model=model))
        await asyncio.sleep(0.3)
        said = self._minds.answer(model, prompt)
        if on_text is not None:
            on_text("I go on.")
        return said


class Kept(Access):
    """One process's way to the store: each call takes a moment before and after what it does."""

    def __init__(self, actor: Actor) -> None:
        super().__init__(actor.world.truth, actor.cross)
        self._actor = actor

    async def _before(self, name: str) -> None:
        await self._actor.port(f"store.{name}", lambda: StoreUnavailable("database or disk is full"))

    async def _after(self, name: str, args: tuple[Any, ...]) -> None:
        if name not in ("read", "session", "executions", "pending", "undelivered", "outbox_row"):
            lost = self._actor.port(f"store.{name} done", lambda: StoreUnavailable("disk I/O error"))
            try:
                await lost
            except StoreUnavailable:
                if name == "put":
                    self._truth.doubtful.add(args[0].id)
                raise


class Wire(Client):
    """One process's way to the server."""

    def __init__(self, actor: Actor) -> None:
        super().__init__(actor.world.guild, actor.cross)
        self._actor = actor

    async def _on_the_way(self, kind: str) -> None:
        await self._actor.port(f"discord.{kind}", lambda: refused(503, 0, "Service Unavailable"))

    async def _on_the_way_back(self, kind: str) -> None:
        await self._actor.port(f"discord.{kind} done", lambda: ConnectionResetError(104, "Connection reset by peer"))


class Actor(Process):
    """A process of the bot with real tools over a real pool of sandboxes."""

    world: Stage
    policy, caps = POLICY, CAPS

    async def port(self, name: str, error: Callable[[], BaseException]) -> None:
        """Cross it: that takes a moment, and once in each run it may fail there."""
        await asyncio.sleep(0.002)
        if self.world.fails(name):
            raise error()

    async def _on_the_rung(self, name: str) -> None:
        error = {"pipe.drain": BrokenPipeError, "engine.remove": SandboxUnavailable, "rung.start": SandboxUnavailable}[
            name
        ]
        await self.port(name, lambda: error("the engine does not answer"))

    def _build(self) -> None:
        rung = Rung(self.world.benches, self.name, self._on_the_rung)

        async def choose() -> Choice:
            return Choice(rung, "the simulated one")

        self.pool = Sandboxes(self.world.folder / "state", choose, count=self.world.play.sandboxes)
        self._worlds: dict[str, RealWorld] = {}
        minds, self.world.minds = self.world.minds, Asked(self)
        super()._build()
        self.world.minds = minds

    def way_to_store(self) -> Access:
        return Kept(self)

    def way_to_discord(self) -> Client:
        return Wire(self)

    def toolbox(self, thread: str, children: Children | None = None) -> Toolbox:
        """The real one; nothing here has helpers."""

        async def world() -> RealWorld:
            if thread not in self._worlds:
                self._worlds[thread] = RealWorld(self.pool, thread, self.world.workspace(thread))
            return self._worlds[thread]

        async def save() -> Saved:
            await asyncio.sleep(0.05)
            return Saved(manifest="m1")

        async def inspect(manifest: str, since: tuple[FileChange, ...]) -> Found:
            await asyncio.sleep(0.01)
            return Found()

        return StandardToolbox(world, STANDARD, save=save, inspect=inspect)

    async def terminate(self) -> None:
        """As by SIGTERM: what runs ends, then the sandboxes, then the process."""
        if not self.closing:
            self.closing = True
            self.town.loop.outside(self._terminated())
        while not self.life.dead:
            await asyncio.sleep(0.1)

    async def _run(self) -> None:
        await settle_leftovers(self.access, self.caps)
        await super()._run()

    async def _terminated(self) -> None:
        self.town.tell(f"{self.name} is told to end")
        await asyncio.wait((self.begin(self._end(), "end"),), timeout=60.0)
        await asyncio.sleep(0.1)
        if now() > self.world.benches.down_until and self.world.failed != "engine.remove":
            standing = [f"a sandbox of {box.thread}" for box in self.world.benches.standing if box.owner == self.name]
            self.world.left += [f"{one} stands, and {self.name} has ended" for one in standing]
        working = [name for name in self.town.loop.working(self.life) if name.startswith(WORK)]
        self.world.left += [f"asyncio task {name!r} goes on, and {self.name} has ended" for name in working]
        self.kill()

    async def _end(self) -> None:
        await self.threads.close()
        await self.pool.close()


class Stage(World):
    """What outlives every process here."""

    def __init__(self, town: Town, play: Play, folder: Path) -> None:
        self.town, self.play, self.folder = town, play, folder
        self.truth, self.guild = Truth(town, folder), Guild(town)
        self.benches = Engine(town, self.truth.owner)
        self.minds: Any = Minds(play)
        self.recorded = {}
        self.crossed: list[str] = []
        """The ports that were crossed."""
        self.fails_at = 0
        """The crossing of a port at which it fails; 0 for none."""
        self.failed = ""
        self.over = 0
        """The step after which everything was at rest."""
        self.left: list[str] = []
        """What processes left behind that had ended in order."""

    def start(self, name: str) -> Actor:
        """Another process on the same store."""
        actor = Actor(self, name)
        self.town.processes.append(actor)
        return actor

    def fails(self, name: str) -> bool:
        """Whether this crossing is the one."""
        if self.town.calm:
            return False
        self.crossed.append(name)
        if len(self.crossed) == self.fails_at:
            self.failed = name
            self.town.tell(f"{name} fails")
        return len(self.crossed) == self.fails_at

    def outside(self, *deeds: str) -> None:
        """Something happens outside, in the moment that follows."""
        for deed in deeds:
            self.town.loop.call_soon(getattr(self, deed), context=context_of(None))

    def people_stop(self) -> None:
        """Somebody stops what is open, in every thread."""
        for thread in sorted(self.guild.threads):
            self.guild.say(ADA, "stop", thread)

    def interrupt(self, then: Callable[[Any], None] | None) -> None:
        """Whatever is at work in a thread is cut off there; ``then`` is done when what works there waits the next time."""
        for process in self.town.alive:
            for session in process.threads._sessions.values():
                if session.task is not None:
                    session.task.get_coro().again = then
                    session.task.cancel()

    def processes_end(self) -> None:
        """Every process is told to end."""
        for process in self.town.alive:
            self.town.loop.outside(process.terminate())

    def engine_dies(self) -> None:
        """For a while."""
        self.benches.dies()

    def workspace(self, thread: str) -> Path:
        """The thread's folder, in which one file is hidden."""
        folder = self.folder / "workspaces" / thread
        if not folder.exists():
            folder.mkdir(parents=True)
            (folder / ".aiignore").write_text(f"{HIDDEN}\n")
            (folder / HIDDEN).write_text("a secret\n")
            (folder / HIDDEN).chmod(0o644)
            self.benches.files[thread] = {"a.txt": b"hello\n"}
        return folder

    async def people(self) -> None:
        """They give their tasks, one shortly after the other, and answer what they are asked."""
        for number in range(1, self.play.tasks + 1):
            self.guild.say(ADA, self.play.words.format(plan=f"p{number}"))
            await asyncio.sleep(0.05)
        pressed: dict[int, float] = {}
        while True:
            await asyncio.sleep(0.5)
            for message in [one for thread in self.guild.threads for one in self.guild.of_bot(thread)]:
                choices = [one for one in message.buttons if one.startswith("tw:ask:")]
                if choices and now() - pressed.get(message.id, -AGAIN_SECONDS) >= AGAIN_SECONDS:
                    pressed[message.id] = now()
                    self.guild.click(ADA, message.id, message.channel, choices[0].split(":")[2], 0)


@contextlib.contextmanager
def staged(loop: VirtualLoop, play: Play) -> Iterator[Stage]:
    """A world of its own, with a folder that is gone afterwards."""
    folder = Path(tempfile.mkdtemp(prefix="awaits-", dir=MEMORY if os.access(MEMORY, os.W_OK) else None))
    town = Town(1, 1, loop)
    town.refuses = lambda nonce: False
    town.calm = False
    town.faults.clear()
    town.strikes = lambda fault, likelier=1.0: False
    try:
        stage = Stage(town, play, folder)
        try:
            yield stage
        finally:
            stage.truth.let_go()
    finally:
        shutil.rmtree(folder, ignore_errors=True)
