"""Texts of any length without secrets, a page at a time; the loop goes on meanwhile."""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Iterator
from dataclasses import dataclass

from bot.rendering.secrets import Discretion

PAGE = 64 * 1024
"""Characters of a page."""
STEP = 128 * 1024
"""Characters that are looked through at once; between them other threads have their turn."""
KEPT = 24 * 1024 * 1024
"""Characters of all texts together that stay in memory."""
BLOCK = "PRIVATE KEY"
"""A text with a key of several lines is looked through as a whole."""


@dataclass(frozen=True, slots=True)
class TextPage:
    """A page of a text; pages count from 1."""

    text: str
    number: int
    pages: int
    characters: int


class LongTexts:
    """Pages of long texts."""

    def __init__(self, discretion: Discretion) -> None:
        self._discretion = discretion
        self._kept: OrderedDict[str, str] = OrderedDict()

    async def page(self, name: str, text: str, number: int) -> TextPage:
        """A page of a text, which ``name`` stands for; the nearest one where there is none of this number."""
        shown = self._kept.get(name)
        if shown is None:
            shown = await asyncio.to_thread(self.shown, text)
            self._kept[name] = shown
        self._kept.move_to_end(name)
        while len(self._kept) > 1 and sum(map(len, self._kept.values())) > KEPT:
            self._kept.popitem(last=False)
        pages = max(-(-len(shown) // PAGE), 1)
        number = min(max(number, 1), pages)
        return TextPage(shown[(number - 1) * PAGE : number * PAGE], number, pages, len(shown))

    def shown(self, text: str) -> str:
        """A text without secrets. For a thread of its own where the text may be long."""
        if len(text) <= STEP or BLOCK in text:
            return self._discretion.text(text)
        return "".join(map(self._discretion.text, _steps(text)))


def _steps(text: str) -> Iterator[str]:
    """Pieces that end where a line does, so that none ends within a secret."""
    at = 0
    while at < len(text):
        end = text.find("\n", at + STEP)
        end = len(text) if end < 0 else end + 1
        yield text[at:end]
        at = end
