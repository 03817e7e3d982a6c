"""Voice messages: written down by a model once, and shown as they were heard, so that a person sees what is acted on."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Literal, Protocol

import discord

from agentic.core.events.execution_events import Whose
from agentic.ports.errors import ModelError, ModelTimedOut
from agentic.ports.stores import Facts
from bot.inbound.events import MessageEvent
from bot.rendering.discord_text import plain, storable
from bot.workspace.sandboxes import AttachmentGone

MOST_BYTES, MOST_SECONDS = 10_000_000, 300.0
HEARD = "\N{STUDIO MICROPHONE}\N{VARIATION SELECTOR-16} I heard: “{words}”"
NOT_HEARD = "I couldn't write down your voice message ({reason}). Please write what I should do."
TOO_LONG = "it is longer than 5 minutes or larger than 10 MB"
USED_UP = {
    "person": "what you may spend today is used up",
    "guild": "what this server may spend today is used up",
    "bot": "what I may spend today is used up",
}
NO_WORDS = "I heard no words in it"
TOO_SLOW = "it took too long"
SHOWN_CHARACTERS = 1_500
WORDS, PROBLEM, TAKEN = "=", "!", ""
"""What a kept outcome begins with; of one that was taken in nothing is kept but that it was."""

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Heard:
    """What came of a voice message: the message as if its words had been written, and what to tell the person."""

    said: MessageEvent
    told: str
    as_words: bool


class Purse(Protocol):
    """What people may spend a day (``BudgetLedger``)."""

    async def reserve(self, key: str, person: str, guild: str, usd: float, now: datetime) -> Whose | None:
        """Set an amount aside; whose cap it does not fit into, if any."""
        ...

    async def spend(self, key: str, usd: float) -> None:
        """It was spent."""
        ...

    async def release(self, key: str) -> None:
        """It was not spent."""
        ...


@dataclass(frozen=True, slots=True)
class Transcription:
    """A model that writes sounds down; it raises ``ModelError`` and ``TimeoutError``."""

    write: Callable[[bytes], Awaitable[str]]
    second: Callable[[], Awaitable[float]]
    """US dollars a second of sound; also raises ``ModelError`` where that is not known."""


class VoiceReader:
    """Writes voice messages down.

    What came of one is kept before anything is done with it: where the process dies in between, the next one acts on the
    same words, and on nothing that was taken in already.

    What it costs is set aside in the caps of the day before a model is asked.  ``fetch`` (an address, and the most bytes)
    raises ``AttachmentGone``.
    """

    def __init__(
        self, model: Transcription, fetch: Callable[[str, int], Awaitable[bytes]], facts: Facts, purse: Purse
    ) -> None:
        self._model, self._fetch, self._facts, self._purse = model, fetch, facts, purse

    async def read(self, said: MessageEvent, message: discord.Message) -> Heard | Literal["taken"]:
        """Write a message down, or say what came of it before.  Raises ``StoreError``."""
        kept = await self._facts.fact(_key(said.id))
        if kept == TAKEN:
            return "taken"
        if kept is None:
            kept = await self._listened(said, message)
            await self._facts.set_fact(_key(said.id), kept)
        rest = kept[1:]
        if kept.startswith(PROBLEM):
            return Heard(said, NOT_HEARD.format(reason=plain(rest, 500)), as_words=False)
        words = replace(said, kind="text", text=rest, files=())
        return Heard(words, HEARD.format(words=plain(rest, SHOWN_CHARACTERS)), as_words=True)

    async def taken(self, id: str) -> None:
        """The words of a message were taken in: they stand where they belong, and are kept here no longer."""
        await self._facts.set_fact(_key(id), TAKEN)

    async def _listened(self, said: MessageEvent, message: discord.Message) -> str:
        [sound] = message.attachments[:1] or [None]
        if sound is None or (sound.duration or 0.0) > MOST_SECONDS or sound.size > MOST_BYTES:
            return PROBLEM + TOO_LONG
        guild = str(message.guild.id) if message.guild else ""
        key, length = _key(said.id), sound.duration or MOST_SECONDS
        try:
            usd = length * await self._model.second()
            full = await self._purse.reserve(key, said.speaker.id, guild, usd, said.at)
            if full is not None:
                return PROBLEM + USED_UP[full]
            try:
                words = storable(await self._model.write(await self._fetch(sound.url, MOST_BYTES))).strip()
            except (ModelTimedOut, TimeoutError):
                raise  # nobody knows what it cost: it counts as it was set aside
            except (ModelError, AttachmentGone):
                await self._purse.release(key)
                raise
            await self._purse.spend(key, usd)
        except (TimeoutError, ModelError, AttachmentGone) as error:
            log.warning("voice message %s is not written down: %s", said.id, error)
            return PROBLEM + (str(error).rstrip(".") or TOO_SLOW)
        return WORDS + words if words else PROBLEM + NO_WORDS


def _key(id: str) -> str:
    return f"voice: {id}"
