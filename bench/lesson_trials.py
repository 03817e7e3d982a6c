"""Trials end to end: 30 families of tasks through the real loop, tools, sandbox and stores, told lessons, excerpts or nothing.

The model (``lesson_trials_world``) can do a task only when the one thing that its family's check knows stands in its prompt.
All arms get the same tasks in the same order and up to three attempts by the product's own rule.  Without lessons
nothing that was learned is told, not even in the same thread.  With excerpts the same is chosen, and the end of the record
of the run that it came from is told in its place, within the room that all lessons have together.  That shows that what is
learned reaches the next prompt and does its work there; it does not show that a real model learns something worth telling,
nor that one would read a record as well as this one does.
"""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from dataclasses import dataclass
from pathlib import Path
from statistics import mean
from typing import Literal

from agentic.core.events.execution_events import (
    ChosenLesson,
    Person,
    Policy,
    Started,
    Tier,
    ToolRef,
)
from agentic.core.events.ids import execution_id
from agentic.models.scripted.model import ScriptedModel
from agentic.ports.runtime import SessionRow
from agentic.runtime.clock import SystemClock
from agentic.runtime.loop import Loop
from agentic.sandbox.backends.selection import chooser
from agentic.sandbox.pool import Sandboxes
from agentic.stores.sqlite.store import SQLiteStore
from agentic.tools.toolbox import StandardToolbox
from agentic.workspace.workspace import RealWorld
from bench.figures import Figure, size
from bench.lesson_trials_world import NOUNS, Task, model, tasks
from reflexion.evaluation.trajectory import read_trajectory
from reflexion.reflection.retry_policy import Again, Around, decide_trial
from reflexion.reflection.transcript import record_of
from reflexion.retrieval.selection import LESSON_TOKENS, Choice
from reflexion.service import Reflexion
from reflexion.stores.sqlite import SQLiteLessonStore
from reflexion.text.token_estimate import cut_to

EACH = size("TASKS_EACH", 3, 2)
PLAIN = size("PLAIN_EACH", 1, 1)
FAMILIES = size("FAMILIES", len(NOUNS), 3)
GUILD = "1200000000000000000"
ANNA = Person(id="7", name="Anna")
MODEL = "scripted/small"
POLICY = Policy(tiers=(Tier(number=2, models=(MODEL,)),), trials="auto", attended=False)


Told = Literal["lessons", "excerpts", "nothing"]


@dataclass(frozen=True, slots=True)
class Came:
    """What a task came to."""

    task: Task
    attempts: int
    solved: bool
    held_back: bool
    """A lesson was held back from its first attempt, to be measured."""


async def figures() -> AsyncIterator[Figure]:
    """All arms."""
    arms: dict[Told, list[Came]] = {}
    with tempfile.TemporaryDirectory(prefix="bench-trials-", dir=Path.cwd(), ignore_cleanup_errors=True) as folder:
        Path(folder).chmod(0o755)
        for told in ("lessons", "excerpts", "nothing"):
            arms[told] = await _arm(Path(folder) / told, told)
    with_them, excerpts, without = ([each for each in came if not each.task.plain] for came in arms.values())
    note = f"{FAMILIES} families x {EACH} tasks, at most {POLICY.trials_most} attempts each"
    yield Figure("lesson_trials_solved_with", _solved(with_them), "share", ">=", 0.95, note)
    yield Figure("lesson_trials_solved_with_excerpts", _solved(excerpts), "share", note=note)
    yield Figure("lesson_trials_solved_without", _solved(without), "share", "<=", 0.0, note)
    attempts = [each.attempts for each in with_them if each.solved]
    yield Figure("lesson_trials_attempts_a_solved_task", mean(attempts), "attempts", "<=", 1.7, note)
    attempts = [each.attempts for each in excerpts if each.solved]
    yield Figure("lesson_trials_attempts_a_solved_task_with_excerpts", mean(attempts), "attempts", note=note)
    yield Figure(
        "lesson_trials_attempts_a_task_without", mean(each.attempts for each in without), "attempts", note=note
    )
    first, later = _seen_before(with_them)
    at_once = "solved at the first attempt"
    yield Figure("lesson_trials_at_once_new_family", _at_once(first), "share", note=f"{len(first)} tasks, {at_once}")
    told_them = [each for each in later if not each.held_back]
    yield Figure(
        "lesson_trials_at_once_known_family", _at_once(told_them), "share", ">=", 0.7,
        f"{len(told_them)} tasks, {at_once}; held back in {len(later) - len(told_them)} more; one reflection in five is wrong",
    )  # fmt: skip
    limits: tuple[tuple[Told, float | None], ...] = (("lessons", 0.05), ("excerpts", None))
    for told, most in limits:
        worse = [_made_worse(*pair) for pair in zip(arms[told], arms["nothing"], strict=True)]
        plain = sum(each.task.plain for each in arms[told])
        yield Figure(
            f"lesson_trials_made_worse_by_{told}", mean(worse), "share", "<=", most,
            f"{sum(worse)} of {len(worse)} tasks failed at first that go well with nothing told; {plain} of them could",
        )  # fmt: skip


async def _arm(home: Path, told: Told) -> list[Came]:
    home.mkdir()
    async with AsyncExitStack() as stack:
        store = SQLiteStore.open(home / "log.sqlite")
        stack.push_async_callback(store.close)
        lessons = SQLiteLessonStore(home / "lessons.sqlite")
        stack.push_async_callback(lessons.close)
        sandboxes = Sandboxes(home, chooser("bubblewrap", home))
        stack.push_async_callback(sandboxes.close)
        answers, clock = ScriptedModel(model), SystemClock()
        reflexion = Reflexion(store, lessons, answers, clock)
        house = House(home, store, sandboxes, Loop(store, answers, clock), reflexion, lessons, told)
        return [await house.does(task) for task in tasks(FAMILIES, EACH, PLAIN)]


@dataclass(frozen=True, slots=True)
class House:
    """Works on tasks, each in its thread, and learns from them."""

    home: Path
    store: SQLiteStore
    sandboxes: Sandboxes
    loop: Loop
    reflexion: Reflexion
    lessons: SQLiteLessonStore
    told: Told

    async def does(self, task: Task) -> Came:
        """Attempt after attempt, as long as the product's rule says."""
        thread = str(10**18 + task.number)
        await self.store.save_session(SessionRow(thread=thread, channel="1", guild=GUILD))
        held_back = solved = False
        first, attempt = "", 1
        while True:
            execution = execution_id(thread, str(attempt))
            first = first or execution
            choice = await self._told(thread, task, execution)
            held_back = held_back or (attempt == 1 and any(each.arm == "held_back" for each in choice.withheld))
            again, solved = await self._attempt(task, thread, execution, attempt, first, choice)
            if not again:
                return Came(task, attempt, solved, held_back)
            attempt += 1

    async def _told(self, thread: str, task: Task, execution: str) -> Choice:
        if self.told == "nothing":
            return Choice()
        choice = await self.reflexion.lessons_for(thread, GUILD, task.text, execution=execution, model=MODEL)
        if self.told == "lessons":
            return choice
        return Choice(tuple([await self._as_excerpt(thread, each) for each in choice.chosen]), choice.withheld)

    async def _as_excerpt(self, thread: str, chosen: ChosenLesson) -> ChosenLesson:
        """The end of the record of the run that a lesson or reflection came from."""
        lesson = await self.lessons.lesson(GUILD, chosen.id)
        reflections = await self.lessons.reflections(GUILD, thread, POLICY.trials_most)
        came_from = [each.execution for each in reflections if each.id == chosen.id]
        execution = lesson.executions[0] if lesson else came_from[0]
        record = record_of(read_trajectory([each async for each in self.store.read(execution)]))
        return chosen.model_copy(update={"text": cut_to(record[::-1], LESSON_TOKENS)[::-1]})

    async def _attempt(
        self, task: Task, thread: str, execution: str, attempt: int, first: str, choice: Choice
    ) -> tuple[bool, bool]:
        """(whether another follows, whether the check passed)."""
        world = RealWorld(self.sandboxes, "bench", self._as_before(task))

        async def open_world() -> RealWorld:
            return world

        toolbox = StandardToolbox(open_world)
        started = Started(
            thread=thread, task=task.text, requester=ANNA, policy=POLICY, lessons=choice.chosen, withheld=choice.withheld,
            tools=tuple(ToolRef(name=spec.name, effect=spec.effect, permission=spec.permission) for spec in toolbox.specs),
            trial_of=first if attempt > 1 else "", attempt=attempt, inbox=str(attempt),
        )  # fmt: skip
        lease = await self.store.acquire(thread, "bench")
        assert lease is not None
        await self.loop.run(lease, execution, toolbox, asyncio.Event(), started)
        await self.store.release(lease)
        evaluated = await self.reflexion.after(execution)
        outcome = await self.store.read_outcome(execution)
        trajectory = read_trajectory([each async for each in self.store.read(execution)], outcome)
        decided = decide_trial(trajectory, evaluated, POLICY, Around(learned=True, left_usd=1.0))
        return isinstance(decided, Again), evaluated.verifier == "pass"

    def _as_before(self, task: Task) -> Path:
        """The workspace as it was before the first attempt: one folder and one sandbox serve all tasks, one at a time."""
        folder = self.home / "workspace"
        folder.mkdir(exist_ok=True)
        folder.chmod(0o777)
        for path in folder.iterdir():
            path.unlink()
        for name, text in task.files().items():
            (folder / name).write_text(text)
        return folder


def _solved(came: list[Came]) -> float:
    return mean(each.solved for each in came)


def _made_worse(told: Came, untold: Came) -> bool:
    well, untold_well = (each.solved and each.attempts == 1 for each in (told, untold))
    return untold_well and not well


def _at_once(came: list[Came]) -> float:
    return mean(each.solved and each.attempts == 1 for each in came)


def _seen_before(came: list[Came]) -> tuple[list[Came], list[Came]]:
    """The first task of each family, and the later ones."""
    families: set[int] = set()
    first: list[Came] = []
    later: list[Came] = []
    for each in came:
        (later if each.task.family in families else first).append(each)
        families.add(each.task.family)
    return first, later
