"""A `.env` file is changed one setting at a time; everything else stays as it stands."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest
from dotenv import dotenv_values
from hypothesis import given, settings
from hypothesis import strategies as st

from bot.cli.setup import env_file

BEFORE = """# my settings, do not touch
export DISCORD_TOKEN=old   # from the portal
#THREADWRIGHT_MAX_USD=5.0

OTHER='keep
me'
LAST=1"""


def test_a_key_is_changed_in_its_place_and_a_new_one_comes_behind_its_default() -> None:
    after = env_file.changed(BEFORE, {"DISCORD_TOKEN": "new", "THREADWRIGHT_MAX_USD": "2", "FRESH": "x"})
    assert after == (
        "# my settings, do not touch\nDISCORD_TOKEN=new\n#THREADWRIGHT_MAX_USD=5.0\nTHREADWRIGHT_MAX_USD=2\n"
        "\nOTHER='keep\nme'\nLAST=1\nFRESH=x\n"
    )


def test_a_value_over_several_lines_is_replaced_whole() -> None:
    assert env_file.changed(BEFORE, {"OTHER": "one"}).endswith("\nOTHER=one\nLAST=1")


def test_a_value_that_ends_in_a_backslash_takes_nothing_of_the_next_lines_with_it() -> None:
    before = "FOLDER='C:\\\\'\nTOKEN='kept'\n"
    assert env_file.changed(before, {"FOLDER": "x"}) == "FOLDER=x\nTOKEN='kept'\n"


def test_the_line_ends_of_a_file_stay(tmp_path: Path) -> None:
    file = tmp_path / ".env"
    file.write_bytes(b"# mine\r\nA=1\r\nB=2\r\n")
    env_file.write(file, {"A": "3"})
    assert file.read_bytes() == b"# mine\r\nA=3\r\nB=2\r\n"


def test_of_a_key_that_stands_there_twice_the_one_that_counts_is_changed() -> None:
    assert env_file.changed("A=1\nA=2\n", {"A": "3"}) == "A=1\nA=3\n"


@settings(max_examples=25, deadline=None)
@given(st.dictionaries(st.from_regex(r"[A-Z][A-Z0-9_]{0,8}", fullmatch=True), st.text(
    st.characters(blacklist_characters="\n\r\0", blacklist_categories=("Cs",)), max_size=30), max_size=5))  # fmt: skip
def test_what_is_written_is_read_again(tmp_path_factory: pytest.TempPathFactory, values: dict[str, str]) -> None:
    path = tmp_path_factory.mktemp("env") / ".env"
    env_file.write(path, values)
    assert {name: value or "" for name, value in dotenv_values(path, interpolate=False).items()} == values


def test_nobody_else_can_read_it_and_a_link_stays_a_link(tmp_path: Path) -> None:
    real, link = tmp_path / "real", tmp_path / ".env"
    real.write_text("A=1\n")
    real.chmod(0o644)
    link.symlink_to(real)
    assert not env_file.is_private(real)
    env_file.write(link, {"A": "2"})
    assert link.is_symlink()
    assert real.read_text() == "A=2\n"
    assert stat.S_IMODE(real.stat().st_mode) == 0o600
    assert {path.name for path in tmp_path.iterdir()} == {".env", "real"}


def test_a_write_that_fails_leaves_the_old_file_and_nothing_beside_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / ".env"
    path.write_text("A=1\n")

    def full(_: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="No space"):
        env_file.write(path, {"A": "2"})
    assert path.read_text() == "A=1\n"
    assert [path.name for path in tmp_path.iterdir()] == [".env"]


def test_a_value_of_two_lines_is_refused() -> None:
    with pytest.raises(ValueError, match="one line"):
        env_file.changed("", {"A": "1\nB=2"})
