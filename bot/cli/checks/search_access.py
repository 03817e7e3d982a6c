"""Check that the web can be searched: the owner's SearXNG is asked; public engines only where somebody wants that tried."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from agentic.extras import missing
from agentic.web.search_engines import SearchFailed
from bot.app.adapters import search_engine, web_client
from bot.config.settings import Settings

QUERY = "python"


@dataclass(frozen=True, slots=True)
class SearchFinding:
    """How searching stands."""

    engine: str
    verdict: Literal["ok", "limited"]
    said: str
    todo: str = ""


async def check(settings: Settings, *, asks: bool) -> SearchFinding:
    """Ask the engine; ``asks``: public ones too, to whom nothing else is sent from here."""
    client = web_client(settings)
    engine = search_engine(settings, client)
    try:
        if (lacks := missing("web")) is not None:
            said = f"pages cannot be read{'' if settings.search_url else ' and nothing searched'}: {lacks.said}"
            return SearchFinding(engine.name, "limited", said, f"for the web: {lacks.command}")
        if not settings.search_url and not asks:
            said = "asked only where an owner opens the web; `threadwright doctor --search` tries them now"
            return SearchFinding(engine.name, "ok", said)
        hits = await engine.search(QUERY, 5)
    except SearchFailed as failed:
        why = str(failed).removeprefix(engine.name).strip()
        return SearchFinding(engine.name, "limited", f"it {why}", "agents can still read pages whose address they know")
    finally:
        engine.close()
        client.close()
    if not hits:
        return SearchFinding(engine.name, "limited", "it finds nothing", "are search engines switched on in it?")
    return SearchFinding(engine.name, "ok", "it finds pages; agents use it where an owner opens the web")
