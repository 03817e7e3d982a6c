"""One Discord to talk to: its REST API and its gateway, without any library of Discord's in between."""

from __future__ import annotations

import asyncio
import contextlib
from dataclasses import dataclass, field
from typing import Any, Self, cast

import aiohttp

# Nothing privileged: what is asked for here, every bot has.
INTENTS = 1 << 0 | 1 << 9 | 1 << 10 | 1 << 11
TRIES = 6
SECONDS = 60.0
AGENT = "DiscordBot (https://github.com/threadwright, 1)"


class Unreachable(Exception):
    """The target cannot be talked to; says why and what to do."""


@dataclass(frozen=True, slots=True)
class Address:
    """Where a Discord is, and as whom to speak in which of its guilds."""

    name: str
    base: str
    token: str
    guild: str


@dataclass(frozen=True, slots=True)
class Answer:
    """What came back for a request."""

    status: int
    body: Any
    headers: dict[str, str]

    @property
    def code(self) -> int | None:
        """The code of a refusal."""
        return cast("dict[str, Any]", self.body).get("code") if isinstance(self.body, dict) else None


@dataclass(slots=True)
class Target:
    """A connection to one of the two, from `connect` to `close`."""

    address: Address
    http: aiohttp.ClientSession
    heard: list[tuple[str, Any]] = field(default_factory=list[tuple[str, Any]])
    ready: dict[str, Any] = field(default_factory=dict[str, Any])
    ours: set[str] = field(default_factory=set[str])
    _ws: aiohttp.ClientWebSocketResponse | None = None
    _tasks: list[asyncio.Task[None]] = field(default_factory=list[asyncio.Task[None]])
    _news: asyncio.Event = field(default_factory=asyncio.Event)
    _sequence: int | None = None

    @classmethod
    async def connect(cls, address: Address) -> Self:
        """Says hello to both its sides."""
        target = cls(address, aiohttp.ClientSession())
        try:
            await target._open()
        except BaseException:
            await target.close()
            raise
        return target

    async def close(self) -> None:
        """Says goodbye."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        if self._ws is not None:
            await self._ws.close()
        await self.http.close()

    async def ask(self, method: str, path: str, body: object = None, *, token: str | None = None) -> Answer:
        """One request; a rate limit is waited for, as the answer says."""
        for _ in range(TRIES):
            answer = await self._asked(method, path, body, token or self.address.token)
            if answer.status != 429 or "retry_after" not in (answer.body or {}):
                return answer
            await asyncio.sleep(float(answer.body["retry_after"]))
        raise Unreachable(f"{self.address.name} limited {method} {path} {TRIES} times in a row. Try again later.")

    async def _asked(self, method: str, path: str, body: object, token: str) -> Answer:
        headers = {"Authorization": f"Bot {token}", "User-Agent": AGENT}
        sent: dict[str, Any] = {"data": body()} if callable(body) else {"json": body} if body is not None else {}
        try:
            async with self.http.request(method, self.address.base + path, headers=headers, **sent) as response:
                is_json = response.content_type == "application/json"
                raw = await response.read()
                found = await response.json() if raw and is_json else None
                return Answer(response.status, found, {k.lower(): v for k, v in response.headers.items()})
        except aiohttp.ClientError as error:
            raise Unreachable(f"{self.address.name} at {self.address.base} does not answer: {error}.") from error

    # -- the gateway --------------------------------------------------------------------------

    async def _open(self) -> None:
        told = await self.ask("GET", "/gateway/bot")
        if told.status != 200:
            raise Unreachable(f"{self.address.name} refuses the token ({told.status}). Check DISCORD_TOKEN.")
        self._ws = await self.http.ws_connect(f"{told.body['url']}?v=10&encoding=json", max_msg_size=0)
        hello = await self._ws.receive_json(timeout=SECONDS)
        self._tasks.append(asyncio.create_task(self._beat(hello["d"]["heartbeat_interval"] / 1000)))
        self._tasks.append(asyncio.create_task(self._listen(self._ws)))
        properties = {"os": "linux", "browser": "conformance", "device": "conformance"}
        identify = {"token": self.address.token, "intents": INTENTS, "properties": properties}
        await self._ws.send_json({"op": 2, "d": identify})
        async with asyncio.timeout(SECONDS):
            while not any(n == "GUILD_CREATE" and d["id"] == self.address.guild for n, d in self.heard):
                if self._ws.closed:
                    raise Unreachable(f"{self.address.name} closed the gateway with {self._ws.close_code}.")
                self._news.clear()
                await self._news.wait()
        self.ready = {name: data for name, data in self.heard if name == "READY" or data["id"] == self.address.guild}
        self.heard.clear()

    async def _beat(self, seconds: float) -> None:
        while self._ws is not None:
            await asyncio.sleep(seconds * 0.9)
            await self._ws.send_json({"op": 1, "d": self._sequence})

    async def _listen(self, ws: aiohttp.ClientWebSocketResponse) -> None:
        async for message in ws:
            frame = message.json()
            if frame["op"] == 0:
                self._sequence = frame["s"]
                self.heard.append((frame["t"], frame["d"]))
            self._news.set()
        self._news.set()

    def _is_ours(self, data: dict[str, Any]) -> bool:
        """Whether an event is about what this run made, and not about somebody else's doings."""
        return any(data.get(name) in self.ours for name in ("id", "channel_id", "parent_id", "message_id"))

    async def hear(self, expected: tuple[str, ...], settle: float) -> list[tuple[str, Any]]:
        """What was heard since the last time: until all that is expected has come, and a moment longer."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(SECONDS if expected else settle):
                while not self._has(expected):
                    self._news.clear()
                    await self._news.wait()
        await asyncio.sleep(settle)
        heard, self.heard = [(name, data) for name, data in self.heard if self._is_ours(data)], []
        return heard

    def _has(self, expected: tuple[str, ...]) -> bool:
        names = [name for name, data in self.heard if self._is_ours(data)]
        return all(names.count(name) >= expected.count(name) for name in expected)
