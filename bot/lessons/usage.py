"""Where a lesson was used, as far as the reader may see those threads."""

from __future__ import annotations

from agentic.ports.runtime import Store
from bot.access.thread_access import OutOfReach, Reach, Stand
from bot.lessons.effect_text import effect
from bot.messages.lesson_text import Known, LessonUse
from bot.messages.report_text import stamp
from reflexion.lessons.lesson import Lesson
from reflexion.lessons.lifecycle import Showing
from reflexion.ports import LessonStore

LOOKED_AT = 40
"""Number of the newest uses that are looked at."""


async def known_of(store: Store, reach: Reach, lessons: LessonStore, stand: Stand, lesson: Lesson) -> Known:
    """Return the lesson's effect, and its uses newest first."""
    showings = await lessons.showings(stand.guild_id, lesson.id, thread=stand.alone_in)
    seen: dict[str, bool] = {}
    uses: list[LessonUse] = []
    hidden = 0
    for showing in showings[: -LOOKED_AT - 1 : -1]:
        row = await store.execution(showing.execution)
        thread = row.thread if row is not None else ""
        if thread not in seen:
            seen[thread] = bool(thread) and await _within(reach, stand, thread)
        if seen[thread]:
            uses.append(LessonUse(thread, _words(showing)))
        else:
            hidden += 1
    return Known(effect(lesson.life, showings), tuple(uses), hidden)


def _words(showing: Showing) -> str:
    told = {"shown": "used", "held_back": "left out to measure it", "crowded": "no room for it"}[showing.arm]
    went = ("✔ went well" if showing.ok else "✖ did not go well") if showing.says else "outcome not known"
    return f"{stamp(showing.at)} {told}: {went}"


async def _within(reach: Reach, stand: Stand, thread: str) -> bool:
    try:
        await reach.thread(stand, thread)
    except OutOfReach:
        return False
    return True
