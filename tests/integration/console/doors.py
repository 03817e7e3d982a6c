"""A console with a task, as it is set, and requests to it over real sockets as a browser or a stranger sends them."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlencode

from agentic.core.events.execution_events import Level, Person
from agentic.core.events.ids import call_id
from agentic.ports.runtime import SessionRow
from agentic.stores.factory import open_store
from bot.config.home import DATABASE, LESSONS
from bot.config.settings import Settings
from bot.console.bot_channel import BotChannel, BotSilent, Place
from bot.console.process import console
from reflexion.lessons.lesson import Scope
from reflexion.stores.factory import open_lessons
from tests.integration.console import logs
from tests.integration.console.overall import lesson

TOKEN = "a-token-that-is-long-enough-for-anybody"
SECRET_WORDS, EXECUTION = "Plan the surprise party", "x1-known"
OTHER_THREAD, LESSON = "1575491652707940001", call_id("r1", 0)
ONCE = re.compile(r'name="once"[^>]*')
FORM = {"Content-Type": "application/x-www-form-urlencoded"}


class ToldChannel(BotChannel):
    """A bot that says who may see what, and counts how often it was asked."""

    def __init__(self) -> None:
        super().__init__()
        self.seen: set[tuple[str, str]] = set()
        self.asked: list[tuple[str, str]] = []
        self.many: list[list[str]] = []
        """The threads of each question about many."""
        self.unknown: set[str] = set()
        """Threads of which it is not known now who sees them."""
        self.silent = False
        self.trouble: BotSilent | None = None
        self.levels: dict[str, Level] = {}

    async def sees(self, person: Person, thread: str) -> bool:
        self.asked.append((person.id, thread))
        self._fail()
        return (person.id, thread) in self.seen

    async def sees_many(self, person: Person, places: Sequence[Place]) -> list[bool | None]:
        self.many.append([place[0] for place in places])
        if self.silent:
            raise BotSilent
        return [None if place[0] in self.unknown else (person.id, place[0]) in self.seen for place in places]

    async def level(self, person: Person, guild: str) -> Level | None:
        self._fail()
        return self.levels.get(person.id)

    def _fail(self) -> None:
        if self.silent:
            raise BotSilent
        if self.trouble is not None:
            raise self.trouble


@dataclass
class Answer:
    """What came back: the status, the headers in small letters, the content."""

    status: int
    headers: dict[str, str]
    content: bytes
    cookies: dict[str, str] = field(default_factory=dict)

    @property
    def text(self) -> str:
        return self.content.decode("utf-8", "replace")

    def but(self, *own: str) -> bytes:
        """The whole answer without what the request itself said, the time, and keys that are drawn each time."""
        headers = sorted(f"{name}: {value}" for name, value in self.headers.items() if name != "date")
        whole = "\n".join([str(self.status), *headers, ONCE.sub("…", self.text)])
        for each in own:
            whole = whole.replace(each, "…")
        return whole.encode()


@dataclass
class Door:
    """Where a console listens. A browser's cookies are kept in ``jar``."""

    host: str
    port: int
    home: Path
    channel: ToldChannel
    jar: dict[str, str] = field(default_factory=dict)

    @property
    def name(self) -> str:
        return f"{self.host}:{self.port}"

    async def raw(self, sent: bytes, *, seconds: float = 20.0) -> bytes:
        """All that comes back for bytes, until the connection is closed."""
        async with asyncio.timeout(seconds):
            reader, writer = await asyncio.open_connection(self.host, self.port)
            writer.write(sent)
            content = await reader.read()
            writer.close()
        return content

    async def ask(
        self, path: str, method: str = "GET", headers: Mapping[str, str] | None = None, body: bytes = b""
    ) -> Answer:
        """One request on a connection of its own; ``Host`` and cookies are sent unless ``headers`` has others."""
        lines = {"Host": self.name, "Connection": "close"}
        if self.jar:
            lines["Cookie"] = "; ".join(f"{name}={value}" for name, value in self.jar.items())
        if body:
            lines["Content-Length"] = str(len(body))
        lines |= headers or {}
        head = "".join(f"{name}: {value}\r\n" for name, value in lines.items() if value != "-")
        answer = parsed(await self.raw(f"{method} {path} HTTP/1.1\r\n{head}\r\n".encode() + body))
        for name, value in answer.cookies.items():
            if value:
                self.jar[name] = value
            else:
                self.jar.pop(name, None)
        return answer

    async def send(self, path: str, form: Mapping[str, str], headers: Mapping[str, str] | None = None) -> Answer:
        """A form, as a page of the console sends it."""
        own = {"Origin": f"http://{self.name}", "Sec-Fetch-Site": "same-origin", **FORM}
        return await self.ask(path, "POST", own | dict(headers or {}), urlencode(form).encode())

    @asynccontextmanager
    async def watching(self, path: str) -> AsyncIterator[asyncio.StreamReader]:
        """What comes to an open page that is kept up to date, once it has something."""
        cookies = "; ".join(f"{name}={value}" for name, value in self.jar.items())
        reader, writer = await asyncio.open_connection(self.host, self.port)
        writer.write(f"GET {path} HTTP/1.1\r\nHost: {self.name}\r\nCookie: {cookies}\r\n\r\n".encode())
        async with asyncio.timeout(60):
            await reader.readuntil(b"Turn")
        yield reader
        writer.close()

    async def signed_in(self, token: str = TOKEN, to: str = "/") -> Answer:
        """Sign in by the token."""
        return await self.send("/sign-in", {"token": token, "to": to})


def parsed(content: bytes) -> Answer:
    """An answer as it was sent; chunks are joined."""
    head, _, body = content.partition(b"\r\n\r\n")
    first, *lines = head.decode("latin-1").split("\r\n")
    headers: dict[str, str] = {}
    cookies: dict[str, str] = {}
    for line in lines:
        name, _, value = line.partition(": ")
        headers[name.lower()] = value
        if name.lower() == "set-cookie" and (found := re.match(r"([^=]+)=\"?([^;\"]*)", value)):
            cookies[found[1]] = found[2]
    if headers.get("transfer-encoding") == "chunked":
        body = b"".join(re.split(rb"(?:^|\r\n)[0-9a-f]+\r\n", body))
    return Answer(int(first.split(" ")[1]), headers, body, cookies)


@asynccontextmanager
async def open_door(home: Path, host: str = "127.0.0.1", **settings: object) -> AsyncIterator[Door]:
    """A console with a task, ``EXECUTION``, and a lesson with the words ``SECRET_WORDS``, and one in ``OTHER_THREAD``."""
    home.chmod(0o700)
    store = open_store(home / DATABASE)
    if await store.execution(EXECUTION) is None:
        log = [logs.started(SECRET_WORDS), *logs.turn(1, text=SECRET_WORDS), *logs.end(answer=SECRET_WORDS)]
        await logs.written(store, EXECUTION, log)
        await store.save_session(SessionRow(OTHER_THREAD, logs.CHANNEL, logs.GUILD, title="Plants", created=logs.BEGAN))
        await logs.written(
            store,
            "x2",
            [logs.started("Water them", thread=OTHER_THREAD), *logs.end(answer="They grow.")],
            thread=OTHER_THREAD,
        )
        lessons = open_lessons(home / LESSONS)
        scope = Scope(kind="thread", guild=logs.GUILD, thread=logs.THREAD)
        await lessons.amend(
            lesson(LESSON, logs.GUILD, logs.BEGAN, scope=scope, trigger=SECRET_WORDS, executions=(EXECUTION,))
        )
        wide = Scope(kind="global")
        await lessons.amend(
            lesson("wide", "", logs.BEGAN, scope=wide, trigger=f"{SECRET_WORDS} anywhere", author_trust="operator")
        )
        await lessons.close()
    channel = ToldChannel()
    async with console(Settings.model_validate({"home": home, **settings}), channel) as server:
        await server.open(host, 0)
        yield Door("127.0.0.1", server.address[1], home, channel)
    await store.close()
