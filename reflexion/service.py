"""From a finished execution to what the next one knows.

evaluate -> record the score -> decide whether a reflection is due -> have it written -> keep it for the thread ->
propose a lesson to the guild -> have a judge read it -> record the score again where that moved it.  The reflection comes
first, since the next attempt may be waiting for it.  Everything that is decided is decided by pure functions; this file
only fetches and keeps.  A lesson store that does not answer costs lessons, never an execution: what it did not take is
owed (``outcome_stream.py``), and every step can be done again.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Literal
from weakref import WeakValueDictionary

from agentic.core.events.execution_events import (
    Envelope,
    Evaluated,
    FeedbackGiven,
    Judged,
    Person,
    Policy,
    Reflected,
)
from agentic.core.fold.fold import fold
from agentic.ports.failpoints import reach
from agentic.ports.lookup import Embedder
from agentic.ports.runtime import Clock, LanguageModel, Store
from agentic.runtime.budget_ledger import NO_CAPS, BudgetLedger, DailyCaps
from reflexion.errors import ExecutionOpen, LessonRefused, LessonStoreError
from reflexion.evaluation.outcome_stream import OutcomeStream, owes_nothing
from reflexion.evaluation.score import evaluate
from reflexion.evaluation.trajectory import Trajectory, read_trajectory
from reflexion.in_progress import Underway
from reflexion.judge.judge import Judge, JudgeCandidate
from reflexion.judge.second_reader import SecondReader
from reflexion.lessons.changes import changed
from reflexion.lessons.judge_trust import settled
from reflexion.lessons.lesson import (
    Insight,
    Lesson,
    Reflection,
    Verdict,
    propose_lesson,
    reflection_id,
)
from reflexion.lessons.lifecycle import Life, Showing
from reflexion.measurement.promotion import is_further, proved, told_first
from reflexion.measurement.showings import (
    UNAIDED,
    arms_of,
    showing_of,
    similar,
    verdict_of,
)
from reflexion.ports import LessonStore
from reflexion.reflection.error_excerpt import error_signature, evidence_of
from reflexion.reflection.feedback_question import question_of
from reflexion.reflection.injected_orders import (
    dictated,
    orders_in,
    orders_read,
    taken_over,
)
from reflexion.reflection.prompt_text import (
    earlier_attempts,
    on_what_worked,
    said_of,
    task_of,
    told_of,
)
from reflexion.reflection.reflector import Reflector, Written
from reflexion.reflection.trigger import AskWhy, Reflect, decide_reflection
from reflexion.retrieval.search import Finder
from reflexion.retrieval.selection import Choice, choose

SWEEP_EVERY = timedelta(hours=1)
TAKEN_BACK = "A person said the task it was learned from did not go well."
SEEN_AT_MOST = 50
"""So many lessons are looked at that an execution left."""

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
        asks: bool = False,
        caps: DailyCaps = NO_CAPS,
        judge: Judge | None = None,
        readers: Sequence[JudgeCandidate] = (),
        embedder: Embedder | None = None,
    ) -> None:
        self._store = store
        self._lessons = lessons
        self._finder = Finder(lessons, embedder)
        self._clock = clock
        self._policy = policy or Policy()
        self._build = build
        self._asks = asks
        """Somebody can be asked what was wrong with a result."""
        self._judge_of_work = judge
        self._reflector = Reflector(model, BudgetLedger(store, caps), clock, model_name)
        self._second = SecondReader(model, BudgetLedger(store, caps), clock, readers)
        """Reads what a lesson touches after its writer; nobody where there are no ``readers``."""
        self._model_name = model_name
        self._underway = Underway()
        self._locks: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()
        self._swept: datetime | None = None
        self.trouble = ""
        """Why the lesson store could not be used last time; '' while all is well."""

    async def lessons_for(self, thread: str, guild: str, task: str, *, execution: str = "", model: str = "") -> Choice:
        """What the next execution of this thread is told; nothing, and ``trouble`` set, where it cannot be read.

        ``execution`` decides by chance, but always alike, what is held back; ``model`` is the one that is to work with it.
        """
        try:
            await self._sweep(self._clock.now())
            reflections = await self._failures(guild, thread)
            candidates = await self._finder.find(guild, thread, task)
        except LessonStoreError as error:
            self._note_trouble(error)
            return Choice()
        self.trouble = ""
        share = self._policy.hold_back
        return choose(
            [each for each in reflections if not each.held],
            candidates,
            lesson_tokens=self._policy.lesson_tokens,
            execution=execution,
            model=model,
            hold_back=share,
        )

    async def after(self, execution: str) -> Evaluated:
        """Score a finished execution and learn from it; what is already recorded is not recorded again.

        Raises ``ExecutionOpen`` for one that runs, ``StoreError`` where the log cannot be read or written.
        """
        with self._underway.of(execution) as told:
            async with self._lock(execution):
                return await self._learn(execution, told)

    async def known(self, thread: str) -> None:
        """Wait until the next execution of a thread can know what is being learned in it, for two minutes at most."""
        await asyncio.sleep(0)  # what was begun in this moment is under way then
        await self._underway.over({row.execution for row in await self._store.executions(thread)})

    async def feedback(
        self, execution: str, person: Person, vote: Literal["up", "down", "none"], target: str = "", why: str = ""
    ) -> Evaluated:
        """Record a vote on a finished execution and judge it again; the last vote of each person counts.

        ``why``: what they say was wrong, a correction.
        """
        with self._underway.of(execution) as told:
            async with self._lock(execution):
                stream = self._stream(execution)
                given = FeedbackGiven(by=person, vote=vote, target=target, why=told_of(why))
                votes = [
                    each.event
                    for each in await stream.read()
                    if isinstance(each.event, FeedbackGiven) and each.event.by.id == person.id
                ]
                if not votes or votes[-1].model_copy(update={"by": person}) != given:
                    await stream.add(given)
                return await self._learn(execution, told)

    async def _learn(self, execution: str, told: Callable[[], None]) -> Evaluated:
        """All there is to learn from it; ``told`` is called as soon as the next attempt can know it.

        Of the tour there is nothing, and nothing of it is recorded.
        """
        case = await self._case(execution)
        if case.trajectory.tour:
            await owes_nothing(self._store, execution, [each.event for each in case.outcome])
            return evaluate(case.trajectory)
        reading = settled(each.event for each in case.outcome)[0] if self._judge_of_work is not None else None
        evaluated, kept = await self._score(case, reading)
        kept = await self._teach(case, evaluated) and kept
        told()
        if self._judge_of_work is not None:
            now = await self._case(execution)  # a reflection was paid
            judged = await self._judge_of_work.judge(now.trajectory, case.stream)
            if judged != reading:
                evaluated, kept_too = await self._score(now, judged)
                kept = kept and kept_too
        reach("learn.judged")
        if kept:
            await owes_nothing(self._store, execution, [each.event for each in case.outcome])
        return evaluated

    async def _score(self, case: _Case, judged: Judged | None) -> tuple[Evaluated, bool]:
        """Its score, and whether what that says of lessons could be kept."""
        judge, execution = self._judge_of_work, case.trajectory.execution
        weight = await judge.weight(judged, execution) if judge is not None else 0.0
        evaluated = evaluate(case.trajectory, judged, weight)
        before = [each.event for each in await case.stream.read() if isinstance(each.event, Evaluated)]
        if not before or before[-1] != evaluated:
            await case.stream.add(evaluated)
        reach("learn.scored")
        kept = await self._record(case.trajectory, evaluated, judged)
        reach("learn.counted")
        return evaluated, kept

    async def _teach(self, case: _Case, evaluated: Evaluated) -> bool:
        """What the next attempt is to know of it; whether that could be kept."""
        decision = decide_reflection(case.trajectory, case.outcome, asks=self._asks)
        try:
            if isinstance(decision, Reflect):
                await self._take_back(case, decision)
                await case.stream.add(await self._reflect(case, decision, evaluated))
                await self._finder.keep_up()
            elif isinstance(decision, AskWhy):
                await case.stream.add(question_of(case.trajectory.execution, self._clock.now()))
            elif case.trajectory.corrections:
                await self._hear(case.trajectory)
        except LessonStoreError as error:
            self._note_trouble(error)
            return False
        return True

    async def _hear(self, trajectory: Trajectory) -> None:
        """What a person says after the reflection was written stands in it too."""
        guild = await self._guild(trajectory.thread)
        await self._lessons.hear(guild, reflection_id(trajectory.execution), said_of(trajectory))

    async def _case(self, execution: str) -> _Case:
        stream = self._stream(execution)
        outcome = await stream.read()
        log = [each async for each in self._store.read(execution)]
        trajectory = read_trajectory(log, outcome)
        read = (*trajectory.untrusted, *fold(log).exposure.untrusted)  # as the rule of two knows it
        trajectory = replace(trajectory, untrusted=tuple(dict.fromkeys(read)))
        if not trajectory.finished:
            raise ExecutionOpen(f"execution {execution} has not finished")
        return _Case(trajectory, outcome, stream)

    async def _failures(self, guild: str, thread: str) -> tuple[Reflection, ...]:
        """The thread's last reflections on what failed; what worked is told as a lesson, where that is the same matter."""
        kept = self._policy.reflections_kept
        known = await self._lessons.reflections(guild, thread, 3 * kept)
        return tuple(each for each in known if not each.teaches)[:kept]

    async def _take_back(self, case: _Case, decision: Reflect) -> None:
        """What was learned from how it worked is retired where a person says that it did not, unless others met it too."""
        if decision.obstacle is not None or not any(
            isinstance(each.event, Reflected) and each.event.worked and each.event.reflection for each in case.outcome
        ):
            return
        execution = case.trajectory.execution
        for lesson in await self._lessons.seen_in(await self._guild(case.trajectory.thread), execution, SEEN_AT_MOST):
            if lesson.kind != "pitfall" and lesson.executions == (execution,) and lesson.status != "retired":
                await self._amend(changed(lesson, at=self._clock.now(), what=TAKEN_BACK, status="retired"))

    async def _reflect(self, case: _Case, decision: Reflect, evaluated: Evaluated) -> Reflected:
        trajectory = case.trajectory
        guild = await self._guild(trajectory.thread)
        # Asked before the model is paid: a reflection that cannot be kept is not worth its price.
        known = await self._failures(guild, trajectory.thread)
        obstacle, worked = decision.obstacle, decision.obstacle is not None
        earlier = () if worked else earlier_attempts(trajectory, known)
        written = await self._reflector.reflect(trajectory, decision.cause, case.stream, earlier, worked=worked)
        if written.insight is None:
            return Reflected(reflection="", problem=written.problem, worked=worked)
        reflection = self._reflection(trajectory, guild, decision.cause, written, written.insight, evaluated)
        if obstacle is not None:
            reflection = on_what_worked(reflection, obstacle)
        # What failed again in spite of what it was told is no second sign that this was right.
        await self._keep(reflection, case, verified=evaluated.verifier != "none" and not is_further(trajectory))
        reach("learn.kept")
        return Reflected(reflection=reflection.id, worked=worked)

    async def _keep(self, reflection: Reflection, case: _Case, *, verified: bool) -> None:
        await self._lessons.keep_reflection(reflection)
        reach("learn.written")
        writer = self._model_name or case.trajectory.model
        lesson = await self._second.read(propose_lesson(reflection), writer, case.trajectory, case.stream)
        await self._lessons.propose(lesson, verified=verified)

    def _reflection(
        self, trajectory: Trajectory, guild: str, cause: str, written: Written, insight: Insight, evaluated: Evaluated
    ) -> Reflection:
        orders = " ".join(orders_read(trajectory))
        evidence = tuple(line for line in evidence_of(trajectory) if line not in orders and not orders_in(line))
        return Reflection(
            id=reflection_id(trajectory.execution), thread=trajectory.thread, guild=guild,
            execution=trajectory.execution, task=task_of(trajectory), cause=cause, insight=insight,
            evidence=evidence, error_signature=error_signature(trajectory), model=written.model,
            score=evaluated.score, held=taken_over(insight, trajectory), dictated=dictated(insight, trajectory),
            said=said_of(trajectory), touches=written.touches, untrusted=trajectory.untrusted, created=self._clock.now(),
        )  # fmt: skip

    async def _record(self, trajectory: Trajectory, evaluated: Evaluated, judged: Judged | None) -> bool:
        """What it says of the lessons that fitted it, where something outside of the agent said how it went.

        False where that could not be kept.
        """
        guild, now = await self._guild(trajectory.thread), self._clock.now()
        verdict = verdict_of(trajectory, evaluated, judged, guild, now)
        try:
            moved = await self._lessons.record(verdict, await self._showings(trajectory, verdict))
            await self._prove(trajectory, verdict)
            await self._sweep(now)
        except LessonStoreError as error:
            self._note_trouble(error)
            return False
        self.trouble = ""
        for lesson in moved:
            log.info("lesson %s is %s: %s", lesson.id, lesson.status, lesson.note)
        return True

    async def _prove(self, trajectory: Trajectory, verdict: Verdict) -> None:
        """A further attempt that went well speaks for the lesson of what it was told."""
        if not is_further(trajectory) or not verdict.ok:
            return
        known = await self._lessons.reflections(verdict.guild, trajectory.thread, self._policy.reflections_kept)
        told = told_first(trajectory, known)
        if told is None:
            return
        left = await self._lessons.seen_in(verdict.guild, told.execution, SEEN_AT_MOST)
        now = proved(told, verdict, left, verdict.at)
        if now is None:
            return
        await self._amend(now)

    async def _amend(self, lesson: Lesson) -> None:
        try:
            await self._lessons.amend(lesson)
            log.info("lesson %s is %s: %s", lesson.id, lesson.status, lesson.note)
        except LessonRefused as error:
            log.info("lesson %s stays as it is: %s", lesson.id, error)

    async def _showings(self, trajectory: Trajectory, verdict: Verdict) -> list[Showing]:
        arms = arms_of(trajectory)
        if not arms:
            return []
        alone = "" if verdict.guild else verdict.thread  # direct messages share nothing with each other
        unaided = await self._lessons.unaided(verdict.guild, UNAIDED, thread=alone)
        showings: list[Showing] = []
        before: list[Life] = []  # in the order of the prompt
        for id, arm in arms.items():
            baseline = similar(verdict, await self._lessons.showings(verdict.guild, id, thread=alone), unaided)
            showings.append(showing_of(verdict, id, arm, baseline, before))
            lesson = await self._lessons.lesson(verdict.guild, id)
            before += [lesson.life] if lesson is not None and arm == "shown" else []
        return showings

    async def _sweep(self, now: datetime) -> None:
        """At most once an hour, what was hardly ever shown expires."""
        if self._swept is None or now - self._swept >= SWEEP_EVERY:
            for lesson in await self._lessons.sweep(now):
                log.info("lesson %s is %s: %s", lesson.id, lesson.status, lesson.note)
            self._swept = now

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
