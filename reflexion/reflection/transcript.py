"""A trajectory as text for the reflector: bounded, without secrets, and marked as data."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

from agentic.core.events.ids import digest
from agentic.core.text.foreign_text import item, one_line, section
from reflexion.evaluation.trajectory import Call, Trajectory
from reflexion.lessons.lesson import Insight
from reflexion.text.hidden_text import visible
from reflexion.text.secrets import redact

CALLS = 24
"""The last calls that are shown; a failure is explained by what led to it, not by how it all began."""
TASK_CHARACTERS = 2_000
ANSWER_CHARACTERS = 1_500
ASKED_CHARACTERS = 400
FAILED_CHARACTERS = 900
OK_CHARACTERS = 200


def transcript(trajectory: Trajectory, cause: str, earlier: Sequence[Insight] = ()) -> str:
    """What the reflector reads; nothing inside can end the marks, which carry a number made from the text.

    ``earlier``: what was learned from earlier attempts at the same task, oldest first.
    """
    record = record_of(trajectory)
    mark = hashlib.sha256(record.encode()).hexdigest()[:12]
    before = redact("\n\n".join(_learned(number, insight) for number, insight in enumerate(earlier, 1)))
    if before:
        before = f"\n\n<<<earlier attempts {mark}>>>\n{before}\n<<<end of earlier attempts {mark}>>>"
    return f"Reviewed because {cause}.\n\n<<<record {mark}>>>\n{record}\n<<<end of record {mark}>>>{before}"


def record_of(trajectory: Trajectory) -> str:
    """All that the record holds, without secrets and what nobody sees: whoever quotes it has to find the words here.

    Each heading begins with a mark of the execution, which nothing that was said, read or printed can hold.
    """
    mark = f"#{digest('fence', trajectory.thread, trajectory.execution, length=8)}"
    told = (*_head(trajectory, mark), *_calls(trajectory, mark), *_end(trajectory, mark))
    return redact(visible("\n\n".join(told)))


def _learned(number: int, insight: Insight) -> str:
    return (
        f"AFTER ATTEMPT {number}\nwhat failed: {insight.what_failed}\nadvice: {insight.strategy_change}\n"
        f"insight: {insight.key_insight}"
    )


def _head(trajectory: Trajectory, mark: str) -> list[str]:
    return [section(mark, "TASK", trajectory.task[:TASK_CHARACTERS])]


def _calls(trajectory: Trajectory, mark: str) -> list[str]:
    left_out = len(trajectory.calls) - CALLS
    told = [f"({left_out} earlier calls are left out)"] if left_out > 0 else []
    return told + [_call(call, mark) for call in trajectory.calls[-CALLS:]]


def _call(call: Call, mark: str) -> str:
    code = "" if call.exit_code is None else f", exit code {call.exit_code}"
    asked = " ".join(call.asked.split())[:ASKED_CHARACTERS]
    files = "".join(f"\n{change.kind}: {one_line(change.path)}" for change in call.changes[:10])
    output = call.preview.strip()[-(FAILED_CHARACTERS if call.failed else OK_CHARACTERS) :]
    return section(mark, f"TURN {call.turn}, {call.tool}: {asked}", f"{call.outcome}{code}{files}\n{output}".rstrip())


def _end(trajectory: Trajectory, mark: str) -> list[str]:
    said = [section(mark, "A PERSON SAID", text[:TASK_CHARACTERS]) for text in trajectory.corrections]
    claims = [
        item(mark, f"CLAIM ({claim.verdict}): {claim.text[:ASKED_CHARACTERS]}") for claim in trajectory.claims[:10]
    ]
    ended = f"ENDED AS {trajectory.reason} after {trajectory.turns_used} of {trajectory.turns_max} turns"
    return [*said, *claims, section(mark, ended, trajectory.answer[:ANSWER_CHARACTERS].rstrip())]
