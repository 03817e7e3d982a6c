"""Endpoints of polls, webhooks and expired addresses of attachments.

https://discord.com/developers/docs/resources/poll
https://discord.com/developers/docs/resources/webhook
"""

from __future__ import annotations

import re

from aiohttp import web

from bot.local_discord.messages import poll_votes, webhooks
from bot.local_discord.model.errors import out_of_range, required
from bot.local_discord.model.json_fields import Json, JsonObject
from bot.local_discord.model.permission_flags import Permission
from bot.local_discord.model.records import Attachment
from bot.local_discord.payloads import guild_payloads
from bot.local_discord.rest.endpoint import (
    PREFIX,
    Endpoint,
    Routes,
    path_id,
    query_id,
    query_limit,
    read_body,
)

_ADDRESS = re.compile(r"/attachments/(\d{1,20})/(\d{1,20})/")
NAME = 80
REFRESHED = 50


class PollRoutes(Routes):
    """Polls, webhooks and attachment addresses, as the bot uses them."""

    def table(self) -> list[tuple[str, str, Endpoint]]:
        channel = r"/channels/{channel:\d+}"
        poll = channel + r"/polls/{message:\d+}"
        return [
            ("GET", poll + r"/answers/{answer:\d+}", self.voters),
            ("POST", poll + "/expire", self.end),
            ("GET", channel + "/webhooks", self.webhooks),
            ("POST", channel + "/webhooks", self.add_webhook),
            ("POST", "/attachments/refresh-urls", self.refresh),
        ]

    async def voters(self, request: web.Request) -> Json:
        """List who chose one answer."""
        found = poll_votes.voters(self._message(request), path_id(request, "answer"))
        after, limit = query_id(request, "after") or 0, query_limit(request, 25, 100)
        page = sorted(u for u in found if u > after)[:limit]
        return {"users": [guild_payloads.user(self._api.state.member(u)) for u in page]}

    async def end(self, request: web.Request) -> Json:
        """End the bot's poll."""
        ended = poll_votes.end(self._api.state, self._api.messages, self._api.me, self._message(request))
        return self._api.view.payload(ended)

    async def webhooks(self, request: web.Request) -> Json:
        """List the webhooks of a channel."""
        channel = self._channel(request, Permission.VIEW_CHANNEL | Permission.MANAGE_WEBHOOKS)
        found = [w for w in self._api.state.webhooks.values() if w.channel_id == channel.id]
        return [webhooks.payload(self._api.state, w, _base(request)) for w in found]

    async def add_webhook(self, request: web.Request) -> Json:
        """Create a webhook."""
        channel = self._channel(request, Permission.VIEW_CHANNEL | Permission.MANAGE_WEBHOOKS)
        fields = (await read_body(request)).fields
        name = fields.stripped("name").sized("name", 1, NAME)
        return webhooks.payload(self._api.state, webhooks.created(self._api.state, channel, name), _base(request))

    async def refresh(self, request: web.Request) -> Json:
        """Return fresh addresses for expired ones."""
        fields = (await read_body(request)).fields
        wanted = [str(u) for u in fields.array("attachment_urls") or []]
        if not wanted:
            raise required(fields.at("attachment_urls"))
        if len(wanted) > REFRESHED:
            raise out_of_range(fields.at("attachment_urls"), 1, REFRESHED)
        return {"refreshed_urls": [self._refreshed(one) for one in wanted]}

    def _refreshed(self, old: str) -> JsonObject:
        match = _ADDRESS.search(old)
        channel_id, number = (int(match[1]), int(match[2])) if match else (0, 0)
        here = self._api.state.messages.get(channel_id, {}).values()
        found: Attachment | None = next((a for m in here for a in m.attachments if a.id == number), None)
        return {"original": old, "refreshed": self._api.view.url(channel_id, found) if found else None}


def _base(request: web.Request) -> str:
    return f"http://{request.host}{PREFIX}"
