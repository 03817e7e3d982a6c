"""Fills pictures into a request just before it is sent, and tells the model which ones it cannot see, and why.

The log holds references only.  The bytes are those of the workspace, believed by their hash: after a crash the same
request is made again, and a picture that was changed or removed since is told as gone.
"""

from __future__ import annotations

import asyncio
import base64
import hashlib
import logging
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace

from agentic.core.prompt.user_messages import NOTE, kind_of
from agentic.core.state.conversation import Message, Picture, Prompt
from agentic.core.text.foreign_text import item, one_line
from agentic.ports.errors import AgenticError, ModelBadRequest, ModelContentFiltered
from agentic.ports.pictures import Image, PicturedMessage, Sight
from agentic.ports.runtime import Answer, LanguageModel, Meter

log = logging.getLogger(__name__)

MB = 1024 * 1024
MOST_PICTURES = 8
"""In a request, the newest first."""
PICTURE_BYTES = 3_750_000
"""Of one picture: 5 MB as base64, which is what providers take."""
REQUEST_BYTES = 15 * MB
"""Of all pictures in a request."""
LONGEST_SIDE = 8_000
READ_SECONDS = 10.0
GONE = "it was changed or removed since it was attached"


async def _unread(thread: str, path: str, most: int) -> bytes | None:
    return None


BLIND = Sight(_unread, sees=lambda model: False)
"""No model takes pictures."""


@dataclass(frozen=True, slots=True)
class _Filled:
    """A request with its pictures, and the hashes of those that are in it."""

    prompt: Prompt
    shown: frozenset[str]


class PicturedModel:
    """A model as one execution asks it: with the pictures of its thread, where the model can see."""

    def __init__(self, model: LanguageModel, sight: Sight, thread: str, mark: Callable[[], str]) -> None:
        self._model = model
        self._sight = sight
        self._thread = thread
        self._mark = mark
        self._images: dict[str, Image] = {}
        """By hash; only what the last request held."""
        self._taken: set[tuple[str, str]] = set()
        """Models, and hashes of pictures that they have answered to."""
        self._refused: dict[tuple[str, str], str] = {}
        """Models, and hashes of pictures that their provider refused, with the reason."""
        self._messages: dict[int, tuple[Message, Message]] = {}
        """Messages as they were last sent: they keep their identity, so that adapters encode each once."""

    async def answer(
        self,
        model: str,
        prompt: Prompt,
        *,
        max_tokens: int,
        timeout: float,
        on_text: Callable[[str], None] | None = None,
        meter: Meter | None = None,
    ) -> Answer:
        """Ask; where the provider refuses a request with pictures, ask once more without those it had not taken before."""

        async def ask(filled: Prompt) -> Answer:
            return await self._model.answer(
                model, filled, max_tokens=max_tokens, timeout=timeout, on_text=on_text, meter=meter
            )

        filled = await self._filled(model, prompt)
        try:
            answer = await ask(filled.prompt)
        except (ModelBadRequest, ModelContentFiltered) as error:
            keys = {(model, sha) for sha in filled.shown}
            doubted = keys - self._taken or keys
            if not doubted:
                raise
            log.warning("%s refused a request with pictures, which is sent without them: %s", model, error.message)
            reasons = dict.fromkeys(doubted, f"the provider refused it: {one_line(error.message, 200)}")
            self._refused |= reasons
            filled = await self._filled(model, prompt)
            try:
                answer = await ask(filled.prompt)
            except (ModelBadRequest, ModelContentFiltered):
                for key in doubted:
                    del self._refused[key]  # it was not the pictures
                raise
        self._taken |= {(model, sha) for sha in filled.shown}
        return answer

    def price(self, model: str, tokens_in: int, tokens_out: int) -> float | None:
        """US dollars at full price."""
        return self._model.price(model, tokens_in, tokens_out)

    async def close(self) -> None:
        """Nothing: the model that is asked is closed by whoever made it."""

    async def _filled(self, model: str, prompt: Prompt) -> _Filled:
        """The request with its pictures, or with a note in place of each that is not sent."""
        if not any(message.pictures for message in prompt.messages):
            return _Filled(prompt, frozenset())
        withheld: dict[Picture, str] = {}
        images: dict[str, Image] = {}
        room = REQUEST_BYTES
        newest = dict.fromkeys(p for message in reversed(prompt.messages) for p in reversed(message.pictures))
        for picture in newest:
            why = self._sight_of(model, picture, len(images), room)
            image = None if why else images.get(picture.sha) or await self._image(picture)
            if image is None:
                withheld[picture] = why or GONE
            else:
                room -= 0 if picture.sha in images else picture.size
                images[picture.sha] = image
        self._images = images
        kept = self._messages
        self._messages = {}
        messages = tuple([self._message(message, withheld, kept) for message in prompt.messages])
        return _Filled(replace(prompt, messages=messages), frozenset(images))

    def _message(
        self, message: Message, withheld: dict[Picture, str], kept: dict[int, tuple[Message, Message]]
    ) -> Message:
        if not message.pictures:
            return message
        shown = tuple([picture for picture in message.pictures if picture not in withheld])
        notes = [self._note(picture, withheld[picture]) for picture in message.pictures if picture in withheld]
        made = PicturedMessage(
            message.role,
            "\n".join((message.text, *notes)),
            message.calls,
            message.answers,
            message.reasoning,
            message.landmark,
            shown,
            tuple([self._images[picture.sha] for picture in shown]),
        )
        before = kept.get(id(message))
        sent = before[1] if before is not None and before[1] == made else made
        self._messages[id(message)] = (message, sent)
        return sent

    def _note(self, picture: Picture, why: str) -> str:
        told = (
            f"{NOTE} You cannot see {one_line(picture.path)} ({kind_of(picture)}): {why}. Do not guess what it shows."
        )
        return item(self._mark(), told)

    def _sight_of(self, model: str, picture: Picture, count: int, room: int) -> str:
        """Why a picture is not sent; '' where it is."""
        if not picture.width:
            return "it is damaged or cut off"
        if not self._sight.sees(model):
            return "you are a model that takes no pictures, as far as is known"
        if (model, picture.sha) in self._refused:
            return self._refused[model, picture.sha]
        if picture.size > PICTURE_BYTES:
            return f"it is too large ({picture.size / 1e6:.1f} MB; at most {PICTURE_BYTES / 1e6:g} MB are sent)"
        if max(picture.width, picture.height) > LONGEST_SIDE:
            return f"it is too large (at most {LONGEST_SIDE:,} pixels a side are sent)"
        if count >= MOST_PICTURES or picture.size > room:
            return f"only the newest pictures are sent, at most {MOST_PICTURES} and {REQUEST_BYTES // MB} MB"
        return ""

    async def _image(self, picture: Picture) -> Image | None:
        """A picture's bytes as they were when it was attached; None where they are no longer there."""
        if picture.sha in self._images:
            return self._images[picture.sha]
        content = None
        with suppress(AgenticError, OSError, TimeoutError):
            async with asyncio.timeout(READ_SECONDS):
                content = await self._sight.read(self._thread, picture.path, PICTURE_BYTES)
        if content is None or hashlib.sha256(content).hexdigest() != picture.sha:
            return None
        return Image(picture.media, base64.b64encode(content).decode())
