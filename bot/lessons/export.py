"""All lessons of a server as files: JSON lines for programs, Markdown for people; pure.

Secrets of known form are removed from both, since a file in a chat is no place for them.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import datetime

from pydantic import JsonValue

from bot.messages.lesson_text import (
    MEANING,
    ORDER,
    SIGNS,
    times,
)
from bot.rendering.discord_text import Attached, fenced, inline
from reflexion.lessons.lesson import Change, Lesson
from reflexion.text.secrets import redact

JSON, MARKDOWN = "lessons.jsonl", "lessons.md"


def exported(lessons: Sequence[Lesson], at: datetime) -> tuple[Attached, Attached]:
    """Return both files; the first has everything that is stored of each lesson."""
    lines = "".join(f"{_line(lesson)}\n" for lesson in lessons)
    return Attached(JSON, lines.encode()), Attached(MARKDOWN, markdown(lessons, at).encode())


def markdown(lessons: Sequence[Lesson], at: datetime) -> str:
    """Return the lessons by status."""
    parts = [f"# Lessons\n\n{times(len(lessons), 'lesson')}, {_day(at)}.\n"]
    for status in ORDER:
        group = [lesson for lesson in lessons if lesson.status == status]
        if group:
            parts.append(f"## {SIGNS[status]} ({len(group)})\n\nThat means: {MEANING[status]}.\n")
            parts += [_section(lesson) for lesson in group]
    return "\n".join(parts)


def _line(lesson: Lesson) -> str:
    return json.dumps(_redacted(lesson.model_dump(mode="json")), ensure_ascii=False)


def _redacted(value: JsonValue) -> JsonValue:
    match value:
        case str():
            return redact(value)
        case dict():
            return {name: _redacted(each) for name, each in value.items()}
        case list():
            return [_redacted(each) for each in value]
        case _:
            return value


def _section(lesson: Lesson) -> str:
    life = lesson.life
    lines = [
        f"### `{lesson.id}`\n",
        f"When:\n\n{fenced(redact(lesson.trigger))}\n\nDo:\n\n{fenced(redact(lesson.action))}\n",
        f"- a {lesson.kind} of {_day(lesson.created)}, for {_where(lesson)}",
        f"- seen in {times(len(lesson.executions), 'task')}; shown in {times(life.shown, 'task')}, {life.shown_ok} went well; "
        f"held back in {life.held_back}, {life.held_back_ok} went well",
        *([f"- error: {inline(redact(lesson.error_signature), 200)}"] if lesson.error_signature else []),
        *(f"- {_change(change)}" for change in lesson.history),
        "",
    ]
    return "\n".join(lines)


def _where(lesson: Lesson) -> str:
    return {"thread": f"thread {lesson.scope.thread}", "guild": "this server", "global": "all servers"}[
        lesson.scope.kind
    ]


def _change(change: Change) -> str:
    became = f" → {change.status}" if change.status else ""
    return f"{_day(change.at)}: {inline(redact(change.what), 300)}{became}"


def _day(at: datetime) -> str:
    return f"{at:%Y-%m-%d}"
