"""The page's own API: what a person at the browser sees and does.

The page acts as the guild's owner, or as another member that it names: whoever has its link may be each of them. A
request counts only with the session that the page got in exchange for the key in its link, in a header that no other
page can set; a live connection sends it first. The guard in front refuses foreign hosts and origins besides.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path

from aiohttp import web

from bot.local_discord.gateway.gateway import Gateway
from bot.local_discord.messages.channel_messages import found_in_history
from bot.local_discord.model.errors import ApiError
from bot.local_discord.model.event_bus import Event
from bot.local_discord.model.json_fields import Fields, Json, JsonObject, decode, encode
from bot.local_discord.model.permission_flags import Permission
from bot.local_discord.model.records import Channel, Message
from bot.local_discord.payloads import guild_payloads
from bot.local_discord.rest.endpoint import Api, path_id, query_id, read_body
from bot.local_discord.rest.responses import refusal
from bot.local_discord.web.page_access import Access, link
from bot.local_discord.web.page_actions import AS, Act, PageActs, acting

PAGE = Path(__file__).with_name("page")
AUTHORIZE = "/oauth2/authorize"
SCHEME = "Bearer "
_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; media-src 'self';"
    " connect-src 'self'; form-action 'none'; base-uri 'none'; frame-ancestors 'none'"
)
_HEADERS = {
    "Content-Security-Policy": _POLICY,
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cache-Control": "no-store",
    "X-Frame-Options": "DENY",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
}
_LOOKED_AT = 50
_ENTER_SECONDS = 10.0
"""Seconds within which a live connection must send its session."""
_HIDDEN_EVENTS = frozenset({"INTERACTION_CREATE"})


class Page:
    """The page, its files, and its API."""

    def __init__(self, api: Api, gateway: Gateway, access: Access) -> None:
        self._api = api
        self._gateway = gateway
        self._acts = PageActs(api)
        self._access = access
        self._sockets: set[web.WebSocketResponse] = set()

    def routes(self) -> list[web.RouteDef]:
        """The page, its files, and its API."""
        acts: list[tuple[str, str, Act]] = [
            ("GET", "/ui/state", self.state),
            ("GET", "/ui/commands", self.commands),
            ("GET", "/ui/open", self.open),
            ("POST", "/ui/link", self.link),
            ("POST", "/ui" + AUTHORIZE, self.authorize),
            ("GET", r"/ui/channels/{channel:\d+}/messages", self.history),
            *self._acts.table(),
        ]
        return [
            web.get("/", self.index),
            web.get(AUTHORIZE, self.authorize_page),
            web.get(r"/page/{name:[a-z]+\.(?:js|css|svg)}", self.file),
            web.get("/ui/live", self.live),
            web.post("/ui/session", self._answering(self.enter)),
            *(web.route(method, path, self._act(act)) for method, path, act in acts),
        ]

    async def index(self, _: web.Request) -> web.StreamResponse:
        """The page; it contains nothing of the guild."""
        return web.FileResponse(PAGE / "index.html", headers=_HEADERS)

    async def authorize_page(self, _: web.Request) -> web.StreamResponse:
        """The page on which a person allows an application to know who they are; its script reads the address."""
        return web.FileResponse(PAGE / "authorize.html", headers=_HEADERS)

    async def authorize(self, request: web.Request) -> Json:
        """A person's answer to an application, whose questions stand in the query: where their browser goes."""
        asked = self._api.oauth.asked(dict(request.query))
        allowed = (await read_body(request)).fields.flag("authorize")
        if not allowed:
            return {
                "location": asked.back(error="access_denied", error_description="The resource owner denied the request")
            }
        return {"location": self._api.oauth.allow(asked, self._me(request))}

    async def file(self, request: web.Request) -> web.StreamResponse:
        """A script or style of the page."""
        path = PAGE / request.match_info["name"]
        if not path.is_file():
            raise web.HTTPNotFound
        return web.FileResponse(path, headers=_HEADERS)

    def _act(self, act: Act) -> Callable[[web.Request], Awaitable[web.StreamResponse]]:
        inner = self._answering(act)

        async def answered(request: web.Request) -> web.StreamResponse:
            said = request.headers.get("Authorization", "")
            if not said.startswith(SCHEME) or not self._access.knows(said.removeprefix(SCHEME)):
                return refusal(ApiError(401, 0, "Open the page by its link."), {})
            return await inner(request)

        return answered

    def _answering(self, act: Act) -> Callable[[web.Request], Awaitable[web.StreamResponse]]:
        async def answered(request: web.Request) -> web.StreamResponse:
            try:
                body = await act(request)
            except ApiError as error:
                return refusal(error, {})
            except (LookupError, ValueError) as error:
                return refusal(ApiError(400, 0, str(error)), {})
            return web.Response(body=encode(body), content_type="application/json", headers=_HEADERS)

        return answered

    async def enter(self, request: web.Request) -> Json:
        """The session in exchange for the key of a link."""
        return {"session": self._access.exchange((await read_body(request)).fields.text("key") or "")}

    async def link(self, request: web.Request) -> Json:
        """A link for another browser."""
        return {"link": link(f"http://{request.host}", self._access.key())}

    def _me(self, request: web.Request) -> int:
        return acting(self._api.state, request.headers.get(AS, ""))

    def _seen(self, message: Message, me: int) -> JsonObject:
        return self._api.view.payload(message, viewer=me)

    # -- looking ------------------------------------------------------------------------------

    async def state(self, request: web.Request) -> Json:
        """Everything that the page needs to begin."""
        state, me = self._api.state, self._me(request)
        channels = [c for c in state.channels.values() if self._visible(c, me)]
        return {
            "me": guild_payloads.user(state.member(me)),
            "owner": str(state.identity.owner_id),
            "bot": guild_payloads.user(state.member(self._api.me)),
            "online": self._gateway.online,
            "notice": state.notice,
            "guild": {"id": str(state.identity.guild_id), "name": state.name},
            "channels": [guild_payloads.channel(state, c) for c in channels if not c.is_thread and not c.is_direct],
            "directs": [guild_payloads.channel(state, c) for c in channels if c.is_direct],
            "threads": [guild_payloads.channel(state, c) for c in channels if c.is_thread],
            "roles": [guild_payloads.role(r) for r in state.roles.values()],
            "members": [guild_payloads.user(m) for m in state.members.values()],
            "commands": await self.commands(request),
        }

    async def commands(self, _: web.Request) -> Json:
        """The slash commands that are registered now."""
        return [*self._api.commands.all(None), *self._api.commands.all(self._api.state.identity.guild_id)]

    async def open(self, request: web.Request) -> Json:
        """The buttons and lists of the bot that can be used: their ids by channel and message."""
        me = self._me(request)
        found = {str(c.id): self._open(c, me) for c in self._api.state.channels.values() if self._visible(c, me)}
        return {channel: messages for channel, messages in found.items() if messages}

    def _visible(self, channel: Channel, me: int) -> bool:
        return bool(self._api.state.rights(me, channel) & Permission.VIEW_CHANNEL)

    def _open(self, channel: Channel, me: int) -> JsonObject:
        latest = self._api.state.history(channel.id, me)[-_LOOKED_AT:]
        mine = [m for m in latest if m.author_id == self._api.me]
        usable = {str(m.id): [str(c["custom_id"]) for c in m.interactive() if not c.get("disabled")] for m in mine}
        return {number: [*ids] for number, ids in usable.items() if ids}

    async def history(self, request: web.Request) -> Json:
        """A page of messages, newest first."""
        channel, me = self._api.state.channel(path_id(request, "channel")), self._me(request)
        self._api.state.require(me, channel, Permission.VIEW_CHANNEL)
        everything = self._api.state.history(channel.id, me)
        before, around = query_id(request, "before"), query_id(request, "around")
        found = found_in_history(everything, before=before, after=None, around=around, limit=50)
        return [self._seen(m, me) for m in found]

    async def live(self, request: web.Request) -> web.StreamResponse:
        """All events, as they happen."""
        ws = web.WebSocketResponse(heartbeat=20, max_msg_size=4096)
        await ws.prepare(request)
        me = await self._entered(ws)
        if me is None:
            await ws.close(code=4003, message=b"Open the page by its link.")
            return ws
        queue: asyncio.Queue[JsonObject] = asyncio.Queue()
        leave = self._api.state.feed.subscribe(lambda event: self._hear(event, queue, me))
        self._sockets.add(ws)
        writer = asyncio.create_task(self._write(ws, queue))
        try:
            async for _ in ws:
                pass
        finally:
            leave()
            self._sockets.discard(ws)
            writer.cancel()
            await asyncio.gather(writer, return_exceptions=True)
        return ws

    async def _entered(self, ws: web.WebSocketResponse) -> int | None:
        """Return as whom the page acts if the first message has a session of this page, else None."""
        try:
            first = Fields.of(decode(await ws.receive_str(timeout=_ENTER_SECONDS)))
            known = self._access.knows(first.text("session") or "")
            return acting(self._api.state, first.text("as") or "") if known else None
        except (ApiError, TimeoutError, TypeError):
            return None

    async def _write(self, ws: web.WebSocketResponse, queue: asyncio.Queue[JsonObject]) -> None:
        while not ws.closed:
            await ws.send_str(encode(await queue.get()).decode("ascii"))

    def _hear(self, event: Event, queue: asyncio.Queue[JsonObject], me: int) -> None:
        if event.name in _HIDDEN_EVENTS or event.only_for not in (None, me):
            return
        channel = self._api.state.channels.get(event.channel_id or 0)
        if channel is None or self._visible(channel, me):
            queue.put_nowait(self._as_seen(event, me))

    def _as_seen(self, event: Event, me: int) -> JsonObject:
        """Write messages from the viewer's side, and send a reaction or vote as the message that it changed."""
        reaction = event.name.startswith(("MESSAGE_REACTION_", "MESSAGE_POLL_"))
        if not reaction and event.name not in ("MESSAGE_CREATE", "MESSAGE_UPDATE"):
            return {"t": event.name, "d": event.data}
        in_channel = self._api.state.messages.get(event.channel_id or 0, {})
        message = in_channel.get(int(str(event.data["message_id" if reaction else "id"])))
        name = "MESSAGE_UPDATE" if reaction else event.name
        return {"t": name, "d": event.data if message is None else self._seen(message, me)}

    async def close(self) -> None:
        """Close every open page's connection."""
        await asyncio.gather(*(ws.close(code=1001) for ws in tuple(self._sockets)))
