"""Steps that are tried one after the other, what a person is asked before them, and what is cleaned up after them."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

import aiohttp
import discord

from agentic.ports.errors import AgenticError
from bot.app.discord_connection import CannotConnect
from bot.cli.console import InputLines, note, say
from bot.cli.doctor import SIGNS, Component, State
from bot.cli.live.wire_record import WireRecord
from bot.outbound.discord_api import Gone, Held, Unfit

CLEAN_SECONDS = 30.0


class StepFailed(Exception):
    """A step did not do what it should; ``todo`` says what to do about it."""

    def __init__(self, why: str, todo: str = "") -> None:
        super().__init__(why)
        self.todo = todo


class NotTried(StepFailed):
    """Nobody did their part of a step."""


FAILURES = (
    AgenticError, Held, Gone, Unfit, CannotConnect, discord.DiscordException, aiohttp.ClientError, OSError, TimeoutError,
)  # fmt: skip
"""What a service or this machine may answer; anything else is a mistake of ours."""


@dataclass(frozen=True, slots=True)
class _Leftover:
    what: str
    remove: Callable[[], Awaitable[str]]
    by_hand: str


class Trials:
    """Runs steps and prints what came of each; ``agrees`` to everything is what ``--yes`` says."""

    def __init__(self, *, agreed: bool = False, record: WireRecord | None = None) -> None:
        self.rows: list[Component] = []
        self.record = record
        self._agreed = agreed
        self._input = InputLines()
        self._left: list[_Leftover] = []
        self._part = ""

    async def begin(self, part: str, makes: str) -> bool:
        """Say what a part makes, where, and what it may cost; whether the person wants it."""
        self._part = part
        if self.record is not None:
            self.record.part, self.record.step = part, ""
        say(f"\n{part}: {makes}")
        if self._agreed:
            return True
        note("Do it? (y; Enter: no)")
        if (await self._input.next()).strip().lower() in ("y", "yes"):
            return True
        self.show("", "unknown", "not tried: you didn't say yes")
        return False

    def leave_out(self, part: str, why: str, todo: str = "") -> None:
        """Say why a part is not tried, and what it needs."""
        self._part = part
        say(f"\n{part}")
        self.show("", "unknown", f"not tried: {why}", todo)

    async def step(self, name: str, act: Awaitable[str], recorded_as: str = "") -> bool:
        """Take a step and print what came of it, which ``act`` returns; whether it went well."""
        if self.record is not None:
            self.record.step = recorded_as or name
        try:
            self.show(name, "ok", await act)
        except StepFailed as failed:
            untried = isinstance(failed, NotTried)
            self.show(name, "unknown" if untried else "missing", f"{'not tried: ' * untried}{failed}", failed.todo)
        except FAILURES as error:
            why = "it did not answer in time" if isinstance(error, TimeoutError) else str(error) or type(error).__name__
            self.show(name, "missing", why)
        else:
            return True
        return False

    def show(self, name: str, state: State, why: str, todo: str = "") -> None:
        """Print one line, and what to do below it."""
        row = Component(self._part, name, state, why, todo)
        self.rows.append(row)
        say(f"{SIGNS[row.state]} {name}{': ' if name else ''}{why}{f'{chr(10)}  → {todo}' if todo else ''}")

    def later(self, what: str, remove: Callable[[], Awaitable[str]], by_hand: str) -> None:
        """Have something cleaned up at the end of the part; ``by_hand`` says how a person does it."""
        self._left.append(_Leftover(what, remove, by_hand))

    async def clean_up(self) -> None:
        """Remove what was made, the newest first; what can't be removed is said, each with the way to do it by hand.

        A second Ctrl-C ends it: then the rest is only said.
        """
        ended: asyncio.CancelledError | None = None
        if self.record is not None:
            self.record.step = "cleaning up"
        while self._left:
            one = self._left.pop()
            try:
                if ended is not None:
                    raise TimeoutError
                async with asyncio.timeout(CLEAN_SECONDS):
                    said = await one.remove()
                self.show(f"clean up {one.what}", "ok", said)
            except asyncio.CancelledError as cancelled:
                ended = cancelled
                self.show(f"clean up {one.what}", "missing", "it was interrupted", one.by_hand)
            except Exception as error:  # noqa: BLE001 - whatever it is, the rest is cleaned up too
                why = f"could not be done ({str(error) or type(error).__name__})"
                self.show(f"clean up {one.what}", "missing", why, one.by_hand)
        if ended is not None:
            raise ended
