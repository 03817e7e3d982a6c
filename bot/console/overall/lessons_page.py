"""Lessons: what they are worth, what waits for a person, each with where it comes from and who was told of it."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime
from http import HTTPStatus

from aiohttp import web

from bot.access.permissions import may
from bot.console.access.viewer import Viewer
from bot.console.console_context import Console, Route
from bot.console.overall.figures.lesson_figures import ARMS, lesson_line, lesson_lines, went
from bot.console.overall.home_lists import VisibleThreads
from bot.messages.lesson_text import ORDER, SIGNS, status_word
from reflexion.errors import LessonRefused
from reflexion.lessons.changes import approved, retired
from reflexion.lessons.lesson import Lesson, LessonStatus, Reflection
from reflexion.lessons.lifecycle import Showing
from reflexion.measurement.report import lessons_report
from reflexion.ports import LessonStore

AT_ONCE = 50
"""Lessons on a page."""
USES, ORIGINS, LINES = 60, 20, 40
"""So much of a lesson's page is shown of: tasks that it fitted, tasks it was seen in, lines of evidence."""
REFLECTIONS = 100
NO_LESSON = "There is no such lesson, or you may not see it."
NO_STORE = "Lessons can't be read here. The console's log says why."
MEANWHILE = "Lesson {id} was changed meanwhile: {what} Nothing was done. Look at it again, then decide."
ALREADY = "Lesson {id} is {status} already. Nothing was done."
NOT_YOURS = (
    "Only an owner of its server may approve or retire a lesson; one for all servers, only whoever runs the bot."
)

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class LessonTask:
    """A task that a lesson has to do with; ``words`` say what."""

    path: str
    title: str
    words: str
    at: datetime | None


async def lessons(console: Console, request: web.Request, viewer: Viewer) -> web.Response:
    """All lessons that somebody may see; ``?status=active`` narrows them, ``?page=2`` goes on."""
    store = _store(console)
    found = await _visible(console, viewer, await store.lessons(None))
    showings = await _showings(store, viewer, found)
    report, lines = await asyncio.to_thread(lesson_lines, found, showings)
    status = request.query.get("status", "")
    wanted = [line for line in lines if not status or line.lesson.status == status]
    number = request.query.get("page", "1")
    page = max(int(number), 1) if number.isdecimal() and len(number) < 6 else 1
    shown = wanted[(page - 1) * AT_ONCE : page * AT_ONCE]
    return console.page(
        "lessons.html", viewer, report=report, lines=shown, status=status, page=page, clean=console.discretion.text,
        more=len(wanted) > page * AT_ONCE, statuses=[(each, status_word(each), report.count(each)) for each in ORDER],
    )  # fmt: skip


async def lesson(console: Console, request: web.Request, viewer: Viewer) -> web.Response:
    """One lesson; with ``?thread=`` also what an attempt in that thread left for the next ones there."""
    id, thread = request.match_info["lesson"], request.query.get("thread", "")
    if thread and (reflection := await _reflection(console, viewer, thread, id)) is not None:
        task = await _tasks(console, VisibleThreads(console, viewer), [(reflection.execution, "", None)])
        return console.page("reflection.html", viewer, reflection=reflection, tasks=task, clean=console.discretion.text)
    return await _lesson_page(console, viewer, await _lesson(console, viewer, id))


async def approve(console: Console, request: web.Request, viewer: Viewer) -> web.Response:
    """Let a lesson count from now on."""
    return await _decide(console, request, viewer, "active")


async def retire(console: Console, request: web.Request, viewer: Viewer) -> web.Response:
    """Let a lesson count no longer."""
    return await _decide(console, request, viewer, "retired")


async def _decide(console: Console, request: web.Request, viewer: Viewer, status: LessonStatus) -> web.Response:
    """Change the lesson that the form shows, once: a form for an older state of it changes nothing."""
    store = _store(console)
    known = await _lesson(console, viewer, request.match_info["lesson"])
    if not await _may_decide(console, viewer, known):
        raise web.HTTPForbidden(text=NOT_YOURS)
    revision = (await request.post()).get("revision")
    if known.status == status and not (status == "active" and known.contradicts):
        return await _lesson_page(console, viewer, known, ALREADY.format(id=known.id, status=status_word(status)))
    if revision != str(known.revision):
        return await _lesson_page(console, viewer, known, _meanwhile(known))
    change = approved if status == "active" else retired
    try:
        await store.amend(change(known, by=viewer.person.name, at=datetime.now(UTC)))
    except LessonRefused:
        now = await _lesson(console, viewer, known.id)
        return await _lesson_page(console, viewer, now, _meanwhile(now))
    log.info("lesson %s is %s by %s (%s)", known.id, status, viewer.person.name, viewer.person.id)
    raise web.HTTPSeeOther(f"/lessons/{known.id}")


def _meanwhile(lesson: Lesson) -> str:
    what = lesson.history[-1].what if lesson.history else "a task that met it changed it."
    return MEANWHILE.format(id=lesson.id, what=what)


async def _lesson_page(console: Console, viewer: Viewer, lesson: Lesson, trouble: str = "") -> web.Response:
    store, sees = _store(console), VisibleThreads(console, viewer)
    showings = await _showings(store, viewer, [lesson], lesson.id)
    line = lesson_line(lessons_report([lesson], showings, ()).lessons[0])
    newest = showings[: -USES - 1 : -1]
    uses = await _tasks(
        console, sees, [(each.execution, f"{ARMS[each.arm]}: {went(each)}", each.at) for each in newest]
    )
    origins = await _tasks(console, sees, [(each, "", None) for each in reversed(lesson.executions[-ORIGINS:])])
    decides = await _may_decide(console, viewer, lesson)
    answer = console.page(
        "lesson.html", viewer, line=line, lesson=line.lesson, uses=uses, origins=origins, decides=decides,
        sign=SIGNS[lesson.status], trouble=console.discretion.text(trouble), clean=console.discretion.text, LINES=LINES,
        older=len(showings) > USES and viewer.everything,
    )  # fmt: skip
    if trouble:
        answer.set_status(HTTPStatus.CONFLICT)
    return answer


async def _tasks(
    console: Console, sees: VisibleThreads, wanted: Iterable[tuple[str, str, datetime | None]]
) -> list[LessonTask]:
    """The tasks among these that somebody may see."""
    found: list[LessonTask] = []
    for execution, words, at in wanted:
        row = await console.store.execution(execution)
        if row is not None and await sees(row.thread):
            title = " ".join(console.discretion.text(row.task[:1_000]).split())[:120]
            found.append(LessonTask(f"/t/{row.thread}/{execution}", title or execution, words, at or row.started_at))
    return found


def _store(console: Console) -> LessonStore:
    if console.lessons is None:
        raise web.HTTPServiceUnavailable(text=NO_STORE)
    return console.lessons


async def _lesson(console: Console, viewer: Viewer, id: str) -> Lesson:
    """A lesson by its id; one that somebody may not see answers as one that does not exist."""
    there = [each for each in await _store(console).lessons(None) if each.id == id]
    if found := await _visible(console, viewer, there):
        return found[0]
    raise web.HTTPNotFound(text=NO_LESSON)


async def _visible(console: Console, viewer: Viewer, there: Iterable[Lesson]) -> list[Lesson]:
    """A lesson of a conversation is seen by who sees that, one of a server by who is in it, one for all by who is in any."""
    if viewer.everything:
        return list(there)
    sees, levels = VisibleThreads(console, viewer), dict[str, bool]()
    found: list[Lesson] = []
    for each in there:
        guild = each.scope.guild if each.scope.kind == "guild" else ""
        if each.scope.kind in ("guild", "global") and guild not in levels:
            level = await console.bot.level(viewer.person, guild)
            levels[guild] = level is not None and may(level, "see")
        if levels[guild] if each.scope.kind in ("guild", "global") else await sees(each.scope.thread):
            found.append(each)
    return found


async def _showings(store: LessonStore, viewer: Viewer, lessons: Iterable[Lesson], id: str = "") -> list[Showing]:
    """How tasks fared with these lessons, within their own server; of whoever runs the bot, everywhere."""
    if viewer.everything:
        return list(await store.showings(None, id))
    found: list[Showing] = []
    own = {each.id: each.scope for each in lessons if each.scope.kind != "global"}
    for guild in {scope.guild for scope in own.values()}:
        found += [each for each in await store.showings(guild, id) if each.lesson in own]
    return found


async def _reflection(console: Console, viewer: Viewer, thread: str, id: str) -> Reflection | None:
    session = await console.store.session(thread) if thread.isdecimal() else None
    if session is None or not await console.sees(viewer, session):
        return None
    kept = await _store(console).reflections(session.guild, thread, REFLECTIONS)
    return next((each for each in kept if each.id == id), None)


async def _may_decide(console: Console, viewer: Viewer, lesson: Lesson) -> bool:
    """As in the chat: an owner of its server; of one for all servers, whoever runs the bot."""
    if viewer.everything:
        return True
    level = await console.bot.level(viewer.person, lesson.scope.guild) if lesson.scope.kind != "global" else None
    return level is not None and may(level, "lessons")


LESSON = r"/lessons/{lesson:[\w.-]{1,60}}"
ROUTES: tuple[Route, ...] = (
    ("GET", "/lessons", lessons),
    ("GET", LESSON, lesson),
    ("POST", LESSON + "/approve", approve),
    ("POST", LESSON + "/retire", retire),
)
