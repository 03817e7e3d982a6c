"""Lessons as people read them; pure. Their words come from outside: they are shown, never obeyed, and contain no link
or ping.
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from bot.messages.report_text import stamp
from bot.rendering.discord_text import fenced, inline, plain
from reflexion.lessons.lesson import Change, Lesson, LessonStatus
from reflexion.text.screening import objections
from reflexion.text.secrets import redact

NO_LESSONS = "Lessons are not kept here."
EVERYWHERE = "That lesson is for all servers; only whoever runs the bot can change it."
NONE = "None yet. One is proposed after a task failed, was corrected, or got a 👎."
NONE_SO = "No lesson is {status}."
ORDER: tuple[LessonStatus, ...] = ("quarantined", "active", "probation", "candidate", "retired")
"""The statuses in the order of lists: what waits for a person comes first."""
SIGNS: Mapping[LessonStatus, str] = {
    "quarantined": "⚠ waits for approval", "active": "● active", "probation": "◐ on probation",
    "candidate": "○ candidate", "retired": "✕ retired",
}  # fmt: skip
MEANING: Mapping[LessonStatus, str] = {
    "quarantined": "not used until an owner approves it",
    "active": "used in matching tasks",
    "probation": "used in matching tasks, while I measure whether it helps",
    "candidate": "not used yet; used once the same failure happens again",
    "retired": "no longer used",
}
AGAINST = "contradicts {others}: neither is used until an owner approves or retires one"
DECIDES = "-# An owner decides what waits: `/lessons approve lesson:{id}`, `/lessons edit` or `/lessons retire`."
USES_SHOWN = 8
WIDTH = 72
"""Characters of a line in a code block."""
CHANGES_SHOWN = 8


@dataclass(frozen=True, slots=True)
class LessonUse:
    """One execution that a lesson fitted, as the reader may see it: ``words`` say when, and how it went."""

    thread: str
    words: str


@dataclass(frozen=True, slots=True)
class Known:
    """Facts about a lesson: its measured effect, in words, and where it was used, newest first.

    ``hidden`` counts uses in threads that the reader cannot see.
    """

    effect: str = ""
    uses: tuple[LessonUse, ...] = ()
    hidden: int = 0


def safe(text: str, limit: int = 400) -> str:
    """Return a lesson's words on one line, as code where they hold a command or an address, so that nothing can be
    clicked.
    """
    text = redact(text)
    return inline(text, limit) if "://" in text or objections(text) else plain(text, limit)


def meaning(lesson: Lesson) -> str:
    """Say what the lesson's status means for tasks."""
    return opposite(lesson) or MEANING[lesson.status]


def opposite(lesson: Lesson) -> str:
    """Say which lessons contradict this one and so keep it out of prompts.

    '' where none does, or where its status (retired, quarantined) keeps it out anyway.
    """
    if not lesson.contradicts or lesson.status in ("retired", "quarantined"):
        return ""
    return AGAINST.format(others=", ".join(f"`{id}`" for id in lesson.contradicts[:3]))


def decided(lesson: Lesson) -> str:
    """Tell whoever approved or retired a lesson what that means."""
    if lesson.status == "retired":
        back = f"`/lessons approve lesson:{lesson.id}` brings it back."
        return f"Lesson `{lesson.id}` is retired: {MEANING['retired']}. {back}"
    return f"Lesson `{lesson.id}` is active now: {MEANING['active']}."


def said(lesson: Lesson, limit: int = 400) -> str:
    """Return when the lesson applies and what it advises."""
    return f"{safe(lesson.trigger, limit)} → {safe(lesson.action, limit)}"


def quoted(lesson: Lesson, limit: int = 600) -> str:
    """The same as two code blocks, for whoever decides on the lesson."""
    return f"**When**\n{fenced(_bounded(lesson.trigger, limit))}\n**Do**\n{fenced(_bounded(lesson.action, limit))}"


def listed(
    lessons: Sequence[Lesson],
    effects: Mapping[str, str],
    overall: str = "",
    *,
    of: LessonStatus | None = None,
    page: int = 1,
    size: int = 10,
) -> str:
    """Return a page of lessons by status, with counts and their measured effect together (``overall``).

    ``effects`` holds the effect of each lesson by id.
    """
    wanted = [lesson for status in ORDER if of in (None, status) for lesson in lessons if lesson.status == status]
    if not wanted:
        return NONE_SO.format(status=status_word(of)) if of and lessons else NONE
    shown = wanted[(page - 1) * size : page * size]
    if not shown:
        return "That's all."
    lines = [_counts(lessons), *([f"-# {overall}"] if overall and page == 1 else [])]
    for status in ORDER:
        group = [lesson for lesson in shown if lesson.status == status]
        if group:
            lines.append(f"**{SIGNS[status]}** – {MEANING[status]}")
            lines += [_listed(lesson, effects.get(lesson.id, "")) for lesson in group]
    waiting = next((lesson.id for lesson in shown if lesson.status == "quarantined"), "")
    lines += [DECIDES.format(id=waiting)] if waiting else []
    if len(wanted) > page * size:
        lines.append(f"-# There are more: `page:{page + 1}`.")
    return "\n".join(lines)


def shown(lesson: Lesson, known: Known, *, whole: bool) -> str:
    """Show everything known of a lesson; the output that it quotes only with ``whole``, for those who may change it."""
    where = {"thread": f"<#{lesson.scope.thread}>", "guild": "this server", "global": "all servers"}[lesson.scope.kind]
    lines = [
        f"{SIGNS[lesson.status]}: {meaning(lesson)}",
        *([f"-# {safe(lesson.note)}"] if lesson.note and not opposite(lesson) else []),
        *([DECIDES.format(id=lesson.id)] if lesson.status == "quarantined" else []),
        f"**When** {safe(lesson.trigger, 600)}",
        f"**Do** {safe(lesson.action, 600)}",
        f"-# A {lesson.kind} for {where}, made {stamp(lesson.created)}"
        + (f" from a failure of {plain(lesson.model, 60)}" if lesson.model else "")
        + f"; seen in {times(len(lesson.executions), 'task')}",
    ]
    if lesson.error_signature:
        lines.append(f"Error: {inline(redact(lesson.error_signature), 150)}")
    lines += ["**Does it help?**", known.effect] if known.effect else []
    lines += _used(known)
    lines += _changed(lesson.history)
    if whole and lesson.evidence:
        lines += ["It is based on this output:", fenced(redact("\n".join(lesson.evidence)))]
    return "\n".join(lines)


def _listed(lesson: Lesson, effect: str) -> str:
    small = [f"⚖ {opposite(lesson)}"] if opposite(lesson) else []
    return "\n-# ".join((f"`{lesson.id}` {said(lesson, 110)}", *small, *([effect] if effect else [])))


def _counts(lessons: Sequence[Lesson]) -> str:
    counted = ((sum(lesson.status == status for lesson in lessons), status_word(status)) for status in ORDER)
    return "-# " + " · ".join(f"{count} {name}" for count, name in counted if count)


def status_word(status: LessonStatus | None) -> str:
    """Name a status in a word or two."""
    return {"quarantined": "waiting", "probation": "on probation"}.get(status or "", status or "there")


def _used(known: Known) -> list[str]:
    if not known.uses and not known.hidden:
        return []
    lines = ["**Used in**", *(f"<#{use.thread}> {use.words}" for use in known.uses[:USES_SHOWN])]
    more = max(len(known.uses) - USES_SHOWN, 0)
    lines += [f"-# … and {times(more, 'earlier task')}"] if more else []
    return [*lines, *([f"-# {times(known.hidden, 'task')} in threads that you cannot see"] if known.hidden else [])]


def _changed(history: Iterable[Change]) -> list[str]:
    changes = tuple(history)[-CHANGES_SHOWN:]
    lines = [f"{stamp(each.at)} {change_line(each)}" for each in reversed(changes)]
    return ["**History**", *lines] if lines else []


def change_line(change: Change) -> str:
    """Describe a change: what was done, the person where there was one, and the new status."""
    became = f" → {status_word(change.status)}" if change.status else ""
    return f"{safe(change.what, 300)}{became}"


def times(count: int, what: str) -> str:
    """Return a number with its noun."""
    return f"{count} {what}" if count == 1 else f"{count} {what}s"


def _bounded(text: str, limit: int) -> str:
    """Wrap lines at blanks, because a code block is as wide as its longest line."""
    text = redact(text)
    whole = text if len(text) <= limit else text[: limit - 1] + "…"
    return "\n".join(
        textwrap.fill(line, WIDTH, break_long_words=False, break_on_hyphens=False) for line in whole.splitlines()
    )
