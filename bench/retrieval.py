"""How well lessons are found: by words, by meaning, and by both, on a frozen set; and how long words take.

The set (``retrieval_set/``) was written by hand before anything was tuned: 275 lessons of 19 fields of work as a
reflector writes them; 370 tasks as people write them, each of which one lesson fits (paraphrases, errors with other
numbers and paths, other words for the same, code); 129 tasks that none fits, of the same fields.  One half, by a hash of
the text, was used to choose the numbers of ``reflexion/retrieval/ranking.py`` and ``stores/searching.py``; the
figures of the other
half, held out, say what they are worth.

- *recall@5*: the share of tasks whose lesson is among the first five found.
- *abstention precision*: of the tasks for which nothing is shown, the share that no lesson fits.
- *abstention recall*: of the tasks that no lesson fits, the share for which nothing is shown.
- *shown*: the share of tasks whose lesson stands in the prompt at the end.
"""

from __future__ import annotations

import csv
import hashlib
import tempfile
import time
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from statistics import mean, median, quantiles

from agentic.stores.sqlite.file.connection import Connection
from bench.figures import Figure, size
from reflexion.lessons.lesson import Lesson, Scope
from reflexion.lessons.lifecycle import Life, Showing, lived
from reflexion.retrieval.embedding import MiniLM, embedder
from reflexion.retrieval.ranking import Candidate, ranked
from reflexion.retrieval.search import CANDIDATES, Finder
from reflexion.retrieval.selection import choose_lessons
from reflexion.stores import statements
from reflexion.stores.sqlite import SQLiteLessonStore
from reflexion.text.words import words_of

SET = Path(__file__).parent / "retrieval_set"
LESSONS = size("LESSONS", 10_000, 100)
EVERY = size("EVERY", 1, 6)
"""Of the set, each so many-th task is asked about."""
WAYS = ("words", "meaning", "both")
NOW = datetime(2026, 11, 22, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class Asked:
    """A task of the set and the lesson that fits it; '' where none does."""

    lesson: str
    kind: str
    text: str

    @property
    def held_out(self) -> bool:
        """It had no part in the choice of numbers."""
        return hashlib.sha256(self.text.encode()).digest()[0] % 2 == 1


@dataclass(frozen=True, slots=True)
class Found:
    """What was found for a task in one way, best first, and what of it would stand in the prompt."""

    asked: Asked
    ids: tuple[str, ...]
    shown: tuple[str, ...]


async def figures() -> AsyncIterator[Figure]:
    """First how well, then how fast."""
    with tempfile.TemporaryDirectory() as folder:
        model = embedder("auto")
        found = await how_well(Path(folder) / "small.db", model)
        for way in WAYS if model else WAYS[:1]:
            for figure in of_way(way, found[way]):
                yield figure
        async for figure in how_fast(Path(folder) / "large.db", model):
            yield figure


def read_set() -> tuple[list[Lesson], list[Asked]]:
    """The lessons, as proven ones of one server, and the tasks."""
    asked = [Asked(row["lesson"].replace("-", ""), row["kind"], row["text"]) for row in _rows("queries.tsv")[::EVERY]]
    return [_lesson(row["id"], row["trigger"], row["action"], row["signature"]) for row in _rows("lessons.tsv")], asked


async def how_well(path: Path, model: MiniLM | None) -> dict[str, list[Found]]:
    """Every task in every way, through the store and the code that chooses."""
    lessons, tasks = read_set()
    store = SQLiteLessonStore(path)
    for lesson in lessons:
        await store.amend(lesson)
    while model and await store.unembedded(model.name, 1):
        await Finder(store, model).keep_up()
    found: dict[str, list[Found]] = {way: [] for way in WAYS}
    for asked in tasks:
        words = await Finder(store).find("g", "", asked.text)
        found["words"].append(_found(asked, words))
        if model:
            both = await Finder(store, model).find("g", "", asked.text)
            near = await _by_meaning(store, model, asked.text)
            found["meaning"].append(_found(asked, near))
            found["both"].append(_found(asked, both))
    await store.close()
    return found


def of_way(way: str, found: Sequence[Found]) -> list[Figure]:
    """The figures of one way to search."""
    targets = {"words": 0.75, "both": 0.85}
    made: list[Figure] = []
    for name, some in (("", found), (" held out", [each for each in found if each.asked.held_out])):
        fits, none = [each for each in some if each.asked.lesson], [each for each in some if not each.asked.lesson]
        nothing = [each for each in some if not each.shown]
        told = [each.asked.lesson in each.shown for each in some if each.shown]
        size = f"{len(fits)} tasks with a lesson, {len(none)} without"
        made += [
            Figure(f"retrieval recall@5 by {way}{name}", _recall(fits, 5), "share", ">=", targets.get(way), size),
            Figure(f"retrieval abstention precision by {way}{name}", mean(not each.asked.lesson for each in nothing),
                   "share", note=f"{len(nothing)} times nothing was shown"),
            Figure(f"retrieval abstention recall by {way}{name}", mean(not each.shown for each in none), "share"),
            Figure(f"retrieval shown by {way}{name}", mean(each.asked.lesson in each.shown for each in fits), "share",
                   note=f"where any is shown, it is the right one or one of the shown in {mean(told):.0%}"),
        ]  # fmt: skip
    kinds = sorted({each.asked.kind for each in found if each.asked.lesson})
    by_kind = {kind: [each for each in found if each.asked.kind == kind] for kind in kinds}
    note = ", ".join(f"{kind} {_recall(some, 5):.2f} of {len(some)}" for kind, some in by_kind.items())
    fits = [each for each in found if each.asked.lesson]
    return [*made, Figure(f"retrieval recall@1 by {way}", _recall(fits, 1), "share", note=f"recall@5 by kind: {note}")]


async def how_fast(path: Path, model: MiniLM | None) -> AsyncIterator[Figure]:
    """Searches among 10,000 lessons of one server, made of parts of the set, then with 10,000 of another one beside them."""
    lessons, tasks = read_set()
    store = SQLiteLessonStore(path)
    await _fill(store, lessons, "g")
    took, computed = await _timed(store, tasks)
    note = f"{len(tasks)} tasks, {LESSONS} lessons; through the store, lessons read and validated"
    yield Figure("retrieval by words, median", median(took), "ms", "<=", 5, note)
    yield Figure("retrieval by words, p99", quantiles(took, n=100)[98], "ms", "<=", 5, note)
    note = f"p99 {quantiles(computed, n=100)[98]:.1f} ms; what the machine does besides has no part in it"
    yield Figure("retrieval by words, processor time, median", median(computed), "ms", note=note)
    if model:
        async for figure in _meaning_at_size(store, model, [asked.text for asked in tasks[:50]]):
            yield figure
    await _fill(store, lessons, "other")
    took, computed = await _timed(store, tasks)
    note = f"{LESSONS} lessons of another server beside them; processor time {median(computed):.1f} ms"
    yield Figure("retrieval by words beside another server, median", median(took), "ms", "<=", 5, note)
    await store.close()


async def _fill(store: SQLiteLessonStore, lessons: Sequence[Lesson], guild: str) -> None:
    def fill(db: Connection, first: int) -> None:
        for number in range(first, first + 200):
            lesson = _mixed(lessons, number)
            update = {"id": f"{lesson.id}{guild}", "scope": Scope(kind="guild", guild=guild)}
            statements.save(db, lesson.model_copy(update=update))

    for first in range(0, LESSONS, 200):  # a store gives up what takes seconds
        await store._write(partial(fill, first=first))


async def _timed(store: SQLiteLessonStore, tasks: Sequence[Asked]) -> tuple[list[float], list[float]]:
    """Milliseconds of each task, by the clock and of the processor; of three runs of a task the fastest."""
    took, computed = list[float](), list[float]()
    for asked in tasks:
        words, runs, busy = words_of(asked.text), list[float](), list[float]()
        for _ in range(3):
            began, worked = time.perf_counter(), time.process_time()
            await store.search("g", "", words, CANDIDATES)
            runs.append((time.perf_counter() - began) * 1_000)
            busy.append((time.process_time() - worked) * 1_000)
        took.append(min(runs))
        computed.append(min(busy))
    return took, computed


async def _meaning_at_size(store: SQLiteLessonStore, model: MiniLM, texts: list[str]) -> AsyncIterator[Figure]:
    began = time.perf_counter()
    vectors = await model.embed(texts)
    yield Figure("retrieval by meaning, embedding a task", (time.perf_counter() - began) * 1_000 / len(texts), "ms")
    insert = "INSERT INTO lesson_vector SELECT number, ?, '', ? FROM lesson_shown"
    await store._write(lambda db: db.execute(insert, (model.name, vectors[0])))
    took: list[float] = []
    for vector in vectors:
        began = time.perf_counter()
        await store.nearest("g", "", model.name, vector, CANDIDATES)
        took.append((time.perf_counter() - began) * 1_000)
    yield Figure("retrieval by meaning, comparing all vectors, median", median(took), "ms", note=f"{LESSONS} vectors")


async def _by_meaning(store: SQLiteLessonStore, model: MiniLM, text: str) -> tuple[Candidate, ...]:
    (vector,) = await model.embed([text])
    near = await store.nearest("g", "", model.name, vector, CANDIDATES)
    return ranked(text, (), [lesson for lesson, _ in near], {lesson.id: likeness for lesson, likeness in near})


def _found(asked: Asked, candidates: Sequence[Candidate]) -> Found:
    shown = choose_lessons(candidates).chosen
    return Found(asked, tuple(each.lesson.id for each in candidates), tuple(each.id for each in shown))


def _recall(found: Sequence[Found], first: int) -> float:
    return mean(each.asked.lesson in each.ids[:first] for each in found)


def _proven() -> Life:
    """So that the number shown is decided by what fits, and not by which lessons have proved themselves."""
    life = Life()
    for number in range(20):
        showing = Showing(lesson="l", execution=f"x{number}", guild="g", ok=True, expected=0.4, at=NOW)
        life = lived(life, showing)
    return life


PROVEN = _proven()


def _lesson(id: str, trigger: str, action: str, signature: str) -> Lesson:
    return Lesson(
        id=id, scope=Scope(kind="guild", guild="g"), kind="pitfall", trigger=trigger, action=action,
        error_signature=signature, status="active", life=PROVEN, inherited=PROVEN, created=NOW,
    )  # fmt: skip


def _mixed(lessons: Sequence[Lesson], number: int) -> Lesson:
    """One of 10,000: the trigger of one, the advice of another, the error of a third."""
    drawn = hashlib.sha256(str(number).encode()).digest()
    trigger, action, error = (lessons[int.from_bytes(drawn[at : at + 4], "big") % len(lessons)] for at in (0, 4, 8))
    return _lesson(f"l{number}", trigger.trigger, action.action, error.error_signature)


def _rows(name: str) -> list[dict[str, str]]:
    with (SET / name).open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE))
