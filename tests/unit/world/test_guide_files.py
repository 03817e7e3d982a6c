"""Files in which a workspace says how agents should work there: read by descriptor, once, bounded, and nothing else."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from agentic.sandbox.aiignore import IgnoreFile
from agentic.workspace.guide_files import CHARACTERS, read_guides


def every(names: Sequence[str]) -> Sequence[str]:
    return names


def test_each_text_is_read_once_and_within_bounds(tmp_path: Path) -> None:
    assert read_guides(tmp_path, every) == ()
    (tmp_path / "AGENTS.md").write_text("Run make.\n")
    (tmp_path / "CLAUDE.md").write_text("Run make.")
    (tmp_path / ".github").mkdir()
    (tmp_path / ".github" / "copilot-instructions.md").write_text("x" * (CHARACTERS + 5))
    (tmp_path / ".cursorrules").write_text("No room is left for it.")
    first, second = read_guides(tmp_path, every)
    assert (first.path, first.text, first.cut) == ("AGENTS.md", "Run make.", False)
    assert (second.path, second.cut) == (".github/copilot-instructions.md", True)
    assert len(first.text) + len(second.text) == CHARACTERS


def test_no_link_no_pipe_and_nothing_hidden_is_read(tmp_path: Path) -> None:
    outside = tmp_path / "secret"
    outside.write_text("secret")
    work = tmp_path / "work"
    work.mkdir()
    (work / "AGENTS.md").symlink_to(outside)
    (work / ".github").symlink_to(tmp_path)
    (tmp_path / "copilot-instructions.md").write_text("secret")
    os.mkfifo(work / "CLAUDE.md")
    (work / "GEMINI.md").write_bytes(b"caf\xe9")
    (work / ".cursorrules").write_text("hidden")
    (work / ".aiignore").write_text(".cursorrules\n")
    found = read_guides(work, IgnoreFile(work).visible)
    assert [(guide.path, guide.text) for guide in found] == [("GEMINI.md", "caf\ufffd")]
