"""Which threads may read the web, and the tools by which they do."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING
from weakref import WeakValueDictionary

from agentic.core.events.ids import thread_of
from agentic.egress.host_list import HostList
from agentic.tools.web.fetch_page import fetch_tool
from agentic.tools.web.http_call import http_tool
from agentic.tools.web.web_access import ThreadWeb
from agentic.tools.web.web_search import web_search_tool
from agentic.web.web_client import Asker

if TYPE_CHECKING:
    from agentic.tools.base.tool import AnyTool
    from agentic.web.page_reader import PageReader
    from agentic.web.search_engines import SearchEngine
    from agentic.web.web_client import WebClient

ThreadHosts = Callable[[str], Awaitable[HostList]]


@dataclass(slots=True)
class WebTools:
    """The web for the threads of a process; only where it is open for a thread it costs a prompt anything."""

    client: WebClient
    reader: PageReader
    engine: SearchEngine
    chosen: ThreadHosts
    """What is chosen for a thread."""
    reach: ThreadHosts
    """The same with what its task was let reach."""
    _open: dict[str, HostList] = field(default_factory=dict[str, HostList])
    _askers: WeakValueDictionary[str, Asker] = field(default_factory=WeakValueDictionary[str, Asker])
    """Of each thread the one that its tools hold."""

    async def look(self, thread: str) -> None:
        """Note what is open for a thread, before the tools of its next task are made."""
        hosts = await self.chosen(thread)
        if hosts.web or hosts.beyond_packages:
            self._open[thread] = hosts
        else:
            self._open.pop(thread, None)

    def forget(self, thread: str) -> None:
        """Let go of what is kept of a thread."""
        self._open.pop(thread, None)

    def tools(self, place: str, *, acts: bool = True) -> tuple[AnyTool, ...]:
        """Return the tools for a thread's workspace or a copy of it; ``acts``: with those that may change something
        elsewhere.
        """
        hosts = self._open.get(thread_of(place))
        if hosts is None:
            return ()
        asker = self._askers.setdefault(thread_of(place), Asker())
        web = ThreadWeb(self.client, self.reader, self.engine, partial(self.reach, place), asker)
        searches = (web_search_tool(web),) if hosts.web else ()
        return (*searches, fetch_tool(web), *((http_tool(web),) if acts else ()))

    def close(self) -> None:
        """Look up and search no more."""
        self.client.close()
        self.engine.close()
