"""`threadwright search` over real stores."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from agentic.core.events.execution_events import Event, Finished, InputReceived
from agentic.stores.sqlite.store import SQLiteStore
from bot.cli import word_search
from bot.cli.main import perform
from bot.config.home import DATABASE, TASKS
from tests.integration.stores.samples import ANNA, envelopes, started, take


async def _kept(database: Path, execution: str, task: str, *more: Event) -> None:
    database.parent.mkdir(parents=True, exist_ok=True)
    store = SQLiteStore.open(database)
    try:
        lease = await take(store, execution)
        events = [started(execution, task), *more, Finished(reason="done", answer="All done.")]
        await store.append(execution, 0, lease, envelopes(execution, lease, 0, events))
    finally:
        await store.close()


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("THREADWRIGHT_HOME", str(tmp_path))
    return tmp_path


def test_words_are_found_in_the_bots_tasks_and_in_those_of_the_command_line(
    home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    said = InputReceived(
        inbox="i", sort="guidance", author=ANNA, text="**see** src/login_page.py \x1b[31m" + "long " * 90
    )
    asyncio.run(_kept(home / DATABASE, "x1", "Fix the login page", said))
    asyncio.run(_kept(home / TASKS / "t" / DATABASE, "x2", "Новый отчёт login ghp_" + "a1B2c3D4" * 5))
    assert perform(["search", "LOGIN"]) == 0
    told = capsys.readouterr()
    lines = told.out.splitlines()
    assert sorted(line.split()[0] for line in lines) == ["x1", "x1", "x2"]
    assert any(line.endswith("Anna gave this task: Fix the login page") for line in lines)
    assert any("Anna wrote: **see** src/login_page.py long" in line and line.endswith("…") for line in lines)
    assert "a1B2" not in told.out
    assert "\x1b" not in told.out
    assert "threadwright replay EXECUTION" in told.err
    assert perform(["search", "fix", "page"]) == 0
    assert capsys.readouterr().out.count("\n") == 1
    assert perform(["search", "отчет"]) == 0
    assert capsys.readouterr().out.startswith("x2")
    assert perform(["search", '"page login"']) == 1
    assert "Nothing in" in capsys.readouterr().err


def test_only_the_newest_are_printed_which_is_said(
    home: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(word_search, "SHOWN", 2)
    monkeypatch.setattr(word_search, "SEARCHED", 2)
    for number in range(3):
        file = home / TASKS / f"t{number}" / DATABASE if number else home / DATABASE
        asyncio.run(
            _kept(file, f"x{number}", "zebra", InputReceived(inbox="i", sort="guidance", author=ANNA, text="zebra"))
        )
    assert perform(["search", "zebra"]) == 0
    told = capsys.readouterr()
    assert len(told.out.splitlines()) == 2
    assert "the newest 2: add a word" in told.err
    assert "the newest 1 of `threadwright task`" in told.err


def test_a_damaged_store_is_named_and_the_others_are_searched(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    asyncio.run(_kept(home / DATABASE, "x1", "zebra"))
    damaged = home / TASKS / "t" / DATABASE
    damaged.parent.mkdir(parents=True)
    damaged.write_bytes(b"no database at all" * 500)
    assert perform(["search", "zebra"]) == 0
    told = capsys.readouterr()
    assert told.out.startswith("x1")
    assert f"{damaged} cannot be read" in told.err


def test_without_words_nothing_is_begun(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for words in (["?!"], ["a" * 300], []):
        with pytest.raises(SystemExit) as ended:
            perform(["search", *words])
        assert ended.value.code == 64
    assert "write a few words" in capsys.readouterr().err
    assert perform(["search", "zebra"]) == 1
