"""The tag of a forum's post that says how its task goes, where the forum has a tag of that name.

A server makes the tags it wants to see; other tags of a post stay.  It is the same that the sign on the message says, for
whoever looks at a forum's list, so what cannot be set is left out.
"""

from __future__ import annotations

import asyncio

from bot.outbound.discord_api import DiscordApi
from bot.outbound.live.task_signs import ASKS, DONE, FAILED, STOPPED, WORKS

TAGS = {WORKS: "working", ASKS: "waiting", DONE: "done", FAILED: "failed", STOPPED: "stopped"}
"""By sign; upper and lower case are alike."""


class PostTags:
    """Keeps the tags of posts true: the last one wins, one change of a post at a time."""

    def __init__(self, desk: DiscordApi) -> None:
        self._desk = desk
        self._wanted: dict[str, str] = {}
        self._keepers: dict[str, asyncio.Task[None]] = {}

    def note(self, thread: str, sign: str) -> None:
        """The task in this thread bears this sign from now on; threads that are no posts are passed over."""
        if not self._desk.is_post(thread):
            return
        self._wanted[thread] = TAGS[sign]
        if thread not in self._keepers:
            keeper = asyncio.create_task(self._keep(thread), name=f"tag of {thread}")
            self._keepers[thread] = keeper
            keeper.add_done_callback(lambda _: self._keepers.pop(thread, None))

    def close(self) -> None:
        """End what is being done."""
        for keeper in self._keepers.values():
            keeper.cancel()

    async def _keep(self, thread: str) -> None:
        while (wanted := self._wanted.pop(thread, "")) != "":
            await self._desk.tag(thread, wanted, frozenset(TAGS.values()))
