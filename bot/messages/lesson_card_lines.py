"""The lines on lessons in the final card, in small print: which were used and why, withheld, or learned; pure."""

from __future__ import annotations

import re
from collections.abc import Sequence

from agentic.core.events.execution_events import ChosenLesson, WithheldLesson
from bot.messages.lesson_text import safe
from bot.rendering.discord_text import one_line
from reflexion.lessons.lesson import Lesson, LessonStatus

LEARNED = "-# 💡 learned: "
USED = "-# 📖 used: "
SHOWN = 3
NAME, WHY, INSIGHT = 90, 110, 160
_KEY, _ATTEMPT, _SCORE, _THEN = "Key: ", "in this thread ", "match ", " → "
"""Patterns in retrieval's reasons: a reflection's insight, how its attempt ended, scores that mean nothing here, and
the beginning of a lesson's advice.
"""
_OF_HERE = " lesson of this server"
_SHARED = re.compile(r"shares (?:no word|(?P<words>[^;]+?))(?:, means (?P<alike>\d+%) the same)?")
"""How retrieval names what a lesson and a task have in common."""
_CAME: dict[LessonStatus, str] = {
    "quarantined": "waits for an owner's approval",
    "candidate": "used once the same failure is seen again",
    "probation": "in use, while I measure whether it helps",
    "active": "active",
    "retired": "was retired before and stays retired",
}


def used_lines(lessons: Sequence[ChosenLesson], withheld: Sequence[WithheldLesson]) -> list[str]:
    """List the lessons of the prompt, each with a short name and its reason, and those withheld to measure them."""
    lines = [f"{USED}{_used(lesson)}" for lesson in lessons[:SHOWN]]
    if len(lessons) > SHOWN:
        lines.append(f"-# … and {len(lessons) - SHOWN} more")
    held = [f"`{each.id}`" for each in withheld if each.arm == "held_back"]
    if held:
        ids = ", ".join(held[:SHOWN])
        lines.append(f"-# 📖 left out this time, to measure whether it helps: {ids}")
    return lines


def learned_lines(insight: str, lesson: Lesson | None, *, below: bool = False) -> list[str]:
    """Say what the reflection found, and which lesson was proposed with its status.

    ``below``: the thread has a message that asks about the lesson.
    """
    lines = [f"{LEARNED}{safe(insight, INSIGHT)}"]
    if lesson is not None:
        lines.append(f"-# 💡 lesson `{lesson.id}` for later tasks: {_CAME[lesson.status]}{', see below' * below}")
    return lines


def with_lines(content: str, lines: Sequence[str]) -> str | None:
    """Insert lines above the footer of a posted card; None where they are there already."""
    if LEARNED in content:
        return None
    *before, foot = content.split("\n")
    return "\n".join([*before, *lines, foot] if foot.startswith("-# ") else [*before, foot, *lines])


def _used(lesson: ChosenLesson) -> str:
    """Return a short name and the reason: a reflection's insight and how its attempt ended, or what a lesson is for."""
    if lesson.kind == "reflection":
        key = next((line.removeprefix(_KEY) for line in lesson.text.splitlines() if line.startswith(_KEY)), lesson.text)
        ended = reason_in_words(lesson.why)
        return f"{safe(one_line(key, NAME), NAME)} – from an attempt here" + (
            f" that {safe(ended, WHY)}" if ended else ""
        )
    name = safe(one_line(lesson.text.partition(_THEN)[0], NAME), NAME)
    why = reason_in_words(lesson.why)
    return f"{name} (`{lesson.id}`)" + (f" – {safe(why, WHY)}" if why else "")


def reason_in_words(why: str) -> str:
    """Return why a lesson was chosen, without ids and scores; of an attempt, what came of it."""
    if _ATTEMPT in why:
        return why.partition(_ATTEMPT)[2]
    return "; ".join(filter(None, map(_plainly, why.split("; "))))


def _plainly(part: str) -> str:
    """Return part of a reason in plain words; '' for scores that mean nothing here."""
    if part.startswith(_SCORE):
        return ""
    if part.endswith(_OF_HERE):
        return {"probation": "on probation", "active": ""}.get(part.removesuffix(_OF_HERE), part)
    shared = _SHARED.fullmatch(part)
    if shared is None:
        return part
    words = f"same words: {shared['words']}" if shared["words"] else ""
    return "; ".join(filter(None, (words, f"{shared['alike']} alike in meaning" if shared["alike"] else "")))
