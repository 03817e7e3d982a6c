"""Observations in words: the result of a call, cut to its limits, with the rest stored."""

from __future__ import annotations

from collections.abc import Sequence

from agentic.core.events.execution_events import Barred, FileChange
from agentic.ports.runtime import Observation
from agentic.tools.base.error_fingerprint import normal_error
from agentic.tools.base.stored_outputs import KeptOutputs
from agentic.tools.base.terminal_text import one_line
from agentic.tools.base.truncation import DEFAULT, Limit, show

CHANGES_NAMED = 20


def failed(text: str) -> Observation:
    """Return that the call did not complete; the text says why and what to do."""
    return Observation("failed", text, error=normal_error(text))


def refused(text: str, barred: Barred = "", place: str = "") -> Observation:
    """Return that the call was not allowed; the text says what to do first. ``barred``: a rule protects ``place``."""
    return Observation("refused", text, error=normal_error(text), barred=barred, place=place)


def listed(text: str, outputs: KeptOutputs, limit: Limit = DEFAULT) -> Observation:
    """Return a result that may be long; where it is cut the whole is stored for ``read_output``."""
    if not show(text, limit).cut:
        return Observation("ok", text)
    ref = outputs.keep(text)
    shown = show(text, limit, how=how_to_see(ref))
    return Observation("ok", shown.text, output=text.encode("utf-8", "replace"), output_ref=ref)


def how_to_see(ref: str) -> str:
    """Say which call shows the rest of an output."""
    return f'See the rest with read_output {{"ref":"{ref}","offset":…}} or search it with "pattern"' if ref else ""


def tell_changes(changes: Sequence[FileChange], more: int = 0) -> str:
    """Return the changed files in one line; '' where there are none."""
    if not changes and not more:
        return ""
    named = [f"{change.kind} {one_line(change.path)}" for change in changes[:CHANGES_NAMED]]
    rest = len(changes) - len(named) + more
    return "Files changed: " + ", ".join(named) + (f", and {rest} more" if rest else "")
