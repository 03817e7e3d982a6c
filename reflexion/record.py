"""An execution as the judge reads it: bounded, without secrets, marked as data, and without what its score knows already.

Left out are what checks came to, what people said of the result, and how the execution was found to have ended: a judge
that saw them would only repeat them, and seem to be right (``judging.py``).
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import Final

from reflexion.redaction import redact
from reflexion.trajectory import Call, Trajectory

CALLS: Final = 24
CHARACTERS: Final = 12_000
"""Of all calls together, the last ones first: about 3,000 tokens."""
TASK_CHARACTERS: Final = 2_000
ANSWER_CHARACTERS: Final = 1_500
ASKED_CHARACTERS: Final = 300
FAILED_CHARACTERS: Final = 600
OK_CHARACTERS: Final = 300


@dataclass(frozen=True, slots=True)
class Record:
    """What is sent, the mark that delimits it, and the part of it that may be cited."""

    text: str
    mark: str
    citable: str


def record_of(trajectory: Trajectory) -> Record:
    """The record; nothing inside can end its marks or know their number, which is made from the text."""
    calls = redact("\n\n".join(_calls(trajectory)))
    task = redact(f"TASK\n{trajectory.task[:TASK_CHARACTERS]}")
    inside = f"{task}\n\nWHAT WAS DONE\n{calls or '(no call was made)'}\n\n{redact(_said(trajectory))}"
    mark = hashlib.sha256(inside.encode()).hexdigest()[:12]
    return Record(f"<<<record {mark}>>>\n{inside}\n<<<end of record {mark}>>>", mark, calls)


def _calls(trajectory: Trajectory) -> list[str]:
    told: list[str] = []
    room = CHARACTERS
    for call in reversed(trajectory.calls[-CALLS:]):
        text = _call(call)
        room -= len(text)
        if room < 0 and told:
            break
        told.append(text[:CHARACTERS])
    left_out = len(trajectory.calls) - len(told)
    return [*([f"({left_out} earlier calls are left out)"] if left_out else []), *reversed(told)]


def _call(call: Call) -> str:
    asked = " ".join(call.asked.split())[:ASKED_CHARACTERS]
    files = "".join(f"\n{change.kind}: {change.path}" for change in call.changes[:10])
    head = f"TURN {call.turn}, {call.tool}: {asked}"
    if call.checks:
        return f"{head}\n(a check of the work; what it came to is left out here){files}"
    code = "" if call.exit_code is None else f", exit code {call.exit_code}"
    output = call.preview.strip()[-(FAILED_CHARACTERS if call.failed else OK_CHARACTERS) :]
    return f"{head}\n{call.outcome}{code}{files}\n{output}".rstrip()


def _said(trajectory: Trajectory) -> str:
    claims = [f"It claims: {claim.text[:ASKED_CHARACTERS]}" for claim in trajectory.claims[:10]]
    words = trajectory.answer.strip()[:ANSWER_CHARACTERS] or "(nothing)"
    return "\n".join(("WHAT THE AGENT SAID AT THE END (its own words, they prove nothing)", *claims, words))
