"""Outbox items as messages: words, footer, files of the workspace."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from pathlib import PurePosixPath

from agentic.core.events import OutboxItem
from agentic.errors import AgenticError
from agentic.ports import Store
from bot.feed import Feed, folded
from bot.progress import Progress
from bot.render import Attached, Rendered, inline, render
from bot.wording import answer_text, footer, progress_text, question_text

FILES_AT_MOST = 8
FILE_BYTES = 8 * 1024 * 1024
ALL_BYTES = 20 * 1024 * 1024
FETCH_SECONDS = 20.0

log = logging.getLogger(__name__)

FetchFile = Callable[[str, str], Awaitable[bytes | None]]
"""(thread, path in its workspace) -> content, None where there is no such file."""


class Composer:
    """Renders at delivery, when the whole log is known."""

    def __init__(self, store: Store, feed: Feed, fetch_file: FetchFile) -> None:
        self._store, self._feed, self._fetch_file = store, feed, fetch_file

    async def compose(self, item: OutboxItem) -> Rendered:
        """The messages and files an item becomes."""
        match item.sort:
            case "answer":
                return await self._answer(item)
            case "question":
                return render(question_text(item.text, item.options), name="question.md")
            case "progress":
                return Rendered((progress_text(await self._progress(item.execution)),))
            case _:
                files, problems = await self._files(item)
                rendered = render(item.text, footer=problems, name="message.md")
                return Rendered(rendered.parts, (*rendered.files, *files))

    def as_file(self, item: OutboxItem) -> Rendered:
        """The plainest form there is, for content that Discord did not take."""
        if not item.text:
            return Rendered(("👀 I have begun.",))
        content = item.text.encode("utf-8", "replace")[:FILE_BYTES]
        return Rendered(("This could not be shown as a message; it is in the file.",), (Attached("text.md", content),))

    async def _answer(self, item: OutboxItem) -> Rendered:
        progress = await self._progress(item.execution)
        files, problems = await self._files(item)
        foot = "\n".join(filter(None, (problems, footer(progress))))
        rendered = render(answer_text(item.text, progress), footer=foot)
        return Rendered(rendered.parts, (*rendered.files, *files)[:10])

    async def _progress(self, execution: str) -> Progress:
        known = self._feed.progress(execution)
        return known if known is not None else await folded(self._store, execution)

    async def _files(self, item: OutboxItem) -> tuple[tuple[Attached, ...], str]:
        """The files that could be attached, and a line about those that could not."""
        files: list[Attached] = []
        problems: list[str] = []
        left = ALL_BYTES
        for path in item.files[:FILES_AT_MOST]:
            content = await self._content(item.thread, path)
            if content is None:
                problems.append(f"{inline(path)} (not readable)")
            elif len(content) > min(FILE_BYTES, left):
                problems.append(f"{inline(path)} (too large: {len(content):,} bytes)")
            else:
                left -= len(content)
                files.append(Attached(_name(path, files), content))
        if len(item.files) > FILES_AT_MOST:
            problems.append(f"{len(item.files) - FILES_AT_MOST} more")
        return tuple(files), f"-# Not attached: {', '.join(problems)}" if problems else ""

    async def _content(self, thread: str, path: str) -> bytes | None:
        try:
            async with asyncio.timeout(FETCH_SECONDS):
                return await self._fetch_file(thread, path)
        except (AgenticError, OSError) as error:
            log.warning("thread %s: %s is not attached: %s", thread, path, error)
            return None


def _name(path: str, taken: list[Attached]) -> str:
    """A file's own name, with its folders where another has the same."""
    pure = PurePosixPath(path)
    name = pure.name or "file"
    if any(file.name == name for file in taken):
        name = "_".join(part for part in pure.parts if part not in ("/", ".."))
    return name[-100:]
