"""Whether what is stored is still what was written; `threadwright doctor` looks at all of it, a start only at the pages."""

from __future__ import annotations

from pathlib import Path

from agentic.core.lazy_dataclass import dataclass
from agentic.errors import StoreError
from bot.state import DATABASE, LESSONS

RESTORE = "`threadwright import BACKUP --into FOLDER` brings back what `threadwright backup` made"
OTHERS = {
    LESSONS: "it runs without lessons until you move the file away",
    "guild/guild.sqlite3": "the local guild founds itself anew if you move the file away",
}
SHOWN = 3


@dataclass(frozen=True, slots=True)
class Trouble:
    """What is wrong with one database, in words."""

    file: str
    what: str
    todo: str
    stops: bool
    """The bot cannot run like this."""


def troubles(home: Path, *, thoroughly: bool) -> list[Trouble]:
    """What is damaged below a home, worst first; thoroughly, every row is held against its checksum."""
    found: list[Trouble] = []
    if (home / DATABASE).is_file():
        found += _of_the_store(home / DATABASE, thoroughly)
    for name, meaning in OTHERS.items():
        if (home / name).exists() and (what := _pages(home / name, thoroughly) or _lessons(home / name, thoroughly)):
            found.append(Trouble(name, what, f"{meaning}; {RESTORE}", stops=False))
    return found


def _of_the_store(path: Path, thoroughly: bool) -> list[Trouble]:
    from agentic.stores.sqlite import checking

    try:
        if damage := checking.pages(path, thoroughly=thoroughly):
            return [Trouble(path.name, _listed([each.what for each in damage]), RESTORE, stops=True)]
        damage = checking.rows(path) if thoroughly else ()
    except StoreError as error:
        return [Trouble(path.name, str(error), "", stops=True)]
    if not damage:
        return []
    good = f"only this is not used, everything else is good; {RESTORE}"
    return [Trouble(path.name, _listed([each.what for each in damage]), good, stops=False)]


def _lessons(path: Path, thoroughly: bool) -> str:
    if not thoroughly or path.name != LESSONS:
        return ""
    from reflexion.stores.checking import unreadable

    try:
        return unreadable(path)
    except StoreError as error:
        return str(error)


def _pages(path: Path, thoroughly: bool) -> str:
    from agentic.stores.sqlite import checking

    if not path.is_file():
        return "it is not a file"
    try:
        return _listed([each.what for each in checking.pages(path, thoroughly=thoroughly)])
    except StoreError as error:
        return str(error)


def _listed(what: list[str]) -> str:
    more = f" … and {len(what) - SHOWN} more" if len(what) > SHOWN else ""
    return "; ".join(what[:SHOWN]) + more
