"""Discord events as small values, and the possible outcomes of interpreting them; pure.

``bot/inbound/parse.py`` makes the events; ``bot/inbound/interpret_message.py`` (messages) and
``bot/inbound/interpret_reaction.py`` (reactions, clicks) make the outcomes.
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
from bot.rendering.discord_text import Steering
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
    """The messages it replies to or forwards."""
    about: str = ""
    """The message that a form was opened on, where the text was written in one: no message of its own stands."""


@dataclass(frozen=True, slots=True)
class ReactionEvent:
    """A reaction added to or removed from a message that belongs to ``thread``.

    ``target`` says what the message shows; ``question`` and ``offer`` are those that it asks, '' where it asks none.
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
    """A click on a button: the ``number``-th option (from 0) of a question or of its ``part``, a vote, ``steer``,
    ``undo``, an offer.

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
    steer: Steering | None = None
    execution: str = ""
    """The execution that is to be stopped, paused, resumed or continued."""
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
    """The open question: its options, and who may decide it."""
    bot_writes: bool = True
    """Whether Discord lets the bot itself write there."""
    execution: str = ""
    """The newest execution."""
    paused: str = ""
    """The id of who paused it, '0' for the bot itself; '' while it is not paused."""

    @property
    def phase(self) -> Phase:
        """The phase of the thread, from its visible state."""
        return phase_as_seen(self.state, self.paused)


@dataclass(frozen=True, slots=True)
class BotIdentity:
    """Configuration: the bot's own ids to strip from mentions, bots that may speak, custom emoji by id."""

    mentions: tuple[str, ...] = ()
    speaking_bots: frozenset[str] = frozenset()
    custom_emoji: Mapping[str, str] = field(default_factory=dict[str, str])


@dataclass(frozen=True, slots=True)
class Reply:
    """Do nothing but tell the person why and what to do."""

    text: str
    key: str = ""
    """With a key, the reply is posted once, however often it applies."""


@dataclass(frozen=True, slots=True)
class ShowCommand:
    """A read-only command that was written as a message."""

    command: Literal["status", "help"]


@dataclass(frozen=True, slots=True)
class Ignore:
    """Do and say nothing; the reason is for the program's log."""

    reason: str


Outcome = InboxItem | Reply | ShowCommand | Ignore


def unheard(speaker: Speaker, house: BotIdentity) -> Ignore | None:
    """Return why this speaker is ignored altogether; None where they are not."""
    if speaker.itself:
        return Ignore("its own")
    if speaker.bot and speaker.id not in house.speaking_bots:
        return Ignore("a bot or webhook")
    return None
