"""Intake: store what a person did, or tell them why not.

Receipts of votes are worded here; other receipts are the core's (``agentic/core/display/outbox_items.py``).
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass

from agentic.core.events.execution_events import InboxItem, OutboxItem, Sort
from agentic.core.fold.people import MACHINE
from agentic.ports.errors import AgenticError, StoreError
from agentic.ports.runtime import Store
from bot.inbound.events import Ignore, Outcome, Reply
from bot.inbound.interpret_message import title_of
from bot.messages.error_text import Attempted, error_text
from bot.outbound.discord_api import (
    DiscordApi,
    Gone,
    Held,
    Post,
    Unfit,
    nonce_of,
)
from bot.outbound.request_queue import Urgency
from bot.ports.conversation import Conversation, Receipt
from bot.progress.feed import Feed

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class ReplyPlace:
    """The channel of an event, and the message that an answer replies to ('' for none)."""

    guild: str
    channel: str
    reply_to: str = ""


class Intake:
    """The way of every event into the conversation."""

    def __init__(self, conversation: Conversation, desk: DiscordApi, store: Store, feed: Feed) -> None:
        self._conversation, self._desk, self._store, self._feed = conversation, desk, store, feed
        self.resumed: Callable[[str], Awaitable[None]] | None = None
        """Looks after a thread that a person let go on."""

    async def take(self, outcome: Outcome, id: str, place: ReplyPlace) -> Receipt | None:
        """Deliver an inbox item and return its receipt, also where it was stored before; None where it was not stored."""
        match outcome:
            case InboxItem():
                receipt = await self.deliver(outcome, place.guild)
                if receipt.text:
                    await self.tell(receipt.text, id, place)
                return receipt if receipt.accepted or receipt.again else None
            case Reply(text, key):
                await self.tell(text, key or id, place, event=id)
            case Ignore(reason):
                log.debug("%s ignored: %s", id, reason)
            case _:
                log.debug("%s is answered by its cog", id)
        return None

    async def deliver(self, item: InboxItem, guild: str) -> Receipt:
        """Store an item durably; where that fails the receipt says so."""
        try:
            title = title_of(self._desk.discreet_text(item.text))
            receipt = await self._conversation.deliver(item, guild=guild, title=title)
            if item.sort == "resume" and item.author.id != MACHINE.id and self.resumed is not None:
                await self.resumed(item.thread)
            return receipt
        except AgenticError as error:
            return Receipt(False, "idle", not_kept(item.id, error))

    async def tell(self, text: str, id: str, place: ReplyPlace, event: str = "", *, sign: bool = False) -> None:
        """Post an answer in the channel once per id, also after a crash; ``sign``: a sign on the message says as much.

        If nothing can be stored, it is posted at once, and once per ``event`` (default: the id): nothing would remember
        later that the id was answered.
        """
        key = f"told.{id}"
        item = OutboxItem(
            key=key, thread=place.channel, execution="", sort="receipt", text=text, target=place.reply_to, sign=sign
        )
        try:
            await self._store.put_outbox([item])
        except StoreError as error:
            log.warning("an answer is not kept, but said: %s", error)
        else:
            self._feed.outbox.set()
            return
        post = Post(place.channel, text, nonce_of(f"told.{event or id}"), reply_to=place.reply_to)
        try:
            await self._desk.post(post, Urgency.RESULT)
        except (Held, Gone, Unfit) as error:
            log.warning("channel %s could not be told what became of %s: %s", place.channel, event or id, error)


def not_kept(id: str, error: AgenticError) -> str:
    """Return what to tell a person whose event could not be stored; it is logged as well."""
    log.error("what a person did (%s) was not kept: %s", id, error)
    return error_text(Attempted.INTAKE, error)


RECEIPTS: Mapping[Sort, str] = {
    "stop": "🛑 Stopping.",
    "pause": "⏸ Pausing after this step.",
    "resume": "▶ Resuming.",
    "retry": "🔄 On it. I'll say in the thread how it went.",
    "rewind": "▶ On it. I'll say in the thread how it went.",
    "fork": "On it. I'll link the new thread here.",
}
"""What a person is told where nothing else is said."""
NOTED = "Noted."
_VOTES = {"up": "Thanks, rating saved.", "down": "Thanks, rating saved.", "none": "Your rating was removed."}
_WRONG = "❌ Noted: {what} was wrong. The next attempt here will know it; write what should be different to start one."


def noted(item: InboxItem, *, over: bool) -> str:
    """Return the receipt of a vote or correction; '' for other items, and where the core posts one.

    ``over``: the execution that the item is about has ended.
    """
    if item.sort == "feedback":
        return _VOTES[item.text]
    about = item.target.partition("/")[2]
    what = f"turn {about[5:]}" if about.startswith("turn:") else "the result"
    return _WRONG.format(what=what) if item.sort == "correction" and over else ""
