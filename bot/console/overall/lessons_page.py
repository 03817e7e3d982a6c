"""Lessons: what they are worth, what waits for a person, each with where it comes from and who was told of it."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from http import HTTPStatus
from time import monotonic

from aiohttp import web

from bot.console.access.viewer import Viewer
from bot.console.bot_channel import BotSilent, LessonDecision
from bot.console.console_context import NO_THREAD, Console, Route
from bot.console.overall.figures.lesson_figures import ARMS, lesson_line, lesson_lines, went
from bot.console.overall.home_lists import VisibleThreads
from bot.console.overall.lesson_rights import LessonRights
from bot.console.overall.told_attempts import told_attempts
from bot.messages.lesson_text import ORDER, SIGNS, status_word
from reflexion.lessons.lesson import Lesson, Reflection
from reflexion.lessons.lifecycle import Showing
from reflexion.measurement.report import lessons_report
from reflexion.ports import LessonStore

AT_ONCE = 50
"""Lessons on a page."""
USES, ORIGINS, LINES = 60, 20, 40
"""So much of a lesson's page is shown of: tasks that it fitted, tasks it was seen in, lines of evidence."""
REFLECTIONS, MADE = 100, 5
"""Reflections of a thread that are looked through for one, and lessons made of one that are shown."""
NO_LESSON = "There is no such lesson, or you may not see it."
NO_STORE = "Lessons can't be read here. The console's log says why."
NO_DECISION = "This form is not complete. Open the page again."
MOST_DIGITS = 9


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
    rights = LessonRights(console, viewer)
    found = await rights.visible(await store.lessons(None))
    showings = await _showings(store, viewer, found)
    report, lines = await asyncio.to_thread(lesson_lines, found, showings)
    status = request.query.get("status", "")
    wanted = [line for line in lines if not status or line.lesson.status == status]
    number = request.query.get("page", "1")
    page = max(int(number), 1) if number.isdecimal() and len(number) < 6 else 1
    shown = wanted[(page - 1) * AT_ONCE : page * AT_ONCE]
    return console.page(
        "lessons.html", viewer, report=report, lines=shown, status=status, page=page, clean=console.discretion.text,
        names=await console.names.of(line.lesson.scope.guild for line in shown),
        more=len(wanted) > page * AT_ONCE, statuses=[(each, status_word(each), report.count(each)) for each in ORDER],
        waits=rights.waits,
    )  # fmt: skip


async def lesson(console: Console, request: web.Request, viewer: Viewer) -> web.Response:
    """One lesson; with ``?thread=`` also what an attempt in that thread left for the next ones there."""
    began, id, thread = monotonic(), request.match_info["lesson"], request.query.get("thread", "")
    if thread and (reflection := await _reflection(console, viewer, thread, id)) is not None:
        return await _reflection_page(console, viewer, reflection)
    return await _lesson_page(console, viewer, await _lesson(console, viewer, id, began))


async def approve(console: Console, request: web.Request, viewer: Viewer) -> web.Response:
    """Let a lesson count from now on."""
    return await _decide(console, request, viewer, approves=True)


async def retire(console: Console, request: web.Request, viewer: Viewer) -> web.Response:
    """Let a lesson count no longer."""
    return await _decide(console, request, viewer, approves=False)


async def _decide(console: Console, request: web.Request, viewer: Viewer, *, approves: bool) -> web.Response:
    """Have the bot change the lesson that the form shows; what it refuses stands on the lesson's page."""
    known = await _lesson(console, viewer, request.match_info["lesson"], monotonic())
    revision = str((await request.post()).get("revision", ""))
    if not revision.isdecimal() or len(revision) > MOST_DIGITS:
        raise web.HTTPBadRequest(text=NO_DECISION)
    decision = LessonDecision(known.id, known.scope.guild, approves, int(revision))
    try:
        done = await console.bot.decide(decision, viewer)
    except BotSilent as silent:
        return await _lesson_page(console, viewer, known, str(silent))
    if done.done:
        raise web.HTTPSeeOther(f"/lessons/{known.id}")
    return await _lesson_page(console, viewer, await _lesson(console, viewer, known.id, monotonic()), done.words)


async def _lesson_page(console: Console, viewer: Viewer, lesson: Lesson, trouble: str = "") -> web.Response:
    store, sees = _store(console), VisibleThreads(console, viewer)
    showings = await _showings(store, viewer, [lesson], lesson.id)
    line = lesson_line(lessons_report([lesson], showings, ()).lessons[0])
    newest = showings[: -USES - 1 : -1]
    uses = await _tasks(
        console, sees, [(each.execution, f"{ARMS[each.arm]}: {went(each)}", each.at) for each in newest]
    )
    origins = await _tasks(console, sees, [(each, "", None) for each in reversed(lesson.executions[-ORIGINS:])])
    told = await _told(console, sees, lesson.executions[-ORIGINS:])
    try:
        decides = await LessonRights(console, viewer).may_decide(lesson)
    except BotSilent:  # then nobody could decide now
        decides = False
    answer = console.page(
        "lesson.html", viewer, line=line, lesson=line.lesson, uses=uses, origins=origins, told=told, decides=decides,
        listens=console.bot.connected, names=await console.names.of([lesson.scope.guild]),
        sign=SIGNS[lesson.status], trouble=console.discretion.text(trouble), clean=console.discretion.text, LINES=LINES,
        older=len(showings) > USES and viewer.everything,
    )  # fmt: skip
    if trouble:
        answer.set_status(HTTPStatus.CONFLICT)
    return answer


async def _reflection_page(console: Console, viewer: Viewer, reflection: Reflection) -> web.Response:
    store, sees = _store(console), VisibleThreads(console, viewer)
    made = await store.seen_in(reflection.guild, reflection.execution, MADE)
    return console.page(
        "reflection.html", viewer, reflection=reflection, clean=console.discretion.text,
        tasks=await _tasks(console, sees, [(reflection.execution, "", None)]),
        told=await _told(console, sees, [reflection.execution]), made=await LessonRights(console, viewer).visible(made),
    )  # fmt: skip


async def _told(console: Console, sees: VisibleThreads, executions: Iterable[str]) -> list[LessonTask]:
    found = await told_attempts(console.store, sees, executions)
    return await _tasks(console, sees, [(execution, "", at) for execution, at in found])


async def _tasks(
    console: Console, sees: VisibleThreads, wanted: Iterable[tuple[str, str, datetime | None]]
) -> list[LessonTask]:
    """The tasks among these that somebody may see."""
    named = [(await console.store.execution(execution), words, at) for execution, words, at in wanted]
    seen = await sees.of(row.thread for row, _, _ in named if row is not None)
    found: list[LessonTask] = []
    for row, words, at in named:
        if row is not None and row.thread in seen:
            title = " ".join(console.discretion.text(row.task[:1_000]).split())[:120]
            path = f"/t/{row.thread}/{row.execution}"
            found.append(LessonTask(path, title or row.execution, words, at or row.started_at))
    return found


def _store(console: Console) -> LessonStore:
    if console.lessons is None:
        raise web.HTTPServiceUnavailable(text=NO_STORE)
    return console.lessons


async def _lesson(console: Console, viewer: Viewer, id: str, began: float) -> Lesson:
    """A lesson by its id; one that somebody may not see answers as one that does not exist, and as long after ``began``."""
    found = next((each for each in await _store(console).lessons(None) if each.id == id), None)
    if await LessonRights(console, viewer).only(found) and found is not None:
        return found
    await console.evenly(viewer, began)
    raise web.HTTPNotFound(text=NO_LESSON)


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
    allowed = viewer.everything or await console.sight.sees(viewer.person, thread if thread.isdecimal() else NO_THREAD)
    if session is None or not allowed:
        return None
    kept = await _store(console).reflections(session.guild, thread, REFLECTIONS)
    return next((each for each in kept if each.id == id), None)


LESSON = r"/lessons/{lesson:[\w.-]{1,60}}"
ROUTES: tuple[Route, ...] = (
    ("GET", "/lessons", lessons),
    ("GET", LESSON, lesson),
    ("POST", LESSON + "/approve", approve),
    ("POST", LESSON + "/retire", retire),
)
