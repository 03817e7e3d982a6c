"""``fetch``: read one page of the web as text."""

from __future__ import annotations

from dataclasses import replace

from pydantic import Field

from agentic.ports.runtime import Observation
from agentic.tools.base.observation import failed, listed
from agentic.tools.base.terminal_text import clean
from agentic.tools.base.tool import Arguments, CallContext, Tool
from agentic.tools.web.web_access import DATA, SPARE_SECONDS, ThreadWeb, of_own, opened, told
from agentic.web.page_reader import ROOM_SECONDS, Page
from agentic.web.page_reader import SECONDS as READ_SECONDS
from agentic.web.web_client import WebBounds, WebTrouble

LINKS = 20
_REFUSES = 400


class FetchArguments(Arguments):
    """An address."""

    url: str = Field(min_length=8, max_length=2_000, description="https://…")


def fetch_tool(web: ThreadWeb) -> Tool[FetchArguments]:
    """Return the tool over the web as a thread may read it."""

    async def act(arguments: FetchArguments, call: CallContext) -> Observation:
        world = await opened(call)
        try:
            answer = await web.client.page(arguments.url, web.policy, web.asker)
            if answer.status >= _REFUSES:
                return failed(f"{answer.url} answered with HTTP {answer.status}.")
            page = await web.reader.read(answer)
        except WebTrouble as trouble:
            return told(trouble)
        return replace(listed(world.hide(clean(_shown(page))), world.outputs), exposure=of_own(page.private))

    return Tool(
        name="fetch",
        description="Read a page of the web (HTML, plain text, JSON) as text with its title and links.",
        example=FetchArguments(url="https://docs.python.org/3/library/decimal.html"),
        act=act,
        effect="read",
        permission="read",
        untrusted=True,
        outside="always",
        seconds=lambda _: WebBounds().seconds + ROOM_SECONDS + READ_SECONDS + SPARE_SECONDS,
    )


def _shown(page: Page) -> str:
    lead = [DATA.format(what="A page of the web"), f"Address: {page.url}"]
    lead += [f"Title: {page.title}"] if page.title else []
    lead += ["(Only its beginning was read: it is too long.)"] if page.cut else []
    links = [f"- {text}: {to}" for text, to in page.links if to not in page.text][:LINKS]
    return "\n".join((*lead, "", page.text.strip(), *(["", "Further links:", *links] if links else [])))
