"""What people do in Discord, as small values, and what may be made of it; pure.

``bot/inbound/parse.py`` makes the first, ``bot/inbound/interpret_message.py`` (messages) and
``bot/inbound/interpret_reaction.py`` (reactions, clicks) the second.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Literal

from agentic.core.events.execution_events import (
    Asked,
    FileRef,
    InboxItem,
    QuotedMessage,
)
from bot.access.permissions import Speaker
from bot.ports.conversation import ThreadState
from bot.thread_state.message_meaning import phase_as_seen
from bot.thread_state.session_state import Phase

Kind = Literal["text", "voice", "poll", "forwarded", "sticker", "system"]


@dataclass(frozen=True, slots=True)
class MessageEvent:
    """A message; ``thread`` is '' in a plain channel, ``addressed`` says whether it mentions the bot."""

    id: str
    channel: str
    thread: str
    text: str
    at: datetime
    speaker: Speaker
    addressed: bool = False
    kind: Kind = "text"
    files: tuple[FileRef, ...] = ()
    quoted: tuple[QuotedMessage, ...] = ()
    """What it replies to or passes on."""


@dataclass(frozen=True, slots=True)
class ReactionEvent:
    """A reaction given or taken back on a message that belongs to ``thread``.

    ``target`` says what the message shows; ``question`` and ``offer`` are those that it puts, '' where it puts none.
    """

    id: str
    message: str
    thread: str
    emoji: str
    at: datetime
    speaker: Speaker
    custom_id: str = ""
    target: str = ""
    added: bool = True
    question: str = ""
    offer: str = ""
    lesson: str = ""
    """The lesson that its message asks about."""


@dataclass(frozen=True, slots=True)
class ClickEvent:
    """A button: the ``number``-th option (from 0) of a question or of its ``part``, a vote, ``halt``, ``undo``, an offer.

    ``vote`` is 'up' or 'down' for the result ``target``; ``undo`` and ``redo`` are executions; ``verdict`` belongs to
    ``offer``.
    """

    id: str
    message: str
    thread: str
    at: datetime
    speaker: Speaker
    question: str = ""
    number: int = 0
    part: str = ""
    vote: str = ""
    target: str = ""
    halt: bool = False
    undo: str = ""
    redo: str = ""
    again: str = ""
    """The execution whose task is to be run again."""
    offer: str = ""
    verdict: Literal["merge", "reject"] = "reject"


@dataclass(frozen=True, slots=True)
class ThreadView:
    """What the thread is doing, which question is open, and whose execution it is."""

    state: ThreadState
    question: str = ""
    requester: str = ""
    asked: Asked | None = None
    """The open question itself: its options, and who may decide it."""
    bot_writes: bool = True
    """Discord lets the bot itself write there."""
    execution: str = ""
    """The newest execution."""
    paused: str = ""
    """Who paused it."""

    @property
    def phase(self) -> Phase:
        """The phase of the thread, as far as it is seen from here."""
        return phase_as_seen(self.state, self.paused)


@dataclass(frozen=True, slots=True)
class BotIdentity:
    """What was configured: the bot's own ids to strip from mentions, bots that may speak, custom emoji by id."""

    mentions: tuple[str, ...] = ()
    speaking_bots: frozenset[str] = frozenset()
    custom_emoji: Mapping[str, str] = field(default_factory=dict[str, str])


@dataclass(frozen=True, slots=True)
class Reply:
    """Nothing is done, and the person is told why and what to do."""

    text: str
    key: str = ""
    """With a key it is said once, however often it applies."""


@dataclass(frozen=True, slots=True)
class ShowCommand:
    """A read-only command, written to the bot as a message."""

    command: Literal["status", "help"]


@dataclass(frozen=True, slots=True)
class Ignore:
    """Nothing is done or said; the reason is for the log."""

    reason: str


Outcome = InboxItem | Reply | ShowCommand | Ignore


def unheard(speaker: Speaker, house: BotIdentity) -> Ignore | None:
    """Why nothing of what they do counts; None where it does."""
    if speaker.itself:
        return Ignore("its own")
    if speaker.bot and speaker.id not in house.speaking_bots:
        return Ignore("a bot or webhook")
    return None
