"""Outbox items as messages: words, footer, files of the workspace."""

from __future__ import annotations

import asyncio
import io
import logging
import zipfile
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import replace
from pathlib import PurePosixPath

from agentic.core.events.execution_events import OutboxItem, Reason
from agentic.ports.errors import AgenticError
from agentic.ports.runtime import Store
from agentic.workspace.file_names import safe_name
from bot.config.preferences import NOBODY, Preference
from bot.history.attempts import tried_in
from bot.messages.file_changes import (
    Changes,
    FetchBefore,
    FetchFile,
    inline_diff,
    nothing_kept,
    whole_diff,
)
from bot.messages.final_card import DIFF_FILE, card, sections
from bot.messages.question_choices import question_of
from bot.messages.question_text import Standing
from bot.outbound.live.answer_messages import below_answer
from bot.outbound.live.branch_offer_messages import offer_of
from bot.outbound.live.pull_messages import pull_of
from bot.progress.feed import Feed, folded
from bot.progress.model import Progress, steering
from bot.progress.text import footer, progress_text
from bot.rendering.answer_card import carded
from bot.rendering.discord_text import (
    ANSWER_FILE,
    Attached,
    Rendered,
    beginning,
    calling,
    inline,
    render,
)

FILES_AT_MOST = 8
"""More files than this are attached as one archive."""
ARCHIVED_AT_MOST = 200
ARCHIVE = "files.zip"
APPROACHES_FILE = "approaches.diff"
FILE_BYTES = 8 * 1024 * 1024
ALL_BYTES = 20 * 1024 * 1024
FETCH_SECONDS = 20.0
_OWN_ENDS: frozenset[Reason] = frozenset(("stopped", "cancelled", "tour"))
"""Ends that call nobody: a person brought them about, or there was no task."""

Chosen = Callable[[str], Awaitable[Preference]]
"""thread -> what people chose for it."""

Telling = Callable[[OutboxItem], Awaitable[Rendered]]
"""The message about a lesson, as it is to be shown now."""

log = logging.getLogger(__name__)


async def as_it_was(item: OutboxItem) -> Rendered:
    """Where no lessons are kept."""
    return Rendered((item.text,))


async def normally(thread: str) -> Preference:
    """Where nobody can choose."""
    return Preference()


class Composer:
    """Renders at delivery, when the whole log is known."""

    def __init__(
        self, store: Store, feed: Feed, fetch_file: FetchFile, fetch_before: FetchBefore = nothing_kept,
        chosen: Chosen = normally, lesson: Telling = as_it_was,
    ) -> None:  # fmt: skip
        self._lesson = lesson
        self._store, self._feed, self._fetch_file, self._chosen = store, feed, fetch_file, chosen
        self._changes = Changes(fetch_before, fetch_file)

    async def compose(self, item: OutboxItem) -> Rendered:
        """The messages and files an item becomes."""
        item = item.model_copy(update={"text": self._feed.discretion.text(item.text)})
        match item.sort:
            case "answer":
                return await self._with_ping(item, await self._answer(item))
            case "question":
                return await self._with_ping(item, await self._question(item))
            case "offer":
                return await offer_of(self._store, item)
            case "pull":
                return await pull_of(self._store, item)
            case "lesson":
                return await self._lesson(item)
            case "progress":
                verbosity = (await self._chosen(item.thread)).verbosity
                progress = await self._progress(item.execution)
                text = progress_text(
                    progress, verbosity=verbosity, details=self._feed.links.task(item.thread, item.execution)
                )
                return Rendered((text,), steer=steering(progress))
            case _:
                files, problems = await self._files(item)
                rendered = render(item.text, footer=problems, name="message.md")
                return Rendered(rendered.parts, (*rendered.files, *files))

    def as_file(self, item: OutboxItem) -> Rendered:
        """The plainest form there is, for content that Discord did not take."""
        if not item.text:
            return Rendered(("👀 I've started.",))
        content = item.text.encode("utf-8", "replace")[:FILE_BYTES]
        return Rendered(("This could not be shown as a message; it's in the file.",), (Attached("text.md", content),))

    async def _question(self, item: OutboxItem) -> Rendered:
        """A question, with the file that is shown with it."""
        rendered = await question_of(self._store, item, Standing())
        content = await self._store.get_blob(item.attached.sha) if item.attached is not None else None
        if content is None:
            return rendered
        shown = self._feed.discretion.text(content.decode("utf-8", "replace")).encode("utf-8", "replace")
        return replace(rendered, files=(*rendered.files, *_attached(APPROACHES_FILE, shown)))

    async def _answer(self, item: OutboxItem) -> Rendered:
        progress = await self._progress(item.execution, ended=True)
        hide = self._feed.discretion.text
        differences = tuple(replace(each, path=hide(each.path)) for each in await self._changes.of(progress))
        files, problems = await self._files(item)
        unseen = [each for each in differences if PurePosixPath(each.path).name not in {file.name for file in files}]
        diff = () if inline_diff(differences) else _attached(DIFF_FILE, whole_diff(unseen))
        details = self._feed.links.task(item.thread, item.execution)
        foot = "\n".join(filter(None, (problems, footer(progress, details=details) if not progress.plain else "")))
        tried = await tried_in(self._store, item.execution)
        blocks = sections(item.text, progress, differences, tried.lines)
        whole = "\n\n".join(blocks)
        rendered = render(whole, footer=foot, name=ANSWER_FILE)
        if any(file.name == ANSWER_FILE for file in rendered.files):  # the sections stay, the answer is shortened
            short = render(card(beginning(item.text), progress, differences, tried.lines), footer=foot, name="card.md")
            rendered = Rendered(short.parts, (Attached(ANSWER_FILE, whole.encode("utf-8", "replace")), *short.files))
        shown = (*rendered.files, *diff, *files)[:10]
        below = replace(below_answer(progress, tried), parts=rendered.parts, files=shown)
        as_card = (await self._chosen(item.thread)).answers == "card" and not (progress.plain or diff or files)
        return replace(below, card=carded((*blocks, foot))) if as_card else below

    async def _with_ping(self, item: OutboxItem, rendered: Rendered) -> Rendered:
        """The same with the mention of whoever is to be called."""
        session = await self._store.session(item.thread)
        if session is None or not session.guild or not item.execution:
            return rendered  # a direct message calls by itself
        progress = await self._progress(item.execution, ended=item.sort == "answer")
        mention = mention_of(item, progress, await self._chosen(item.thread))
        return calling(rendered, mention) if mention else rendered

    async def _progress(self, execution: str, *, ended: bool = False) -> Progress:
        """What the feed knows, or the log, which may be ahead of the feed: an answer stands there together with its end."""
        known = self._feed.progress(execution)
        if known is not None and (known.finished is not None or not ended):
            return known
        return await folded(self._store, execution, self._feed.discretion)

    async def _files(self, item: OutboxItem) -> tuple[tuple[Attached, ...], str]:
        """The files that could be attached, and a line about those that could not."""
        files: list[Attached] = []
        problems: list[str] = []
        contents: dict[str, bytes] = {}
        left = ALL_BYTES
        for path in item.files[:ARCHIVED_AT_MOST]:
            content = await self._content(item.thread, path)
            if content is None:
                problems.append(f"{inline(self._feed.discretion.text(path))} (not readable)")
            elif len(content) > min(FILE_BYTES, left):
                problems.append(f"{inline(self._feed.discretion.text(path))} (too large: {len(content):,} bytes)")
            else:
                left -= len(content)
                contents[path] = content
        if len(contents) > FILES_AT_MOST:
            files = [Attached(ARCHIVE, await asyncio.to_thread(_archive, contents), made=False)]
        else:
            for path, content in contents.items():
                files.append(Attached(_name(path, files), content, made=False))
        if len(item.files) > ARCHIVED_AT_MOST:
            problems.append(f"{len(item.files) - ARCHIVED_AT_MOST} more")
        if len(problems) > FILES_AT_MOST:
            problems = [*problems[:FILES_AT_MOST], f"and {len(problems) - FILES_AT_MOST} more"]
        return tuple(files), f"-# Not attached: {', '.join(problems)}" if problems else ""

    async def _content(self, thread: str, path: str) -> bytes | None:
        try:
            async with asyncio.timeout(FETCH_SECONDS):
                return await self._fetch_file(thread, path)
        except (AgenticError, OSError, ValueError) as error:  # a path that no file system takes
            log.warning("thread %s: %r is not attached: %s", thread, path, error)
            return None


def mention_of(item: OutboxItem, progress: Progress, chosen: Preference) -> str:
    """Return the mention of the person or role that an answer or question calls, '' for nobody."""
    if item.asked == "approval" and chosen.approvers != NOBODY:
        return f"<@&{chosen.approvers}>"
    end = progress.finished
    if item.sort == "answer" and (chosen.ping != "all" or end is None or progress.plain or end.reason in _OWN_ENDS):
        return ""
    if progress.called:
        return "" if progress.called == NOBODY or chosen.ping == "never" else progress.called
    return f"<@{progress.requester}>" if chosen.ping != "never" and progress.requester.isdecimal() else ""


def _attached(name: str, content: bytes) -> tuple[Attached, ...]:
    return (Attached(name, content[:FILE_BYTES]),) if content else ()


def _archive(contents: Mapping[str, bytes]) -> bytes:
    """Return a zip file of these files under their whole paths, with nothing in them that leads out of its folder."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for path, content in contents.items():
            parts = [safe_name(part) for part in PurePosixPath(path).parts if part not in ("/", ".", "..")]
            name = "/".join(parts)
            archive.writestr(name if name not in archive.namelist() else f"{len(archive.namelist())}/{name}", content)
    return out.getvalue()


def _name(path: str, taken: list[Attached]) -> str:
    """A file's own name, with its folders where another has the same."""
    pure = PurePosixPath(path)
    others = {file.name for file in taken}
    name = safe_name(pure.name)
    if name in others:
        name = "_".join(part for part in pure.parts if part not in ("/", ".."))
    return safe_name(name, others)
