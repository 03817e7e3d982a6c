"""``threadwright skills`` and the rows of ``threadwright doctor``."""

from __future__ import annotations

import io
from pathlib import Path

import pytest

from agentic.stores.factory import open_store
from bot.cli.backup.create import backup
from bot.cli.backup.import_run import bring_back
from bot.cli.doctor import skills as rows_of
from bot.cli.equipment.skills_command import SkillsArguments, skills
from bot.cli.main import parser
from bot.config.home import DATABASE, LESSONS
from bot.config.settings import Settings
from bot.equipment.skill_folder import read_skill
from bot.equipment.skill_store import SkillStore
from reflexion.lessons.lesson import Verdict
from reflexion.stores.factory import open_lessons
from tests.unit.bot.test_skill_export import PROVEN, lesson

GUIDE = "---\nname: notes\ndescription: How notes are written.\n---\n{}\n"


async def test_skills_are_looked_at_approved_and_shown_by_the_doctor(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    settings, folder = Settings(home=tmp_path / "home"), tmp_path / "home/skills/notes"

    async def told(*arguments: str) -> tuple[int, str]:
        wanted = parser().parse_args(["skills", *arguments])
        order = SkillsArguments(wanted.act or "list", wanted.name, wanted.dir, yes=wanted.yes)
        code = await skills(settings, order)
        said = capsys.readouterr()
        return code, said.out + said.err

    assert rows_of(settings) == ()
    assert "No skills." in (await told())[1]
    folder.mkdir(parents=True)
    (folder / "SKILL.md").write_text(GUIDE.format("Be brief."))
    (folder.parent / "odd").mkdir()
    code, said = await told("list")
    assert code == 1
    assert "not approved yet; whoever runs the bot can approve it: `threadwright skills approve notes`" in said
    assert "odd" in said
    assert {row.adapter: (row.state, row.why, row.todo) for row in rows_of(settings)} == {
        "notes": ("limited", "not approved yet", "look at it, and approve it: threadwright skills approve notes"),
        "odd": ("limited", "can't be used: it has no SKILL.md", ""),
    }
    assert (await told("approve", "nothing"))[0] == 1
    assert "it has no SKILL.md" in (await told("approve", "odd"))[1]
    monkeypatch.setattr("sys.stdin", io.StringIO("\n"))
    code, said = await told("approve", "notes")
    assert (code, "Be brief." in said, "Not approved." in said) == (1, True, True)
    monkeypatch.setattr("sys.stdin", io.StringIO("y\n"))
    assert (await told("approve", "notes"))[0] == 0
    (folder.parent / "odd").rmdir()
    [row] = rows_of(settings)
    assert (row.adapter, row.state, row.why) == ("notes", "ok", "1 approved and unchanged")

    (folder / "SKILL.md").write_text(GUIDE.format("Be long."))
    [row] = rows_of(settings)
    assert (row.state, row.why) == ("limited", "changed since it was approved")
    assert "-Be brief.\n+Be long." in (await told("show", "notes"))[1]
    assert (await told("approve", "notes", "--yes"))[0] == 0
    assert "is approved as it is now" in (await told("approve", "notes"))[1]
    for copy in (settings.home / "skill_copies").glob("*/notes"):
        (copy / "more.md").write_text("more")
    [row] = rows_of(settings)
    assert (row.state, row.why) == ("limited", "its kept copy is damaged")
    assert (await told("approve", "notes", "--yes"))[0] == 0
    assert rows_of(settings)[0].state == "ok"
    assert (await told("remove", "notes"))[0] == 0
    assert (await told("remove", "notes"))[0] == 1

    work = tmp_path / "work/.agents/skills/mine"
    work.mkdir(parents=True)
    (work / "SKILL.md").write_text(GUIDE.format("x").replace("notes", "mine"))
    assert (
        f"threadwright skills approve mine --dir {tmp_path / 'work'}"
        in (await told("list", "--dir", f"{tmp_path / 'work'}"))[1]
    )
    assert (await told("approve", "mine", "--dir", f"{tmp_path / 'work'}", "--yes"))[0] == 0
    await open_store(settings.home / DATABASE).close()
    assert backup(settings, tmp_path / "backup.tar.gz", "test") == 0
    assert bring_back(settings, tmp_path / "backup.tar.gz", tmp_path / "again") == 0
    [here] = SkillStore(settings.home).approved(f"folder:{tmp_path / 'work'}")
    assert SkillStore(tmp_path / "again").copy("mine", here.sha).body == "x", "a task that goes on there reads it"
    assert not (tmp_path / "again/skills.json").exists(), "whoever brings it back approves anew"

    (tmp_path / "home/skills.json").write_text("{")
    assert "no skill counts as approved" in (await told())[1]
    assert "no skill counts as approved" in rows_of(settings)[0].why


async def test_a_proven_lesson_is_written_as_a_skill_and_another_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    settings = Settings(home=tmp_path / "home")
    assert await skills(settings, SkillsArguments("export", "l1", tmp_path)) == 1
    settings.home.mkdir()
    store = open_lessons(settings.home / LESSONS)
    await store.amend(lesson([]))
    await store.amend(lesson([], id="l00000000002", trigger="another", error_signature="other"))
    for each in PROVEN:
        verdict = Verdict(execution=each.execution, guild="g", thread="1", ok=each.ok, at=each.at)
        await store.record(verdict, [each.model_copy(update={"lesson": "l0123456789a"})])
    await store.close()
    order = SkillsArguments("export", "l0123456789a", tmp_path / "out")
    assert await skills(settings, order) == 0
    written = read_skill(tmp_path / "out/pytest-finds-no-module-l0123456789a")
    assert "+52 points" in written.body
    assert await skills(settings, order) == 1
    assert await skills(settings, SkillsArguments("export", "l00000000002", tmp_path / "out")) == 1
    assert await skills(settings, SkillsArguments("export", "lnone", tmp_path / "out")) == 1
    said = capsys.readouterr().err
    for words in ("There are no lessons", "already exists", "too few tasks show", "no lesson lnone"):
        assert words in said
