"""What this package needs kept; the adapters stand in ``reflexion/stores``."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from datetime import datetime
from typing import Protocol

from reflexion.lessons.fact import Fact, FactScope
from reflexion.lessons.judge_trust import Reading
from reflexion.lessons.lesson import (
    Lesson,
    LessonStatus,
    Reflection,
    Verdict,
)
from reflexion.lessons.lifecycle import Showing

FactsChange = Callable[[tuple[Fact, ...]], tuple[Fact, ...]]
"""What becomes of all facts of a scope; pure."""


class FactStore(Protocol):
    """Facts of scopes, which are few in each.  All of it raises ``LessonStoreError``."""

    async def facts_in(self, scope: FactScope) -> tuple[Fact, ...]:
        """All facts of one scope, oldest first."""
        ...

    async def facts(self, guild: str | None) -> tuple[Fact, ...]:
        """All facts of a guild; of all guilds for None, which is the operator's alone."""
        ...

    async def change_facts(self, scope: FactScope, change: FactsChange) -> tuple[Fact, ...]:
        """Make of the facts of one scope what ``change`` says, in one transaction; returns what stands now."""
        ...


class LessonStore(FactStore, Protocol):
    """Reflections of sessions and lessons of scopes; every question names the guild it is asked for.

    All of it raises ``LessonStoreError``.
    """

    async def keep_reflection(self, reflection: Reflection) -> None:
        """Keep it durably; one that is known under this id is left as it is."""
        ...

    async def reflections(self, guild: str, thread: str, limit: int) -> tuple[Reflection, ...]:
        """The last ones of a thread, newest first."""
        ...

    async def hear(self, guild: str, reflection: str, said: Sequence[str]) -> None:
        """Let a reflection hold what people said was wrong, in place of what it held; one that is not kept is left."""
        ...

    async def reflections_of(self, executions: Collection[str]) -> int:
        """How many reflections of these executions there are."""
        ...

    async def erase_reflections(self, executions: Collection[str], said: Collection[str]) -> int:
        """Delete the reflections of these executions, and take these words out of what others heard; how many went."""
        ...

    async def propose(self, lesson: Lesson, *, verified: bool) -> Lesson:
        """Add a lesson, or merge it into the one that says the same, in one transaction; returns what stands now.

        ``verified``: something outside of the agent said how the execution went that it comes from.
        """
        ...

    async def amend(self, lesson: Lesson) -> Lesson:
        """Replace one lesson by its changed copy, or add it; returns what stands now.

        What was counted of it meanwhile is kept, and lessons that say the opposite follow.  Raises ``LessonOutdated``
        where the copy is of an older revision, ``LessonOutOfScope`` where it would reach further than it may.
        """
        ...

    async def lesson(self, guild: str, id: str) -> Lesson | None:
        """One lesson within the guild's reach: its own or a global one."""
        ...

    async def lessons(self, guild: str | None) -> tuple[Lesson, ...]:
        """All lessons within the guild's reach, newest first; of all guilds for None, which is the operator's alone."""
        ...

    async def seen_in(self, guild: str, execution: str, limit: int) -> tuple[Lesson, ...]:
        """Lessons within the guild's reach that name this execution among those they were seen in, newest first."""
        ...

    async def of_status(self, guild: str, status: LessonStatus, limit: int) -> tuple[Lesson, ...]:
        """Lessons of the guild itself that have this status, newest first."""
        ...

    async def guilds_with(self, status: LessonStatus) -> tuple[str, ...]:
        """Guilds that may have lessons of this status."""
        ...

    async def search(self, guild: str, thread: str, words: Sequence[str], limit: int) -> tuple[Lesson, ...]:
        """Lessons that may be shown in this thread and hold one of the words, best match first."""
        ...

    async def embedded(self, guild: str, thread: str, model: str) -> bool:
        """Whether any lesson that may be shown in this thread has a vector of this model."""
        ...

    async def unembedded(
        self, model: str, limit: int, *, guild: str | None = None, thread: str = ""
    ) -> tuple[Lesson, ...]:
        """Lessons that may be shown, in this thread or for None anywhere, and have no vector of this model; newest first."""
        ...

    async def keep_vectors(self, model: str, vectors: Sequence[tuple[str, str, bytes]]) -> None:
        """Keep (lesson, revision of its text, vector); one whose text has changed meanwhile is left without."""
        ...

    async def nearest(
        self, guild: str, thread: str, model: str, vector: bytes, limit: int, also: Collection[str] = ()
    ) -> tuple[tuple[Lesson, float], ...]:
        """Lessons that may be shown in this thread with their likeness, up to 1, best first.

        They are the ``limit`` nearest to the vector, and those with the ids ``also`` wherever they are.
        """
        ...

    async def record(self, verdict: Verdict, showings: Sequence[Showing]) -> tuple[Lesson, ...]:
        """Keep how an execution went, and what that says of lessons, in one transaction.

        Each execution counts once: what is recorded of it again takes the place of what was (but for when that was,
        and what was expected then), the lives of its lessons are told anew from all their showings, and each gets the
        status that its life gives it.  Lessons out of the guild's reach are left alone.  Returns those whose status
        changed; where nothing verified the execution, none is trusted more than before.
        """
        ...

    async def sweep(self, now: datetime) -> tuple[Lesson, ...]:
        """Let what was hardly ever shown expire; returns what did."""
        ...

    async def showings(self, guild: str | None, lesson: str = "", *, thread: str = "") -> tuple[Showing, ...]:
        """In this guild, of one lesson or of all, in the order in which they were recorded; None: in all guilds.

        ``thread``: in that one alone, for direct messages, which share the guild '' and nothing else.
        """
        ...

    async def verdicts(self, guild: str | None = None) -> tuple[Verdict, ...]:
        """Of one guild, or of all for None, in the order in which they were first recorded."""
        ...

    async def readings(self, model: str, *, without: str, limit: int) -> tuple[Reading, ...]:
        """The newest readings of one judging model that have a label, of all guilds, newest first.

        They are numbers and nothing else; that of the execution ``without`` is none of them.
        """
        ...

    async def unaided(self, guild: str, limit: int, *, thread: str = "") -> tuple[Verdict, ...]:
        """The last verdicts of a guild, or of one ``thread``, that say how a task went without any lesson, newest first."""
        ...

    async def close(self) -> None:
        """Let go of files."""
        ...
