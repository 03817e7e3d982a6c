"""What this package needs kept; the adapters stand in ``reflexion/stores``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from reflexion.lessons import Lesson, Reflection


class LessonStore(Protocol):
    """Reflections of sessions and lessons of scopes; every question names the guild it is asked for.

    All of it raises ``LessonStoreError``.
    """

    async def keep_reflection(self, reflection: Reflection) -> None:
        """Keep it durably; one that is known under this id is left as it is."""
        ...

    async def reflections(self, guild: str, thread: str, limit: int) -> tuple[Reflection, ...]:
        """The last ones of a thread, newest first."""
        ...

    async def propose(self, lesson: Lesson, *, verified: bool) -> Lesson:
        """Add a lesson, or merge it into the one of the same id in one transaction; returns what stands now."""
        ...

    async def amend(self, lesson: Lesson) -> None:
        """Replace one lesson by its id, or add it."""
        ...

    async def lesson(self, guild: str, id: str) -> Lesson | None:
        """One lesson within the guild's reach: its own or a global one."""
        ...

    async def lessons(self, guild: str) -> tuple[Lesson, ...]:
        """All lessons within the guild's reach, newest first."""
        ...

    async def search(self, guild: str, thread: str, words: Sequence[str], limit: int) -> tuple[Lesson, ...]:
        """Lessons that may be shown in this thread and hold one of the words, best match first."""
        ...

    async def tally(self, guild: str, ids: Sequence[str], *, ok: bool) -> None:
        """Count one showing of each of these lessons, and whether the execution went well."""
        ...

    async def close(self) -> None:
        """Let go of files."""
        ...
