"""A home with tasks of several servers, lessons, outcomes and a judge, for the pages about all tasks together."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

from agentic.core.events.execution_events import (
    Asked,
    ChosenLesson,
    Escalated,
    Event,
    InputReceived,
    ModelAnswered,
    ModelRequested,
    OutboxItem,
    Person,
    Policy,
    TextBlock,
    Tier,
    Usage,
)
from agentic.ports.runtime import LabelRow, Look, SessionRow, Store
from agentic.stores.factory import open_store
from bot.config.home import DATABASE, LESSONS
from reflexion.lessons.changes import changed
from reflexion.lessons.lesson import Insight, Lesson, Reflection, Scope, Verdict
from reflexion.lessons.lifecycle import Showing
from reflexion.ports import LessonStore
from reflexion.stores.factory import open_lessons
from tests.integration.console import logs

HERE, ELSEWHERE = "990", "991"
UNTITLED = 3
"""The thread without a title."""
BOB = Person(id="8", name="Bob", level="executor")
HOSTILE = "<img src=x onerror=document.title='broken'>"
TIERS = (Tier(number=2, models=("anthropic/claude-haiku-4-5",)), Tier(number=4, models=("anthropic/claude-opus-5",)))


def thread_of(number: int) -> str:
    return str(1575491652707950000 + number)


@dataclass(frozen=True, slots=True)
class FilledHome:
    """Where it is, and its stores, open."""

    folder: Path
    store: Store
    lessons: LessonStore


async def filled(folder: Path, now: datetime, done: int = 6) -> FilledHome:
    """Write all of it: ``done`` tasks that ended, one that runs, one that asks, one that is paused."""
    store = open_store(folder / DATABASE)
    for number in range(done):
        guild, who = (HERE, logs.ANN) if number % 2 == 0 else (ELSEWHERE, BOB)
        await _write(store, number, guild, ended(number, who))
    asks = Asked(question="q", sort="approval", text="May I push?")
    pause = InputReceived(inbox="p", sort="pause", author=logs.ANN)
    await _write(store, 100, HERE, [*_begun(100, f"Clean the {HOSTILE} folder", logs.ANN), *logs.turn(1)])
    await _write(store, 101, HERE, [*_begun(101, "Deploy it", BOB), *logs.turn(1), asks])
    await _write(store, 102, ELSEWHERE, [*_begun(102, "Rename everything", BOB), *logs.turn(1), pause])
    for number in range(done):
        await store.put_label(label(number))
    await store.put_outbox([OutboxItem(key="k", thread=thread_of(0), execution="e0", sort="answer", text="Hello")])
    lessons = open_lessons(folder / LESSONS)
    await _teach(lessons, now, done)
    return FilledHome(folder, store, lessons)


def ended(number: int, who: Person = logs.ANN) -> list[Event]:
    """A task that ended; each third one was handed over to a stronger model."""
    return [*_begun(number, f"Task {number}: mend the parser", who), *logs.turn(1), *_risen(number), *logs.end()]


def _begun(number: int, task: str, who: Person) -> list[Event]:
    told = (ChosenLesson(id="l1", kind="pitfall", text="Look at the first row.", why="the same error"),)
    first = logs.started(
        task,
        thread=thread_of(number),
        requester=who,
        policy=Policy(tiers=TIERS),
        lessons=told if number % 2 == 0 else (),
    )
    return [first, logs.triaged()]


def _risen(number: int) -> list[Event]:
    if number % 3:
        return []
    asked = ModelRequested(request="r9", turn=2, tier=4, model="anthropic/claude-opus-5", reserved_usd=0.1)
    answered = ModelAnswered(
        request="r9", blocks=(TextBlock(text="Done."),), usage=Usage(input=2_000, output=300), usd=0.05, stop="end"
    )
    return [Escalated(from_tier=2, to_tier=4, trigger="the same error three times", rule="same_error"), asked, answered]


async def _write(store: Store, number: int, guild: str, log: list[Event]) -> None:
    thread = thread_of(number)
    await store.save_session(
        SessionRow(
            thread, f"7{guild}", guild, title=f"Thread {number}" if number != UNTITLED else "", created=logs.BEGAN
        )
    )
    await logs.written(store, f"e{number}", log, thread=thread)


def label(number: int) -> LabelRow:
    score = 90 - 15 * (number % 4)
    look = Look(turn=1, features={}, self_report=95, heuristic=70, shown=score, role="python-coder")
    return LabelRow(
        f"e{number}", thread_of(number), HERE if number % 2 == 0 else ELSEWHERE, "python-coder",
        "anthropic/claude-haiku-4-5", 2, number % 4 != 3, "person" if number % 2 else "verifier", 1.0, score, looks=(look,),
    )  # fmt: skip


def lesson(id: str, guild: str, now: datetime, **more: object) -> Lesson:
    scope = Scope(kind="guild", guild=guild)
    given = {
        "id": id, "scope": scope, "kind": "pitfall", "trigger": "The parser meets an empty row", "status": "probation",
        "action": "Look at the first row before the types are guessed", "evidence": ("ValueError: empty row",),
        "error_signature": "ValueError: empty row", "executions": ("e0",), "created": now - timedelta(days=3),
    }  # fmt: skip
    return Lesson.model_validate(given | more)


def reflection(id: str, now: datetime) -> Reflection:
    """What the first task left for the next ones in its thread."""
    insight = Insight(
        what_worked="",
        what_failed="It guessed",
        root_cause=HOSTILE,
        strategy_change="Look first",
        key_insight="Rows vary",
    )
    return Reflection(
        id=id,
        thread=thread_of(0),
        guild=HERE,
        execution="e0",
        task="mend",
        cause="failed",
        insight=insight,
        created=now,
    )


async def _teach(lessons: LessonStore, now: datetime, done: int) -> None:
    waits = lesson("l2", HERE, now, status="quarantined", action=f"Run {HOSTILE} first", note="It contains a command.")
    gone = lesson("l3", HERE, now, status="retired", trigger="Old words", created=now - timedelta(days=40))
    known = changed(lesson("l1", HERE, now), at=now - timedelta(days=2), what="Seen again.", status="active")
    for each in (known, waits, gone, lesson("l4", ELSEWHERE, now, trigger="Only elsewhere")):
        await lessons.amend(each)
    await lessons.keep_reflection(reflection("r1", now))
    for number in range(done):
        guild, ok = (HERE if number % 2 == 0 else ELSEWHERE), number % 4 != 3
        shown = Showing(
            lesson="l1" if guild == HERE else "l4", execution=f"e{number}", guild=guild, ok=ok,
            arm="held_back" if number % 8 == 4 else "shown", at=now,
        )  # fmt: skip
        verdict = Verdict(
            execution=f"e{number}", guild=guild, thread=thread_of(number), ok=ok, right=ok, at=now,
            verifier="pass" if ok else "fail", judge=0.9 if ok else 0.6, judge_model="openai/gpt-judge",
        )  # fmt: skip
        await lessons.record(verdict, [shown])


def recent() -> datetime:
    """So long ago that every event of a short log is over, today."""
    return datetime.now(UTC) - timedelta(minutes=5)
