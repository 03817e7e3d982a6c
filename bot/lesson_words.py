"""Lessons as people read them; pure.  Their words come from the world: shown, never obeyed."""

from __future__ import annotations

from collections.abc import Sequence

from bot.render import fenced, inline, plain
from reflexion.lessons import Lesson, LessonStatus

NONE = "None yet. One is proposed after a task failed, was corrected, or got a 👎."
_ORDER: tuple[LessonStatus, ...] = ("quarantined", "active", "probation", "candidate", "retired")
_SIGNS: dict[LessonStatus, str] = {
    "quarantined": "⚠ waits for approval", "active": "● active", "probation": "◐ on probation",
    "candidate": "○ candidate", "retired": "✕ retired",
}  # fmt: skip


def listed(lessons: Sequence[Lesson]) -> str:
    """By status, what waits for a person first."""
    lines: list[str] = []
    for status in _ORDER:
        group = [lesson for lesson in lessons if lesson.status == status]
        if group:
            lines.append(f"**{_SIGNS[status]}** ({len(group)})")
            lines += [f"`{lesson.id}` {said(lesson, 120)}" for lesson in group]
    return "\n".join(lines) or NONE


def said(lesson: Lesson, limit: int = 400) -> str:
    """When and what."""
    return f"{plain(lesson.trigger, limit)} → {plain(lesson.action, limit)}"


def shown(lesson: Lesson, *, whole: bool) -> str:
    """All that is known of it; the quoted output it rests on only for those who may change it (``whole``)."""
    where = {"thread": f"<#{lesson.scope.thread}>", "guild": "this server", "global": "all servers"}[lesson.scope.kind]
    life = lesson.life
    lines = [
        f"{_SIGNS[lesson.status]} · {lesson.kind} · for {where}" + (f" · {plain(lesson.note)}" if lesson.note else ""),
        f"**When** {plain(lesson.trigger, 600)}",
        f"**Do** {plain(lesson.action, 600)}",
        f"Shown {life.shown} times, {life.shown_ok} went well; held back {life.held_back} times, "
        f"{life.held_back_ok} went well. Seen in {len(lesson.executions)} executions.",
    ]
    if lesson.error_signature:
        lines.append(f"Error: {inline(lesson.error_signature, 150)}")
    if whole and lesson.evidence:
        lines += ["It rests on this output:", fenced("\n".join(lesson.evidence))]
    return "\n".join(lines)
