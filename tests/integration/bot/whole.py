"""The whole product in this process: real store, sandbox and sockets; only the model's answers are a script."""

from __future__ import annotations

import os
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from unittest import mock

import pytest
from pydantic import JsonValue

from agentic.core.events.execution_events import Event
from agentic.models.scripted.captured_request import CapturedRequest
from agentic.models.scripted.endpoint import ScriptedEndpoint
from agentic.models.scripted.replies import Reply
from agentic.ports.runtime import Clock
from agentic.sandbox.backends import selection
from agentic.sandbox.limits import Limits
from agentic.sandbox.pool import Rung
from bot.app.app import App, AppHome
from bot.app.services import Roles
from bot.config.settings import Settings
from bot.local_discord.local_discord import LocalGuild
from bot.local_discord.model.records import Message
from tests.waiting import BOUND, eventually

SECONDS = BOUND
_TRIED = set[str]()
_probe = selection.probe


def uses(tool: str, **arguments: JsonValue) -> Reply:
    """An answer that uses a tool."""
    return Reply(calls=((tool, arguments),))


def held(name: str) -> str:
    """A command that runs until ``Whole.let_go``."""
    return f"mkfifo ~/{name} && read -r _ < ~/{name}"


def finishes(answer: str = "It is done.") -> Reply:
    """The end of a task."""
    return uses("finish", answer=answer)


async def tried_once(rung: Rung, state: Path, limits: Limits) -> None:
    """What a bubblewrap showed the first bot of this process holds for the next ones: the machine is the same."""
    if rung.said not in _TRIED:
        await _probe(rung, state, limits)
    if rung.name == "bubblewrap":
        _TRIED.add(rung.said)


@dataclass
class Whole:
    """A running bot in its guild."""

    app: App
    guild: LocalGuild
    home: Path
    requests: Sequence[CapturedRequest] = ()
    """What the model was asked so far."""

    def workspace(self, thread: int) -> Path:
        """The thread's folder on this machine."""
        return self.app.workshop.workspaces.folder(str(thread))

    def of_bot(self, thread: int) -> list[Message]:
        """What the bot posted in a thread."""
        return [m for m in self.guild.messages(thread) if m.author_id == self.guild.bot_user_id]

    async def task(self, text: str, thread: int = 0) -> int:
        """Give a task and wait until it has ended; returns its thread."""
        before = len(await self.executions(thread))
        posted = await self.guild.post(thread or self.guild.channel().id, f"{self.guild.bot.mention} {text}")
        thread = thread or posted.id
        await eventually(lambda: self._ended(thread, before), f"{text!r} has ended")
        await self.app.threads.idle(str(thread))
        await self.app.delivered(str(thread), SECONDS)
        return thread

    async def _ended(self, thread: int, place: int) -> bool:
        """Whether the thread's execution at that place, counted from 0, has ended."""
        rows = await self.app.store.executions(str(thread))
        return len(rows) > place and bool(rows[place].finished)

    async def ended(self, thread: int, count: int) -> str:
        """Wait until so many executions of a thread have ended, nothing of it runs and all is delivered; the newest."""

        async def so_many() -> bool:
            return sum(bool(row.finished) for row in await self.app.store.executions(str(thread))) >= count

        await eventually(so_many, f"{count} executions have ended")
        await self.app.threads.idle(str(thread))
        await self.app.delivered(str(thread), SECONDS)
        return (await self.executions(thread))[-1]

    async def logged(self, execution: str, kind: type[Event], count: int = 1) -> None:
        """Wait until so many events of this kind are in the log of an execution."""

        async def so_many() -> bool:
            return sum(isinstance(event, kind) for event in await self.log(execution)) >= count

        await eventually(so_many, f"{execution} has {count} {kind.__name__}")

    async def became(self, execution: str, kind: type[Event]) -> list[Event]:
        """Wait until such an event says what became of an execution; all of those."""

        async def such() -> list[Event]:
            outcome = await self.outcome(execution)
            return outcome if any(isinstance(event, kind) for event in outcome) else []

        return await eventually(such, f"{kind.__name__} of {execution}")

    async def says(self, thread: int, words: str) -> Message:
        """A message of the bot that holds the words."""
        return await self.guild.wait_for(
            lambda _: next((m for m in self.of_bot(thread) if words in m.content), None), SECONDS
        )

    async def executions(self, thread: int) -> list[str]:
        """The thread's executions, oldest first."""
        return [row.execution for row in await self.app.store.executions(str(thread))]

    async def log(self, execution: str) -> list[Event]:
        """What happened in an execution."""
        return [envelope.event async for envelope in self.app.store.read(execution)]

    async def let_go(self, thread: int, name: str) -> None:
        """End the ``held`` command of this name, once it runs."""
        home, _ = self.app.workshop.sandboxes._places(str(thread))  # pyright: ignore[reportPrivateUsage]

        def opened() -> int | None:
            try:
                return os.open(home / name, os.O_WRONLY | os.O_NONBLOCK)
            except OSError:  # it is not there yet, or nobody reads it yet
                return None

        pipe = await eventually(opened, f"a command waits for {name}")
        os.write(pipe, b"\n")
        os.close(pipe)

    async def outcome(self, execution: str) -> list[Event]:
        """What happened to it afterwards."""
        return [envelope.event for envelope in await self.app.store.read_outcome(execution)]


@asynccontextmanager
async def whole(
    home: Path, endpoint: ScriptedEndpoint, guild: LocalGuild, *, bound: Path | None = None, engine: str = "",
    clock: Clock | None = None, attended: bool = True, roles: Roles | None = None,
    **settings: object,
) -> AsyncGenerator[Whole]:  # fmt: skip
    """Start it; closed at the end as a process that is told to stop.  ``engine`` is the address of Docker's."""
    values: Mapping[str, object] = {
        "home": home, "drain_seconds": 0.1, "tier_2": ("anthropic/claude-haiku-4-5",), "sandbox": "bubblewrap",
        "lessons_held_back": 0, "embeddings": "off", **settings,
    }  # fmt: skip
    variables = endpoint.environment() | ({"DOCKER_HOST": engine} if engine else {})
    with mock.patch.dict(os.environ, variables), mock.patch.object(selection, "probe", tried_once):
        place = AppHome(home, bound=bound, attended=attended, roles=roles or Roles())
        chosen = Settings(_env_file=None, **values)  # type: ignore[call-arg, arg-type]
        async with App.open(chosen, place, guild=guild, clock=clock) as app:
            await app.online()
            yield Whole(app, guild, home, endpoint.requests)
    guild.restore()


def engine_for(rung: str, request: pytest.FixtureRequest) -> str:
    """The address of Docker's engine, where the sandbox is to be one of Docker's."""
    return str(request.getfixturevalue("docker_url")) if rung == "docker" else ""
