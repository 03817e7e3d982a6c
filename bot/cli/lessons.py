"""`threadwright lessons report | list | export | import`: the lessons, for the operator.

The operator sees all servers; ``--guild`` selects one. A lesson comes to another server only by `import`,
which names that server: its words are screened anew, and its measurements elsewhere do not count here.
"""

from __future__ import annotations

import os
import sys
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from bot.cli.console import fail, note, say
from bot.config.home import LESSONS
from bot.config.settings import Settings
from reflexion.errors import LessonStoreError, LessonStoreTooNew
from reflexion.stores.factory import open_lessons

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

    from agentic.aws.aws_place import AwsPlace
    from reflexion.ports import LessonStore

REPORT = "threadwright-lessons.html"
WIDE = 70
"""Characters of a lesson in a list."""
NOTHING = (
    "There are no lessons in {home} yet. One is proposed after a task failed, was corrected, or got a 👎; "
    "`threadwright run` starts the bot."
)
Act = Literal["report", "list", "export", "import"]


@dataclass(frozen=True, slots=True)
class LessonsArguments:
    """The command's arguments; ``guild`` '' is all servers; for an import it makes lessons for all of them."""

    act: Act
    guild: str = ""
    file: Path | None = None
    everywhere: bool = False


async def lessons(settings: Settings, order: LessonsArguments) -> int:
    """Carry the command out; 1 where it fails or there are no lessons."""
    if settings.store == "memory":
        return fail("THREADWRIGHT_STORE is memory: lessons exist only while the bot runs.")
    path = settings.lessons_place
    if isinstance(path, Path) and not path.exists() and order.act != "import":
        return fail(NOTHING.format(home=settings.home))
    try:
        async with _opened(path) as store:
            return await _ACTS[order.act](store, order)
    except LessonStoreTooNew as error:
        return fail(f"The lessons cannot be read: {error}.")
    except LessonStoreError as error:
        return fail(
            f"The lessons cannot be read: {error}. The bot works without them. `threadwright doctor` shows what is "
            "damaged; `threadwright import BACKUP --into FOLDER` brings back what `threadwright backup` made, and "
            f"{settings.home / LESSONS} can be moved away to begin without lessons."
        )


async def _report(store: LessonStore, order: LessonsArguments) -> int:
    from bot.lessons.report.page import GENERATOR, page
    from reflexion.lessons.fact import living
    from reflexion.measurement.report import lessons_report

    file = order.file or Path(REPORT)
    if file.exists() and GENERATOR not in _beginning(file):
        return fail(
            f"{file} already exists and is not a lessons report, so it is not overwritten. Name another: --out FILE."
        )
    guild = order.guild or None
    made = lessons_report(await store.lessons(guild), await store.showings(guild), await store.verdicts(guild))
    if not made.lessons and not made.verdicts:
        return fail(
            f"Nothing is known of server {order.guild}."
            if guild
            else "No task has a known outcome yet, so there is nothing to report."
        )
    now = datetime.now(UTC)
    _write(file, page(made, guild=order.guild, at=now, facts=living(await store.facts(guild), now)))
    say(f"The report is in {file}: open it in a browser. {made.summary}")
    return 0


async def _list(store: LessonStore, order: LessonsArguments) -> int:
    from bot.messages.lesson_text import status_word

    found = await store.lessons(order.guild or None)
    if not found:
        return fail("There are no lessons there yet.")
    say(f"{'id':<13}{'status':<13}{'shown':>6} {'ok':>5}  {'held back':>9} {'ok':>5}  lesson")
    for lesson in found:
        life = lesson.life
        rates = (_rate(life.shown, life.shown_ok), _rate(life.held_back, life.held_back_ok))
        status, said = status_word(lesson.status), " ".join(f"{lesson.trigger} → {lesson.action}".split())
        short = said if len(said) <= WIDE else f"{said[: WIDE - 1]}…"
        say(
            f"{lesson.id:<13}{status:<13}{life.shown:>6} {rates[0]:>5}  {life.held_back:>9} {rates[1]:>5}  "
            f"{''.join(sign if sign.isprintable() else '�' for sign in short)}"
        )
    waiting = sum(lesson.status == "quarantined" for lesson in found)
    if waiting:
        say(
            f"\n{waiting} {'waits' if waiting == 1 else 'wait'} for approval: `/lessons approve` in their server, by an owner."
        )
    return 0


async def _export(store: LessonStore, order: LessonsArguments) -> int:
    from bot.lessons.export import exported

    found = await store.lessons(order.guild or None)
    lines, _ = exported(found, datetime.now(UTC))
    if order.file is None:
        sys.stdout.write(lines.content.decode())
        sys.stdout.flush()
        return 0
    if order.file.exists():
        return fail(f"{order.file} already exists and is not overwritten. Name another file.")
    _write(order.file, lines.content.decode())
    again = f"threadwright lessons import {order.file} --guild ID"
    note(f"{order.file}: {_lessons(len(found))}. To copy them to another server: {again}")
    return 0


async def _import(store: LessonStore, order: LessonsArguments) -> int:
    from bot.lessons.import_file import Unreadable, brought, lessons_in

    assert order.file is not None
    try:
        found = lessons_in(order.file)
    except Unreadable as error:
        return fail(f"{order.file} can't be imported: {error}. `threadwright lessons export FILE` writes such files.")
    came = brought(found, "" if order.everywhere else order.guild, datetime.now(UTC))
    now = [await store.propose(lesson, verified=False) for lesson in came]
    waiting = sum(lesson.status == "quarantined" for lesson in now)
    waits = f", {waiting} of them waiting for approval (`/lessons approve` there)" if waiting else ""
    left = len(found) - len(came)
    without = f"; {left} retired ones skipped" if left else ""
    say(f"{_lessons(len(now))} imported{waits}{without}.")
    return 0


_ACTS = {"report": _report, "list": _list, "export": _export, "import": _import}


@asynccontextmanager
async def _opened(path: Path | AwsPlace) -> AsyncGenerator[LessonStore]:
    store = open_lessons(path)
    try:
        yield store
    finally:
        await store.close()


def _beginning(file: Path) -> str:
    with file.open(encoding="utf-8", errors="replace") as opened:
        return opened.read(600)


def _write(file: Path, text: str) -> None:
    """Write the whole file or nothing, readable by its owner alone: lessons quote what was worked on."""
    hidden = file.with_name(f".{file.name}.{os.getpid()}")
    try:
        with hidden.open("x", encoding="utf-8", errors="replace") as out:
            hidden.chmod(0o600)
            out.write(text)
        hidden.replace(file)
    finally:
        hidden.unlink(missing_ok=True)


def _rate(tries: int, ok: int) -> str:
    return f"{ok / tries:.0%}" if tries else "–"


def _lessons(count: int) -> str:
    return f"{count} lesson{'' if count == 1 else 's'}"
