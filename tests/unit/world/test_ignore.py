"""``.aiignore`` patterns: they mean what they mean to git, and nothing that is written into them takes long."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from agentic.ports.errors import PathRefused
from agentic.sandbox import aiignore
from agentic.sandbox.aiignore import IgnoreFile
from agentic.sandbox.gitignore import (
    MAX_BYTES,
    MAX_PATTERN,
    MAX_PATTERNS,
    Ignored,
    Steps,
)

HOSTILE = "*a*a*a*a*a*a*a*a*a*a*b"


@pytest.fixture(scope="module")
def repository(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A git repository to ask what is ignored in it."""
    folder = tmp_path_factory.mktemp("repository")
    subprocess.run(["git", "init", "-q", folder], check=True)
    return folder


def ignored_by_git(repository: Path, patterns: str, paths: list[str]) -> set[str]:
    """Which of the paths git ignores; those with a slash at the end are folders."""
    (repository / ".gitignore").write_text(patterns)
    given = "\0".join(paths)
    asked = ["git", "check-ignore", "--no-index", "-z", "--stdin"]
    told = subprocess.run(asked, cwd=repository, input=given, capture_output=True, text=True, check=False)
    assert told.returncode in (0, 1), told.stderr
    return {path for path in told.stdout.split("\0") if path}


PARTS = (
    "a", "b", "ab", "-", "]", " ", "*", "*", "**", "**/", "/**", "/", "/", "?", "[ab]", "[!a]", "[^b-]", "[a-b]", "[]a]",
    "[[:alpha:]]", "[[:digit:]-]", "[[:no:]]", "[", "\\*", "\\", "\\a", "!", "#", ".", "1", "[a\\]]", "[\\a-b]", "[!/]", "***",
)  # fmt: skip
PATTERN = st.builds(
    lambda sign, parts, end: sign + "".join(parts) + end,
    st.sampled_from(["", "", "!"]),
    st.lists(st.sampled_from(PARTS), min_size=1, max_size=6),
    st.sampled_from(["", "", "/", " ", "\r"]),
)
NAMES = st.text(alphabet="aab-] 1*!#\\.", min_size=1, max_size=3).filter(lambda name: name.strip(".") != "")
PATHS = st.lists(st.lists(NAMES, min_size=1, max_size=4).map("/".join), min_size=30, max_size=60, unique=True)


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(patterns=st.lists(PATTERN, min_size=1, max_size=4), paths=PATHS)
def test_a_pattern_means_what_it_means_to_git(repository: Path, patterns: list[str], paths: list[str]) -> None:
    """Asked of git itself."""
    text = "\n".join(patterns) + "\n"
    named = Ignored(text)

    def is_ignored(path: str) -> bool:
        above = [path[:at] for at, character in enumerate(path) if character == "/"]
        return any(named.names(folder, True, Steps(10**6)) for folder in above) or named.names(
            path, False, Steps(10**6)
        )

    assert {path for path in paths if is_ignored(path)} == ignored_by_git(repository, text, paths)


def test_a_pattern_that_can_match_in_many_ways_takes_no_longer_than_another(tmp_path: Path) -> None:
    """Neither when it is looked at, nor after a restart, since every version is kept."""
    (tmp_path / ".aiignore").write_text(f"{HOSTILE}\n{'**/a*' * 150}\n{'[a-z]*' * 150}b\n")
    (tmp_path / ("a" * 100)).touch()
    for _ in range(2):
        found = IgnoreFile(tmp_path, tmp_path / "kept.json")
        found.check("a" * 100)
        found.check("/".join(["a" * 100] * 20))
        assert found.hidden() == ()
        (tmp_path / ".aiignore").unlink(missing_ok=True)
    with pytest.raises(PathRefused):
        found.check("a" * 100 + "b")


@pytest.mark.parametrize(
    "text",
    ["x" * (MAX_BYTES + 1), "x\n" * (MAX_PATTERNS + 1), "x" * (MAX_PATTERN + 1)],
    ids=["bytes", "patterns", "one"],
)
def test_a_file_too_long_to_be_read_hides_all_and_says_so(tmp_path: Path, text: str) -> None:
    """What cannot be decided is never shown; also once the file is gone."""
    workspace = tmp_path / "workspace"
    (workspace / "folder").mkdir(parents=True)
    (workspace / "file").touch()
    (workspace / ".aiignore").write_text(text)
    for _ in range(2):
        found = IgnoreFile(workspace, tmp_path / "kept.json")
        with pytest.raises(PathRefused, match="too long"):
            found.check("folder/any")
        assert found.hidden() == ("file", "folder")
        (workspace / ".aiignore").unlink(missing_ok=True)


def test_what_could_not_be_decided_in_the_steps_of_a_walk_is_hidden_and_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With all that lies in the same folder at the top; the rest is as it was."""
    (tmp_path / ".aiignore").write_text("*.key\n")
    for name in ("big/a/b", "small"):
        (tmp_path / name).mkdir(parents=True)
    for at in range(50):
        (tmp_path / "big/a/b" / str(at)).touch()
    (tmp_path / "small/my.key").touch()
    monkeypatch.setattr(aiignore, "WALK_STEPS", 150)
    found = IgnoreFile(tmp_path)
    assert found.hidden() == ("big", "small/my.key")
    with pytest.raises(PathRefused, match="too much"):
        found.check("big/a")
    found.check("small/other")
    monkeypatch.setattr(aiignore, "WALK_STEPS", 5)
    with pytest.raises(PathRefused, match="too much in the workspace"):
        found.hidden()


def test_more_paths_than_can_be_hidden_one_by_one_are_hidden_with_their_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """So no number of files makes the list of what is hidden endless."""
    monkeypatch.setattr(aiignore, "MAX_HIDDEN", 3)
    (tmp_path / ".aiignore").write_text("*.key\n")
    (tmp_path / "many").mkdir()
    for at in range(5):
        (tmp_path / f"many/{at}.key").touch()
    found = IgnoreFile(tmp_path)
    assert found.hidden() == ("many",)
    for at in range(5):
        (tmp_path / f"{at}.key").touch()
    with pytest.raises(PathRefused, match="too much in the workspace"):
        found.hidden()


def test_names_that_are_no_text_can_be_hidden_and_asked_about(tmp_path: Path) -> None:
    """As the file system has them."""
    (tmp_path / ".aiignore").write_bytes(b"\xff*\n")
    (tmp_path / "\udcfffile").touch()
    found = IgnoreFile(tmp_path, tmp_path / "kept.json")
    assert found.hidden() == ("\udcfffile",)
    assert IgnoreFile(tmp_path, tmp_path / "kept.json").visible(["a", "\udcfffile"]) == {"a"}
