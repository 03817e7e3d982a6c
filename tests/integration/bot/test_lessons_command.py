"""`threadwright lessons` over real stores; its page in a browser: ``tests/e2e/test_lessons_report.py``."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from bot.cli.main import perform
from bot.config.home import LESSONS
from reflexion.lessons.lesson import Lesson
from reflexion.stores.sqlite import SQLiteLessonStore
from tests.integration.bot.seeded_lessons import GUILD, SAID, UNTRUSTED, seed

OTHER = "1190000000000000099"


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("THREADWRIGHT_HOME", str(tmp_path / "home"))
    monkeypatch.chdir(tmp_path)
    return tmp_path / "home"


def seeded(home: Path, executions: int) -> None:
    async def work() -> None:
        store = SQLiteLessonStore(home / LESSONS)
        await seed(store, executions=executions)
        await store.close()

    asyncio.run(work())


def kept(home: Path, guild: str | None) -> list[Lesson]:
    async def work() -> list[Lesson]:
        store = SQLiteLessonStore(home / LESSONS)
        found = await store.lessons(guild)
        await store.close()
        return list(found)

    return asyncio.run(work())


def test_an_empty_home_an_empty_store_and_a_broken_one_each_say_what_to_do(
    home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for act in ("report", "list", "export"):
        assert perform(["lessons", act]) == 1
        assert "There are no lessons" in capsys.readouterr().err
    assert not home.exists(), "looking makes no store"
    seeded(home, 0)
    assert perform(["lessons", "report", "--guild", "77"]) == 1
    assert "Nothing is known of server 77." in capsys.readouterr().err
    for wrong in (["lessons"], ["lessons", "import", "x"], ["lessons", "import", "x", "--guild", "7", "--everywhere"]):
        with pytest.raises(SystemExit) as mistaken:
            perform(wrong)
        assert mistaken.value.code == 64
    capsys.readouterr()
    (home / LESSONS).write_bytes(b"no database at all, but long enough to be looked at as one" * 40)
    for act in ("report", "list", "export"):
        assert perform(["lessons", act]) == 1
        said = capsys.readouterr()
        assert "The lessons cannot be read" in said.err
        assert "`threadwright doctor`" in said.err
        assert said.out == ""
    assert not (home.parent / "threadwright-lessons.html").exists()


def test_few_showings_are_said_to_be_too_few_and_only_a_report_is_written_over(
    home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    seeded(home, 14)
    file = home.parent / "threadwright-lessons.html"
    assert perform(["lessons", "report"]) == 0
    assert "Known outcomes so far" in file.read_text()
    assert "are needed to see a 10-point effect" in file.read_text()
    assert file.stat().st_mode & 0o777 == 0o600
    first = file.read_text()
    assert perform(["lessons", "report", "--guild", GUILD]) == 0
    assert f"Server {GUILD}" in file.read_text() != first
    mine = home.parent / "mine.html"
    mine.write_text("my own page")
    capsys.readouterr()
    assert perform(["lessons", "report", "--out", str(mine)]) == 1
    assert "is not a lessons report" in capsys.readouterr().err
    assert mine.read_text() == "my own page"


def test_lessons_are_listed_and_go_to_another_server_only_by_a_file_and_looked_at_anew(
    home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    seeded(home, 60)
    assert perform(["lessons", "list"]) == 0
    listed = capsys.readouterr().out
    assert all(f"{trigger[:20]}" in listed for trigger, _, _ in SAID)
    assert "1 waits for approval" in listed
    assert perform(["lessons", "list", "--guild", OTHER]) == 1
    file = home.parent / "lessons.jsonl"
    assert perform(["lessons", "export", str(file)]) == 0
    assert perform(["lessons", "export", str(file)]) == 1
    assert perform(["lessons", "export"]) == 0
    assert capsys.readouterr().out.count("\n") == len(SAID) + 1
    assert perform(["lessons", "import", str(file), "--guild", OTHER]) == 0
    assert "1 of them waiting for approval" in capsys.readouterr().out
    before, now = {each.id: each for each in kept(home, GUILD)}, kept(home, OTHER)
    assert {each.trigger for each in now} < {each.trigger for each in before.values()}, (
        "retired ones stay where they were"
    )
    assert not {each.id for each in now} & set(before)
    assert {each.status for each in now} <= {"probation", "candidate", "quarantined"}
    assert next(each for each in now if each.trigger == UNTRUSTED[0]).status == "quarantined"
    assert sum(each.life.shown + each.life.held_back for each in now) == 0
    assert sum(each.life.shown for each in before.values()) > 0
    assert perform(["lessons", "import", str(file), "--guild", OTHER]) == 0
    assert kept(home, OTHER) == now, "brought in twice is brought in once"
    assert perform(["lessons", "import", str(file), "--everywhere"]) == 0
    everywhere = [each for each in kept(home, "77") if each.scope.kind == "global"]
    assert {each.trigger for each in everywhere} == {each.trigger for each in now}
    file.write_text('{"id": 7}\n')
    assert perform(["lessons", "import", str(file), "--guild", OTHER]) == 1
    assert "line 1 is no lesson" in capsys.readouterr().err
    assert perform(["lessons", "import", str(home), "--everywhere"]) == 1
