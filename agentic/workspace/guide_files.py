"""Files in which a workspace's authors say how agents should work there, read on the host, following no link."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Collection, Sequence
from contextlib import suppress
from pathlib import Path

from agentic.core.events.execution_events import WorkspaceGuide
from agentic.workspace.snapshots.scan import FOLDER, PLAIN

NAMES = ("AGENTS.md", "CLAUDE.md", "GEMINI.md", ".github/copilot-instructions.md", ".cursorrules", ".windsurfrules")
CHARACTERS = 8_000
"""Of all of them together."""
FILES = 3


def read_guides(workspace: Path, visible: Callable[[Sequence[str]], Collection[str]]) -> tuple[WorkspaceGuide, ...]:
    """Those at the top of a workspace, each text once, at most three and within bounds; what ``.aiignore`` hides is none."""
    found: list[WorkspaceGuide] = []
    left, shown = CHARACTERS, visible(NAMES)
    for name in NAMES:
        text = _read(workspace, name) if name in shown and left and len(found) < FILES else ""
        if text and not any(text.startswith(other.text) for other in found):
            found.append(WorkspaceGuide(path=name, text=text[:left], cut=len(text) > left))
            left -= min(len(text), left)
    return tuple(found)


def _read(workspace: Path, name: str) -> str:
    """A plain file's beginning, '' where there is none."""
    *folders, last = name.split("/")
    with suppress(OSError):
        opened = [os.open(workspace, FOLDER & ~os.O_NOFOLLOW)]
        try:
            for part in folders:
                opened.append(os.open(part, FOLDER, dir_fd=opened[-1]))  # each is opened in the one before
            opened.append(os.open(last, PLAIN, dir_fd=opened[-1]))
            if stat.S_ISREG(os.fstat(opened[-1]).st_mode):
                return os.read(opened[-1], 4 * (CHARACTERS + 1)).decode("utf-8", "replace").strip()[: CHARACTERS + 1]
        finally:
            for descriptor in opened:
                os.close(descriptor)
    return ""
