"""The gateway: all sessions and connections, and the orders that go to every client.

https://discord.com/developers/docs/events/gateway
"""

from __future__ import annotations

import secrets
from collections.abc import Callable

from aiohttp import web

from bot.local_discord.faults.delivery import PATIENCE
from bot.local_discord.gateway.connection import Connection
from bot.local_discord.gateway.sessions import Session
from bot.local_discord.model.json_fields import JsonObject
from bot.local_discord.rest.api import Api

HEARTBEAT_MS = 41_250
RESUMABLE_SECONDS = 300.0


class Gateway:
    """All sessions and connections."""

    def __init__(self, api: Api, url: str) -> None:
        self.api = api
        self.url = url
        self.sessions: dict[str, Session] = {}
        self._leave: dict[str, Callable[[], None]] = {}
        self.connections: set[Connection] = set()
        self.heartbeat_ms = HEARTBEAT_MS
        self.answers_heartbeats = True
        self.patience = PATIENCE

    async def handle(self, request: web.Request) -> web.StreamResponse:
        """Serves one connection."""
        with self.api.outgoing.queue() as queue:
            connection = Connection(self, queue, request.query.get("compress"))
            self.connections.add(connection)
            try:
                return await connection.run(request)
            finally:
                self.connections.discard(connection)
                self.api.state.feed.changed()

    def open_session(self, intents: int, *, has_guild: bool, has_direct: bool = True) -> Session:
        """A new session, which hears the guild from now on."""
        self._drop_abandoned()
        session = Session(self.api.state, intents, has_guild=has_guild, has_direct=has_direct)
        self.sessions[session.id] = session
        self._leave[session.id] = self.api.state.feed.subscribe(session.hear)
        return session

    def drop_session(self, session: Session) -> None:
        """Ends a session for good: it hears nothing more and cannot be resumed."""
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
        """Tells the person at the page whether the bot is there."""
        state = self.api.state
        user: JsonObject = {"id": str(state.identity.bot_id)}
        body: JsonObject = {"user": user, "status": "online" if self.online else "offline"}
        state.publish("PRESENCE_UPDATE", body, only_for=state.identity.owner_id)

    def refuse_start(self) -> None:
        """No start of a session is left today: all of them end, and the token is no longer good.

        https://discord.com/developers/docs/events/gateway#identifying
        """
        self.api.token = f"local.{secrets.token_urlsafe(32)}"
        for session in tuple(self.sessions.values()):
            self.drop_session(session)
        self.disconnect(4004)

    def request_heartbeat(self) -> None:
        """Asks every client for a heartbeat at once (op 1)."""
        for connection in tuple(self.connections):
            connection.send({"op": 1, "d": None, "s": None, "t": None})

    def request_reconnect(self) -> None:
        """Asks every client to reconnect (op 7), as Discord does when a server is replaced."""
        for connection in tuple(self.connections):
            connection.send({"op": 7, "d": None, "s": None, "t": None})

    def invalidate_sessions(self, *, resumable: bool = False) -> None:
        """Tells every client that its session is invalid (op 9)."""
        if not resumable:
            for session in tuple(self.sessions.values()):
                self.drop_session(session)
        for connection in tuple(self.connections):
            connection.invalidate(resumable=resumable)

    def disconnect(self, code: int = 4000) -> None:
        """Closes every connection; the sessions stay resumable."""
        for connection in tuple(self.connections):
            connection.send(code)
