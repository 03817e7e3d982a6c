"""The tab Identity: the system prompt as it was sent and where each part of it comes from, role, limits, tools."""

from __future__ import annotations

import asyncio
from dataclasses import replace

from aiohttp import web

from bot.console.access.viewer import Viewer
from bot.console.console_context import Console, Route
from bot.console.hindsight.relatives import Relative, started_of
from bot.console.logs.task_log import TaskLog
from bot.console.pages.task import TASK, tab
from bot.console.views.agent_identity import AgentIdentity, identity_of
from bot.console.views.sent_request import requests_of
from bot.messages.lesson_card_lines import reason_in_words
from reflexion.errors import LessonStoreError
from reflexion.lessons.lesson import reflection_id, worked_id


async def identity(console: Console, request: web.Request, viewer: Viewer) -> web.Response:
    """Who the agent is, by the request of a turn that was sent last."""
    log = await console.task(request, viewer)
    newest = next((each.seq for each, event in reversed(requests_of(log.events)) if event.purpose == "turn"), 0)
    sent = await console.requests.without_messages(log, newest) if newest else None
    who = identity_of(log.events, log.folded, sent)
    shown = await asyncio.to_thread(_without_secrets, console, who)
    return await tab(
        console, viewer, log, "identity", "identity.html", who=shown, sent=sent, reason=reason_in_words,
        attempts=await _attempts(console, log, who), names=await _names(console, log, who),
    )  # fmt: skip


async def _attempts(console: Console, log: TaskLog, who: AgentIdentity) -> dict[str, Relative]:
    """The attempts in this thread that its reflections are about, by the reflection's id."""
    wanted = {lesson.id for lesson in who.left}
    rows = await console.store.executions(log.row.thread) if wanted else []
    found: dict[str, Relative] = {}
    for row in rows:
        for id in {reflection_id(row.execution), worked_id(row.execution)} & wanted:
            begun = await started_of(console, row.execution)
            number = begun.attempt if begun is not None else 1
            name = f"attempt {number}" if row.task == log.said else "an earlier task"
            found[id] = Relative(
                "", name, f"/t/{row.thread}/{row.execution}", f"/compare/{row.execution}/{log.execution}"
            )
    return found


async def _names(console: Console, log: TaskLog, who: AgentIdentity) -> dict[str, str]:
    """What the lessons are for that were left out, by id; of those that are still there."""
    guild, lessons = log.session.guild if log.session is not None else "", console.lessons
    found: dict[str, str] = {}
    if lessons is None:
        return found
    for left_out in who.withheld:
        try:
            known = await lessons.lesson(guild, left_out.id)
        except LessonStoreError:
            break
        if known is not None:
            found[left_out.id] = console.discretion.text(known.trigger)[:160]
    return found


def _without_secrets(console: Console, who: AgentIdentity) -> AgentIdentity:
    text = console.discretion.text
    return replace(
        who,
        parts=tuple(replace(part, text=text(part.text), origin=text(part.origin)) for part in who.parts),
        stored=text(who.stored),
        role_origin=text(who.role_origin),
        tools=tuple(replace(tool, description=text(tool.description)) for tool in who.tools),
    )


ROUTES: tuple[Route, ...] = (("GET", TASK + "/identity", identity),)
