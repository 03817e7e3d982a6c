"""Lessons in memory: for tests and for running without a state folder."""

from __future__ import annotations

from collections.abc import Sequence

from reflexion.lessons import SHOWN, Lesson, Reflection, Verdict, lived_through, merged
from reflexion.lifecycle import Showing
from reflexion.words import stem, words_of


class MemoryLessonStore:
    """Keeps everything until the process ends."""

    def __init__(self) -> None:
        self._reflections: dict[str, Reflection] = {}
        self._lessons: dict[str, Lesson] = {}
        self._showings: dict[tuple[str, str], Showing] = {}
        self._verdicts: dict[str, Verdict] = {}

    async def keep_reflection(self, reflection: Reflection) -> None:
        """Keep it; one that is known under this id is left as it is."""
        self._reflections.setdefault(reflection.id, reflection)

    async def reflections(self, guild: str, thread: str, limit: int) -> tuple[Reflection, ...]:
        """The last ones of a thread, newest first."""
        held = [each for each in self._reflections.values() if (each.guild, each.thread) == (guild, thread)]
        return tuple(reversed(held))[:limit]

    async def propose(self, lesson: Lesson, *, verified: bool) -> Lesson:
        """Add a lesson, or merge it into the one of the same id."""
        known = self._lessons.get(lesson.id)
        self._lessons[lesson.id] = lesson if known is None else merged(known, lesson, verified=verified)
        return self._lessons[lesson.id]

    async def amend(self, lesson: Lesson) -> None:
        """Replace one lesson by its id, or add it."""
        self._lessons[lesson.id] = lesson

    async def lesson(self, guild: str, id: str) -> Lesson | None:
        """One lesson within the guild's reach."""
        return next((each for each in self._reach(guild) if each.id == id), None)

    async def lessons(self, guild: str) -> tuple[Lesson, ...]:
        """All lessons within the guild's reach, newest first."""
        return tuple(sorted(self._reach(guild), key=lambda each: each.created, reverse=True))

    async def search(self, guild: str, thread: str, words: Sequence[str], limit: int) -> tuple[Lesson, ...]:
        """Lessons that may be shown and share a word, the most shared words first."""
        asked = {stem(part) for word in words for part in words_of(word)}
        found: list[tuple[int, Lesson]] = []
        for lesson in self._reach(guild):
            if lesson.status not in SHOWN or (lesson.scope.kind == "thread" and lesson.scope.thread != thread):
                continue
            text = f"{lesson.trigger} {lesson.action} {lesson.error_signature}"
            shared = len(asked & {stem(word) for word in words_of(text)})
            if shared:
                found.append((shared, lesson))
        found.sort(key=lambda each: -each[0])
        return tuple(lesson for _, lesson in found[:limit])

    async def record(self, verdict: Verdict, showings: Sequence[Showing]) -> tuple[Lesson, ...]:
        """Keep how an execution went and what that says of lessons."""
        self._verdicts[verdict.execution] = verdict
        reach = {lesson.id for lesson in self._reach(verdict.guild)}
        now = {(each.lesson, each.execution): each for each in showings if each.lesson in reach}
        before = [key for key in self._showings if key[1] == verdict.execution]
        for key in before:
            if key not in now:
                del self._showings[key]
        self._showings |= now
        changed: list[Lesson] = []
        for id in dict.fromkeys(key[0] for key in (*before, *now)):
            lesson = self._lessons[id]
            self._lessons[id] = lived_through(lesson, [s for s in self._showings.values() if s.lesson == id])
            changed += [self._lessons[id]] if self._lessons[id].status != lesson.status else []
        return tuple(changed)

    async def showings(self, guild: str, lesson: str = "") -> tuple[Showing, ...]:
        """Of one lesson, or of all within the guild's reach, in the order in which they were recorded."""
        reach = {each.id for each in self._reach(guild) if lesson in ("", each.id)}
        return tuple(each for each in self._showings.values() if each.lesson in reach)

    async def verdicts(self, guild: str = "") -> tuple[Verdict, ...]:
        """Of one guild or of all, in the order in which they were first recorded."""
        return tuple(each for each in self._verdicts.values() if guild in ("", each.guild))

    async def close(self) -> None:
        """Nothing is held."""

    def _reach(self, guild: str) -> list[Lesson]:
        return [each for each in self._lessons.values() if each.scope.kind == "global" or each.scope.guild == guild]
