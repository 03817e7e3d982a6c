"""What this package needs kept; the adapters stand in ``reflexion/stores``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from reflexion.lessons import Lesson, Reflection, Verdict
from reflexion.lifecycle import Showing


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

    async def record(self, verdict: Verdict, showings: Sequence[Showing]) -> tuple[Lesson, ...]:
        """Keep how an execution went, and what that says of lessons, in one transaction.

        Each execution counts once: what is recorded of it again takes the place of what was, and the lives of its
        lessons are told anew from all their showings.  Lessons out of the guild's reach are left alone.  Returns those
        whose status changed.
        """
        ...

    async def showings(self, guild: str, lesson: str = "") -> tuple[Showing, ...]:
        """Of one lesson, or of all within the guild's reach, in the order in which they were recorded."""
        ...

    async def verdicts(self, guild: str = "") -> tuple[Verdict, ...]:
        """Of one guild or of all, in the order in which they were first recorded."""
        ...

    async def close(self) -> None:
        """Let go of files."""
        ...
