"""The words of the world that a reflection rests on: the last failing calls, line by line, as they were printed.

A model that reflects without outside evidence tends to make things worse, and its paraphrase loses the exact text
somebody would search for.  So the lines are kept verbatim (secrets aside) beside what the model makes of them.
"""

from __future__ import annotations

import re

from reflexion.evaluation.trajectory import Call, Trajectory
from reflexion.reflection.error_signature import TELLING, recognised_by
from reflexion.text.hidden_text import visible
from reflexion.text.secrets import redact

LINES = 14
LINE_CHARACTERS = 240
CHARACTERS = 1_200
_CALLS = 3
_TELLINGS = 4
_TAIL = 8
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
    telling = [line for line in lines if TELLING.search(line)][:_TELLINGS]
    return [*dict.fromkeys((*telling, *lines[:_TAIL]))]


def error_signature(trajectory: Trajectory) -> str:
    """What a failure is recognised by when it comes again; '' where no call failed, or none says how.

    Digits, hexadecimal numbers and paths are taken out, so that the same error of another run is equal.  A check that
    failed comes before what failed beside it.  In work that ended well and that people called wrong, what failed on the
    way is not what was wrong.
    """
    if trajectory.reason == "done" and trajectory.verifier != "fail":
        return ""
    last = trajectory.failures[-_CALLS:][::-1]
    if trajectory.verifier == "fail":
        last = sorted(last, key=lambda call: not call.checks)
    said = ((call.tool, recognised_by(_lines(text))) for call in last for text in (call.preview, call.error))
    return next((f"{tool}: {line}" for tool, line in said if line), "")


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
