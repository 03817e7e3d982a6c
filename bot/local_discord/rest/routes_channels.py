"""Endpoints of channels, threads and typing.

https://discord.com/developers/docs/resources/channel
"""

from __future__ import annotations

from aiohttp import web

from bot.local_discord.messages import limits
from bot.local_discord.messages.channel_messages import Origin
from bot.local_discord.messages.message_params import parse_draft
from bot.local_discord.model.errors import ApiError
from bot.local_discord.model.json_fields import Fields, Json, JsonObject
from bot.local_discord.model.permission_flags import Permission
from bot.local_discord.model.records import Channel, ChannelType
from bot.local_discord.payloads import guild_payloads
from bot.local_discord.rest.endpoint import Body, Created, Endpoint, Routes, path_id, read_body
from bot.local_discord.rest.routes_guild import thread_listing
from bot.local_discord.threads import members, threads
from bot.local_discord.threads.threads import ChannelChange, ThreadRequest


class ChannelRoutes(Routes):
    """Channels and threads, as the bot sees and changes them."""

    def table(self) -> list[tuple[str, str, Endpoint]]:
        base = r"/channels/{channel:\d+}"
        return [
            ("GET", base, self.read),
            ("PATCH", base, self.change),
            ("DELETE", base, self.delete),
            ("POST", base + "/typing", self.typing),
            ("POST", base + r"/messages/{message:\d+}/threads", self.thread_from_message),
            ("POST", base + "/threads", self.thread_alone),
            ("GET", base + "/threads/archived/public", self.archived_threads),
            ("GET", base + "/thread-members", self.thread_members),
            ("PUT", base + "/thread-members/@me", self.join),
            ("DELETE", base + "/thread-members/@me", self.leave),
            ("GET", base + r"/thread-members/{user:\d+}", self.thread_member),
            ("PUT", base + r"/thread-members/{user:\d+}", self.add_member),
            ("DELETE", base + r"/thread-members/{user:\d+}", self.remove_member),
        ]

    async def read(self, request: web.Request) -> Json:
        """One channel or thread."""
        return guild_payloads.channel(self._api.state, self._channel(request))

    async def change(self, request: web.Request) -> Json:
        """Change a channel's name, topic, or state of archiving."""
        channel = self._channel(request)
        fields = (await read_body(request)).fields
        wanted = _wanted(fields, channel)
        if wanted.name is not None and wanted.name != channel.name:
            self._api.ratelimits.rename(channel.id)
        changed = threads.change(self._api.state, self._api.view, self._api.me, channel, wanted)
        return guild_payloads.channel(self._api.state, changed)

    async def delete(self, request: web.Request) -> Json:
        """Delete a channel or thread; returns it."""
        channel = self._channel(request)
        body = guild_payloads.channel(self._api.state, channel)
        threads.delete(self._api.state, self._api.me, channel)
        return body

    async def typing(self, request: web.Request) -> None:
        """Show the bot as typing."""
        self._api.messages.typing(self._api.me, path_id(request, "channel"))

    async def thread_from_message(self, request: web.Request) -> Created:
        """https://discord.com/developers/docs/resources/channel#start-thread-from-message"""
        channel = self._channel(request)
        message = self._api.state.message(channel.id, path_id(request, "message"))
        ask = _asked((await read_body(request)).fields)
        made = threads.from_message(self._api.state, self._api.view, self._api.me, message, ask)
        return Created(guild_payloads.channel(self._api.state, made))

    async def thread_alone(self, request: web.Request) -> Created:
        """https://discord.com/developers/docs/resources/channel#start-thread-without-message"""
        channel = self._channel(request)
        body = await read_body(request)
        ask = _asked(body.fields)
        if channel.type is ChannelType.FORUM:
            return Created(self._posted(channel, ask, body))
        made = threads.standalone(self._api.state, self._api.view, self._api.me, channel, ask)
        return Created(guild_payloads.channel(self._api.state, made))

    def _posted(self, forum: Channel, ask: ThreadRequest, body: Body) -> JsonObject:
        """https://discord.com/developers/docs/resources/channel#start-thread-in-forum-or-media-channel"""
        draft = parse_draft(body.fields.object("message") or Fields({}), body.uploads)
        me, tags = self._api.me, _tag_ids(body.fields)
        made = threads.post(
            self._api.state, me, forum, ask, lambda id: self._api.messages.create(me, id, draft, Origin(id=id)), tags
        )
        answer = guild_payloads.channel(self._api.state, made)
        answer["message"] = self._api.view.payload(self._api.state.message(made.id, made.id))
        return answer

    async def archived_threads(self, request: web.Request) -> Json:
        """The archived threads of a channel, latest first."""
        channel = self._channel(request)
        found = [c for c in self._api.state.channels.values() if c.parent_id == channel.id and c.archived]
        found.sort(key=lambda c: -c.id)
        return thread_listing(self._api, found) | {"has_more": False}

    async def thread_members(self, request: web.Request) -> Json:
        """List the members of a thread."""
        thread = self._thread(request)
        return [self._listed(request, thread, u) for u in thread.member_ids]

    async def thread_member(self, request: web.Request) -> Json:
        """Return a member of a thread."""
        return self._listed(request, self._thread(request), path_id(request, "user"))

    def _listed(self, request: web.Request, thread: Channel, user_id: int) -> Json:
        whole = request.query.get("with_member", "").lower() in ("1", "true")
        return members.listed(self._api.state, thread, user_id, with_member=whole)

    def _thread(self, request: web.Request) -> Channel:
        thread = self._channel(request)
        if not thread.is_thread:
            raise ApiError(400, 50024, "Cannot execute action on this channel type")
        return thread

    async def join(self, request: web.Request) -> None:
        """Add the bot to a thread."""
        self._add(request, self._api.me)

    async def leave(self, request: web.Request) -> None:
        """Remove the bot from a thread."""
        members.leave_thread(self._api.state, self._thread(request), self._api.me)

    async def add_member(self, request: web.Request) -> None:
        """Add somebody to a thread."""
        self._add(request, self._api.state.member(path_id(request, "user")).id)

    async def remove_member(self, request: web.Request) -> None:
        """Remove somebody from a thread."""
        thread = self._thread(request)
        self._api.state.require(self._api.me, thread, Permission.MANAGE_THREADS)
        members.remove(self._api.state, self._api.view, self._api.me, thread, path_id(request, "user"))

    def _add(self, request: web.Request, user_id: int) -> None:
        members.add(self._api.state, self._api.view, self._api.me, self._thread(request), user_id)


def _asked(fields: Fields) -> ThreadRequest:
    private = fields.integer("type") == ChannelType.PRIVATE_THREAD
    return ThreadRequest(limits.check_thread_name(fields), limits.check_archive_minutes(fields, 1_440), private)


def _wanted(fields: Fields, channel: Channel) -> ChannelChange:
    minutes = None
    if fields.has("auto_archive_duration"):
        minutes = limits.check_archive_minutes(fields, channel.auto_archive_minutes)
    return ChannelChange(
        name=limits.check_thread_name(fields) if fields.has("name") else None,
        topic=fields.text("topic"),
        archived=fields.flag("archived"),
        locked=fields.flag("locked"),
        auto_archive_minutes=minutes,
        tag_ids=_tag_ids(fields) if fields.has("applied_tags") else None,
    )


def _tag_ids(fields: Fields) -> tuple[int, ...]:
    return tuple(int(str(one)) for one in fields.array("applied_tags") or ())
