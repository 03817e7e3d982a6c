"""Lessons from a file, as a server gets them: screened anew, and at most on probation; pure except for reading the
file.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from pathlib import Path

from pydantic import ValidationError

from reflexion.lessons.lesson import (
    Lesson,
    LessonStatus,
    Scope,
    lesson_id,
    screened,
)

LARGEST = 20_000_000
TOLD_AGAIN: dict[LessonStatus, LessonStatus] = {
    "active": "probation", "probation": "probation", "candidate": "candidate", "quarantined": "quarantined",
}  # fmt: skip
"""The new status for each status in the file; retired lessons are left out."""


class Unreadable(Exception):
    """The file is no export of lessons; the message says where it goes wrong."""


def lessons_in(file: Path) -> tuple[Lesson, ...]:
    """Read the lessons of a file that `lessons export` wrote. Raises ``Unreadable``."""
    try:
        if file.stat().st_size > LARGEST:
            raise Unreadable(f"it is larger than {LARGEST // 1_000_000} MB")
        lines = file.read_text(encoding="utf-8").splitlines()
    except OSError as error:
        raise Unreadable(error.strerror or str(error)) from error
    except UnicodeDecodeError as error:
        raise Unreadable("it is no text") from error
    return tuple(_lesson(number, line) for number, line in enumerate(lines, 1) if line.strip())


def brought(lessons: Iterable[Lesson], guild: str, at: datetime) -> tuple[Lesson, ...]:
    """Return the lessons for a server, or for all servers where ``guild`` is ''; retired ones are left out."""
    scope = Scope(kind="guild", guild=guild) if guild else Scope(kind="global")
    return tuple(_brought(lesson, scope, at) for lesson in lessons if lesson.status in TOLD_AGAIN)


def _brought(lesson: Lesson, scope: Scope, at: datetime) -> Lesson:
    status = TOLD_AGAIN[lesson.status]
    known_by = lesson.error_signature or f"{lesson.trigger}\n{lesson.action}"
    return screened(
        Lesson(
            id=lesson_id(scope, known_by), scope=scope, kind=lesson.kind, trigger=lesson.trigger, action=lesson.action,
            error_signature=lesson.error_signature, evidence=lesson.evidence, author_trust="operator", status=status,
            note=lesson.note if status == "quarantined" else "Brought in from a file.", model=lesson.model, created=at,
        )
    )  # fmt: skip


def _lesson(number: int, line: str) -> Lesson:
    try:
        return Lesson.model_validate_json(line)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        where = ".".join(map(str, first["loc"]))
        raise Unreadable(f"line {number} is no lesson ({where + ': ' if where else ''}{first['msg']})") from error
