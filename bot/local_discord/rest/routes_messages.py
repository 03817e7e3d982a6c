"""Endpoints of messages and reactions.

https://discord.com/developers/docs/resources/message
"""

from __future__ import annotations

from datetime import timedelta

from aiohttp import web

from bot.local_discord.messages import message_reactions
from bot.local_discord.messages.channel_messages import found_in_history
from bot.local_discord.messages.message_params import parse_draft, parse_revision
from bot.local_discord.model.json_fields import Json
from bot.local_discord.model.permission_flags import Permission
from bot.local_discord.model.records import Message
from bot.local_discord.payloads import guild_payloads
from bot.local_discord.payloads.content_intent import for_viewer
from bot.local_discord.rest.endpoint import (
    Endpoint,
    Routes,
    path_id,
    query_id,
    query_limit,
    read_body,
)

OLD = timedelta(hours=1)


class MessageRoutes(Routes):
    """Messages and reactions, as the bot sees and makes them."""

    def table(self) -> list[tuple[str, str, Endpoint]]:
        base = r"/channels/{channel:\d+}/messages"
        one = base + r"/{message:\d+}"
        emoji = one + "/reactions/{emoji}"
        return [
            ("GET", base, self.history),
            ("POST", base, self.create),
            ("POST", base + "/bulk-delete", self.bulk_delete),
            ("GET", one, self.read),
            ("PATCH", one, self.edit),
            ("DELETE", one, self.delete),
            ("PUT", emoji + "/@me", self.react),
            ("DELETE", emoji + "/@me", self.unreact),
            ("DELETE", emoji + r"/{user:\d+}", self.unreact_other),
            ("GET", emoji, self.reactors),
            ("DELETE", emoji, self.clear_emoji),
            ("DELETE", one + "/reactions", self.clear),
        ]

    def _sent(self, message: Message) -> Json:
        api = self._api
        sees = api.state.channel(message.channel_id).is_direct or api.state.grants.message_content
        return for_viewer(api.view.payload(message), api.me, sees_content=sees)

    async def history(self, request: web.Request) -> Json:
        """A page of messages, newest first; empty without READ_MESSAGE_HISTORY."""
        channel = self._channel(request)
        limit = query_limit(request, 50, 100)
        rights = self._api.state.rights(self._api.me, channel)
        if not rights & Permission.READ_MESSAGE_HISTORY:
            return []
        found = found_in_history(
            self._api.state.history(channel.id),
            before=query_id(request, "before"),
            after=query_id(request, "after"),
            around=query_id(request, "around"),
            limit=limit,
        )
        return [self._sent(m) for m in found]

    async def read(self, request: web.Request) -> Json:
        """One message."""
        return self._sent(self._message(request, Permission.VIEW_CHANNEL | Permission.READ_MESSAGE_HISTORY))

    async def create(self, request: web.Request) -> Json:
        """https://discord.com/developers/docs/resources/message#create-message"""
        channel = self._api.state.channel(path_id(request, "channel"))
        body = await read_body(request)
        draft = parse_draft(body.fields, body.uploads)
        return self._api.view.payload(self._api.messages.create(self._api.me, channel.id, draft))

    async def edit(self, request: web.Request) -> Json:
        """https://discord.com/developers/docs/resources/message#edit-message"""
        message = self._message(request)
        body = await read_body(request)
        revision = parse_revision(body.fields, body.uploads, message.flags)
        if self._api.state.clock.now() - message.created_at > OLD and message.author_id == self._api.me:
            self._api.ratelimits.old_edit(message.channel_id)
        changed = self._api.messages.edit(self._api.me, message.channel_id, message.id, revision)
        return self._api.view.payload(changed)

    async def delete(self, request: web.Request) -> None:
        """Delete a message."""
        message = self._message(request)
        self._api.messages.delete(self._api.me, message.channel_id, message.id)

    async def bulk_delete(self, request: web.Request) -> None:
        """Delete 2 to 100 messages at once."""
        channel = self._channel(request)
        fields = (await read_body(request)).fields
        self._api.messages.delete_many(self._api.me, channel, fields.snowflakes("messages"))

    async def react(self, request: web.Request) -> None:
        """https://discord.com/developers/docs/resources/message#create-reaction"""
        emoji = request.match_info["emoji"]
        message_reactions.add(self._api.state, self._api.me, self._message(request), emoji)

    async def unreact(self, request: web.Request) -> None:
        """Remove the bot's reaction."""
        self._removed(request, self._api.me)

    async def unreact_other(self, request: web.Request) -> None:
        """Remove somebody else's reaction."""
        self._removed(request, path_id(request, "user"))

    def _removed(self, request: web.Request, user_id: int) -> None:
        emoji = request.match_info["emoji"]
        message_reactions.remove(self._api.state, self._api.me, user_id, self._message(request), emoji)

    async def reactors(self, request: web.Request) -> Json:
        """List who reacted with one emoji."""
        found = self._message(request).reactors(request.match_info["emoji"])
        after = query_id(request, "after") or 0
        limit = query_limit(request, 25, 100)
        page = sorted(u for u in found if u > after)[:limit]
        return [guild_payloads.user(self._api.state.member(u)) for u in page]

    async def clear_emoji(self, request: web.Request) -> None:
        """Remove all reactions of one emoji."""
        emoji = request.match_info["emoji"]
        message_reactions.clear(self._api.state, self._api.me, self._message(request), emoji)

    async def clear(self, request: web.Request) -> None:
        """Remove all reactions."""
        message_reactions.clear(self._api.state, self._api.me, self._message(request))
