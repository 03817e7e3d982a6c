"""What the final card says of lessons, in small print: what was used and why, what was held back, what was learned; pure."""

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
"""What marks, in the words of retrieval, a reflection's insight, how its attempt ended, figures that say nothing here, and
where a lesson begins to say what to do."""
_OF_HERE = " lesson of this server"
_SHARED = re.compile(r"shares (?:no word|(?P<words>[^;]+?))(?:, means (?P<alike>\d+%) the same)?")
"""How retrieval says what a lesson and a task have in common."""
_CAME: dict[LessonStatus, str] = {
    "quarantined": "an owner has to approve it first",
    "candidate": "counts once the same failure is seen again",
    "probation": "counts from now on, and is measured",
    "active": "counts already",
    "retired": "was retired before, so it stays so",
}


def used_lines(lessons: Sequence[ChosenLesson], withheld: Sequence[WithheldLesson]) -> list[str]:
    """What stood in the prompt, each with a short name and why, and what was held back to measure it."""
    lines = [f"{USED}{_used(lesson)}" for lesson in lessons[:SHOWN]]
    if len(lessons) > SHOWN:
        lines.append(f"-# … and {len(lessons) - SHOWN} more")
    held = [f"`{each.id}`" for each in withheld if each.arm == "held_back"]
    if held:
        ids = ", ".join(held[:SHOWN])
        lines.append(f"-# 📖 held back this time, to measure whether it helps: {ids}")
    return lines


def learned_lines(insight: str, lesson: Lesson | None, *, below: bool = False) -> list[str]:
    """What the reflection came to, and the lesson that was proposed with what becomes of it.

    ``below``: it is asked about in the same thread.
    """
    lines = [f"{LEARNED}{safe(insight, INSIGHT)}"]
    if lesson is not None:
        lines.append(f"-# 💡 lesson `{lesson.id}` for later tasks: {_CAME[lesson.status]}{', see below' * below}")
    return lines


def with_lines(content: str, lines: Sequence[str]) -> str | None:
    """A card that stands in Discord, with what was learned afterwards above its footer; None where it is there."""
    if LEARNED in content:
        return None
    *before, foot = content.split("\n")
    return "\n".join([*before, *lines, foot] if foot.startswith("-# ") else [*before, foot, *lines])


def _used(lesson: ChosenLesson) -> str:
    """A short name and why: of a reflection what it came to and how that attempt ended, of a lesson what it is for."""
    if lesson.kind == "reflection":
        key = next((line.removeprefix(_KEY) for line in lesson.text.splitlines() if line.startswith(_KEY)), lesson.text)
        ended = lesson.why.partition(_ATTEMPT)[2]
        return f"{safe(one_line(key, NAME), NAME)} – from an attempt here" + (
            f" that {safe(ended, WHY)}" if ended else ""
        )
    name = safe(one_line(lesson.text.partition(_THEN)[0], NAME), NAME)
    why = "; ".join(filter(None, map(_plainly, lesson.why.split("; "))))
    return f"{name} (`{lesson.id}`)" + (f" – {safe(why, WHY)}" if why else "")


def _plainly(part: str) -> str:
    """A part of why it was chosen, as people say it; '' for figures that say nothing here."""
    if part.startswith(_SCORE):
        return ""
    if part.endswith(_OF_HERE):
        return {"probation": "on probation", "active": ""}.get(part.removesuffix(_OF_HERE), part)
    shared = _SHARED.fullmatch(part)
    if shared is None:
        return part
    words = f"same words: {shared['words']}" if shared["words"] else ""
    return "; ".join(filter(None, (words, f"{shared['alike']} alike in meaning" if shared["alike"] else "")))
