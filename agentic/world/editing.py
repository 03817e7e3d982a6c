"""Edits of a text, applied in order; pure."""

from __future__ import annotations

from collections.abc import Sequence

from agentic.world.results import Edit, Refusal


def applied(content: bytes, edits: Sequence[Edit]) -> bytes | Refusal:
    """The content with all of them, or which is the first that does not fit."""
    for number, edit in enumerate(edits, 1):
        old, new = edit.old.encode(), edit.new.encode()
        count = content.count(old) if old else 0
        if count == 0:
            return Refusal(f"Edit {number}: the text to replace does not stand in the file. Nothing was changed.")
        if count > 1 and not edit.every:
            return Refusal(
                f"Edit {number}: the text to replace stands there {count} times; give more of its surroundings. "
                "Nothing was changed."
            )
        content = content.replace(old, new)
    return content
