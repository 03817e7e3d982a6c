"""Voice messages: written down by a model, and shown as they were heard, so that a person sees what is acted on."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable
from dataclasses import replace

import discord

from agentic.ports.errors import ModelError
from bot.inbound.events import MessageEvent
from bot.rendering.discord_text import cut, one_line, storable
from bot.workspace.sandboxes import AttachmentGone

MOST_BYTES, MOST_SECONDS = 10_000_000, 300.0
HEARD = "\N{STUDIO MICROPHONE}\N{VARIATION SELECTOR-16} I heard: “{words}”"
NOT_HEARD = "I couldn't write down your voice message ({reason}). Please write what I should do."
TOO_LONG = "it is longer than 5 minutes"
NO_WORDS = "I heard no words in it"
SHOWN_CHARACTERS = 1_500

log = logging.getLogger(__name__)


class VoiceReader:
    """Writes voice messages down.

    ``transcribe`` raises ``ModelError`` and ``TimeoutError``; ``fetch`` (an address, and the most bytes) ``AttachmentGone``.
    """

    def __init__(
        self, transcribe: Callable[[bytes], Awaitable[str]], fetch: Callable[[str, int], Awaitable[bytes]]
    ) -> None:
        self._transcribe, self._fetch = transcribe, fetch

    async def written(self, said: MessageEvent, message: discord.Message) -> tuple[MessageEvent, str]:
        """The message as if its words had been written, and what to tell the person; unchanged where nothing was heard."""
        [sound] = message.attachments[:1] or [None]
        if sound is None or (sound.duration or 0.0) > MOST_SECONDS or sound.size > MOST_BYTES:
            return said, NOT_HEARD.format(reason=TOO_LONG)
        try:
            words = storable(await self._transcribe(await self._fetch(sound.url, MOST_BYTES))).strip()
        except (TimeoutError, ModelError, AttachmentGone) as error:
            log.warning("voice message %s is not written down: %s", said.id, error)
            return said, NOT_HEARD.format(reason=one_line(str(error) or "it took too long", 200))
        if not words:
            return said, NOT_HEARD.format(reason=NO_WORDS)
        shown = HEARD.format(words=cut(one_line(words, SHOWN_CHARACTERS), SHOWN_CHARACTERS))
        return replace(said, kind="text", text=words, files=()), shown
