"""From a finished execution to what the next one knows.

evaluate -> record the score -> decide whether a reflection is due -> have it written -> keep it for the thread ->
propose a lesson to the guild.  Everything that is decided is decided by pure functions; this file only fetches and
keeps.  A lesson store that does not answer costs lessons, never an execution.
"""

from __future__ import annotations

import asyncio
import logging
from dataclasses import dataclass
from typing import Literal
from weakref import WeakValueDictionary

from agentic.core.events import Envelope, Evaluated, FeedbackGiven, Judged, Person, Policy, Reflected
from agentic.ports import Clock, LanguageModel, Store
from agentic.purse import NO_CAPS, DailyCaps, Purse
from reflexion.decision import Reflect, decide_reflection
from reflexion.errors import ExecutionOpen, LessonStoreError
from reflexion.evaluator import evaluate, was_right, went_well
from reflexion.evidence import error_signature, evidence_of
from reflexion.judge import Judge
from reflexion.lessons import Insight, Reflection, Verdict, propose_lesson, reflection_id
from reflexion.lifecycle import Arm, Showing
from reflexion.outcome import OutcomeStream
from reflexion.ports import LessonStore
from reflexion.redaction import redact
from reflexion.reflector import Reflector
from reflexion.retrieval import CANDIDATES, Choice, choose
from reflexion.trajectory import Trajectory, read_trajectory
from reflexion.words import words_of

log = logging.getLogger("threadwright.reflexion")


@dataclass(frozen=True, slots=True)
class _Case:
    """An execution that is being judged."""

    trajectory: Trajectory
    outcome: list[Envelope]
    stream: OutcomeStream


class Reflexion:
    """Judges finished executions and keeps what they teach; ``model_name`` '' reflects with the execution's model."""

    def __init__(
        self,
        store: Store,
        lessons: LessonStore,
        model: LanguageModel,
        clock: Clock,
        *,
        model_name: str = "",
        policy: Policy | None = None,
        build: str = "",
        caps: DailyCaps = NO_CAPS,
        judge: Judge | None = None,
    ) -> None:
        self._store = store
        self._lessons = lessons
        self._clock = clock
        self._policy = policy or Policy()
        self._build = build
        self._judge_of_work = judge
        self._reflector = Reflector(model, Purse(store, caps), clock, model_name)
        self._locks: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()
        self.trouble = ""
        """Why the lesson store could not be used last time; '' while all is well."""

    async def lessons_for(self, thread: str, guild: str, task: str, *, execution: str = "", model: str = "") -> Choice:
        """What the next execution of this thread is told; nothing, and ``trouble`` set, where it cannot be read.

        ``execution`` decides by chance, but always alike, what is held back; ``model`` is the one that is to work with it.
        """
        try:
            reflections = await self._lessons.reflections(guild, thread, self._policy.reflections_kept)
            lessons = await self._lessons.search(guild, thread, words_of(task), CANDIDATES)
        except LessonStoreError as error:
            self._note_trouble(error)
            return Choice()
        self.trouble = ""
        share = self._policy.hold_back
        return choose(
            reflections,
            lessons,
            task,
            lesson_tokens=self._policy.lesson_tokens,
            execution=execution,
            model=model,
            hold_back=share,
        )

    async def after(self, execution: str) -> Evaluated:
        """Score a finished execution and learn from it; what is already recorded is not recorded again.

        Raises ``ExecutionOpen`` for one that runs, ``StoreError`` where the log cannot be read or written.
        """
        async with self._lock(execution):
            return await self._judge(execution)

    async def feedback(
        self, execution: str, person: Person, vote: Literal["up", "down", "none"], target: str = ""
    ) -> Evaluated:
        """Record a vote on a finished execution and judge it again; the last vote of each person counts."""
        async with self._lock(execution):
            stream = self._stream(execution)
            given = FeedbackGiven(by=person, vote=vote, target=target)
            votes = [
                each.event
                for each in await stream.read()
                if isinstance(each.event, FeedbackGiven) and each.event.by.id == person.id
            ]
            if not votes or (votes[-1].vote, votes[-1].target) != (vote, target):
                await stream.add(given)
            return await self._judge(execution)

    async def _judge(self, execution: str) -> Evaluated:
        case = await self._case(execution)
        judged, weight = await self._read(case)
        evaluated = evaluate(case.trajectory, judged, weight)
        before = [each.event for each in case.outcome if isinstance(each.event, Evaluated)]
        if not before or before[-1] != evaluated:
            await case.stream.add(evaluated)
        await self._record(case.trajectory, evaluated, judged)
        decision = decide_reflection(case.trajectory, case.outcome)
        if isinstance(decision, Reflect):
            await case.stream.add(await self._reflect(case, decision.cause, evaluated))
        return evaluated

    async def _read(self, case: _Case) -> tuple[Judged | None, float]:
        """What a judge thinks of it, where one is asked, and how much that counts."""
        judge = self._judge_of_work
        if judge is None:
            return None, 0.0
        judged = await judge.judge(case.trajectory, case.stream)
        return judged, await judge.weight(judged, case.trajectory.execution)

    async def _case(self, execution: str) -> _Case:
        stream = self._stream(execution)
        outcome = await stream.read()
        trajectory = read_trajectory([each async for each in self._store.read(execution)], outcome)
        if not trajectory.finished:
            raise ExecutionOpen(f"execution {execution} has not finished")
        return _Case(trajectory, outcome, stream)

    async def _reflect(self, case: _Case, cause: str, evaluated: Evaluated) -> Reflected:
        trajectory = case.trajectory
        guild = await self._guild(trajectory.thread)
        try:
            # Asked before the model is paid: a reflection that cannot be kept is not worth its price.
            await self._lessons.reflections(guild, trajectory.thread, 1)
            written = await self._reflector.reflect(trajectory, cause, case.stream)
            if written.insight is None:
                return Reflected(reflection="", problem=written.problem)
            reflection = self._reflection(trajectory, guild, cause, written.insight, written.model, evaluated)
            await self._keep(reflection, verified=evaluated.verifier != "none")
        except LessonStoreError as error:
            self._note_trouble(error)
            return Reflected(reflection="", problem=f"lessons could not be kept: {error}")
        return Reflected(reflection=reflection.id)

    async def _keep(self, reflection: Reflection, *, verified: bool) -> None:
        await self._lessons.keep_reflection(reflection)
        lesson = propose_lesson(reflection)
        if lesson is not None:
            await self._lessons.propose(lesson, verified=verified)

    def _reflection(
        self, trajectory: Trajectory, guild: str, cause: str, insight: Insight, model: str, evaluated: Evaluated
    ) -> Reflection:
        return Reflection(
            id=reflection_id(trajectory.execution), thread=trajectory.thread, guild=guild,
            execution=trajectory.execution, task=redact(trajectory.task)[:500], cause=cause, insight=insight,
            evidence=evidence_of(trajectory), error_signature=error_signature(trajectory), model=model,
            score=evaluated.score, created=self._clock.now(),
        )  # fmt: skip

    async def _record(self, trajectory: Trajectory, evaluated: Evaluated, judged: Judged | None) -> None:
        """What it says of the lessons that fitted it, only where something outside of the agent said how it went."""
        ok = went_well(trajectory)
        guild, now = await self._guild(trajectory.thread), self._clock.now()
        shown = [lesson.id for lesson in trajectory.lessons if lesson.kind != "reflection"]
        arms: list[tuple[str, Arm]] = [
            *((id, "shown") for id in shown),
            *((each.id, each.arm) for each in trajectory.withheld),
        ]
        verdict = Verdict(
            execution=trajectory.execution, guild=guild, thread=trajectory.thread, model=trajectory.model,
            role=trajectory.role, ok=ok, score=evaluated.score, verifier=evaluated.verifier,
            judge=judged.share if judged is not None else None, judge_model=judged.model if judged is not None else "",
            right=was_right(trajectory), lessons_shown=len(shown), at=now,
        )  # fmt: skip
        showings = [
            Showing(
                lesson=id, execution=trajectory.execution, guild=guild, model=trajectory.model, arm=arm, ok=ok, at=now
            )
            for id, arm in arms
            if ok is not None
        ]
        try:
            await self._lessons.record(verdict, showings)
        except LessonStoreError as error:
            self._note_trouble(error)

    async def _guild(self, thread: str) -> str:
        session = await self._store.session(thread)
        return session.guild if session is not None else ""

    def _stream(self, execution: str) -> OutcomeStream:
        return OutcomeStream(self._store, self._clock, execution, self._build)

    def _lock(self, execution: str) -> asyncio.Lock:
        lock = self._locks.get(execution)
        if lock is None:
            lock = self._locks[execution] = asyncio.Lock()
        return lock

    def _note_trouble(self, error: LessonStoreError) -> None:
        self.trouble = str(error)
        log.warning("lessons are left out: %s", error)
