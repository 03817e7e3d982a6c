"""Folders of skills as people, repositories and attackers write them; what is approved of them, and kept."""

from __future__ import annotations

import os
import shutil
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from bot.equipment import skill_text
from bot.equipment.skill_folder import Skill, SkillUnusable, read_skill, skills_in
from bot.equipment.skill_store import HOME, KEPT_SECONDS, SkillStore

HEAD = "---\nname: notes\ndescription: How notes are written.\n---\n"
NOW = datetime.now(UTC)


def made(root: Path, text: str | bytes = f"{HEAD}Be brief.\n", name: str = "notes") -> Path:
    folder = root / name
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "SKILL.md").write_bytes(text if isinstance(text, bytes) else text.encode())
    return folder


def trouble(root: Path, name: str = "notes") -> str:
    """What is wrong with a skill; it is the only one there."""
    [(found, one)] = list(skills_in(root))
    assert found == name
    assert isinstance(one, SkillUnusable)
    return str(one)


def test_a_skill_is_its_head_its_guide_and_its_files(tmp_path: Path) -> None:
    folder = made(tmp_path, f"\ufeff{HEAD}\r\n# Guide\r\n")
    (folder / "scripts").mkdir()
    (folder / "scripts/run.sh").write_text("echo")
    (folder / "scripts/run.sh").chmod(0o755)
    for left_out in (".git", "__pycache__"):
        (folder / left_out).mkdir()
        (folder / left_out / "x").write_text("x")
    (tmp_path / "README.md").write_text("no skill")
    [(name, skill)] = list(skills_in(tmp_path))
    assert isinstance(skill, Skill)
    assert (name, skill.description, skill.body) == ("notes", "How notes are written.", "# Guide")
    assert [(file.path, file.runs) for file in skill.files] == [("SKILL.md", False), ("scripts/run.sh", True)]
    assert list(skills_in(tmp_path, "not/there")) == []


def test_a_hash_is_over_paths_contents_and_what_may_be_executed_and_nothing_else(tmp_path: Path) -> None:
    folder = made(tmp_path)
    (folder / "a.txt").write_text("a")
    shas = {read_skill(folder).sha}
    os.utime(folder / "a.txt", (1, 1))
    (folder / "a.txt").chmod(0o664)
    assert read_skill(folder).sha in shas
    for change in (
        lambda: (folder / "a.txt").chmod(0o755),
        lambda: (folder / "a.txt").write_text("b"),
        lambda: (folder / "a.txt").rename(folder / "b.txt"),
        lambda: (folder / "c.txt").write_text(""),
    ):
        change()
        sha = read_skill(folder).sha
        assert sha not in shas
        shas.add(sha)


@pytest.mark.parametrize(
    ("text", "wrong"),
    [
        ("Be brief.", "needs a head with “name: notes”"),
        ("---\nname: notes\n", "does not end with ---"),
        ("---\nname: ../notes\ndescription: x\n---\n", "names it “../notes”, its folder notes"),
        ("---\nname: 7\ndescription: x\n---\n", "needs a head with “name: notes”"),
        ("---\nname: notes\n---\n", "needs “description: …”"),
        ("---\nname: notes\ndescription: [a]\n---\n", "needs “description: …”"),
        ("---\nname: notes\ndescription: '  '\n---\n", "needs “description: …”"),
        ("---\nname: notes\ndescription: Use when: x\n---\n", "SKILL.md: line 3"),
        ("---\nname: notes\nname: notes\ndescription: x\n---\n", "“name” stands twice"),
        ("---\nname: notes\ndescription: &a x\nlicense: *a\n---\n", "alias"),
        (f"---\nname: notes\ndescription: {'x' * 1_025}\n---\n", "has 1,025 characters; at most 1,024"),
        (f"{HEAD}{'x' * 100_000}", "has more than 100,000 bytes"),
        (b"---\nname: \xff\n---\n", "is not UTF-8 text"),
    ],
)
def test_a_head_with_a_mistake_is_named_with_what_to_do(tmp_path: Path, text: str | bytes, wrong: str) -> None:
    made(tmp_path, text)
    assert wrong in trouble(tmp_path)


@pytest.mark.parametrize("name", ["Notes", "my_notes", "-notes", "my--notes", "n" * 65, "nötes", "notes\n"])
def test_a_name_is_small_letters_and_hyphens(tmp_path: Path, name: str) -> None:
    made(tmp_path, f"---\nname: {name!r}\ndescription: x\n---\n", name)
    assert "a name has 1 to 64 small letters" in trouble(tmp_path, name)


def test_no_link_is_followed_out_of_a_skill_nor_into_one(tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.mkdir()
    (secret / "key").write_text("s3cret")
    root = tmp_path / "skills"
    folder = made(root)
    (folder / "key").symlink_to(secret / "key")
    assert "key is a link, and links are not followed" in trouble(root)
    (folder / "key").unlink()
    (folder / "more").symlink_to(secret)
    assert "more is a link" in trouble(root)
    (folder / "more").unlink()
    (folder / "SKILL.md").unlink()
    (folder / "SKILL.md").symlink_to(made(secret) / "SKILL.md")
    assert "SKILL.md is a link" in trouble(root)
    (folder / "SKILL.md").unlink()
    os.mkfifo(folder / "SKILL.md")
    assert "neither a file nor a folder" in trouble(root)
    (folder / "SKILL.md").unlink()
    folder.rmdir()
    folder.symlink_to(secret / "notes")
    assert "it is a link" in trouble(root)
    (tmp_path / "work").mkdir()
    (tmp_path / "work/.agents").symlink_to(secret)
    assert list(skills_in(tmp_path / "work", ".agents")) == []


def test_what_is_too_much_is_refused_and_the_skills_beside_it_are_read(tmp_path: Path) -> None:
    big = made(tmp_path, f"{HEAD.replace('notes', 'big', 1)}", "big")
    with (big / "data.bin").open("wb") as file:
        file.truncate(50_000_000_000)
    many = made(tmp_path, f"{HEAD.replace('notes', 'many', 1)}", "many")
    for number in range(501):
        (many / f"{number}.txt").touch()
    deep = made(tmp_path, f"{HEAD.replace('notes', 'deep', 1)}", "deep")
    (deep / "/".join("abcdefghijkl")).mkdir(parents=True)
    odd = made(tmp_path, f"{HEAD.replace('notes', 'odd', 1)}", "odd")
    (odd / "a\u202eb").touch()
    made(tmp_path)
    found = dict(skills_in(tmp_path))
    assert {name for name, one in found.items() if isinstance(one, Skill)} == {"notes"}
    told = {name: str(one) for name, one in found.items() if isinstance(one, SkillUnusable)}
    assert "larger than 5 MB" in told["big"]
    assert "more than 500 files" in told["many"]
    assert "more than 8 deep" in told["deep"]
    assert "characters that cannot be shown" in told["odd"]
    for number in range(60):
        made(tmp_path / "crowd", f"---\nname: s{number:02}\ndescription: x\n---\n", f"s{number:02}")
    crowd = dict(skills_in(tmp_path / "crowd"))
    assert [name for name, one in crowd.items() if isinstance(one, SkillUnusable)] == [f"s{n}" for n in range(50, 60)]


def test_what_was_approved_is_kept_and_counts_only_in_its_place_and_unchanged(tmp_path: Path) -> None:
    store = SkillStore(tmp_path)
    folder = made(tmp_path / "skills")
    (folder / "run.sh").write_text("echo 1")
    (folder / "run.sh").chmod(0o755)
    [new] = store.found_in_home()
    assert new.skill is not None
    assert new.state == "new"
    store.approve(HOME, new.skill, NOW)
    store.approve(HOME, new.skill, NOW)
    [approved] = SkillStore(tmp_path).found_in_home()
    assert approved.state == "approved"
    assert [one.state for one in store.found("7/", "x", skills_in(tmp_path / "skills"))] == ["new"]

    (folder / "run.sh").write_text("echo 2\u202e")
    (folder / "more.md").write_text("more")
    [changed] = store.found_in_home()
    assert changed.state == "changed"
    kept = store.copy("notes", new.skill.sha)
    assert kept == new.skill
    told = skill_text.whole(changed, kept)
    assert "- more.md is new" in told
    assert "-echo 1\n+echo 2⟨U+202E⟩" in told
    assert "run.sh (9 bytes, can be executed)" in told

    copy = tmp_path / "skill_copies" / new.skill.sha / "notes"
    assert (copy / "run.sh").stat().st_mode & 0o777 == 0o555
    assert (copy / "SKILL.md").stat().st_mode & 0o777 == 0o444
    (copy / "run.sh").unlink()
    (copy / "run.sh").write_text("echo 3")
    with pytest.raises(SkillUnusable, match="its kept copy was changed"):
        store.copy("notes", new.skill.sha)
    assert store.remove(HOME, "notes")
    assert not store.remove(HOME, "notes")
    [gone] = store.found_in_home()
    assert gone.state == "new"


@pytest.mark.parametrize("damage", ["changed", "gone", "a file"])
def test_a_kept_copy_that_is_damaged_waits_and_an_approval_makes_it_anew(tmp_path: Path, damage: str) -> None:
    store, skill = SkillStore(tmp_path), read_skill(made(tmp_path / "skills"))
    store.approve(HOME, skill, NOW)
    copy = tmp_path / "skill_copies" / skill.sha
    if damage == "changed":
        (copy / "notes/more.md").write_text("more")
    else:
        shutil.rmtree(copy)
    if damage == "a file":
        copy.write_text("no folder")
    [damaged] = store.found_in_home()
    assert damaged.state == "damaged"
    said = skill_text.said(damaged)
    assert "its kept copy is damaged; whoever runs the bot can approve it: `threadwright skills approve" in said
    store.approve(HOME, skill, NOW)
    assert store.copy("notes", skill.sha) == skill
    assert [one.state for one in store.found_in_home()] == ["approved"]


def _no_narrowing(_: Path, __: int) -> None:
    """What is narrowed later was open before."""


def test_the_file_of_approvals_is_nobody_elses_from_its_first_byte(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    skill, before = read_skill(made(tmp_path / "skills")), os.umask(0)
    monkeypatch.setattr(Path, "chmod", _no_narrowing)
    try:
        SkillStore(tmp_path).approve(HOME, skill, NOW)
    finally:
        os.umask(before)
    assert (tmp_path / "skills.json").stat().st_mode & 0o777 == 0o600
    assert sorted(path.name for path in tmp_path.iterdir()) == ["skill_copies", "skills", "skills.json"]


def test_a_copy_that_no_task_can_read_any_more_goes(tmp_path: Path) -> None:
    store = SkillStore(tmp_path)
    for number in range(3):
        made(tmp_path / "skills", f"{HEAD}{number}")
        [one] = store.found_in_home()
        assert one.skill is not None
        store.approve(HOME, one.skill, NOW)
        old = (NOW - timedelta(seconds=KEPT_SECONDS + 1)).timestamp()
        os.utime(tmp_path / "skill_copies" / one.skill.sha, (old, old))
        if number == 1:
            store.used(one.skill.sha)  # by a task that began now
    assert len(list((tmp_path / "skill_copies").iterdir())) == 2
    assert len(store.approved(HOME)) == 1


def test_approvals_that_cannot_be_read_approve_nothing_and_are_not_overwritten(tmp_path: Path) -> None:
    store = SkillStore(tmp_path)
    skill = read_skill(made(tmp_path / "skills"))
    store.approve(HOME, skill, NOW)
    (tmp_path / "skills.json").write_text("{broken")
    assert [one.state for one in store.found_in_home()] == ["new"]
    assert "cannot be read, so no skill counts as approved" in store.trouble
    with pytest.raises(SkillUnusable, match="Delete it"):
        store.approve(HOME, skill, NOW)
    assert (tmp_path / "skills.json").read_text() == "{broken"
