"""Integrity of the databases; `threadwright doctor` checks every row, a start only the pages."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from agentic.ports.errors import StoreError
from agentic.stores.factory import database_maintenance, store_maintenance
from bot.config.home import DATABASE, LESSONS
from reflexion.errors import LessonStoreTooNew
from reflexion.stores.compatibility import unreadable

RESTORE = "`threadwright import BACKUP --into FOLDER` brings back what `threadwright backup` made"
OTHERS = {
    LESSONS: "it runs without lessons until you move the file away",
    "guild/guild.sqlite3": "the local server starts over if you move the file away",
}
SHOWN = 3


@dataclass(frozen=True, slots=True)
class Trouble:
    """The damage of one database, in words."""

    file: str
    what: str
    todo: str
    stops: bool
    """Whether the bot cannot run with it."""


def troubles(home: Path, *, thoroughly: bool) -> list[Trouble]:
    """Return the damage below a home, worst first; with ``thoroughly``, every row is checked against its checksum."""
    found: list[Trouble] = []
    if (home / DATABASE).is_file():
        found += _of_the_store(home / DATABASE, thoroughly)
    for name, meaning in OTHERS.items():
        if not (home / name).exists():
            continue
        if what := _pages(home / name, thoroughly):
            found.append(Trouble(name, what, f"{meaning}; {RESTORE}", stops=False))
        elif name == LESSONS:
            found += _of_the_lessons(home / name, thoroughly)
    return found


def _of_the_store(path: Path, thoroughly: bool) -> list[Trouble]:
    maintenance = store_maintenance(path)
    try:
        if damage := maintenance.damage(thoroughly=thoroughly):
            return [Trouble(path.name, _listed([each.what for each in damage]), RESTORE, stops=True)]
        damage = maintenance.unreadable() if thoroughly else ()
    except StoreError as error:
        return [Trouble(path.name, str(error), "", stops=True)]
    if not damage:
        return []
    good = f"everything else works; only this is not used. {RESTORE}"
    return [Trouble(path.name, _listed([each.what for each in damage]), good, stops=False)]


def _of_the_lessons(path: Path, thoroughly: bool) -> list[Trouble]:
    """Check the lessons; a newer version's file is not damage."""
    try:
        what = unreadable(path, thoroughly=thoroughly)
    except LessonStoreTooNew as newer:
        what, _, todo = str(newer).partition(": ")
        return [Trouble(path.name, what, f"{todo}; until then it runs without lessons", stops=False)]
    except StoreError as error:
        what = str(error)
    return [Trouble(path.name, what, f"{OTHERS[LESSONS]}; {RESTORE}", stops=False)] if what else []


def _pages(path: Path, thoroughly: bool) -> str:

    if not path.is_file():
        return "it is not a file"
    try:
        return _listed([each.what for each in database_maintenance(path).damage(thoroughly=thoroughly)])
    except StoreError as error:
        return str(error)


def _listed(what: list[str]) -> str:
    more = f" … and {len(what) - SHOWN} more" if len(what) > SHOWN else ""
    return "; ".join(what[:SHOWN]) + more
