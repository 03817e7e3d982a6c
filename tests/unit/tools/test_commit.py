"""The tool ``commit``: names of branches, where it is offered, what it takes."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import JsonValue

from agentic.ports.runtime import Prepared, Refused
from agentic.tools.commit import COMMIT_TOOL, branch_for, repositories_in
from agentic.workspace.git_repository import OFFERED


@given(st.text())
def test_any_message_makes_a_branch_that_is_only_a_name(message: str) -> None:
    """No path, no option, no space, whatever the model wrote."""
    assert OFFERED.fullmatch(branch_for(message, "abcd1234"))


def test_a_branch_says_what_it_is_about() -> None:
    assert branch_for("Round prices half up\n\nlong", "abcd1234") == "threadwright/round-prices-half-up-abcd1234"
    assert branch_for("…", "abcd1234") == "threadwright/change-abcd1234"


def test_repositories_are_found_in_the_root_and_just_below(tmp_path: Path) -> None:
    """Links are not followed, and a file named .git (a work tree of elsewhere) is none."""
    assert repositories_in(tmp_path / "missing") == ()
    assert repositories_in(tmp_path) == ()
    (tmp_path / "shop" / ".git").mkdir(parents=True)
    (tmp_path / "tree").mkdir()
    (tmp_path / "tree" / ".git").write_text("gitdir: /elsewhere")
    (tmp_path / "link").symlink_to("shop")
    assert repositories_in(tmp_path) == ("shop",)
    (tmp_path / ".git").symlink_to("shop/.git")
    assert repositories_in(tmp_path) == ("shop",)
    (tmp_path / ".git").unlink()
    (tmp_path / ".git").mkdir()
    assert repositories_in(tmp_path) == (".", "shop")


@pytest.mark.parametrize(
    "arguments",
    [
        {"message": "x"},
        {"message": "", "files": ["a"]},
        {"message": "x", "files": []},
        {"message": "x", "files": ["a\0b"]},
    ],
)
def test_a_call_that_cannot_be_done_is_refused_in_words(arguments: dict[str, JsonValue]) -> None:
    refused = COMMIT_TOOL.prepare(arguments)
    assert isinstance(refused, Refused)
    assert "Example" in refused.text


def test_a_commit_carries_a_key_so_that_it_may_be_finished_after_a_crash() -> None:
    prepared = COMMIT_TOOL.prepare({"message": "x", "files": ["a.py"]})
    assert isinstance(prepared, Prepared)
    assert (prepared.effect, bool(prepared.key)) == ("keyed", True)
