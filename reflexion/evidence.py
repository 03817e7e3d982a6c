"""The words of the world that a reflection rests on: the last failing calls, line by line, as they were printed.

A model that reflects without outside evidence tends to make things worse, and its paraphrase loses the exact text
somebody would search for.  So the lines are kept verbatim (secrets aside) beside what the model makes of them.
"""

from __future__ import annotations

import re

from reflexion.legible import visible
from reflexion.redaction import redact
from reflexion.trajectory import Call, Trajectory

LINES = 14
LINE_CHARACTERS = 240
CHARACTERS = 1_200
_CALLS = 3
_TELLINGS = 4
_TAIL = 8
_TELLING = re.compile(
    r"(?i)\berror\b|error:|exception|assert|\bfail|fatal|panic|traceback|not found|no such|denied|refused|cannot|unable"
    r"|undefined|unexpected|expected|timed? ?out|^E\s"
)
_NUMBER = re.compile(r"0x[0-9a-fA-F]+|\b[0-9a-fA-F]*\d[0-9a-fA-F]{6,}\b|\d+(?:\.\d+)*")
_PATH = re.compile(r"(?:[A-Za-z]:)?(?:[\w.~-]*/)+[\w.-]*")
_QUIET_LINE = re.compile(r"^[\s=~_*+.-]*$")


def evidence_of(trajectory: Trajectory) -> tuple[str, ...]:
    """The most telling lines first; of a trajectory in which no call failed, what people said was wrong."""
    picked: list[str] = []
    for call in reversed(trajectory.failures[-_CALLS:]):
        picked.extend(line for line in telling_lines(call) if line not in picked)
    if not picked:
        picked = [line for text in trajectory.corrections for line in _lines(text)]
    return _bounded(picked)


def telling_lines(call: Call) -> list[str]:
    """Lines that look like an error, then the end of the output; the last ones first, for they say most."""
    lines = _lines(call.preview)[::-1]
    telling = [line for line in lines if _TELLING.search(line)][:_TELLINGS]
    return [*dict.fromkeys((*telling, *lines[:_TAIL]))]


def error_signature(trajectory: Trajectory) -> str:
    """What a failure is recognised by when it comes again; '' where no call failed.

    Digits, hexadecimal numbers and paths are taken out, so that the same error of another run is equal.
    """
    if not trajectory.failures:
        return ""
    call = trajectory.failures[-1]
    said = _lines(call.error)[::-1] or telling_lines(call)
    line = next((each for each in said if _TELLING.search(each)), said[0] if said else call.outcome)
    return f"{call.tool}: {normalised(line)}"


def normalised(text: str) -> str:
    """An error text without what differs from run to run."""
    return " ".join(_NUMBER.sub("#", _PATH.sub("<path>", text)).split())[:160]


def _lines(text: str) -> list[str]:
    return [line.rstrip() for line in redact(visible(text)).splitlines() if not _QUIET_LINE.match(line)]


def _bounded(lines: list[str]) -> tuple[str, ...]:
    kept: list[str] = []
    room = CHARACTERS
    for line in lines[:LINES]:
        line = line.strip()[:LINE_CHARACTERS]
        if len(line) > room:
            break
        kept.append(line)
        room -= len(line)
    return tuple(kept)
