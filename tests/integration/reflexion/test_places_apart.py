"""What a server or a direct message finds, merges and contradicts is the same whatever others hold (row 42)."""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from reflexion.lessons.lesson import Lesson, Scope
from reflexion.ports import LessonStore
from reflexion.retrieval.search import Finder
from reflexion.stores import search_index, statements
from reflexion.stores.sqlite import SQLiteLessonStore
from tests.integration.reflexion.test_lesson_stores import lesson

PLACES = {"g1": Scope(kind="guild", guild="g1"), "d1": Scope(kind="thread", thread="d1")}
OTHERS = (Scope(kind="guild", guild="g2"), Scope(kind="thread", thread="d2"))
TRIGGERS = (
    "The date parser met empty rows",
    "Timeouts in checkout",
    "Checkout lost the date of empty rows",
    "Pools ran dry",
)
ACTIONS = ("Skip empty rows", "Do not skip empty rows", "Raise the pool size of checkout", "Ask for another export")
TASKS = ("websocket parser: timeouts in checkout", "empty rows in the export of the date parser", "pool")

Step = tuple[int, int, int, int]
"""Who (of the two, or another), trigger, action, error signature."""
STEPS = st.lists(st.tuples(st.integers(0, 5), st.integers(0, 3), st.integers(0, 3), st.integers(0, 4)), max_size=16)


def proposal(at: int, scope: Scope, trigger: int, action: int, error: int) -> Lesson:
    signature = f"E{error}" if error < 3 else ""  # the same in every place
    id = f"l{at}" if not signature else f"l{scope.guild}{scope.thread}{signature}"
    return lesson(
        id, TRIGGERS[trigger], action=ACTIONS[action], scope=scope, error_signature=signature, status="candidate",
        executions=(f"x{at}",),
    )  # fmt: skip


async def seen_from(store: LessonStore, scope: Scope, steps: Sequence[Step], *, alone: bool) -> object:
    """Everything that one place is told, step by step, where the others do what they do, or nothing."""
    told: list[object] = []
    for at, (who, *words) in enumerate(steps):
        mine = who < 2  # two of six steps
        if mine:
            told.append(await store.propose(proposal(at, scope, *words), verified=at % 2 == 0))
        elif not alone:
            await store.propose(proposal(at, OTHERS[who % 2], *words), verified=True)
    thread = scope.thread or "900"
    found = [await Finder(store).find(scope.guild, thread, task) for task in TASKS]
    told += [[(each.lesson.id, each.fit, each.score) for each in candidates] for candidates in found]
    told += [each for each in await store.lessons(scope.guild) if each.scope == scope]
    await store.close()
    return told


@pytest.fixture(autouse=True, scope="module")
def _small_bounds() -> Iterator[None]:
    """Bounds that a few lessons reach, so that few are needed to see whose lessons they bound."""
    with pytest.MonkeyPatch.context() as patch:
        for name, few in (("COUNTED", 3), ("RANKED", 2), ("RANKING_WORDS", 3)):
            patch.setattr(search_index, name, few)
        patch.setattr(statements, "NEIGHBOURS", 3)
        yield


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(steps=STEPS, place=st.sampled_from(tuple(PLACES)))
def test_f42_what_a_place_finds_merges_and_contradicts_is_the_same_whatever_others_hold(
    steps: list[Step], place: str
) -> None:
    seen: list[object] = []
    for alone in (True, False):
        with tempfile.TemporaryDirectory() as folder:
            store = SQLiteLessonStore(Path(folder) / "lessons.db")
            seen.append(asyncio.run(seen_from(store, PLACES[place], steps, alone=alone)))
    assert seen[0] == seen[1]
