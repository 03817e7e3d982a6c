"""Endpoints of the bot's user, its application, the gateway's address and the guild."""

from __future__ import annotations

from aiohttp import web

from bot.local_discord.messages.limits import check_thread_name
from bot.local_discord.model.errors import invalid, required, unknown
from bot.local_discord.model.json_fields import Json, JsonObject
from bot.local_discord.model.permission_flags import Permission, basic
from bot.local_discord.model.records import Channel, ChannelType
from bot.local_discord.model.state import text_channel
from bot.local_discord.payloads import guild_payloads
from bot.local_discord.rest.endpoint import (
    Api,
    Created,
    Endpoint,
    Routes,
    path_id,
    query_id,
    query_limit,
    read_body,
)
from bot.local_discord.threads import direct_messages


class GuildRoutes(Routes):
    """https://discord.com/developers/docs/resources/guild and .../user"""

    def table(self) -> list[tuple[str, str, Endpoint]]:
        guild = r"/guilds/{guild:\d+}"
        return [
            ("GET", "/users/@me", self.me),
            ("GET", r"/users/{user:\d+}", self.user),
            ("GET", "/users/@me/guilds", self.my_guilds),
            ("GET", "/users/@me/channels", self.my_channels),
            ("POST", "/users/@me/channels", self.open_direct),
            ("GET", "/oauth2/applications/@me", self.application),
            ("GET", "/applications/@me", self.application),
            ("GET", "/soundboard-default-sounds", self.sounds),
            ("GET", "/gateway", self.gateway),
            ("GET", "/gateway/bot", self.gateway_bot),
            ("GET", guild, self.guild),
            ("GET", guild + "/channels", self.channels),
            ("POST", guild + "/channels", self.create_channel),
            ("GET", guild + "/roles", self.roles),
            ("GET", guild + "/members", self.members),
            ("GET", guild + r"/members/{user:\d+}", self.member),
            ("GET", guild + "/threads/active", self.active_threads),
        ]

    async def me(self, request: web.Request) -> Json:
        """The bot's own user, or whoever allowed an application to know who they are."""
        person = self._api.oauth.user(request.headers.get("Authorization", "").removeprefix("Bearer "))
        if person is not None:
            return guild_payloads.user(self._api.state.member(person)) | {"mfa_enabled": False, "locale": "en-US"}
        mine = guild_payloads.user(self._api.state.member(self._api.me))
        return mine | {"verified": True, "mfa_enabled": False, "locale": "en-US", "email": None}

    async def user(self, request: web.Request) -> Json:
        """Any user."""
        found = self._api.state.members.get(path_id(request, "user"))
        if found is None:
            raise unknown("User")
        return guild_payloads.user(found)

    async def my_guilds(self, _: web.Request) -> Json:
        """The one guild, with the bot's permissions before a channel's overwrites; none once it was kicked."""
        state = self._api.state
        if state.bot_removed:
            return []
        core = guild_payloads.guild_core(state)
        partial: JsonObject = {name: core[name] for name in ("id", "name", "icon", "features")}
        rights = basic(state.member(self._api.me), state.roles, state.identity.everyone_id)
        return [partial | {"banner": None, "owner": False, "permissions": str(int(rights))}]

    async def my_channels(self, _: web.Request) -> Json:
        """An empty list: bots cannot list their direct messages."""
        return []

    async def open_direct(self, request: web.Request) -> Json:
        """https://discord.com/developers/docs/resources/user#create-dm"""
        fields = (await read_body(request)).fields
        recipient = fields.snowflake("recipient_id")
        if recipient is None:
            raise required(fields.at("recipient_id"))
        return guild_payloads.channel(self._api.state, direct_messages.opened(self._api.state, recipient))

    async def application(self, _: web.Request) -> Json:
        """https://discord.com/developers/docs/resources/application#application-object"""
        return application(self._api)

    async def sounds(self, _: web.Request) -> Json:
        """An empty list: there are no voice channels."""
        return []

    async def gateway(self, _: web.Request) -> Json:
        """The gateway's address."""
        return {"url": self._api.gateway_url}

    async def gateway_bot(self, _: web.Request) -> Json:
        """https://discord.com/developers/docs/events/gateway#get-gateway-bot"""
        return {
            "url": self._api.gateway_url,
            "shards": self._api.sharding.shards,
            "session_start_limit": self._api.ratelimits.session_start_limit(),
        }

    def _check_guild(self, request: web.Request) -> None:
        if path_id(request, "guild") != self._api.state.identity.guild_id:
            raise unknown("Guild")

    async def guild(self, request: web.Request) -> Json:
        """The guild without the fields that only GUILD_CREATE has."""
        self._check_guild(request)
        body = guild_payloads.guild_core(self._api.state)
        if request.query.get("with_counts") in ("true", "1"):
            count = len(self._api.state.members)
            body |= {"approximate_member_count": count, "approximate_presence_count": count}
        return body

    async def channels(self, request: web.Request) -> Json:
        """All channels that are not threads."""
        self._check_guild(request)
        return [guild_payloads.channel(self._api.state, c) for c in self._seen() if not c.is_thread]

    async def create_channel(self, request: web.Request) -> Created:
        """https://discord.com/developers/docs/resources/guild#create-guild-channel; text channels only"""
        self._check_guild(request)
        state, fields = self._api.state, (await read_body(request)).fields
        not_yet_there = Channel(0, "")  # without overwrites: what the roles give
        state.require(self._api.me, not_yet_there, Permission.MANAGE_CHANNELS)
        if fields.integer("type") not in (None, int(ChannelType.TEXT)):
            raise invalid(("type",), "BASE_TYPE_CHOICES", "Value must be one of (0,).")
        made = text_channel(state, check_thread_name(fields))
        body = guild_payloads.channel(state, made)
        state.publish("CHANNEL_CREATE", body, channel_id=made.id)
        return Created(body)

    async def roles(self, request: web.Request) -> Json:
        """All roles."""
        self._check_guild(request)
        return [guild_payloads.role(r) for r in self._api.state.roles.values()]

    async def members(self, request: web.Request) -> Json:
        """A page of members, by ascending id."""
        self._check_guild(request)
        after = query_id(request, "after") or 0
        limit = query_limit(request, 1, 1000)
        ids = sorted(i for i in self._api.state.members if i > after and i not in self._api.state.departed)[:limit]
        return [guild_payloads.member(self._api.state.member(i)) for i in ids]

    async def member(self, request: web.Request) -> Json:
        """One member."""
        self._check_guild(request)
        found = path_id(request, "user")
        if found in self._api.state.departed:
            raise unknown("Member")
        return guild_payloads.member(self._api.state.member(found))

    async def active_threads(self, request: web.Request) -> Json:
        """Threads that are not archived, newest first."""
        self._check_guild(request)
        active = [c for c in self._seen() if c.is_thread and not c.archived]
        return thread_listing(self._api, sorted(active, key=lambda c: -c.id)) | {"has_more": False}

    def _seen(self) -> list[Channel]:
        state = self._api.state
        ours = [c for c in state.channels.values() if not c.is_direct]
        return [c for c in ours if state.rights(self._api.me, c) & Permission.VIEW_CHANNEL]


def thread_listing(api: Api, found: list[Channel]) -> JsonObject:
    """Return threads with the bot's own memberships, as listings contain them."""
    mine = [guild_payloads.thread_member(c, api.me) for c in found if api.me in c.member_ids]
    return {
        "threads": [guild_payloads.channel(api.state, c) for c in found],
        "members": [*mine],
    }


def application(api: Api) -> JsonObject:
    """The application; its flags say which privileged intents were granted."""
    state = api.state
    return {
        "id": str(state.identity.application_id),
        "name": state.member(api.me).name,
        "icon": None,
        "description": "",
        "bot_public": False,
        "bot_require_code_grant": False,
        "owner": guild_payloads.user(state.member(state.identity.owner_id)),
        "verify_key": "0" * 64,
        "team": None,
        "flags": application_flags(api),
        "flags_new": str(application_flags(api)),
        "tags": [],
        "role_connections_verification_url": None,
        "interactions_endpoint_url": None,
        "redirect_uris": [],
        "rpc_origins": [],
        "approximate_guild_count": 1,
        "approximate_user_install_count": 0,
        "approximate_user_authorization_count": 0,
    }


def application_flags(api: Api) -> int:
    """https://discord.com/developers/docs/resources/application#application-object-application-flags"""
    grants = api.state.grants
    return (
        grants.presences << 13  # GATEWAY_PRESENCE_LIMITED
        | grants.members << 15  # GATEWAY_GUILD_MEMBERS_LIMITED
        | grants.message_content << 19  # GATEWAY_MESSAGE_CONTENT_LIMITED
    )
