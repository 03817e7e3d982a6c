"""Lessons for a task, out of the store: by their words, and by meaning where a model of meaning is at hand.

Vectors are made a few at a time: after an execution, when a new lesson has just been written and nobody waits, and,
of those still missing where one searches, some more before the search (never of others, however many theirs are).
Meaning has little time; without it words have to do.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence

from agentic.ports.errors import EmbeddingUnavailable
from agentic.ports.lookup import Embedder
from reflexion.lessons.lesson import Lesson
from reflexion.ports import LessonStore
from reflexion.retrieval.embedding import revision_of, text_of
from reflexion.retrieval.ranking import Candidate, ranked
from reflexion.text.words import words_of

log = logging.getLogger("threadwright.reflexion")
CANDIDATES = 12
"""Found by each search."""
WORDS = 96
"""Of a longer task the first and the last are looked for: what is wanted, and how the output ended."""
BEFORE_A_SEARCH = 16
AFTER_AN_EXECUTION = 64
"""Lessons that are embedded at once."""
SECONDS = 3.0
"""An execution that is to start waits no longer for meaning."""


class Finder:
    """Finds lessons; ``embedder`` None finds them by words alone."""

    def __init__(self, lessons: LessonStore, embedder: Embedder | None = None) -> None:
        self._lessons = lessons
        self._embedder = embedder
        self._told = ""

    async def find(self, guild: str, thread: str, task: str) -> tuple[Candidate, ...]:
        """What the searches found, best first; raises ``LessonStoreError``."""
        words = words_of(task)
        words = words if len(words) <= WORDS else (*words[: WORDS // 2], *words[-WORDS // 2 :])
        by_words = await self._lessons.search(guild, thread, words, CANDIDATES)
        near = await self._nearest(guild, thread, task, by_words)
        likeness = {lesson.id: likeness for lesson, likeness in near}
        return ranked(task, by_words, [lesson for lesson, _ in near][:CANDIDATES], likeness)

    async def keep_up(self, most: int = AFTER_AN_EXECUTION) -> None:
        """Embed lessons that have no vector yet; raises ``LessonStoreError``."""
        if self._embedder is None:
            return
        try:
            await self._embed(self._embedder, await self._lessons.unembedded(self._embedder.name, most))
        except EmbeddingUnavailable as error:
            self._tell(str(error))

    async def _nearest(
        self, guild: str, thread: str, task: str, by_words: tuple[Lesson, ...]
    ) -> tuple[tuple[Lesson, float], ...]:
        if self._embedder is None:
            return ()
        try:
            async with asyncio.timeout(SECONDS):
                mine = await self._lessons.unembedded(self._embedder.name, BEFORE_A_SEARCH, guild=guild, thread=thread)
                await self._embed(self._embedder, mine)
                if not await self._lessons.embedded(guild, thread, self._embedder.name):
                    return ()
                (vector,) = await self._embedder.embed([task])
                also = [lesson.id for lesson in by_words]
                return await self._lessons.nearest(guild, thread, self._embedder.name, vector, CANDIDATES, also)
        except (EmbeddingUnavailable, TimeoutError) as error:
            self._tell(str(error) or f"{self._embedder.name} took more than {SECONDS:.0f} s")
            return ()

    async def _embed(self, embedder: Embedder, missing: Sequence[Lesson]) -> None:
        if missing:
            vectors = await embedder.embed([text_of(lesson) for lesson in missing])
            known = [(each.id, revision_of(each), vector) for each, vector in zip(missing, vectors, strict=True)]
            await self._lessons.keep_vectors(embedder.name, known)

    def _tell(self, trouble: str) -> None:
        if trouble != self._told:
            self._told = trouble
            log.warning("lessons are found by their words alone: %s", trouble)
