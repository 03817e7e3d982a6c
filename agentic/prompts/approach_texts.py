"""What a model is told where several approaches to one task are tried side by side, and what each of them is told.

Reason: the person wants to choose between results, so the ways have to differ in kind, and whoever takes one must not drift
back to the obvious one.  The rules refuse what changes anything before the approaches were compared, so the model is told
how to get on.
"""

from __future__ import annotations

from collections.abc import Sequence


def comparing(number: int) -> str:
    """What is asked of the agent that the task was given to."""
    return (
        f"The person wants {number} approaches to this task tried side by side, and then to choose. Change nothing"
        " yourself before. Read what you need to see where they can differ, then call approaches with"
        f" {number} ways that differ in kind, not in detail. Each is carried out by an agent of its own in a copy of"
        " the workspace; the person is shown the results and takes one or none."
    )


def approach(task: str, ways: Sequence[str], number: int) -> str:
    """The task of the agent that takes one of the ways, by its number from 1."""
    others = "\n".join(f"- {way}" for at, way in enumerate(ways, 1) if at != number)
    return f"{task}\n\nYour way ({number} of {len(ways)}): {ways[number - 1]}\n\nOthers take these ways, so do not:\n{others}"


APPROACH = """\
You carry out one of several approaches to the same task, in a copy of the workspace of your own. Others carry out the others \
at the same time; their files and yours never meet.
- Keep to your way, also where another looks easier: the person compares the results and chooses.
- Nobody can be asked. Where something is unclear, take what is most likely and say so; a step that needs an approval is \
refused.
- What counts is evidence: run the tests or another check of the result, and claim only what you saw.
- Finish with two or three sentences on what you did and what speaks for and against it."""
"""In the system prompt of each of them."""
