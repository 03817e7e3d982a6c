"""Full-text search over logs: what is found, in which order, and what is no longer there. Both stores keep it alike."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from agentic.core.audit.erasure import Erasure, erased
from agentic.core.events.execution_events import Event, Finished, InputReceived, ToolStarted
from agentic.core.text.searchable import searchable
from agentic.ports.runtime import SessionRow, Store, Wanted
from agentic.stores.sqlite.file.connection import connect
from agentic.stores.sqlite.store import SQLiteStore
from agentic.stores.sqlite.tables import search as index
from agentic.text.word_query import WordQuery
from tests.integration.stores.samples import ANNA, begin, envelopes, log_of, notes, sqlite, started, take


async def written(store: Store, execution: str, thread: str, task: str, more: Sequence[Event] = ()) -> None:
    """A finished execution with a task and more, whose thread is in guild "g"."""
    await store.save_session(SessionRow(thread, "channel", "g"))
    lease = await take(store, thread)
    events = [started(thread, task), *more, Finished(reason="done", answer=f"answer of {execution}")]
    await store.append(execution, 0, lease, envelopes(execution, lease, 0, events))
    await store.release(lease)


EVERYWHERE = Wanted()


async def found(store: Store, words: str, wanted: Wanted = EVERYWHERE) -> list[str]:
    """What is found, after all was taken in."""
    while await store.take_in():
        pass
    hits = await store.search(WordQuery.of(words), wanted)
    return [said.text for hit in hits if (said := searchable(hit.envelope.event)) is not None]


def run(command: str) -> ToolStarted:
    return ToolStarted(
        call="c1", provider_id="p", tool="shell", effect="unkeyed", arguments={"command": command}, args_sha="s"
    )


async def test_what_was_said_and_done_is_found_newest_first(store: Store) -> None:
    await written(store, "x1", "t1", "Fix the Café page", [run("pytest tests/web -q")])
    await written(store, "x2", "t2", "write a page about cafes", notes(3))
    assert await found(store, "cafe") == ["write a page about cafes", "Fix the Café page"]
    assert await found(store, "PAGE fix") == ["Fix the Café page"]
    assert await found(store, "tests/web") == ["pytest tests/web -q"]
    assert await found(store, '"the page"') == []
    assert await found(store, '"a page"') == ["write a page about cafes"]
    assert await found(store, "answer x1") == ["answer of x1"]
    assert await found(store, "nowhere") == []
    assert await found(store, "?!") == []


@pytest.mark.parametrize(
    ("text", "typed"),
    [
        ("новый отчёт", "новый отчёт"), ("Новый отчёт", "НОВЫЙ отчет"), ("한국어 문서", "한국어"), ("がっこう", "がっこ"),
        ("ギター", "キ\u3099ター"), ("Το άρθρο", "άρθρο"), ("ΤΟ ΑΡΘΡΟ", "άρθρο"), ("Việt Nam", "viet"), ("Łódź", "łodz"),
        ("हिन्दी", "हिन्दी"), ("עברית", "עברית"), ("ภาษาไทย", "ภาษา"), ("中文文档", "中文"),
    ],
)  # fmt: skip
async def test_words_of_every_script_are_found_with_or_without_accents(store: Store, text: str, typed: str) -> None:
    await written(store, "x1", "t1", text)
    assert await found(store, typed) == [text]


async def test_another_letter_is_not_an_accent(store: Store) -> None:
    await written(store, "x1", "t1", "がっこう")
    assert await found(store, "かっこう") == []


@pytest.mark.parametrize(
    "odd",
    [
        '"',
        "a OR",
        "NEAR(a b)",
        "text:page",
        "page*",
        "-page",
        "(",
        "'; DROP TABLE events",
        "\0",
        "^a",
        "½ ﬁ",
        "a" * 4_000,
    ],
)
async def test_odd_queries_find_or_find_nothing_and_never_fail(store: Store, odd: str) -> None:
    await written(store, "x1", "t1", "a page")
    assert set(await found(store, odd)) <= {"a page", "answer of x1"}


async def test_only_the_guild_or_thread_that_is_meant_is_searched(store: Store) -> None:
    await written(store, "x1", "t1", "one page")
    await written(store, "x2", "t2", "two page")
    row = await store.session("t2")
    assert row is not None
    await store.save_session(replace(row, guild="other"))
    assert await found(store, "page", Wanted(guild="g")) == ["one page"]
    assert await found(store, "page", Wanted(guild="none")) == []
    assert await found(store, "page", Wanted(thread="t2")) == ["two page"]
    assert await found(store, "page", Wanted(threads=frozenset({"t2", "t'3\""}))) == ["two page"]
    assert await found(store, "page", Wanted(threads=frozenset({"t1", "t2"}), most=1)) == ["two page"]
    assert await found(store, "page", Wanted(threads=frozenset())) == []


async def test_pages_follow_each_other(store: Store) -> None:
    for number in range(5):
        await written(store, f"x{number}", f"t{number}", f"page {number}")
    while await store.take_in():
        pass
    seen: list[str] = []
    before = 0
    while hits := await store.search(WordQuery.of("page"), Wanted(before=before, most=2)):
        seen += [hit.thread for hit in hits]
        before = hits[-1].position
    assert seen == ["t4", "t3", "t2", "t1", "t0"]


async def test_what_is_buried_is_not_found_and_what_comes_after_it_is(store: Store) -> None:
    await written(store, "x1", "t1", "old page", notes(60))
    await written(store, "x2", "t2", "secret page", notes(60))
    assert await found(store, "page") == ["secret page", "old page"]
    await store.bury(["x2"])
    assert await found(store, "page") == ["old page"]
    while await store.clear("t2"):
        pass
    await written(store, "x3", "t3", "new page")  # in the positions that the newest log had
    assert await found(store, "page") == ["new page", "old page"]
    assert await found(store, "secret") == []
    await store.forget_thread("t1")
    while await store.clear("t1"):
        pass
    assert await found(store, "page") == ["new page"]


async def test_words_that_were_erased_are_not_found_and_the_others_are(store: Store) -> None:
    words = InputReceived(
        inbox="i", sort="guidance", author=ANNA.model_copy(update={"id": "9", "name": "Eve"}), text="my zebra"
    )
    await written(store, "x1", "t1", "a page", [words, run("ls giraffe")])
    assert await found(store, "zebra") == ["my zebra"]
    clean = erased(await log_of(store, "x1"), Erasure("9", "erased-1", frozenset({"Eve"}), frozenset({"my zebra"})))
    assert await store.rewrite("x1", clean, [])
    assert await found(store, "zebra") == []
    assert await found(store, "erased") == ["[erased]"]
    assert await found(store, "giraffe") == ["ls giraffe"]


async def test_an_open_execution_is_found_while_it_runs(store: Store) -> None:
    await store.save_session(SessionRow("thread", "channel", "g"))
    lease = await begin(store)
    assert await found(store, "fix") == ["fix it"]
    await store.append("x1", 1, lease, envelopes("x1", lease, 1, [run("make giraffe")]))
    assert await found(store, "giraffe") == ["make giraffe"]


async def test_erased_words_stand_nowhere_in_the_index(tmp_path: Path) -> None:
    async with sqlite(tmp_path) as store:
        await written(store, "x1", "t1", "the zebraword")
        await found(store, "x")
        await store.bury(["x1"])
        while await store.clear("t1"):
            pass
        assert await store.scrub()
    assert b"zebraword" not in (tmp_path / "threadwright.db").read_bytes()


async def test_events_that_cannot_be_read_hold_up_nothing(tmp_path: Path) -> None:
    async with sqlite(tmp_path) as store:
        await written(store, "x1", "t1", "first page")
        await written(store, "x2", "t2", "second page")
    with_damage = connect(str(tmp_path / "threadwright.db"))
    with_damage.execute("""UPDATE events SET event = '{"kind":"started",' WHERE position = 1""")
    with_damage.close()
    async with sqlite(tmp_path) as store:
        assert await found(store, "page") == ["second page"]


async def test_taking_in_goes_on_where_it_was(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(index, "TAKEN_A_PIECE", 2)
    async with sqlite(tmp_path) as store:
        await written(store, "x1", "t1", "first page")
        await written(store, "x2", "t2", "second page")
        assert await store.take_in()
    monkeypatch.setattr(index, "BYTES_LOOKED_THROUGH", 0)  # the index alone
    async with sqlite(tmp_path) as store:
        assert [hit.thread for hit in await store.search(WordQuery.of("page"), Wanted())] == ["t1"]
        assert await found(store, "page") == ["second page", "first page"]
        assert not await store.take_in()


async def test_a_process_that_only_reads_finds_what_was_just_said_while_another_one_writes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with sqlite(tmp_path) as store:
        await written(store, "x0", "t0", "old page")
        await written(store, "x1", "t1", "first page")
        await found(store, "page")
        await written(store, "x2", "t2", "second PAGE", [run("make page"), *notes(3)])
        await store.save_session(SessionRow("t2", "channel", "other"))
        reader = SQLiteStore.open(tmp_path / "threadwright.db", keeps_index=False)
        writer = connect(str(tmp_path / "threadwright.db"))
        writer.execute("BEGIN IMMEDIATE")  # whoever had to write would wait
        assert await found(reader, "page") == ["make page", "second PAGE", "first page", "old page"]
        assert await found(reader, "page", Wanted(guild="g")) == ["first page", "old page"]
        assert await found(reader, "page", Wanted(most=1)) == ["make page"]
        assert await found(reader, "page", Wanted(most=3)) == ["make page", "second PAGE", "first page"]
        newest = (await reader.search(WordQuery.of("page"), EVERYWHERE))[0].position
        assert await found(reader, "page", Wanted(before=newest, most=1)) == ["second PAGE"]
        writer.execute("COMMIT")
        assert not await reader.take_in()
        monkeypatch.setattr(index, "BYTES_LOOKED_THROUGH", 500)
        assert await reader.take_in(), "more was written than is looked through"
        assert await found(store, "page") == ["make page", "second PAGE", "first page", "old page"]
        assert not await reader.take_in()
        await store.bury(["x2"])
        assert await found(reader, "page") == ["first page", "old page"]
        writer.close()
        await reader.close()
