"""The gateway: one WebSocket connection a client, from HELLO to its close, and commands that go to every client.

https://discord.com/developers/docs/events/gateway
https://discord.com/developers/docs/topics/opcodes-and-status-codes#gateway
"""

from __future__ import annotations

import asyncio
import time
import zlib
from collections import deque
from collections.abc import Callable

from aiohttp import WSMsgType, web

from bot.local_discord.faults import rules
from bot.local_discord.faults.delivery import PATIENCE, Cut, Frame, Pause, Queue
from bot.local_discord.gateway.member_chunks import asks_for_all, chunks, rate_limited
from bot.local_discord.gateway.sessions import VALID_INTENTS, Intent, Session
from bot.local_discord.model.errors import ApiError
from bot.local_discord.model.json_fields import Fields, Json, JsonObject, decode, encode
from bot.local_discord.model.snowflakes import bot_token
from bot.local_discord.payloads import guild_payloads
from bot.local_discord.rest.endpoint import Api
from bot.local_discord.rest.responses import cut
from bot.local_discord.rest.routes_guild import application_flags

HEARTBEAT_MS = 41_250
RESUMABLE_SECONDS = 300.0
GOODBYE = (1000, 1001)
"""Close codes by which a client ends its session, too."""
SENDS_A_MINUTE = 120
LARGEST_SEND = 4_096
ACK_SECONDS = 0.05
"""discord.py notes when it sent a heartbeat only after the send has returned; an answer that is there before, which
happens only without a network in between, it measures from the heartbeat before and calls itself 41 s behind."""


class Closed(Exception):
    """The connection must be closed with a code."""

    def __init__(self, code: int, reason: str) -> None:
        super().__init__(f"{code}: {reason}")
        self.code = code
        self.reason = reason


class Connection:
    """One websocket. Frames leave through a queue, so that publishing never waits."""

    def __init__(self, gateway: Gateway, queue: Queue, compress: str | None) -> None:
        self._gateway = gateway
        self._api = gateway.api
        self._compressor = zlib.compressobj() if compress == "zlib-stream" else None
        self._queue = queue
        self._session: Session | None = None
        self._held: JsonObject | None = None
        self._answers_heartbeats = gateway.answers_heartbeats
        self._sends: deque[float] = deque()
        self._late: asyncio.TimerHandle | None = None
        self._closing = False

    def send(self, frame: Frame) -> None:
        """Queue a frame; a number closes the connection with that code."""
        self._queue.put(frame)

    def invalidate(self, *, resumable: bool) -> None:
        """Tell the client that its session is invalid (op 9); it has to identify or resume again."""
        self._op(9, resumable)
        self._leave_session()

    async def run(self, request: web.Request) -> web.StreamResponse:
        """Speak the protocol until either side closes."""
        ws = web.WebSocketResponse(autoping=True, max_msg_size=1 << 20)
        await ws.prepare(request)
        writer = asyncio.create_task(self._write(request, ws))
        try:
            if request.query.get("v", "10") != "10":
                raise Closed(4012, "Invalid API version.")
            self._expect_heartbeat()
            self._op(10, {"heartbeat_interval": self._gateway.heartbeat_ms, "_trace": ["local"]})
            async for message in ws:
                if message.type is WSMsgType.TEXT:
                    self._receive(str(message.data).encode())
                elif message.type is WSMsgType.BINARY:
                    self._receive(bytes(message.data))
            if ws.close_code in GOODBYE and not self._closing and self._session is not None:
                self._gateway.drop_session(self._session)
        except Closed as closed:
            self.send(closed.code)
            await asyncio.wait({writer}, timeout=5)
        finally:
            if self._late is not None:
                self._late.cancel()
            self._leave_session()
            writer.cancel()
            await asyncio.gather(writer, return_exceptions=True)
        return ws

    def _leave_session(self) -> None:
        if self._session is not None and self._session.deliver == self._deliver:
            self._session.deliver = None
            self._session.left_at = self._api.state.clock.monotonic()
            self._gateway.tell_presence()
        self._session = None

    async def _write(self, request: web.Request, ws: web.WebSocketResponse) -> None:
        while not ws.closed:
            frame = await self._queue.next()
            if isinstance(frame, int):
                self._closing = True
                await ws.close(code=frame, message=REASONS.get(frame, "").encode())
                return
            if isinstance(frame, Cut):
                cut(request)
                return
            if isinstance(frame, dict):
                await self._write_frame(ws, frame)
            self._queue.done()

    async def _write_frame(self, ws: web.WebSocketResponse, frame: JsonObject) -> None:
        raw = encode(frame)
        if self._compressor is None:
            await ws.send_str(raw.decode("ascii"))
        else:
            await ws.send_bytes(self._compressor.compress(raw) + self._compressor.flush(zlib.Z_SYNC_FLUSH))

    def _op(self, op: int, data: Json) -> None:
        self.send({"t": None, "s": None, "op": op, "d": data})

    # -- what a client sends ------------------------------------------------------------------

    def _receive(self, raw: bytes) -> None:
        self._count_send()
        if len(raw) > LARGEST_SEND:
            raise Closed(4002, "Error while decoding payload.")
        try:
            frame = Fields.of(decode(raw))
            op, data = frame.integer("op"), frame.data.get("d")
            handler = self._handlers().get(op if op is not None else -1)
            if handler is None:
                raise Closed(4001, "Unknown opcode.")
            if op not in (1, 2, 6) and self._session is None:
                raise Closed(4003, "Not authenticated.")
            handler(data)
        except ApiError as error:
            raise Closed(4002, "Error while decoding payload.") from error

    def _count_send(self) -> None:
        now = time.monotonic()
        self._sends.append(now)
        while self._sends and now - self._sends[0] > 60:
            self._sends.popleft()
        if len(self._sends) > SENDS_A_MINUTE:
            raise Closed(4008, "Rate limited.")

    def _handlers(self) -> dict[int, Callable[[Json], None]]:
        return {
            1: self._heartbeat,
            2: self._identify,
            3: self._ignore,
            4: self._ignore,
            6: self._resume,
            8: self._request_members,
            31: self._ignore,
            43: self._ignore,
        }

    def _ignore(self, _: Json) -> None:
        """Presence and voice updates have no effect here."""

    def _expect_heartbeat(self) -> None:
        if self._late is not None:
            self._late.cancel()
        seconds = self._gateway.heartbeat_ms / 1000 + self._gateway.patience
        self._late = asyncio.get_running_loop().call_later(seconds, self.send, 4009)

    def _heartbeat(self, _: Json) -> None:
        self._expect_heartbeat()
        if self._answers_heartbeats:
            asyncio.get_running_loop().call_later(ACK_SECONDS, self._op, 11, None)

    def _identify(self, data: Json) -> None:
        if self._session is not None:
            raise Closed(4005, "Already authenticated.")
        fields = Fields.of(data)
        if (fields.text("token") or "").removeprefix("Bot ") != self._api.token:
            raise Closed(4004, "Authentication failed.")
        intents = fields.integer("intents")
        if intents is None or intents & ~VALID_INTENTS:
            raise Closed(4013, "Invalid intent(s).")
        if self._disallowed(intents):
            raise Closed(4014, "Disallowed intent(s).")
        shard = _shard(fields)
        if shard is None and self._api.sharding.required:
            raise Closed(4011, "Sharding required.")
        if self._api.ratelimits.identify(shard[0] if shard else 0):
            self._op(9, False)
            return
        if self._api.ratelimits.start_session():
            self._gateway.refuse_start()
            return
        guild_id = self._api.state.identity.guild_id
        here = not self._api.state.bot_removed
        has_guild = here and (shard is None or (guild_id >> 22) % shard[1] == shard[0])
        has_direct = shard is None or shard[0] == 0
        session = self._gateway.open_session(intents, has_guild=has_guild, has_direct=has_direct)
        self._attach(session)
        self._greet(session, shard)

    def _disallowed(self, intents: int) -> bool:
        grants = self._api.state.grants
        return bool(
            (intents & Intent.GUILD_MEMBERS and not grants.members)
            or (intents & Intent.GUILD_PRESENCES and not grants.presences)
            or (intents & Intent.MESSAGE_CONTENT and not grants.message_content)
        )

    def _greet(self, session: Session, shard: tuple[int, int] | None) -> None:
        state = self._api.state
        guild_id = str(state.identity.guild_id)
        guilds: list[Json] = [{"id": guild_id, "unavailable": True}] if session.has_guild else []
        ready: JsonObject = {
            "v": 10,
            "user": guild_payloads.user(state.member(self._api.me))
            | {"verified": True, "mfa_enabled": False, "email": None},
            "guilds": guilds,
            "private_channels": [],
            "session_id": session.id,
            "resume_gateway_url": self._api.gateway_url,
            "application": {
                "id": str(state.identity.application_id),
                "flags": application_flags(self._api),
            },
        }
        if shard is not None:
            ready["shard"] = [*shard]
        session.dispatch("READY", ready)
        if session.has_guild and session.intents & Intent.GUILDS:
            sees_all = bool(session.intents & Intent.GUILD_MEMBERS)
            session.dispatch("GUILD_CREATE", guild_payloads.guild(state, all_members=sees_all))

    def _attach(self, session: Session) -> None:
        self._session = session
        session.deliver = self._deliver
        session.left_at = None
        self._gateway.tell_presence()

    def _resume(self, data: Json) -> None:
        fields = Fields.of(data)
        if (fields.text("token") or "").removeprefix("Bot ") != self._api.token:
            raise Closed(4004, "Authentication failed.")
        session = self._gateway.sessions.get(fields.text("session_id") or "")
        sequence = fields.integer("seq") or 0
        if session is not None and sequence > session.sequence:
            raise Closed(4007, "Invalid seq.")
        if session is None or not session.remembers(sequence):
            self._op(9, False)
            return
        for frame in session.missed_since(sequence):
            self.send(frame)
        self._attach(session)
        session.dispatch("RESUMED", {"_trace": ["local"]})

    def _request_members(self, data: Json) -> None:
        fields = Fields.of(data)
        if self._session is None:
            return
        seconds = self._api.ratelimits.ask_all_members() if asks_for_all(fields) else 0.0
        if seconds:
            self._session.dispatch("RATE_LIMITED", rate_limited(fields, seconds))
            return
        for part in chunks(self._api.state, fields):
            self._session.dispatch("GUILD_MEMBERS_CHUNK", part)

    # -- what a client gets -------------------------------------------------------------------

    def _deliver(self, frame: JsonObject) -> None:
        fault = self._api.misbehaviour.fault_for(str(frame["t"]))
        match fault:
            case rules.Dropped():
                return
            case rules.Delayed(seconds=seconds):
                self.send(Pause(seconds))
            case rules.Reset(landed=landed):
                if landed:
                    self.send(frame)
                self.send(Cut())
                return
            case rules.Duplicated():
                self.send(frame)
            case rules.Reordered():
                self._held = frame
                return
            case rules.SessionLost(close_code=int(code)):
                self.send(code)
                return
            case rules.SessionLost(op=op, resumable=resumable):
                if op == 7:
                    self._op(7, None)
                    return
                if not resumable and self._session is not None:
                    self._gateway.drop_session(self._session)
                self.invalidate(resumable=resumable)
                return
            case _:
                pass
        self.send(frame)
        if self._held is not None:
            self.send(self._held)
            self._held = None


class Gateway:
    """All sessions and connections."""

    def __init__(self, api: Api) -> None:
        self.api = api
        self.sessions: dict[str, Session] = {}
        self._leave: dict[str, Callable[[], None]] = {}
        self.connections: set[Connection] = set()
        self.heartbeat_ms = HEARTBEAT_MS
        self.answers_heartbeats = True
        self.patience = PATIENCE

    async def handle(self, request: web.Request) -> web.StreamResponse:
        """Serve one connection."""
        with self.api.outgoing.queue() as queue:
            connection = Connection(self, queue, request.query.get("compress"))
            self.connections.add(connection)
            try:
                return await connection.run(request)
            finally:
                self.connections.discard(connection)
                self.api.state.feed.changed()

    def open_session(self, intents: int, *, has_guild: bool, has_direct: bool = True) -> Session:
        """Open a session, which receives the guild's events from now on."""
        self._drop_abandoned()
        session = Session(self.api.state, intents, has_guild=has_guild, has_direct=has_direct)
        self.sessions[session.id] = session
        self._leave[session.id] = self.api.state.feed.subscribe(session.hear)
        return session

    def drop_session(self, session: Session) -> None:
        """End a session for good: it receives nothing more and cannot be resumed."""
        if self.sessions.pop(session.id, None) is not None:
            self._leave.pop(session.id)()

    def _drop_abandoned(self) -> None:
        horizon = self.api.state.clock.monotonic() - RESUMABLE_SECONDS
        for session in tuple(self.sessions.values()):
            if session.left_at is not None and session.left_at < horizon:
                self.drop_session(session)

    @property
    def online(self) -> bool:
        """Whether the bot is connected."""
        return any(s.connected for s in self.sessions.values())

    def tell_presence(self) -> None:
        """Tell the page whether the bot is connected."""
        state = self.api.state
        user: JsonObject = {"id": str(state.identity.bot_id)}
        body: JsonObject = {"user": user, "status": "online" if self.online else "offline"}
        state.publish("PRESENCE_UPDATE", body, only_for=state.identity.owner_id)

    def refuse_start(self) -> None:
        """Use up today's session starts: all sessions end, and the token is no longer valid.

        https://discord.com/developers/docs/events/gateway#identifying
        """
        self.api.token = bot_token(self.api.me)
        for session in tuple(self.sessions.values()):
            self.drop_session(session)
        self.disconnect(4004)

    def request_heartbeat(self) -> None:
        """Ask every client for a heartbeat at once (op 1)."""
        for connection in tuple(self.connections):
            connection.send({"op": 1, "d": None, "s": None, "t": None})

    def request_reconnect(self) -> None:
        """Ask every client to reconnect (op 7), as Discord does when a server is replaced."""
        for connection in tuple(self.connections):
            connection.send({"op": 7, "d": None, "s": None, "t": None})

    def invalidate_sessions(self, *, resumable: bool = False) -> None:
        """Tell every client that its session is invalid (op 9)."""
        if not resumable:
            for session in tuple(self.sessions.values()):
                self.drop_session(session)
        for connection in tuple(self.connections):
            connection.invalidate(resumable=resumable)

    def disconnect(self, code: int = 4000) -> None:
        """Close every connection; the sessions stay resumable."""
        for connection in tuple(self.connections):
            connection.send(code)


def _shard(fields: Fields) -> tuple[int, int] | None:
    shard = fields.array("shard")
    if shard is None:
        return None
    match shard:
        case [int(number), int(count)] if 0 <= number < count:
            return number, count
        case _:
            raise Closed(4010, "Invalid shard.")


REASONS = {
    4000: "Unknown error.",
    4001: "Unknown opcode.",
    4002: "Error while decoding payload.",
    4003: "Not authenticated.",
    4004: "Authentication failed.",
    4005: "Already authenticated.",
    4007: "Invalid seq.",
    4008: "Rate limited.",
    4009: "Session timed out.",
    4010: "Invalid shard.",
    4011: "Sharding required.",
    4012: "Invalid API version.",
    4013: "Invalid intent(s).",
    4014: "Disallowed intent(s).",
}
