"""`threadwright search WORDS`: what was said and done in the tasks of this home, newest first, with the task's id."""

from __future__ import annotations

from pathlib import Path

from agentic.aws.aws_place import AwsPlace
from agentic.ports.errors import StoreError
from agentic.ports.runtime import Hit, Wanted
from agentic.stores.factory import open_store
from agentic.text.word_query import WordQuery
from bot.cli.console import fail, note, plainly, say
from bot.config.settings import Settings
from bot.history.thread_search import ThreadSearch, words_of
from bot.messages.report_text import did, snippet
from reflexion.text.secrets import redact

SHOWN = 20
"""Number of finds that are printed."""
SEARCHED = 21
"""Number of databases that are searched: the bot's own and those of the newest tasks."""


async def search(settings: Settings, query: WordQuery) -> int:
    """Print what was found; 1 where there is nothing."""
    stores = settings.stores()
    found: list[Hit] = []
    for database in stores[:SEARCHED]:
        found += await _of(database, query)
    if len(stores) > SEARCHED:
        note(f"Only the bot's own tasks and the newest {SEARCHED - 1} of `threadwright task` were searched.")
    if not found:
        return fail(f"Nothing in {settings.kept_in} has these words. `threadwright replay` lists the newest tasks.")
    found.sort(key=lambda hit: hit.envelope.at, reverse=True)
    for hit in found[:SHOWN]:
        said = words_of(hit)
        line = plainly(f"{did(said)}: {snippet(redact(said.text), query)}")
        say(f"{hit.envelope.execution}  {hit.envelope.at:%Y-%m-%d %H:%M}  {line}")
    more = f", the newest {SHOWN}: add a word to find older ones" if len(found) > SHOWN else ""
    note(f"\nTimes are UTC{more}. `threadwright replay EXECUTION` tells one as a story.")
    return 0


async def _of(database: Path | AwsPlace, query: WordQuery) -> list[Hit]:
    try:
        store = open_store(database)
        try:
            if await ThreadSearch(store).is_behind():
                note(f"Not everything in {database} was read yet, so something may be missing. Search again.")
            return await store.search(query, Wanted(most=SHOWN + 1))
        finally:
            await store.close()
    except StoreError as error:
        note(f"{database} cannot be read: {error}")
        return []
