"""An execution as the judge reads it: bounded, without secrets, marked as data, and without what its score knows already.

Left out are what checks came to, what people said of the result, and how the execution was found to have ended: a judge
that saw them would only repeat them, and seem to be right (``reflexion/lessons/judge_trust.py``).  Of the rest only
the calls themselves, with
their typed outcomes and the files they changed, may be cited: what stood in an output was written by the world.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import Final

from reflexion.evaluation.trajectory import Call, Trajectory
from reflexion.text.hidden_text import visible
from reflexion.text.secrets import redact

CALLS: Final = 24
CHARACTERS: Final = 12_000
"""Of all calls together, the last ones first: about 3,000 tokens."""
TASK_CHARACTERS: Final = 2_000
ANSWER_CHARACTERS: Final = 1_500
ASKED_CHARACTERS: Final = 300
FAILED_CHARACTERS: Final = 600
OK_CHARACTERS: Final = 300
WROTE_CHARACTERS: Final = 900
READ_CHARACTERS: Final = 20_000
"""Of what a call wrote: secrets are looked for before it is cut to what is shown."""
FILES: Final = 10
"""Changed files that are named of each call."""


@dataclass(frozen=True, slots=True)
class Record:
    """What is sent, the mark that delimits it, and the part of it that may be cited."""

    text: str
    mark: str
    citable: str


def record_of(trajectory: Trajectory) -> Record:
    """The record; nothing inside can end its marks or know their number, which is made from the text."""
    calls = _calls(trajectory)
    done = "\n".join(f"{head}\n{output}" if output else head for head, output in calls)
    task = redact(f"TASK\n{trajectory.task[:TASK_CHARACTERS]}")
    inside = visible(f"{task}\n\nWHAT WAS DONE\n{done or '(no call was made)'}\n\n{redact(_said(trajectory))}")
    mark = hashlib.sha256(inside.encode()).hexdigest()[:12]
    text = f"<<<record {mark}>>>\n{inside}\n<<<end of record {mark}>>>"
    return Record(text, mark, visible("\n".join(head for head, _ in calls)))


def _calls(trajectory: Trajectory) -> list[tuple[str, str]]:
    """Each call, and what it wrote and printed, as quoted lines."""
    told: list[tuple[str, str]] = []
    room = CHARACTERS
    for call in reversed(trajectory.calls[-CALLS:]):
        head, output = redact(_head(call)), _quoted(call)
        room -= len(head) + len(output)
        if room < 0 and told:
            break
        told.append((head, output))
    left_out = len(trajectory.calls) - len(told)
    return [*([(f"({left_out} earlier calls are left out)", "")] if left_out else []), *reversed(told)]


def _head(call: Call) -> str:
    asked = " ".join(call.asked.split())[:ASKED_CHARACTERS]
    files = "".join(f"\n{change.kind}: {change.path}" for change in call.changes[:FILES])
    if call.checks:
        return f"TURN {call.turn}, {call.tool}: {asked} (a check of the work; what it came to is left out here){files}"
    code = "" if call.exit_code is None else f", exit code {call.exit_code}"
    return f"TURN {call.turn}, {call.tool}: {asked} -> {call.outcome}{code}{files}"


def _quoted(call: Call) -> str:
    """What it wrote, and the end of what came of it, each line marked as quoted."""
    wrote = redact(call.wrote[:READ_CHARACTERS])[:WROTE_CHARACTERS]
    output = (
        "" if call.checks else redact(call.preview).strip()[-(FAILED_CHARACTERS if call.failed else OK_CHARACTERS) :]
    )
    return "\n".join(f"| {line}" for line in (*wrote.splitlines(), *output.splitlines()))


def _said(trajectory: Trajectory) -> str:
    claims = [f"It claims: {claim.text[:ASKED_CHARACTERS]}" for claim in trajectory.claims[:10]]
    words = trajectory.answer.strip()[:ANSWER_CHARACTERS] or "(nothing)"
    return "\n".join(("WHAT THE AGENT SAID AT THE END (its own words, they prove nothing)", *claims, words))
