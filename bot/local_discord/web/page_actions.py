"""Actions of the person at the page; each takes the same way as a client's request."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import replace

from aiohttp import web

from bot.local_discord.driver.interaction_driver import InteractionDriver
from bot.local_discord.messages import poll_votes
from bot.local_discord.messages.channel_messages import Origin
from bot.local_discord.messages.message_params import Draft, parse_draft
from bot.local_discord.model.errors import ApiError
from bot.local_discord.model.json_fields import Json, JsonObject
from bot.local_discord.model.permission_flags import Permission
from bot.local_discord.model.records import Channel, ChannelType, Message
from bot.local_discord.model.state import GuildState
from bot.local_discord.payloads import guild_payloads
from bot.local_discord.rest.endpoint import Api, path_id, read_body
from bot.local_discord.threads import threads
from bot.local_discord.threads.threads import ThreadRequest

Act = Callable[[web.Request], Awaitable[Json]]


AS = "X-As"
"""The header with the id of the member as whom the page acts."""


def acting(state: GuildState, named: str) -> int:
    """Return the id of the member as whom the page acts: the guild's owner where no other person has that id."""
    found = state.members.get(int(named)) if named.isdecimal() and len(named) < 21 else None
    return state.identity.owner_id if found is None or found.bot else found.id


class PageActs:
    """The actions of a person at the page."""

    def __init__(self, api: Api) -> None:
        self._api = api
        self._driver = InteractionDriver(api)

    def table(self) -> list[tuple[str, str, Act]]:
        """Return the actions with their addresses."""
        message, channel = r"/ui/messages/{message:\d+}", r"/ui/channels/{channel:\d+}"
        return [
            ("POST", channel + "/messages", self.post),
            ("POST", channel + "/typing", self.typing),
            ("POST", channel + "/slash", self.slash),
            ("POST", channel + "/complete", self.complete),
            ("PATCH", message, self.edit),
            ("DELETE", message, self.delete),
            ("PUT", message + "/reactions/{emoji}", self.react),
            ("DELETE", message + "/reactions/{emoji}", self.unreact),
            ("POST", message + "/click", self.click),
            ("POST", message + "/thread", self.thread),
            ("POST", message + "/apps", self.use_on),
            ("PUT", message + r"/votes/{answer:\d+}", self.vote),
            ("DELETE", message + r"/votes/{answer:\d+}", self.unvote),
            ("POST", r"/ui/interactions/{interaction:\d+}/submit", self.submit),
            ("POST", "/ui/direct", self.open_direct),
        ]

    def _me(self, request: web.Request) -> int:
        return acting(self._api.state, request.headers.get(AS, ""))

    def _message(self, request: web.Request) -> Message:
        me, found = self._me(request), self._api.state.find_message(path_id(request, "message"))
        self._api.state.require(me, self._api.state.channel(found.channel_id), Permission.VIEW_CHANNEL)
        if found.visible_to not in (None, me):
            raise ApiError(404, 10008, "Unknown Message")
        return found

    def _seen(self, message: Message, request: web.Request) -> JsonObject:
        return self._api.view.payload(message, viewer=self._me(request))

    async def post(self, request: web.Request) -> Json:
        """Post a message, with files."""
        body = await read_body(request)
        draft = parse_draft(body.fields, body.uploads)
        place = self._api.state.channel(path_id(request, "channel"))
        if place.type is ChannelType.FORUM:
            first = self._opened(self._me(request), place, draft)
            post = guild_payloads.channel(self._api.state, self._api.state.channel(first.channel_id))
            return {**self._seen(first, request), "post": post}
        made = self._api.messages.create(self._me(request), path_id(request, "channel"), draft)
        return self._seen(made, request)

    def _opened(self, who: int, forum: Channel, draft: Draft) -> Message:
        """A new post, whose title is the first line."""
        title, _, text = draft.content.strip().partition("\n")
        ask = ThreadRequest(title[:100] or "A post")
        draft = replace(draft, content=text.strip() or title)
        state, messages = self._api.state, self._api.messages
        made = threads.post(state, who, forum, ask, lambda id: messages.create(who, id, draft, Origin(id=id)))
        return state.message(made.id, made.id)

    async def typing(self, request: web.Request) -> Json:
        """Show a person as typing."""
        await self._driver.typing(path_id(request, "channel"), author=self._me(request))
        return {}

    async def edit(self, request: web.Request) -> Json:
        """Edit a message."""
        message = self._message(request)
        text = (await read_body(request)).fields.text("content") or ""
        return self._seen(await self._driver.edit(message.id, text, author=self._me(request)), request)

    async def delete(self, request: web.Request) -> Json:
        """Delete a message."""
        await self._driver.delete(self._message(request).id, author=self._me(request))
        return {}

    async def react(self, request: web.Request) -> Json:
        """Add a reaction."""
        emoji, message = request.match_info["emoji"], self._message(request)
        return self._seen(await self._driver.react(message.id, emoji, author=self._me(request)), request)

    async def unreact(self, request: web.Request) -> Json:
        """Remove a reaction."""
        emoji, message = request.match_info["emoji"], self._message(request)
        return self._seen(await self._driver.unreact(message.id, emoji, author=self._me(request)), request)

    async def click(self, request: web.Request) -> Json:
        """Click a button, or choose in a select."""
        message = self._message(request)
        fields = (await read_body(request)).fields
        values = [str(v) for v in fields.array("values") or []]
        custom_id = fields.text("custom_id") or ""
        return {"id": await self._driver.click(message.id, custom_id, author=self._me(request), values=values)}

    async def slash(self, request: web.Request) -> Json:
        """Use a slash command."""
        fields = (await read_body(request)).fields
        options, name = fields.object("options"), fields.text("name") or ""
        values = options.data if options else {}
        return {"id": await self._driver.slash(path_id(request, "channel"), name, values, author=self._me(request))}

    async def submit(self, request: web.Request) -> Json:
        """Fill in and send a form."""
        values = (await read_body(request)).fields.object("values")
        asked = str(path_id(request, "interaction"))
        return {"id": await self._driver.submit(asked, values.data if values else {})}

    async def thread(self, request: web.Request) -> Json:
        """Start a thread from a message."""
        message = self._message(request)
        name = (await read_body(request)).fields.text("name") or "Thread"
        made = await self._driver.create_thread(message.id, name[:100], author=self._me(request))
        return guild_payloads.channel(self._api.state, made)

    async def use_on(self, request: web.Request) -> Json:
        """Use a command from the menu of a message."""
        message, name = self._message(request), (await read_body(request)).fields.text("name") or ""
        return {"id": await self._driver.use_on(message, name, author=self._me(request))}

    async def complete(self, request: web.Request) -> Json:
        """Return the bot's suggestions for an option of a slash command; none if it does not answer in time."""
        fields = (await read_body(request)).fields
        options = fields.object("options")
        name, option, typed = (fields.text(key) or "" for key in ("name", "option", "typed"))
        where, values = path_id(request, "channel"), options.data if options else {}
        try:
            offered = await self._driver.autocomplete(where, name, option, typed, values, author=self._me(request))
        except TimeoutError:
            return []
        return [{"name": one.name, "value": one.value} for one in offered]

    async def vote(self, request: web.Request) -> Json:
        """Vote in a poll."""
        answer = path_id(request, "answer")
        return self._seen(await self._driver.vote(self._message(request).id, answer, author=self._me(request)), request)

    async def unvote(self, request: web.Request) -> Json:
        """Remove a vote."""
        answer = path_id(request, "answer")
        return self._seen(
            poll_votes.unvote(self._api.state, self._me(request), self._message(request), answer), request
        )

    async def open_direct(self, request: web.Request) -> Json:
        """Open the direct messages with the bot."""
        return guild_payloads.channel(self._api.state, await self._driver.open_dm(self._me(request)))
