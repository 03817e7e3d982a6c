"""The differences of several approaches in one file, which is shown with the question."""

from __future__ import annotations

from collections.abc import Sequence

from agentic.core.claims.comparison import TriedApproach
from agentic.ports.children import FileDifference

BYTES = 512 * 1024
"""Of one approach; what is more is left out, and said."""


def difference_file(tried: Sequence[TriedApproach], different: Sequence[Sequence[FileDifference]]) -> bytes:
    """Return one text with a part for each approach; empty where none changed anything."""
    if not any(different):
        return b""
    parts = [_part(number, each, files) for number, (each, files) in enumerate(zip(tried, different, strict=True), 1)]
    return "\n".join(parts).encode("utf-8", "replace")


def _part(number: int, tried: TriedApproach, files: Sequence[FileDifference]) -> str:
    lines = [f"# ---- {number}: {tried.way}"]
    size = 0
    for at, file in enumerate(files):
        shown = "\n".join(file.lines) if file.lines else f"# {file.path} (no text, or too long to compare)"
        size += len(shown)
        if size > BYTES:
            lines.append(f"# … {len(files) - at} more files")
            break
        lines.append(shown)
    return "\n".join((*lines, ""))
