"""The local guild as a whole: start it, act in it as a person would, wait for changes, close it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import TracebackType
from typing import Literal, Self, TypeVar

from bot.local_discord.driver.guild_driver import Person
from bot.local_discord.driver.interaction_driver import InteractionDriver
from bot.local_discord.faults.delivery import PATIENCE
from bot.local_discord.faults.rules import Misbehaviour, Rule
from bot.local_discord.model.json_fields import Json
from bot.local_discord.model.records import Channel, Member, Message
from bot.local_discord.model.store import Store
from bot.local_discord.new_guild import found, keep_port, last_port
from bot.local_discord.rest.endpoint import Asked
from bot.local_discord.rest.rate_limit_buckets import DISCORD, WIDE, Allowances, Limit, RateLimits
from bot.local_discord.server import Server
from bot.local_discord.threads.auto_archive import archive_quiet
from bot.local_discord.web import page_access

T = TypeVar("T")


class LocalGuild(InteractionDriver):
    """A Discord on loopback with one guild, one bot and any number of people."""

    def __init__(self, store: Store, server: Server) -> None:
        super().__init__(server.api)
        self._server = server
        self._store = store
        self._detach: Callable[[], None] | None = None

    @classmethod
    async def start(
        cls,
        *,
        host: str = "127.0.0.1",
        port: int = 0,
        state: Path | None = None,
        limits: Literal["wide", "discord"] = "wide",
        notice: str = "",
        bot_name: str = "Threadwright",
    ) -> Self:
        """Listen on loopback; with a `state` folder the conversation outlives the process.

        Port 0 is the one of the last start from that folder if it is free, so that bookmarks and drafts last, else any.
        `notice` is shown at the top of the page.
        """
        home = found(state, bot_name)
        home.state.notice = notice
        try:
            allowed = DISCORD if limits == "discord" else WIDE
            server = await Server.start(home, allowed, host, port, last_port(home.store) if not port else 0)
            keep_port(home.store, server.port)
        except BaseException:
            home.store.close()
            raise
        return cls(home.store, server)

    async def close(self) -> None:
        """Disconnect everyone and stop listening."""
        self.restore()
        await self._server.close()
        self._store.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self.close()

    # -- where things are ---------------------------------------------------------------------

    @property
    def url(self) -> str:
        """The address, which needs a key to open the page."""
        return self._server.url

    def link(self) -> str:
        """Return a new link to the page; it works once."""
        return page_access.link(self.url, self._server.access.key())

    @property
    def rest_base(self) -> str:
        """The replacement of https://discord.com/api/v10."""
        return self._server.rest_base

    @property
    def gateway_url(self) -> str:
        """The replacement of wss://gateway.discord.gg/."""
        return self._server.gateway_url

    @property
    def bot_token(self) -> str:
        """The token that the bot logs in with."""
        return self._api.token

    @property
    def client_secret(self) -> str:
        """The secret with which the application, whose id is the bot's, exchanges codes of OAuth2."""
        return self._api.oauth.client_secret

    @property
    def bot_user_id(self) -> int:
        """The bot's user id, which is also its application's."""
        return self.state.identity.bot_id

    @property
    def guild_id(self) -> int:
        """The guild's id."""
        return self.state.identity.guild_id

    @property
    def bot(self) -> Member:
        """The bot as a member."""
        return self.state.member(self.bot_user_id)

    @property
    def online(self) -> bool:
        """Whether the bot is connected to the gateway."""
        return self._server.gateway.online

    def attach(self) -> None:
        """Point discord.py, in this whole process, at this guild; `restore` undoes it."""
        from bot.local_discord.redirect import attach

        if self._detach is None:
            self._detach = attach(self.rest_base, self.gateway_url, self._server.url)

    def restore(self) -> None:
        """Point discord.py back at Discord."""
        if self._detach is not None:
            self._detach()
            self._detach = None

    # -- looking ------------------------------------------------------------------------------

    def messages(self, channel_id: int, *, viewer: Person = None) -> list[Message]:
        """Return the messages of a channel as a person sees them, oldest first."""
        return self.state.history(channel_id, self._person(viewer).id)

    @property
    def asked(self) -> list[Asked]:
        """Return the newest requests to the REST API, oldest first."""
        return list(self._api.asked)

    @property
    def refused(self) -> int:
        """Return the number of requests answered with 429 since the allowances were last set."""
        return self._api.ratelimits.refused

    def commands(self, guild_id: int | None = None) -> list[dict[str, Json]]:
        """Return the registered commands: global ones, or those of the guild."""
        return self._api.commands.all(guild_id)

    def threads(self) -> list[Channel]:
        """All threads, oldest first."""
        return sorted((c for c in self.state.channels.values() if c.is_thread), key=lambda c: c.id)

    def channel(self, name: str = "general") -> Channel:
        """The text channel of that name."""
        for one in self.state.channels.values():
            if one.name == name and not one.is_thread and not one.is_direct:
                return one
        raise LookupError(f"There is no channel {name!r}; add_channel({name!r}) makes one.")

    def file(self, attachment_id: int) -> bytes:
        """The content of an attachment."""
        content = self.state.store.load_file(attachment_id)
        if content is None:
            raise LookupError(f"No attachment has the id {attachment_id}.")
        return content

    async def wait_for(self, predicate: Callable[[LocalGuild], T | None], timeout: float = 60.0) -> T:
        """Return the first result of `predicate` that is neither None nor False; it is called at each change."""
        async with asyncio.timeout(timeout):
            while True:
                changed = self.state.feed.next_change()
                result = predicate(self)
                if result is not None and result is not False:
                    changed.cancel()
                    return result
                await changed

    # -- making trouble -----------------------------------------------------------------------

    def misbehave(self, rule: Rule) -> None:
        """Activate a fault for matching requests or events."""
        self.misbehaviour.add(rule)

    @property
    def misbehaviour(self) -> Misbehaviour:
        """Return the active rules, with what they did so far."""
        return self._api.misbehaviour

    def limit_requests(self, limit: int, seconds: float = 1.0) -> None:
        """Set how many requests each bucket holds from now on."""
        bucket = Limit(limit, seconds)
        wide = replace(WIDE, routes=tuple(replace(r, limit=bucket) for r in WIDE.routes), other=bucket)
        self.allow_requests(replace(wide, everything=Limit(max(limit, WIDE.everything.number), seconds)))

    def allow_requests(self, allowed: Allowances) -> None:
        """Set other allowances from now on, all unused."""
        self._api.ratelimits = RateLimits(self.state.clock, allowed)

    def grant_intents(self, *, members: bool = True, message_content: bool = True) -> None:
        """Set the granted intents; identifying with more is closed with 4014."""
        self.state.grants.members = members
        self.state.grants.message_content = message_content

    def pass_time(self, *, seconds: float = 0.0, minutes: float = 0.0, hours: float = 0.0) -> None:
        """Advance the clock, for messages, nonces, interactions, sessions and limits alike."""
        self.state.clock.set_ahead(seconds + 60 * minutes + 3600 * hours)
        archive_quiet(self.state)

    def expire_links(self) -> None:
        """Expire all addresses of attachments; a message that is read anew has fresh ones."""
        self._api.view.signer.expire()

    def forget_nonces(self) -> None:
        """Behave as if the minutes for which nonces are remembered had passed."""
        self._api.messages.nonces.forget()

    def reconnect(self) -> None:
        """Ask the bot to reconnect and resume."""
        self._server.gateway.request_reconnect()

    def invalidate_sessions(self, *, resumable: bool = False) -> None:
        """End the bot's session, so that it must identify again and misses events."""
        self._server.gateway.invalidate_sessions(resumable=resumable)

    def heartbeats(self, *, seconds: float | None = None, answered: bool = True, patience: float = PATIENCE) -> None:
        """Set how often new connections must send a heartbeat, whether it is answered (a zombie if not), and
        how many seconds late one may be before the connection is closed (4009).
        """
        gateway = self._server.gateway
        gateway.answers_heartbeats = answered
        gateway.patience = patience
        if seconds is not None:
            gateway.heartbeat_ms = int(seconds * 1000)

    def request_heartbeat(self) -> None:
        """Ask every client for a heartbeat at once (op 1)."""
        self._server.gateway.request_heartbeat()

    def recommend_shards(self, shards: int, *, required: bool = False) -> None:
        """Set how many shards clients are told to use; `required` closes those without any (4011)."""
        sharding = self._api.sharding
        sharding.shards, sharding.required = shards, required

    def unfurl(self, message_id: int) -> Message:
        """Add a link preview, as Discord does a moment after a post: an update, but no edit."""
        return self._api.messages.unfurl(self.state.find_message(message_id))

    def disconnect(self, code: int = 4000) -> None:
        """Close the bot's connection."""
        self._server.gateway.disconnect(code)

    def as_sent(self, message: Message) -> dict[str, Json]:
        """Return the message as the API writes it."""
        return self._api.view.payload(message)
