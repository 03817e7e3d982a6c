"""The tag of a forum's post that says how its task goes, where the forum has a tag of that name.

A server makes the tags it wants to see; other tags of a post stay.  It is the same that the sign on the message says, for
whoever looks at a forum's list, so what cannot be set is left out.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict

from bot.outbound.discord_api import DiscordApi
from bot.outbound.live.task_signs import ASKS, DONE, FAILED, STOPPED, WORKS

TAGS = {WORKS: "working", ASKS: "waiting", DONE: "done", FAILED: "failed", STOPPED: "stopped"}
"""By sign; upper and lower case are alike."""
REMEMBERED = 1_000
"""Threads that are no posts."""


class PostTags:
    """Keeps the tags of posts true: the last one wins, one change of a post at a time."""

    def __init__(self, desk: DiscordApi) -> None:
        self._desk = desk
        self._wanted: dict[str, str] = {}
        self._keepers: dict[str, asyncio.Task[None]] = {}
        self._no_posts: OrderedDict[str, None] = OrderedDict()
        """Threads that were asked about in vain."""

    def note(self, thread: str, sign: str) -> None:
        """The task in this thread bears this sign from now on; threads that are no posts are passed over."""
        if thread in self._no_posts or not self._desk.is_post(thread):
            return
        self._wanted[thread] = TAGS[sign]
        if thread not in self._keepers:
            self._keepers[thread] = asyncio.create_task(self._keep(thread), name=f"tag of {thread}")

    def close(self) -> None:
        """End what is being done."""
        for keeper in self._keepers.values():
            keeper.cancel()

    async def _keep(self, thread: str) -> None:
        try:
            while (wanted := self._wanted.pop(thread, "")) != "":
                if not await self._desk.tag(thread, wanted, frozenset(TAGS.values())):
                    self._no_posts[thread] = None
                    if len(self._no_posts) > REMEMBERED:
                        self._no_posts.popitem(last=False)
        finally:
            del self._keepers[thread]  # in the very step in which nothing more is wanted
