"""Lessons in memory: for tests and for running without a state folder."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from datetime import datetime

from agentic.ports.lookup import likenesses
from reflexion.lessons.changes import (
    added,
    amended,
    last_used,
    lived_through,
    long_unused,
    may_be_shown,
    revised,
    settled,
    told_again,
)
from reflexion.lessons.contradictions import reconciled
from reflexion.lessons.deduplication import placed
from reflexion.lessons.fact import Fact, FactScope, living
from reflexion.lessons.judge_trust import Reading, labelled
from reflexion.lessons.lesson import (
    Lesson,
    LessonStatus,
    Reflection,
    Verdict,
    unheard,
)
from reflexion.lessons.lifecycle import Showing
from reflexion.ports import FactsChange
from reflexion.retrieval.embedding import revision_of
from reflexion.text.words import stem, words_of


class MemoryLessonStore:
    """Keeps everything until the process ends."""

    def __init__(self) -> None:
        self._reflections: dict[str, Reflection] = {}
        self._lessons: dict[str, Lesson] = {}
        self._showings: dict[tuple[str, str], Showing] = {}
        self._verdicts: dict[str, Verdict] = {}
        self._vectors: dict[tuple[str, str, str], bytes] = {}
        self._facts: dict[FactScope, tuple[Fact, ...]] = {}

    async def keep_reflection(self, reflection: Reflection) -> None:
        """Keep it; one that is known under this id is left as it is."""
        self._reflections.setdefault(reflection.id, reflection)

    async def hear(self, guild: str, reflection: str, said: Sequence[str]) -> None:
        """Let a reflection hold what people said was wrong."""
        known = self._reflections.get(reflection)
        if known is not None and known.guild == guild:
            self._reflections[reflection] = known.model_copy(update={"said": tuple(said)})

    async def reflections(self, guild: str, thread: str, limit: int) -> tuple[Reflection, ...]:
        """The last ones of a thread, newest first."""
        held = [each for each in self._reflections.values() if (each.guild, each.thread) == (guild, thread)]
        return tuple(reversed(held))[:limit]

    async def reflections_of(self, executions: Collection[str]) -> int:
        """How many reflections of these executions there are."""
        return sum(each.execution in executions for each in self._reflections.values())

    async def erase_reflections(self, executions: Collection[str], said: Collection[str]) -> int:
        """Delete the reflections of these executions, and take these words out of what others heard."""
        number = await self.reflections_of(executions)
        left = [each for each in self._reflections.values() if each.execution not in executions]
        self._reflections = {each.id: unheard(each, said) for each in left}
        return number

    async def propose(self, lesson: Lesson, *, verified: bool) -> Lesson:
        """Add a lesson, or merge it into the one that says the same."""
        lesson = added(lesson)
        placement = placed(lesson, self._neighbours(lesson), verified=verified)
        self._lessons |= {each.id: each for each in placement.saved}
        return placement.stands

    async def amend(self, lesson: Lesson) -> Lesson:
        """Replace one lesson by its changed copy, or add it."""
        known = self._lessons.get(lesson.id)
        self._lessons[lesson.id] = added(lesson) if known is None else amended(known, lesson)
        return self._reconcile(self._lessons[lesson.id])

    async def lesson(self, guild: str, id: str) -> Lesson | None:
        """One lesson within the guild's reach."""
        return next((each for each in self._reach(guild) if each.id == id), None)

    async def lessons(self, guild: str | None) -> tuple[Lesson, ...]:
        """All lessons within the guild's reach, newest first."""
        last_first = self._reach(guild)
        last_first.reverse()
        return tuple(sorted(last_first, key=lambda each: each.created, reverse=True))

    async def seen_in(self, guild: str, execution: str, limit: int) -> tuple[Lesson, ...]:
        """Lessons that were seen in this execution, newest first."""
        return tuple(each for each in await self.lessons(guild) if execution in each.executions)[:limit]

    async def of_status(self, guild: str, status: LessonStatus, limit: int) -> tuple[Lesson, ...]:
        """Lessons of the guild itself that have this status, newest first."""
        known = [each for each in await self.lessons(guild) if each.scope.kind != "global"]
        return tuple(each for each in known if each.status == status)[:limit]

    async def guilds_with(self, status: LessonStatus) -> tuple[str, ...]:
        """Guilds with lessons of this status."""
        known = [each for each in await self.lessons(None) if each.scope.kind != "global"]
        return tuple(sorted({each.scope.guild for each in known if each.status == status}))

    async def search(self, guild: str, thread: str, words: Sequence[str], limit: int) -> tuple[Lesson, ...]:
        """Lessons that may be shown and share a word, the most shared words first."""
        asked = {stem(part) for word in words for part in words_of(word)}
        found: list[tuple[int, Lesson]] = []
        for lesson in self._shown(guild, thread):
            text = f"{lesson.trigger} {lesson.action} {lesson.error_signature}"
            shared = len(asked & {stem(word) for word in words_of(text)})
            if shared:
                found.append((shared, lesson))
        found.sort(key=lambda each: -each[0])
        return tuple(lesson for _, lesson in found[:limit])

    async def embedded(self, guild: str, thread: str, model: str) -> bool:
        """Whether any lesson that may be shown here has a vector."""
        return bool(self._vectors_of(guild, thread, model))

    async def unembedded(
        self, model: str, limit: int, *, guild: str | None = None, thread: str = ""
    ) -> tuple[Lesson, ...]:
        """Lessons that may be shown and have no vector of this model, the newest first."""
        everywhere = [each for each in self._lessons.values() if may_be_shown(each)]
        shown = everywhere if guild is None else self._shown(guild, thread)
        return tuple(each for each in shown[::-1] if (each.id, revision_of(each), model) not in self._vectors)[:limit]

    async def keep_vectors(self, model: str, vectors: Sequence[tuple[str, str, bytes]]) -> None:
        """Keep (lesson, revision of its text, vector)."""
        self._vectors |= {(id, revision, model): vector for id, revision, vector in vectors}

    async def nearest(
        self, guild: str, thread: str, model: str, vector: bytes, limit: int, also: Collection[str] = ()
    ) -> tuple[tuple[Lesson, float], ...]:
        """The lessons nearest to a vector, and those of ``also``, with their likeness, best first."""
        known = self._vectors_of(guild, thread, model)
        likeness = dict(zip(known, likenesses(vector, list(known.values())), strict=True))
        best = sorted(likeness, key=lambda id: -likeness[id])
        kept = [id for at, id in enumerate(best) if at < limit or id in also]
        return tuple((self._lessons[id], likeness[id]) for id in kept)

    async def record(self, verdict: Verdict, showings: Sequence[Showing]) -> tuple[Lesson, ...]:
        """Keep how an execution went and what that says of lessons."""
        earlier = self._verdicts.get(verdict.execution)
        self._verdicts[verdict.execution] = verdict.model_copy(update={"at": earlier.at}) if earlier else verdict
        reach = {lesson.id for lesson in self._reach(verdict.guild)}
        before = {key: self._showings[key] for key in self._showings if key[1] == verdict.execution}
        now = {
            (each.lesson, each.execution): told_again(before.get((each.lesson, each.execution)), each)
            for each in showings
            if each.lesson in reach
        }
        for key in before.keys() - now.keys():
            del self._showings[key]
        self._showings |= now
        touched = dict.fromkeys(key[0] for key in (*before, *now))
        return self._settle(touched, verdict.at, verified=verdict.verifier != "none")

    async def sweep(self, now: datetime) -> tuple[Lesson, ...]:
        """Let time do what it does to lessons."""
        live = [
            each
            for each in self._lessons.values()
            if each.status not in ("retired", "quarantined") and last_used(each) < long_unused(now)
        ]
        self._facts = {scope: living(facts, now) for scope, facts in self._facts.items()}
        return self._changed(live, [settled(each, now=now, verified=False) for each in live])

    async def facts_in(self, scope: FactScope) -> tuple[Fact, ...]:
        """All facts of one scope, oldest first."""
        return self._facts.get(scope, ())

    async def facts(self, guild: str | None) -> tuple[Fact, ...]:
        """All facts of a guild, or of all."""
        return tuple(fact for facts in self._facts.values() for fact in facts if guild in (None, fact.scope.guild))

    async def change_facts(self, scope: FactScope, change: FactsChange) -> tuple[Fact, ...]:
        """Make of the facts of one scope what ``change`` says."""
        self._facts[scope] = change(self._facts.get(scope, ()))
        return self._facts[scope]

    async def showings(self, guild: str | None, lesson: str = "", *, thread: str = "") -> tuple[Showing, ...]:
        """Of one lesson, or of all, in the order in which they were recorded."""
        held = [each for each in self._showings.values() if thread in ("", self._verdicts[each.execution].thread)]
        return tuple(each for each in held if guild in (None, each.guild) and lesson in ("", each.lesson))

    async def verdicts(self, guild: str | None = None) -> tuple[Verdict, ...]:
        """Of one guild or of all, in the order in which they were first recorded."""
        return tuple(each for each in self._verdicts.values() if guild in (None, each.guild))

    async def readings(self, model: str, *, without: str, limit: int) -> tuple[Reading, ...]:
        """The newest labelled readings of one judge, newest first."""
        return labelled(self._verdicts.values(), model=model, without=without)[::-1][:limit]

    async def unaided(self, guild: str, limit: int, *, thread: str = "") -> tuple[Verdict, ...]:
        """The last verdicts of a guild that are known and rest on no lesson, newest first."""
        known = [each for each in await self.verdicts(guild) if each.ok is not None and each.lessons_shown == 0]
        return tuple([each for each in known if thread in ("", each.thread)][::-1][:limit])

    async def close(self) -> None:
        """Nothing is held."""

    def _reach(self, guild: str | None) -> list[Lesson]:
        held = self._lessons.values()
        return [each for each in held if each.scope.kind == "global" or guild in (None, each.scope.guild)]

    def _shown(self, guild: str, thread: str) -> list[Lesson]:
        shown = [each for each in self._reach(guild) if may_be_shown(each)]
        return [each for each in shown if each.scope.kind != "thread" or each.scope.thread == thread]

    def _vectors_of(self, guild: str, thread: str, model: str) -> dict[str, bytes]:
        keys = {each.id: (each.id, revision_of(each), model) for each in self._shown(guild, thread)}
        return {id: self._vectors[key] for id, key in keys.items() if key in self._vectors}

    def _neighbours(self, lesson: Lesson) -> list[Lesson]:
        """Lessons in the reach of this one."""
        scope = lesson.scope
        near = ("guild", scope.guild, ""), ("thread", scope.guild, scope.thread)
        return [
            each
            for each in self._lessons.values()
            if each.scope.kind == "global"
            or (scope.kind != "global" and (each.scope.kind, each.scope.guild, each.scope.thread) in near)
        ]

    def _settle(self, ids: Iterable[str], now: datetime, *, verified: bool) -> tuple[Lesson, ...]:
        before = [self._lessons[id] for id in ids]
        told = [lived_through(each, [s for s in self._showings.values() if s.lesson == each.id]) for each in before]
        return self._changed(before, [settled(each, now=now, verified=verified) for each in told])

    def _changed(self, before: Sequence[Lesson], now: Sequence[Lesson]) -> tuple[Lesson, ...]:
        """Keep lessons as they are now; returns those that have another status."""
        self._lessons |= {each.id: each for each in now}
        moved = [after for was, after in zip(before, now, strict=True) if was.status != after.status]
        for each in moved:
            self._reconcile(each)
        return tuple(moved)

    def _reconcile(self, lesson: Lesson) -> Lesson:
        others = [each for each in self._neighbours(lesson) if each.id != lesson.id]
        at = lesson.history[-1].at if lesson.history else lesson.created
        for each in reconciled(lesson, others, at=at):
            self._lessons[each.id] = each if each.id == lesson.id else revised(self._lessons[each.id], each)
        return self._lessons[lesson.id]
