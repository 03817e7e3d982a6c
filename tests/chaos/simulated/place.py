"""The guild of a simulated world: what stands there, who hears of it, and Discord's limited memory of nonces."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import discord

from bot.access.permissions import Speaker
from bot.inbound.events import ClickEvent, MessageEvent, ReactionEvent
from tests.chaos.simulated.town import Town
from tests.chaos.simulated.virtual import now

BOT = 1001
GUILD, PARENT = "1", "2"
NONCE_SECONDS = 300.0
ARCHIVED, NO_RIGHT, NO_MESSAGE, NO_CHANNEL, THREAD_EXISTS = 50083, 50013, 10008, 10003, 160004


@dataclass(eq=False, slots=True)
class Message:
    """A message as Discord has it."""

    id: int
    channel: str
    author: int
    content: str
    at: float
    nonce: str = ""
    buttons: tuple[str, ...] = ()
    reactions: dict[str, list[int]] = field(default_factory=dict)
    deleted: bool = False
    reply_to: int = 0
    files: int = 0


class Refusal(Exception):
    """Discord's answer to what cannot be done."""

    def __init__(self, status: int, code: int, text: str) -> None:
        super().__init__(text)
        self.status, self.code, self.text = status, code, text


Heard = MessageEvent | ReactionEvent | ClickEvent
Ear = Callable[[Heard], None]


class Guild:
    """One server with one channel, and the threads in it."""

    def __init__(self, town: Town) -> None:
        self.town = town
        self.messages: dict[int, Message] = {}
        self.shown: list[str] = []
        """Every text that ever stood there, edits and files too."""
        self.signed: set[int] = set()
        """Messages on which the bot ever set a sign."""
        self.said: list[MessageEvent] = []
        """What people said, in order."""
        self.threads: set[str] = set()
        self.archived: set[str] = set()
        self.rights_gone_until = 0.0
        self.down_until = 0.0
        self.ears: dict[str, Ear] = {}
        """Who is connected."""
        self.created: dict[str, list[int]] = {}
        """The messages that were ever made with each nonce."""
        self._nonces: dict[tuple[str, str], tuple[float, int]] = {}
        self._last = 0

    def snowflake(self) -> int:
        """A new id, made from the time."""
        made = discord.utils.time_snowflake(self.town.machine.true())
        self._last = max(made, self._last + 1)
        return self._last

    # --- what the bot does --------------------------------------------------------------------------------------

    def post(
        self, channel: str, content: str, nonce: str, buttons: tuple[str, ...], files: list[str], reply_to: int = 0
    ) -> int:
        """A new message, or the one that this nonce became a short while ago."""
        if self.town.refuses(nonce):
            raise Refusal(400, 50035, "Invalid Form Body")
        known = self._nonces.get((channel, nonce)) if self.town.without != "nonces" else None
        if known is not None and now() - known[0] <= NONCE_SECONDS:
            if self.messages[known[1]].deleted:
                raise Refusal(404, NO_MESSAGE, "Unknown Message")
            return known[1]
        self._check(channel)
        message = Message(self.snowflake(), channel, BOT, content, now(), nonce, buttons)
        message.reply_to, message.files = reply_to, len(files)
        self.messages[message.id] = message
        self.created.setdefault(nonce, []).append(message.id)
        self._nonces[channel, nonce] = (now(), message.id)
        self.shown += [content, *files]
        self.town.tell(f"in {channel} stands message {message.id} (nonce {nonce}): {content[:80]!r}")
        return message.id

    def edit(self, id: int, content: str | None, buttons: tuple[str, ...] | None) -> None:
        """Replace what it says."""
        message = self.messages.get(id)
        if message is None or message.deleted:
            raise Refusal(404, NO_MESSAGE, "Unknown Message")
        self._check(message.channel)
        if content is not None:
            message.content = content
            self.shown.append(content)
        if buttons is not None:
            message.buttons = buttons

    def open_thread(self, id: int) -> None:
        """Make a thread from a message."""
        self._check(PARENT)
        if id not in self.messages or self.messages[id].deleted:
            raise Refusal(404, NO_MESSAGE, "Unknown Message")
        if str(id) in self.threads:
            raise Refusal(400, THREAD_EXISTS, "A thread has already been created for this message")
        self.threads.add(str(id))
        self.town.tell(f"thread {id} is open")

    def _check(self, channel: str) -> None:
        if now() < self.rights_gone_until:
            raise Refusal(403, NO_RIGHT, "Missing Permissions")
        if channel in self.archived:
            raise Refusal(400, ARCHIVED, "Thread is archived")
        if channel != PARENT and channel not in self.threads:
            raise Refusal(404, NO_CHANNEL, "Unknown Channel")

    # --- what people do -----------------------------------------------------------------------------------------

    def say(self, speaker: Speaker, text: str, thread: str = "") -> MessageEvent:
        """Somebody writes, in the channel (to the bot) or in a thread."""
        channel = thread or PARENT
        id = self.snowflake()
        self.messages[id] = Message(id, channel, int(speaker.id), text, now())
        self.archived.discard(channel)
        said = MessageEvent(str(id), channel, thread, text, self.town.machine.true(), speaker, addressed=not thread)
        self.said.append(said)
        self.town.tell(f"{speaker.name} writes {id} in {channel}: {text!r}")
        self._emit(said)
        return said

    def react(self, speaker: Speaker, message: int, thread: str, sign: str) -> None:
        """Somebody sets a sign on a message."""
        self.messages[message].reactions.setdefault(sign, []).append(int(speaker.id))
        self.town.tell(f"{speaker.name} sets {sign} on {message} in {thread}")
        id = str(self.snowflake())
        self._emit(ReactionEvent(id, str(message), thread, sign, self.town.machine.true(), speaker))

    def click(self, speaker: Speaker, message: int, thread: str, question: str, number: int) -> None:
        """Somebody presses the button of an option."""
        id = str(self.snowflake())
        self.town.tell(f"{speaker.name} presses option {number + 1} of {question} in {thread}")
        self._emit(ClickEvent(id, str(message), thread, self.town.machine.true(), speaker, question, number))

    def delete(self, id: int) -> None:
        """Somebody deletes a message."""
        self.messages[id].deleted = True
        self.town.tell(f"message {id} is deleted")

    def of_bot(self, channel: str) -> list[Message]:
        """What the bot wrote there and still stands, oldest first."""
        return [m for m in self.messages.values() if m.channel == channel and m.author == BOT and not m.deleted]

    def _emit(self, heard: Heard) -> None:
        for ear in list(self.ears.values()):
            ear(heard)
            if self.town.strikes("gateway_twice"):
                ear(heard)
