"""``web_search``: find pages, have a helper read each, and one that answers out of their digests with sources.

The helpers are children (``agentic/ports/children.py``): what they cost, a stop, and an owner that dies are theirs to
settle.  Which page a digest is of is read from what the helper was begun with, so it holds also where a later owner
began the call again and the engine found others meanwhile.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce

from pydantic import Field

from agentic.core.events.execution_events import QuotedMessage
from agentic.core.fold.exposure import merged
from agentic.ports.children import Children, ChildResult, ChildTask
from agentic.ports.runtime import Observation
from agentic.prompts.web_digests import COMBINE, DIGEST
from agentic.tools.base.observation import failed, listed, refused
from agentic.tools.base.terminal_text import clean
from agentic.tools.base.tool import AgentWorld, Arguments, CallContext, Tool
from agentic.tools.web.web_access import DATA, OWN_PAGE, ThreadWeb, of_own, opened
from agentic.web.page_reader import Page
from agentic.web.search_engines import SearchFailed, WebHit
from agentic.web.web_client import WebTrouble

MOST_PAGES = 5
RESULTS = 8
PAGE_CHARACTERS = 16_000
"""Of a page, what its reader is given: its beginning."""
DIGEST_CHARACTERS = 3_000
SECONDS = 900.0
QUESTION = "the question"
A_PAGE = "a page of the web"
CLOSED = (
    "The web is not open here any more. Go on without a search; an owner can open it:"
    " `/settings set name:network value:+@web`."
)
_REFUSES = 400
_NOTHING = re.compile(r"\W*NOTHING\W*")
_CITED = re.compile(r"\[(\d{1,3}(?:[,; –-]{1,3}\d{1,3}){0,20})\]")
_NUMBER = re.compile(r"\d{1,3}")
_URL = re.compile(r"https?://[^\s()\[\]<>\"']{1,500}")


class WebSearchArguments(Arguments):
    """What to look for."""

    query: str = Field(min_length=2, max_length=300, description="Words for the search engine.")
    question: str = Field(
        default="", max_length=1_000, description="What you want to know, where the words alone do not say it."
    )
    pages: int = Field(
        default=3,
        ge=0,
        le=MOST_PAGES,
        description="So many of the pages found are read for you, default 3; 0: only list.",
    )


@dataclass(frozen=True, slots=True)
class _Unread:
    """A page that was found and could not be read."""

    url: str
    why: str


def web_search_tool(web: ThreadWeb) -> Tool[WebSearchArguments]:
    """Return the tool over the web as a thread may read it."""

    async def act(arguments: WebSearchArguments, call: CallContext) -> Observation:
        world = await opened(call)
        if not (await web.policy()).web:
            return refused(CLOSED)
        try:
            hits = await web.engine.search(arguments.query, RESULTS)
        except SearchFailed as failure:
            return failed(f"Nothing was searched: {clean(str(failure)).rstrip('.')}.")
        if not hits:
            return failed("The search found nothing. Use other words, or fewer.")
        if call.children is None or not arguments.pages:
            return listed(world.hide(_results(hits)), world.outputs)
        call.on_output(f"{len(hits)} results\n")
        pages = await asyncio.gather(*(_read(web, hit) for hit in hits[: arguments.pages]))
        return await _Search(arguments, call, call.children, world, hits).answer(pages)

    return Tool(
        name="web_search",
        description=(
            "Search the web: the first pages are read by helpers, and you get an answer with its sources. They spend from your"
            " budget. Check what matters with fetch."
        ),
        example=WebSearchArguments(
            query="python decimal round half even", question="How does decimal round by default?"
        ),
        act=act,
        effect="keyed",
        permission="read",
        untrusted=True,
        outside="always",
        seconds=lambda _: SECONDS,
    )


async def _read(web: ThreadWeb, hit: WebHit) -> Page | _Unread:
    try:
        answer = await web.client.page(hit.url, web.policy, web.asker)
        if answer.status >= _REFUSES:
            return _Unread(hit.url, f"HTTP {answer.status}")
        return await web.reader.read(answer)
    except WebTrouble as trouble:
        return _Unread(hit.url, clean(str(trouble)))


@dataclass(frozen=True, slots=True)
class _Search:
    """A search whose pages are read: what is done with them."""

    arguments: WebSearchArguments
    call: CallContext
    children: Children
    world: AgentWorld
    hits: Sequence[WebHit]

    async def answer(self, pages: Sequence[Page | _Unread]) -> Observation:
        """The answer, its sources, and what could not be read."""
        unread = [page for page in pages if isinstance(page, _Unread)]
        tasks = [self._digest(page) for page in pages if isinstance(page, Page)]
        share = len(tasks) + 1
        digests = await self.children.run(self.call.id, tasks, self.call.on_output, share=share) if tasks else ()
        if isinstance(digests, str):  # no helpers here
            return listed(self.world.hide(_results(self.hits)), self.world.outputs)
        unread += [
            _Unread(_page_of(each), f"not digested: {each.finished.reason}") for each in digests if not _is_done(each)
        ]
        useful = [each for each in digests if _is_done(each) and not _NOTHING.fullmatch(each.finished.answer)]
        if not useful:
            why = "No page that was read says anything about it." if digests else "None of the pages could be read."
            return self._told(f"{why} Ask in other words, or fetch one of the results.", (), unread, digests)
        combined = await self.children.run(
            self.call.id, [self._combine(useful)], self.call.on_output, first=MOST_PAGES, share=share
        )
        assert not isinstance(combined, str), "there were helpers before"
        sources = tuple(message.author for message in combined[0].task.quoted[1:])
        every = (*digests, *combined)
        if not _is_done(combined[0]):
            said = [f"{_page_of(each)}: {each.finished.answer.strip()}" for each in useful]
            return self._told(
                "\n\n".join((f"The digests were not combined ({combined[0].finished.reason}).", *said)),
                (),
                unread,
                every,
            )
        return self._told(*cited(combined[0].finished.answer, sources), unread, every)

    def _asked(self) -> QuotedMessage:
        return QuotedMessage(author=QUESTION, text=self.arguments.question or self.arguments.query, trusted=True)

    def _digest(self, page: Page) -> ChildTask:
        text = clean(f"{page.title}\n\n{page.text}" if page.title else page.text)[:PAGE_CHARACTERS]
        shown = QuotedMessage(author=page.url, text=self.world.hide(text), what=OWN_PAGE if page.private else A_PAGE)
        return ChildTask(DIGEST, quoted=(self._asked(), shown), reader=True)

    def _combine(self, digests: Sequence[ChildResult]) -> ChildTask:
        numbered = [
            QuotedMessage(
                author=_page_of(each),
                text=f"[{number}] {each.finished.answer.strip()[:DIGEST_CHARACTERS]}",
                what=OWN_PAGE if _is_own(each) else A_PAGE,
            )
            for number, each in enumerate(digests, 1)
        ]
        return ChildTask(COMBINE, quoted=(self._asked(), *numbered), reader=True)

    def _told(
        self, text: str, sources: Sequence[str], unread: Sequence[_Unread], results: Sequence[ChildResult]
    ) -> Observation:
        lines = [DATA.format(what="An answer out of pages of the web"), text]
        lines += ["", "Sources:", *sources] if sources else []
        lines += ["", "Not read:", *(f"- {each.url}: {each.why}" for each in unread)] if unread else []
        known = "\n".join((*sources, *(each.url for each in unread)))
        others = [f"- {hit.title}: {hit.url}" for hit in self.hits if hit.url not in known]
        lines += ["", "Other results:", *others] if others else []
        seen = listed(self.world.hide(clean("\n".join(lines))), self.world.outputs)
        return Observation(
            outcome="ok" if sources else "failed",
            preview=seen.preview,
            output=seen.output,
            output_ref=seen.output_ref,
            error="" if sources else "the search gave no answer",
            events=tuple(each.ended for each in results),
            exposure=reduce(merged, (each.exposure for each in results), of_own(any(map(_is_own, results)))),
        )


def cited(answer: str, pages: Sequence[str]) -> tuple[str, tuple[str, ...]]:
    """The answer without numbers of pages that do not exist, and the sources, each with whether it is cited."""
    numbers: set[int] = set()

    def kept(found: re.Match[str]) -> str:
        named = [int(number) for number in _NUMBER.findall(found[1])]
        numbers.update(named)
        there = [number for number in named if 1 <= number <= len(pages)]
        return found[0] if there == named else "".join(f"[{number}]" for number in there)

    text = _CITED.sub(kept, answer.strip())
    strange = sorted(number for number in numbers if not 1 <= number <= len(pages))
    unread = [url for url in dict.fromkeys(map(_bare, _URL.findall(text))) if url not in pages]
    if strange:
        text += (
            f"\n\n(It cited {', '.join(f'[{number}]' for number in strange)}, which no page has; that was taken out.)"
        )
    if unread:
        text += f"\n\n(Named there, but not read: {', '.join(unread[:5])}.)"
    if not numbers.difference(strange):
        text += "\n\n(It names no page behind its statements: check them.)"
    marks = ("" if number in numbers else " (read, not cited)" for number in range(1, len(pages) + 1))
    return text, tuple(
        f"[{number}] {page}{mark}" for number, (page, mark) in enumerate(zip(pages, marks, strict=True), 1)
    )


def _bare(url: str) -> str:
    """An address without what ends the sentence that it stands in."""
    return url.rstrip(".,;:!?*_`")


def _is_done(result: ChildResult) -> bool:
    return result.finished.reason == "done" and bool(result.finished.answer.strip())


def _is_own(result: ChildResult) -> bool:
    return any(shown.what == OWN_PAGE for shown in result.task.quoted)


def _page_of(result: ChildResult) -> str:
    """The page that a helper was given, by what it was begun with."""
    return result.task.quoted[1].author if len(result.task.quoted) > 1 else "a page"


def _results(hits: Sequence[WebHit]) -> str:
    lead = DATA.format(what="Results of a web search")
    shown = [f"{number}. {hit.title}\n   {hit.url}\n   {hit.snippet}" for number, hit in enumerate(hits, 1)]
    return clean("\n".join((lead, *shown, "Read one with fetch.")))
