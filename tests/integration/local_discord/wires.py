"""The gateway spoken to without a library."""

from __future__ import annotations

from typing import Any

import aiohttp

from bot.local_discord import LocalGuild

ALL_INTENTS = 1 << 0 | 1 << 1 | 1 << 9 | 1 << 10 | 1 << 11 | 1 << 15


class Wire:
    """One connection: sends opcodes, receives frames."""

    def __init__(self, ws: aiohttp.ClientWebSocketResponse, token: str) -> None:
        self.ws = ws
        self.token = token
        self.sequence = 0

    async def send(self, op: int, data: object) -> None:
        await self.ws.send_json({"op": op, "d": data})

    async def receive(self) -> dict[str, Any]:
        frame = await self.ws.receive_json(timeout=5)
        self.sequence = frame["s"] or self.sequence
        return frame

    async def event(self, name: str) -> Any:
        """The payload of the next event of that name."""
        while True:
            frame = await self.receive()
            if frame["t"] == name:
                return frame["d"]

    async def identify(self, intents: int = ALL_INTENTS, **more: object) -> Any:
        data = {"token": self.token, "intents": intents, "properties": {"os": "linux", "browser": "t", "device": "t"}}
        await self.send(2, data | more)
        return await self.event("READY")

    async def close_code(self) -> int | None:
        """The code with which the server closes."""
        while True:
            message = await self.ws.receive(timeout=5)
            if message.type in (aiohttp.WSMsgType.CLOSE, aiohttp.WSMsgType.CLOSED):
                return self.ws.close_code


class Wires:
    """Opens connections."""

    def __init__(self, session: aiohttp.ClientSession, guild: LocalGuild) -> None:
        self.session = session
        self.guild = guild

    async def open(self, query: str = "?v=10&encoding=json") -> Wire:
        wire = Wire(await self.session.ws_connect(self.guild.gateway_url + query), self.guild.bot_token)
        hello = await wire.receive()
        assert hello["op"] == 10
        assert hello["d"]["heartbeat_interval"] > 1000
        return wire

    async def begun(self) -> tuple[Wire, str]:
        """A connection that has identified itself and got the guild, and its session."""
        wire = await self.open()
        session = (await wire.identify())["session_id"]
        await wire.event("GUILD_CREATE")
        return wire, session

    async def resume(self, session: str, sequence: int) -> Wire:
        """A connection that asks to go on with a session."""
        wire = await self.open()
        await wire.send(6, {"token": self.guild.bot_token, "session_id": session, "seq": sequence})
        return wire
