"""The console's side of its private channel to the bot that started it.

The bot starts the console with one end of a pair of connected sockets, which no other process can reach. A line of
JSON asks, a line answers: ``{"id": 7, "ask": "act", …}`` and ``{"id": 7, …}``. Without a bot the console only shows.
"""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import logging
import os
import select
import socket
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Literal, Self, cast

import orjson

from agentic.core.events.execution_events import Level, Person
from bot.console.access.viewer import Viewer

NOBODY = Person(id="console", name="Whoever runs the bot", level="owner")
LINE_BYTES = 256_000
"""A question or an answer is shorter."""
AT_ONCE = 32
"""So many questions of each kind are open at once, what people do and what they look at; more wait."""
ASK_SECONDS, ACT_SECONDS = 5.0, 30.0
ACTS = ("act", "decide")
"""Questions that take long: they have places of their own, so that pages open meanwhile."""
LOOKS, SILENT_SECONDS = ("sees", "sees_many", "level", "owner", "health", "names"), 10.0
"""What is not asked again so soon after a question that had no answer: a page asks about many threads."""
OWNER_SECONDS = 60.0
"""So long it is known as whom the owner acts."""
LEAVE_SECONDS = 5.0
"""A console whose bot is gone ends within this time, whatever it does."""

ALONE = "The bot isn't running, so nothing was done. Start it with `threadwright run`, then try again."
UNKNOWN = "The bot can't say just now what you may see. Try again in a moment."
TOO_OFTEN = "You asked for too much at once, so the bot doesn't look up now what you may see. Try again in a moment."
SILENT = "The bot didn't answer in time. It may still have got this: look at the task before you send it again."

LEVELS = ("viewer", "executor", "operator", "owner")

Wish = Literal[
    "say", "side", "choose", "stop", "pause", "resume", "escalate", "retry", "rewind", "fork",
]  # fmt: skip
"""say: words, which mean what they would in the chat; choose: an option of a question; the others as in the inbox."""

Place = tuple[str, str, str]
"""A thread, its channel and its server, which never change."""

log = logging.getLogger(__name__)


class BotSilent(Exception):
    """The bot does not answer; the message is for the person."""


class AskedTooOften(BotSilent):
    """Somebody has caused as many questions to Discord as they may for now: nothing is known, and nothing denied."""


@dataclass(frozen=True, slots=True)
class Deed:
    """What somebody does on a page; ``form`` is made with the form, so that it is done once however often it is sent."""

    form: str
    thread: str
    execution: str
    wish: Wish
    text: str = ""
    question: str = ""
    """The question that the page showed."""
    part: str = ""
    number: int = 0
    """Of an option, from 0."""
    turn: int = 0
    """Of a retry or a fork: from which turn; 0 for the beginning, or for the newest checkpoint."""
    checkpoint: str = ""


@dataclass(frozen=True, slots=True)
class LessonDecision:
    """An approval of a lesson, or its end; ``revision`` is what the page showed: of another one nothing is changed.

    ``guild``: the lesson's server, '' where it belongs to none.
    """

    lesson: str
    guild: str
    approves: bool
    revision: int


@dataclass(frozen=True, slots=True)
class Done:
    """What a person is told about what they did; ``done``: it was taken in, now or before."""

    words: str
    done: bool


class BotChannel:
    """Asks the bot. ``gone`` is set once there is none any more."""

    def __init__(self) -> None:
        self.gone = asyncio.Event()
        self._writer: asyncio.StreamWriter | None = None
        self._reading: asyncio.Task[None] | None = None
        self._numbers = itertools.count(1)
        self._open: dict[int, asyncio.Future[dict[str, object]]] = {}
        self._room, self._room_for_acts = asyncio.Semaphore(AT_ONCE), asyncio.Semaphore(AT_ONCE)
        self._owner, self._owner_until = NOBODY, 0.0
        self._answered = self._silent_until = 0.0
        """When the last answer came, and until when none is waited for, by a clock that never runs backwards."""

    @classmethod
    async def over(cls, descriptor: int) -> Self:
        """Talk over this end of the pair; the process ends soon after the other one has."""
        one = cls()
        end = socket.socket(fileno=descriptor)
        threading.Thread(target=_leave_with, args=(os.dup(descriptor),), daemon=True, name="the bot's end").start()
        reader, one._writer = await asyncio.open_connection(sock=end, limit=LINE_BYTES)
        one._reading = asyncio.create_task(one._read(reader), name="answers of the bot")
        return one

    @property
    def connected(self) -> bool:
        """Whether there is a bot to ask."""
        return self._writer is not None and not self.gone.is_set()

    async def sees(self, person: Person, thread: str) -> bool:
        """Whether somebody may see a thread, as in the chat. Raises ``BotSilent`` where that is not known now."""
        answer = await self._look("sees", {"person": person.id, "thread": thread})
        return answer.get("sees") is True

    async def sees_many(self, person: Person, places: Sequence[Place]) -> list[bool | None]:
        """For each of these threads whether somebody may see it in a list; None where that is not known now.

        Raises ``BotSilent``.
        """
        answer = await self._ask("sees_many", {"person": person.id, "threads": places}, ASK_SECONDS)
        sees = cast("list[object]", answer["sees"]) if isinstance(answer.get("sees"), list) else []
        if len(sees) != len(places):
            raise BotSilent(UNKNOWN)
        return [each if isinstance(each, bool) else None for each in sees]

    async def level(self, person: Person, guild: str) -> Level | None:
        """What somebody may do in a server, '' for any that the bot is in; None where they are in none.

        Raises ``BotSilent``.
        """
        answer = await self._look("level", {"person": person.id, "guild": guild})
        return level if (level := answer["level"]) in LEVELS else None

    async def names(self, ids: Sequence[str]) -> dict[str, str]:
        """What servers, channels and threads are called; of what the bot does not see there is none. Raises ``BotSilent``."""
        names = (await self._ask("names", {"ids": list(ids)}, ASK_SECONDS)).get("names")
        return cast("dict[str, str]", names) if isinstance(names, dict) else {}

    async def health(self) -> dict[str, object] | None:
        """How the bot is, as ``ConsoleAnswers`` tells it; None where there is no bot. Raises ``BotSilent``."""
        return await self._ask("health", {}, ASK_SECONDS) if self.connected else None

    async def owner(self) -> Person:
        """As whom somebody acts who runs the bot; the last answer where it is silent."""
        if time.monotonic() >= self._owner_until and self.connected:
            self._owner_until = time.monotonic() + OWNER_SECONDS  # others do not wait for the same answer
            with contextlib.suppress(BotSilent, ValueError):
                self._owner = Person.model_validate((await self._ask("owner", {}, ASK_SECONDS)).get("person"))
        return self._owner

    async def act(self, deed: Deed, viewer: Viewer) -> Done:
        """Have something done. Raises ``BotSilent``."""
        return await self._done("act", {"deed": asdict(deed)}, viewer)

    async def decide(self, decision: LessonDecision, viewer: Viewer) -> Done:
        """Have a lesson approved or retired. Raises ``BotSilent``."""
        return await self._done("decide", {"decision": asdict(decision)}, viewer)

    async def _done(self, what: str, said: Mapping[str, object], viewer: Viewer) -> Done:
        asked = {**said, "person": viewer.person.id, "everything": viewer.everything}
        answer = await self._ask(what, asked, ACT_SECONDS)
        return Done(str(answer.get("words", "")), answer.get("done") is True)

    async def listens(self, url: str, trouble: str = "") -> None:
        """Tell the bot where the console is; or, with '' for where, why it is nowhere."""
        with contextlib.suppress(BotSilent):
            await self._ask("listens", {"url": url, "trouble": trouble}, ASK_SECONDS)

    async def close(self) -> None:
        """Let go of the connection."""
        if self._reading is not None:
            self._reading.cancel()
            await asyncio.gather(self._reading, return_exceptions=True)
        if self._writer is not None:
            self._writer.close()
            self._writer = None

    async def _look(self, what: str, said: Mapping[str, object]) -> dict[str, object]:
        """What somebody may see or do. Raises ``BotSilent`` where that is not known now."""
        answer = await self._ask(what, said, ASK_SECONDS)
        if answer.get("too_often") is True:
            raise AskedTooOften(TOO_OFTEN)
        if what not in answer:
            raise BotSilent(UNKNOWN)
        return answer

    async def _ask(self, what: str, said: Mapping[str, object], seconds: float) -> dict[str, object]:
        if what in LOOKS and time.monotonic() < self._silent_until:
            raise BotSilent(UNKNOWN)
        number = next(self._numbers)
        try:
            async with asyncio.timeout(seconds), self._room_for_acts if what in ACTS else self._room:
                if self._writer is None or self.gone.is_set():
                    raise BotSilent(ALONE)
                answered = self._open[number] = asyncio.get_running_loop().create_future()
                self._writer.write(orjson.dumps({"id": number, "ask": what, **said}) + b"\n")
                await self._writer.drain()
                return await answered
        except TimeoutError as late:
            if time.monotonic() - self._answered >= seconds:
                self._silent_until = time.monotonic() + SILENT_SECONDS
            raise BotSilent(SILENT) from late
        except OSError as broken:
            raise BotSilent(ALONE) from broken
        finally:
            self._open.pop(number, None)

    async def _read(self, reader: asyncio.StreamReader) -> None:
        try:
            while line := await reader.readline():
                answer = cast("dict[str, object]", orjson.loads(line))
                self._answered, self._silent_until = time.monotonic(), 0.0
                waiting = self._open.get(cast("int", answer.get("id")))
                if waiting is not None and not waiting.done():
                    waiting.set_result(answer)
        except (OSError, ValueError) as error:  # a line that is too long is a ValueError as well
            log.warning("the channel to the bot broke: %s", error)
        finally:
            self.gone.set()
            for waiting in self._open.values():
                if not waiting.done():
                    waiting.set_exception(BotSilent(ALONE))


def _leave_with(descriptor: int) -> None:
    """End the process some seconds after the other end was closed, also where the event loop hangs."""
    ends = select.poll()
    ends.register(descriptor, 0)  # that the other side is gone is told always
    ends.poll()
    time.sleep(LEAVE_SECONDS)
    os._exit(0)
