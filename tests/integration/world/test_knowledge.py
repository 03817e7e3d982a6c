"""What needs no sandbox: names of attachments, .aiignore, and the bounds of what an agent is told."""

from __future__ import annotations

import ast
import importlib.util
import sys
import zipimport
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import agentic.sandbox.supervisor
from agentic.ports.errors import PathRefused
from agentic.sandbox.aiignore import IgnoreFile
from agentic.sandbox.protocol import supervisor_bundle
from agentic.sandbox.protocol.results import FileChange, SeenChange
from agentic.sandbox.protocol.supervisor_bundle import packed, program
from agentic.workspace.file_knowledge import WorldModel
from agentic.workspace.file_names import safe_name

SUPERVISOR = Path(agentic.sandbox.supervisor.__file__).parent


@given(st.text(max_size=400), st.sets(st.text(max_size=20), max_size=5))
def test_any_name_becomes_one_plain_and_distinct_base_name(name: str, taken: set[str]) -> None:
    """Short enough for every file system, nothing hidden, nothing that leads away."""
    safe = safe_name(name, taken)
    assert 0 < len(safe.encode()) <= 160
    assert not set(safe) & set("/\\\0\n\r")
    assert safe not in {".", ".."}
    assert not safe.startswith(".")
    assert safe.casefold() not in {other.casefold() for other in taken}


def test_the_same_name_twice_gets_a_number(tmp_path: Path) -> None:
    """Before the suffix."""
    assert safe_name("a.txt", {"a.txt", "a-2.txt"}) == "a-3.txt"


def test_the_ignore_file_is_read_again_when_it_changes(tmp_path: Path) -> None:
    """Without a restart; what it hid once stays hidden without it, and a link in its place is not followed."""
    ignore = IgnoreFile(tmp_path)
    ignore.check("a.env")
    (tmp_path / ".aiignore").write_text("*.env\n!b.env\ndir/\n")
    for hidden in ("a.env", "/workspace/a.env", "x/../a.env", "dir", "dir/below/it"):
        with pytest.raises(PathRefused):
            ignore.check(hidden)
    ignore.check("b.env")
    ignore.check("dirx")
    (tmp_path / ".aiignore").unlink()
    with pytest.raises(PathRefused):
        ignore.check("a.env")
    (tmp_path / "rules").write_text("*")
    (tmp_path / ".aiignore").symlink_to("rules")
    ignore.check("b.env")


def seen(number: int, at: float, path: str = "f") -> SeenChange:
    """A change by someone else."""
    return SeenChange(
        number, at, "other", FileChange(path=path, kind="modified", sha_before="a", sha_after=str(number))
    )


def test_at_most_thirty_changes_of_ten_minutes_are_told() -> None:
    """The latest ones."""
    model = WorldModel("me")
    told = model.perceive([seen(n, at=float(n), path=f"f{n}") for n in range(100)], {}, now=600.0)
    assert len(told.changes) == 30
    assert told.changes[-1] == "modified f99 by other, 501 s ago"
    assert model.cursor == 99
    assert len(model.perceive([], {}, now=690.0).changes) == 10
    assert model.perceive([], {}, now=900.0).changes == ()


def test_a_change_that_brings_back_what_the_agent_knows_makes_nothing_stale() -> None:
    """By hash."""
    model = WorldModel("me")
    model.note_read("f", "5", "text")
    assert model.perceive([seen(5, 0.0)], {"f": "text"}, now=1.0).stale == ()
    assert [stale.path for stale in model.perceive([seen(6, 0.0)], {"f": "other"}, now=1.0).stale] == ["f"]


def test_a_long_diff_is_cut() -> None:
    """A prompt is no place for a file."""
    model = WorldModel("me")
    model.note_read("f", "1", "\n".join(f"old {n}" for n in range(1000)))
    (stale,) = model.perceive([seen(2, 0.0)], {"f": "\n".join(f"new {n}" for n in range(1000))}, now=1.0).stale
    assert len(stale.diff.splitlines()) <= 41
    assert stale.diff.endswith("(the diff goes on)")


@pytest.mark.parametrize("version", ["the same", "another"])
def test_the_supervisor_is_named_by_its_sources_and_compiled_for_a_python_of_the_same_version(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, version: str
) -> None:
    """A running sandbox keeps its own; a Python of another version compiles the sources itself."""
    usual = program(tmp_path)
    if version == "another":
        monkeypatch.setattr(importlib.util, "MAGIC_NUMBER", b"\0\0\r\n")
    for cached in (packed, supervisor_bundle._name):  # as in another process
        cached.cache_clear()
    try:
        there = program(tmp_path)
    finally:
        for cached in (packed, supervisor_bundle._name):
            cached.cache_clear()
    assert (there == usual) == (version == "the same")
    assert there.stat().st_mode & 0o777 == 0o644
    compiled = zipimport.zipimporter(f"{there}/supervisor").get_code("main").co_filename
    assert compiled == ("supervisor/main.py" if version == "the same" else f"{there}/supervisor/main.py")


@pytest.mark.parametrize("source", sorted(SUPERVISOR.glob("*.py")), ids=lambda path: path.name)
def test_the_supervisor_is_of_the_standard_library_and_of_python_3_9(source: Path) -> None:
    """It runs on whatever Python the sandbox has."""
    tree = ast.parse(source.read_text(), feature_version=(3, 9))
    assert (
        any(isinstance(node, ast.ImportFrom) and node.module == "__future__" for node in tree.body)
        or len(tree.body) == 1
    )
    for node in ast.walk(tree):
        names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
        if isinstance(node, ast.ImportFrom) and node.level == 0:
            names = [node.module or ""]
        assert {name.split(".")[0] for name in names} <= sys.stdlib_module_names
