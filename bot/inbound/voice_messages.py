"""Voice messages: written down by a model once, and shown as they were heard, so that a person sees what is acted on."""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from datetime import date
from typing import Literal

import discord

from agentic.ports.errors import ModelError
from agentic.ports.stores import Facts
from bot.inbound.events import MessageEvent
from bot.rendering.discord_text import plain, storable
from bot.workspace.sandboxes import AttachmentGone

MOST_BYTES, MOST_SECONDS = 10_000_000, 300.0
MOST_A_DAY = 50
"""Of one person, since what they cost stands in no budget."""
HEARD = "\N{STUDIO MICROPHONE}\N{VARIATION SELECTOR-16} I heard: “{words}”"
NOT_HEARD = "I couldn't write down your voice message ({reason}). Please write what I should do."
TOO_LONG = "it is longer than 5 minutes or larger than 10 MB"
TOO_MANY = f"I write down {MOST_A_DAY} a day of each person"
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


class VoiceReader:
    """Writes voice messages down.

    What came of one is kept before anything is done with it: where the process dies in between, the next one acts on the
    same words, and on nothing that was taken in already.

    ``transcribe`` raises ``ModelError`` and ``TimeoutError``; ``fetch`` (an address, and the most bytes) ``AttachmentGone``.
    """

    def __init__(
        self, transcribe: Callable[[bytes], Awaitable[str]], fetch: Callable[[str, int], Awaitable[bytes]], facts: Facts
    ) -> None:
        self._transcribe, self._fetch, self._facts = transcribe, fetch, facts
        self._day = date.min
        self._of_day: Counter[str] = Counter()

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
        if not self._has_left(said.speaker.id, said.at.date()):
            return PROBLEM + TOO_MANY
        try:
            words = storable(await self._transcribe(await self._fetch(sound.url, MOST_BYTES))).strip()
        except (TimeoutError, ModelError, AttachmentGone) as error:
            log.warning("voice message %s is not written down: %s", said.id, error)
            return PROBLEM + (str(error).rstrip(".") or TOO_SLOW)
        return WORDS + words if words else PROBLEM + NO_WORDS

    def _has_left(self, person: str, day: date) -> bool:
        if day != self._day:
            self._day, self._of_day = day, Counter()
        self._of_day[person] += 1
        return self._of_day[person] <= MOST_A_DAY


def _key(id: str) -> str:
    return f"voice: {id}"
