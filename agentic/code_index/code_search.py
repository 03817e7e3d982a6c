"""Search over the code of each thread's workspace, and who owns what that needs: files, threads, a process, vectors to make.

A search first brings the index up to date, so nothing has to follow what happens in a workspace.  Meaning is an extra: what
was found by words is embedded before the answer, within a short time, and the rest afterwards, one thread's after the other's,
while nobody waits.
"""

from __future__ import annotations

import asyncio
import logging
import threading
import weakref
from collections.abc import Callable, Collection, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from agentic.code_index.code_words import asked_words
from agentic.code_index.index_file import ChunkPlace, IndexFile, delete_index, open_index
from agentic.code_index.index_update import IndexUpdate, UpdateReport
from agentic.code_index.score_fusion import CANDIDATES, fused
from agentic.code_index.syntax_reader import SyntaxReader
from agentic.ports.errors import EmbeddingUnavailable, StoreCorrupt, StoreError, StoreUnavailable
from agentic.ports.lookup import Embedder, likenesses

T = TypeVar("T")
UPDATE_SECONDS = 20.0
"""So long files are taken in before an answer; what is left waits for the next search."""
EMBEDDED_FIRST = 24
"""Chunks found by words that are embedded before the answer."""
EMBED_SECONDS = 3.0
EMBEDDED_AT_ONCE = 8
"""Lessons wait for no more than these."""
IDLE_SECONDS = 60.0
"""So long the process that reads syntax is kept for the next search."""
THREADS = 2

log = logging.getLogger("threadwright.code_index")


@dataclass(frozen=True, slots=True)
class CodeFound:
    """What a search found, best first, and how much it searched."""

    places: tuple[ChunkPlace, ...]
    update: UpdateReport
    embedded: int = 0
    """Chunks that could be found by meaning, of ``to_embed``; both 0 without a model of meaning."""
    to_embed: int = 0


class CodeSearch:
    """The indexes of all threads below ``root``, a file each; ``embedder`` None searches by words alone."""

    def __init__(self, root: Path, embedder: Embedder | None = None) -> None:
        self._root = root
        self._embedder = embedder
        self._threads = ThreadPoolExecutor(THREADS, "code-index")
        self._locks: weakref.WeakValueDictionary[str, asyncio.Lock] = weakref.WeakValueDictionary()
        self._readers: list[SyntaxReader] = []
        """Those that nobody uses now."""
        self._idle: asyncio.TimerHandle | None = None
        self._embedding: asyncio.Task[None] | None = None
        self._to_embed: dict[str, None] = {}
        """Threads whose chunks are to be embedded, in order."""
        self._told = ""

    async def search(
        self, thread: str, workspace: Path, hidden: Collection[str], question: str, *, path: str = "", most: int
    ) -> CodeFound:
        """Find chunks; raises ``StoreError`` where the index can be neither read nor made.

        Cancelling it ends the reading of the workspace first.
        """
        async with self._lock(thread):
            update, by_words = await self._by_words(thread, workspace, hidden, question, path)
            if self._embedder is None:
                return CodeFound(await self._places(thread, [*by_words][:most]), update)
            likeness = await self._likeness(self._embedder, thread, question, path, by_words)
            places = await self._places(thread, fused(by_words, likeness)[:most])
            share = await self._in_thread(lambda _: self._with_index(thread, IndexFile.embedded_share))
        self._embed_later(thread)
        return CodeFound(places, update, *share)

    async def forget(self, thread: str) -> None:
        """Delete the index of a thread."""
        self._to_embed.pop(thread, None)
        async with self._lock(thread):
            await self._in_thread(lambda _: delete_index(self._file(thread)))

    async def close(self) -> None:
        """End what goes on; safe to call twice."""
        self._to_embed.clear()
        if self._embedding is not None:
            self._embedding.cancel()
            await asyncio.gather(self._embedding, return_exceptions=True)
        self._end_readers()
        self._threads.shutdown(wait=False, cancel_futures=True)

    # --- by words ---------------------------------------------------------------------------------------------

    async def _by_words(
        self, thread: str, workspace: Path, hidden: Collection[str], question: str, path: str
    ) -> tuple[UpdateReport, dict[int, float]]:
        reader = self._readers.pop() if self._readers else SyntaxReader()

        def act(off: threading.Event) -> tuple[UpdateReport, dict[int, float]]:
            try:
                return self._updated(thread, workspace, hidden, reader, off, question, path)
            except StoreCorrupt as damaged:
                log.warning("the code index of thread %s is made anew: %s", thread, damaged)
                delete_index(self._file(thread))
                return self._updated(thread, workspace, hidden, reader, off, question, path)

        try:
            found = await self._in_thread(act, reader.close)
        except BaseException:
            reader.close()
            raise
        self._readers.append(reader)
        self._end_readers_later()
        return found

    def _updated(
        self, thread: str, workspace: Path, hidden: Collection[str], reader: SyntaxReader, off: threading.Event,
        question: str, path: str,
    ) -> tuple[UpdateReport, dict[int, float]]:  # fmt: skip
        try:
            self._root.mkdir(mode=0o700, parents=True, exist_ok=True)
        except OSError as error:
            raise StoreUnavailable(f"its index cannot be kept: {error.strerror or error}") from error

        def act(index: IndexFile) -> tuple[UpdateReport, dict[int, float]]:
            try:
                update = IndexUpdate(index, reader, off.is_set, UPDATE_SECONDS).run(workspace, hidden)
            except OSError as error:
                raise StoreUnavailable(f"the workspace cannot be read: {error.strerror or error}") from error
            return update, index.by_words(asked_words(question), path, CANDIDATES)

        return self._with_index(thread, act)

    # --- by meaning -------------------------------------------------------------------------------------------

    async def _likeness(
        self, embedder: Embedder, thread: str, question: str, path: str, by_words: Mapping[int, float]
    ) -> dict[int, float]:
        """How like chunks are to what was asked, in meaning; {} where that cannot be told soon."""
        try:
            async with asyncio.timeout(EMBED_SECONDS):
                (asked,) = await embedder.embed([question])
                first = [*by_words][:EMBEDDED_FIRST]
                with suppress(TimeoutError):
                    async with asyncio.timeout(EMBED_SECONDS * 0.8):
                        while await self._embed(embedder, thread, first):
                            pass
                return await self._in_thread(
                    lambda _: self._with_index(thread, lambda index: _likenesses(index, path, asked))
                )
        except (EmbeddingUnavailable, TimeoutError) as error:
            self._tell(str(error) or f"{embedder.name} took more than {EMBED_SECONDS:.0f} s")
            return {}

    async def _embed(self, embedder: Embedder, thread: str, of: Sequence[int] | None = None) -> bool:
        """Embed a few chunks; whether there were any."""
        missing = await self._in_thread(
            lambda _: self._with_index(thread, lambda index: index.unembedded(EMBEDDED_AT_ONCE, of))
        )
        if not missing:
            return False
        vectors = await embedder.embed([each.text for each in missing])
        known = [(each.digest, vector) for each, vector in zip(missing, vectors, strict=True)]
        await self._in_thread(lambda _: self._with_index(thread, lambda index: index.keep_vectors(known)))
        return True

    def _embed_later(self, thread: str) -> None:
        self._to_embed[thread] = None
        if self._embedding is None or self._embedding.done():
            self._embedding = asyncio.create_task(self._embed_all(), name="code-index-embedding")

    async def _embed_all(self) -> None:
        """Embed what is still missing, until there is nothing; a few chunks at a time, so that a search comes between."""
        assert self._embedder is not None
        while self._to_embed:
            thread = next(iter(self._to_embed))
            try:
                async with self._lock(thread):
                    more = thread in self._to_embed and await self._embed(self._embedder, thread)
            except (EmbeddingUnavailable, StoreError) as error:
                self._tell(str(error))
                more = False
            if not more:
                self._to_embed.pop(thread, None)

    def _tell(self, trouble: str) -> None:
        if trouble != self._told:
            self._told = trouble
            log.warning("code is found by its words alone: %s", trouble)

    # --- small parts ------------------------------------------------------------------------------------------

    async def _places(self, thread: str, ids: Sequence[int]) -> tuple[ChunkPlace, ...]:
        return tuple(await self._in_thread(lambda _: self._with_index(thread, lambda index: index.places(ids))))

    def _with_index(self, thread: str, act: Callable[[IndexFile], T]) -> T:
        index = open_index(self._file(thread), self._embedder.name if self._embedder is not None else "")
        try:
            return act(index)
        finally:
            index.close()

    async def _in_thread(self, act: Callable[[threading.Event], T], end: Callable[[], None] | None = None) -> T:
        """Do it beside the event loop; where the caller is cancelled, call it off, and wait until it has ended."""
        off = threading.Event()
        work = self._threads.submit(act, off)
        task = asyncio.wrap_future(work)
        try:
            return await asyncio.shield(task)
        except asyncio.CancelledError:
            off.set()
            if end is not None:
                end()
            if not work.cancel():
                await asyncio.wait((task,))
            raise

    def _end_readers_later(self) -> None:
        if self._idle is not None:
            self._idle.cancel()
        self._idle = asyncio.get_running_loop().call_later(IDLE_SECONDS, self._end_readers)

    def _end_readers(self) -> None:
        if self._idle is not None:
            self._idle.cancel()
        while self._readers:
            self._readers.pop().close()

    def _lock(self, thread: str) -> asyncio.Lock:
        return self._locks.setdefault(thread, asyncio.Lock())

    def _file(self, thread: str) -> Path:
        if not thread.isalnum():
            raise ValueError(f"{thread!r} cannot name a thread")
        return self._root / f"{thread}.sqlite"


def _likenesses(index: IndexFile, path: str, asked: bytes) -> dict[int, float]:
    known = index.vectors(path)
    likeness = likenesses(asked, [vector for _, vector in known])
    return {id: like for (id, _), like in zip(known, likeness, strict=True)}
