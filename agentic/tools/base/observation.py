"""Observations in words: what a call came to, cut to its limits, with the rest kept."""

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
    """The call did not reach its end; the text says why and what to do."""
    return Observation("failed", text, error=normal_error(text))


def refused(text: str, barred: Barred = "", place: str = "") -> Observation:
    """The call was not allowed to act; the text says what has to come first.  ``barred``: a rule keeps it off ``place``."""
    return Observation("refused", text, error=normal_error(text), barred=barred, place=place)


def listed(text: str, outputs: KeptOutputs, limit: Limit = DEFAULT) -> Observation:
    """A result that may be long; where it is cut the whole is kept for ``read_output``."""
    if not show(text, limit).cut:
        return Observation("ok", text)
    ref = outputs.keep(text)
    shown = show(text, limit, how=how_to_see(ref))
    return Observation("ok", shown.text, output=text.encode("utf-8", "replace"), output_ref=ref)


def how_to_see(ref: str) -> str:
    """What to call for the part of an output that is not shown."""
    return f'See the rest with read_output {{"ref":"{ref}","offset":…}} or search it with "pattern"' if ref else ""


def tell_changes(changes: Sequence[FileChange], more: int = 0) -> str:
    """The files that changed, in one line; '' where none did."""
    if not changes and not more:
        return ""
    named = [f"{change.kind} {one_line(change.path)}" for change in changes[:CHANGES_NAMED]]
    rest = len(changes) - len(named) + more
    return "Files changed: " + ", ".join(named) + (f", and {rest} more" if rest else "")
