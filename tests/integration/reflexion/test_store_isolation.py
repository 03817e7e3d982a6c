"""Nothing of a guild reaches another one, whatever is done in which order (row 42); over both stores, by drawn operations."""

from __future__ import annotations

import asyncio
import tempfile
from datetime import timedelta
from pathlib import Path
from typing import Literal

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from reflexion.errors import LessonOutdated, LessonOutOfScope
from reflexion.lessons.changes import approved, retired
from reflexion.lessons.lesson import Lesson, Scope
from reflexion.ports import LessonStore
from reflexion.stores.sqlite import SQLiteLessonStore
from tests.integration.reflexion.conftest import went
from tests.integration.reflexion.test_lesson_stores import lesson, reflection
from tests.unit.reflexion.logs import EPOCH

GUILDS = ("g1", "g2", "")
WORDS = ("Skip empty rows", "Do not skip empty rows", "Skip the empty rows", "Ask for another export")
GLOBAL = lesson("lall", action=WORDS[0], scope=Scope(kind="global"), author_trust="operator", error_signature="E0")

Step = tuple[Literal["propose", "record", "approve", "retire", "sweep", "steal"], str, int, int]
STEPS = st.lists(
    st.tuples(
        st.sampled_from(("propose", "propose", "propose", "record", "record", "approve", "retire", "sweep", "steal")),
        st.sampled_from(GUILDS),
        st.integers(0, 3),
        st.integers(0, 5),
    ),
    max_size=14,
)


def proposal(guild: str, words: int, number: int) -> Lesson:
    """The same words and the same failure come up in every guild; direct messages have threads alone."""
    scope = Scope(kind="guild", guild=guild) if guild else Scope(kind="thread", thread=f"dm{number % 2}")
    id = f"l{guild or scope.thread}{number % 2}"
    return lesson(
        id, "the parser met empty rows", action=WORDS[words], scope=scope, error_signature=f"E{number % 2}",
        executions=(f"x-{guild}-{words}-{number}",), status="candidate",
    )  # fmt: skip


async def do(store: LessonStore, step: Step, at: int) -> None:
    sort, guild, words, number = step
    now = EPOCH + timedelta(days=at)
    mine = [each for each in await store.lessons(guild) if each.scope.kind != "global"]
    match sort:
        case "propose":
            await store.propose(proposal(guild, words, number), verified=number > 2)
        case "record":
            everyones = [each.id for each in await store.lessons(None)]
            execution = f"x-{guild}-{words}-{number}"
            await store.record(*went(everyones, ok=words > 1, execution=execution, guild=guild))
        case "approve" | "retire" if mine:
            act = approved if sort == "approve" else retired
            await store.amend(act(mine[number % len(mine)], by="ann", at=now))
        case "steal":
            for each in await store.lessons(None):
                stolen = each.model_copy(update={"scope": Scope(kind="guild", guild=f"{guild}+")})
                with pytest.raises(LessonOutOfScope):
                    await store.amend(stolen)
                with pytest.raises(LessonOutdated):
                    await store.amend(each.model_copy(update={"revision": 99}))
        case _:
            await store.sweep(now)


async def look(store: LessonStore) -> None:
    """Every question, from every guild; executions carry the name of theirs."""
    for guild in GUILDS:
        lessons = await store.lessons(guild)
        assert {each.scope.guild for each in lessons if each.scope.kind != "global"} <= {guild}
        for each in lessons:
            if each.scope.kind != "global":
                assert all(execution.startswith(f"x-{guild}-") for execution in each.executions)
                told = await store.showings(guild, each.id)
                since = each.counted_from  # a person brought it back: what was before counts no longer
                own = [showing for showing in told if since is None or showing.at >= since]
                assert each.life.shown == len(own) - sum(showing.arm != "shown" for showing in own)
                ids = {other.id for other in lessons}
                assert set(each.contradicts) <= ids
        everywhere = await store.lesson(guild, GLOBAL.id)
        assert everywhere is not None
        assert (everywhere.executions, everywhere.contradicts) == (GLOBAL.executions, ())
        assert {showing.guild for showing in await store.showings(guild)} <= {guild}
        assert {verdict.guild for verdict in (*await store.verdicts(guild), *await store.unaided(guild, 99))} <= {guild}
        found = await store.search(guild, "dm0", ["parser", "rows", "empty"], 99)
        assert {(each.scope.guild, each.scope.thread) for each in found} <= {(guild, ""), ("", "dm0"), ("", "")}
        if guild:
            assert all(each.scope.thread == "" for each in found)
        for other in GUILDS:
            for each in await store.lessons(other) if other != guild else ():
                visible = await store.lesson(guild, each.id)
                assert (visible is not None) == (each.scope.kind == "global")


async def lived(store: LessonStore, steps: list[Step]) -> None:
    await store.amend(GLOBAL)
    await store.keep_reflection(reflection(1))
    for at, step in enumerate(steps):
        await do(store, step, at)
    await look(store)
    assert await store.reflections("g2", "900", 9) == await store.reflections("", "900", 9) == ()
    await store.close()


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(steps=STEPS)
def test_f42_nothing_of_a_guild_is_returned_counted_or_merged_for_another(steps: list[Step]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        asyncio.run(lived(SQLiteLessonStore(Path(folder) / "lessons.db"), steps))
