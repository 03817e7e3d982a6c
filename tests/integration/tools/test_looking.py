"""What is looked at before an approval, with real git: looking changes nothing, so that a yes still counts afterwards."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from agentic.sandbox import internal_commands
from agentic.tools.approval.named_paths import look

GIT = ("git", "-c", "user.name=a", "-c", "user.email=a@example.org")


def _git(folder: Path, *words: str) -> None:
    subprocess.run([*GIT, *words], cwd=folder, check=True, capture_output=True)


def _seen(workspace: Path, command: str, cwd: str = ".") -> bytes:
    argv, env = internal_commands.argv(look(command, cwd)), internal_commands.ENVIRONMENT
    return subprocess.run(argv, env=env, cwd=workspace, capture_output=True, check=False).stdout


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    repository = tmp_path / "app"
    repository.mkdir()
    (repository / "a.py").write_text("x = 1\n")
    _git(repository, "init", "-q")
    _git(repository, "add", ".")
    _git(repository, "commit", "-qm", "first")
    os.utime(repository / "a.py", (1, 1))  # as git last saw it, but for its time: status would write that down
    return tmp_path


def test_looking_at_a_repository_changes_nothing_that_is_looked_at(workspace: Path) -> None:
    """Else whoever allowed ``git checkout -- .`` would be asked the same again and again."""
    first = _seen(workspace, "git checkout -- .", "app")
    assert len(first) > 60
    assert _seen(workspace, "git checkout -- .", "app") == first


def test_where_git_stands_is_looked_at_in_the_folder_of_the_command(workspace: Path) -> None:
    before = _seen(workspace, "git reset --hard", "app")
    (workspace / "app" / "a.py").write_text("x = 2\n")
    assert _seen(workspace, "git reset --hard", "app") != before
