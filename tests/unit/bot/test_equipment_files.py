"""Files of roles and rules below the home: read, written whole, bounded; what is wrong with any is shown by the doctor."""

from __future__ import annotations

from pathlib import Path

import pytest

from bot.cli import doctor
from bot.config.settings import Settings
from bot.equipment.equipment import Equipment, RulePlace
from bot.equipment.markdown_folder import MOST_BYTES, MOST_FILES, FolderFull, MarkdownFolder
from bot.equipment.tool_names import misnamed


def put(path: Path, text: str | bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(text if isinstance(text, bytes) else text.encode())


def head(name: str, more: str = "") -> str:
    return f"---\nname: {name}\n{more}---\nText of {name}.\n"


def test_a_folder_is_read_within_bounds_and_written_whole(tmp_path: Path) -> None:
    folder = MarkdownFolder(tmp_path, "roles")
    assert folder.read() == ()
    assert folder.places() == ("",)
    folder.put("12", "a", "A")
    put(tmp_path / "roles" / "12" / "b.md", b"\xff")
    put(tmp_path / "roles" / "12" / "c.md", b"x" * (MOST_BYTES + 1))
    put(tmp_path / "roles" / "12" / "notes.txt", "no role")
    (tmp_path / "roles" / "12" / "d.md").mkdir()
    said = {file.path: file.text or file.problem for file in folder.read("12")}
    assert said == {
        "roles/12/a.md": "A", "roles/12/b.md": "it is not UTF-8 text; save it as UTF-8",
        "roles/12/c.md": "it has more than 64,000 bytes; shorten it",
    }  # fmt: skip
    assert folder.places() == ("", "12")
    assert folder.remove("12", "a")
    assert not folder.remove("12", "a")
    for name in ("../a", "a/b", "", "A"):
        with pytest.raises(ValueError, match="names no file"):
            folder.put("12", name, "x")
    with pytest.raises(ValueError, match="is no place"):
        folder.read("../12")
    for number in range(MOST_FILES):
        folder.put("13", f"r{number}", "x")
    with pytest.raises(FolderFull, match="There are 30 roles here already"):
        folder.put("13", "more", "x")
    folder.put("13", "r0", "changed")
    folder.forget("13")
    folder.forget("../12")
    assert folder.read("13") == ()
    assert folder.read("12") != ()


async def test_a_servers_own_role_counts_before_that_of_all_servers_and_twins_are_named(tmp_path: Path) -> None:
    put(tmp_path / "roles" / "poet.md", head("poet", "description: of all\n"))
    put(tmp_path / "roles" / "7" / "poet.md", head("poet", "description: of one\n"))
    put(tmp_path / "roles" / "7" / "a.md", head("twin"))
    put(tmp_path / "roles" / "7" / "b.md", head("twin"))
    equipment = Equipment(tmp_path)
    own = await equipment.roles("7")
    assert [(role.name, role.description) for role in own.roles] == [("poet", "of one")]
    assert [mistake.path for mistake in own.mistakes] == ["roles/7/a.md", "roles/7/b.md"]
    assert "another file is the role twin as well" in own.mistakes[0].what
    assert [role.description for role in (await equipment.roles("8")).roles] == ["of all"]
    assert await equipment.role_text("8", "nobody") is None


async def test_a_chosen_role_that_cannot_be_used_is_told_and_left_out(tmp_path: Path) -> None:
    equipment, here = Equipment(tmp_path), RulePlace(guild="7")
    gone = await equipment.for_task(here, "poet")
    assert gone.role == ""
    assert "The role poet was chosen here, and can't be used: there is no such role any more" in gone.troubles[0]
    put(tmp_path / "roles" / "7" / "poet.md", head("poet", "tier: 9\n"))
    wrong = await equipment.for_task(here, "poet")
    assert "line 3: tier: 9 is no whole number from 1 to 4" in wrong.troubles[0]
    assert (await equipment.for_task(here, "dba")).role == "dba"
    assert (await equipment.for_task(here, "")).troubles == (), "who did not choose it is not told"


def test_the_doctor_shows_roles_and_rules_and_what_is_wrong_with_them(tmp_path: Path) -> None:
    settings = Settings(_env_file=None, home=tmp_path)  # type: ignore[call-arg]
    assert [(row.name, row.adapter, row.state) for row in doctor.equipment(settings)] == [
        ("roles", "10 shipped, 0 of your own", "ok"), ("rules", "0 of your own", "ok"),
    ]  # fmt: skip
    put(tmp_path / "roles" / "poet.md", head("poet", "tools: [grpe, read]\nrules: [tone]\n"))
    put(tmp_path / "roles" / "broken.md", head("broken", "tire: 2\n"))
    put(tmp_path / "rules" / "9" / "tone.md", head("tone", "overrides: [base]\n"))
    put(tmp_path / "rules" / "8" / "base.md", head("base", "roles: [nobody]\n"))
    put(tmp_path / "rules" / "8" / "a.md", head("a", "overrides: [b]\n"))
    put(tmp_path / "rules" / "8" / "b.md", head("b", "overrides: [a]\n"))
    rows = doctor.equipment(settings)
    assert rows[0].adapter == "10 shipped, 1 of your own"
    assert (rows[1].adapter, rows[1].why) == ("4 of your own", "a, b, base, tone")
    wrong = {row.adapter + row.why: row.state for row in rows[2:]}
    assert set(wrong.values()) == {"limited"}
    for said in (
        "roles/broken.mdline 3: tire: there is no such field; did you mean “tier”?",
        "The rules a, b override each other",
        "role poet: no tool is called 'grpe'. Did you mean `grep`?",
        "rule base: there is no role nobody.",
    ):
        assert any(said in each for each in wrong), (said, wrong)
    assert not any("overrides base, which is no rule" in each for each in wrong), "it is one somewhere"
    (tmp_path / "rules" / "8").chmod(0)
    (tmp_path / "roles").chmod(0)
    try:
        assert all(row.state in ("ok", "limited") for row in doctor.equipment(settings))
    finally:
        (tmp_path / "roles").chmod(0o700)
        (tmp_path / "rules" / "8").chmod(0o700)


def test_names_of_tools_are_known() -> None:
    assert [misnamed(name) for name in ("read", "mcp__any__thing", "mcp_*", "plan_*", "wake_me")] == [""] * 5
    assert "Did you mean `shell`?" in misnamed("shel")
    assert "no tool is called 'zzz*'" in misnamed("zzz*")
