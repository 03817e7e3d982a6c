"""Reflections as the next attempt reads them: all five fields, what people said, what was seen; within their tokens.

They stand first in the prompt, the newest first.  The five fields share their room so that what a short one leaves goes
to the longer ones, and none pushes another out; what was printed stands word for word, marked as a quotation, for it is
words of the world that no one here vouches for.
"""

from __future__ import annotations

from collections.abc import Sequence

from agentic.core.events.execution_events import ChosenLesson
from reflexion.evaluation.trajectory import Trajectory
from reflexion.lessons.lesson import Insight, Reflection, worked_id
from reflexion.reflection.obstacle import Obstacle
from reflexion.text.hidden_text import visible
from reflexion.text.secrets import redact
from reflexion.text.token_estimate import cut_to, tokens_of

REFLECTION_TOKENS = 400
TASK_CHARACTERS = 500
SAID_CHARACTERS, SAID_AT_MOST = 400, 3
_FIELDS = {
    "Next time": "strategy_change", "Key": "key_insight", "Cause": "root_cause", "Failed": "what_failed",
    "Worked": "what_worked",
}  # fmt: skip


def choose_reflections(reflections: Sequence[Reflection]) -> tuple[ChosenLesson, ...]:
    """All of them, newest first, within the budget; what one leaves over goes to the next."""
    room, chosen = REFLECTION_TOKENS, list[ChosenLesson]()
    for at, reflection in enumerate(reflections):
        text = reflection_text(reflection, room // (len(reflections) - at))
        room -= tokens_of(text)
        why = f"an attempt in this thread scored {reflection.score}: {reflection.cause}"
        chosen.append(ChosenLesson(id=reflection.id, kind="reflection", text=text, why=why))
    return tuple(chosen)


def reflection_text(reflection: Reflection, room: int) -> str:
    """A reflection within ``room`` tokens: what a person said, what to do, why, then what was seen word for word."""
    evidence = "\n".join(f"> {line}" for line in _lines_within(reflection.evidence, room * 3 // 10))
    seen = f"\nSeen (quoted output):\n{evidence}" if evidence else ""
    said = " / ".join(" ".join(text.split()) for text in reflection.said)
    parts = [f"A person said: {said}"] if said else []
    parts += [f"{name}: {getattr(reflection.insight, field)}" for name, field in _FIELDS.items()]
    return "\n".join(shared(parts, room - tokens_of(seen))) + seen


def shared(parts: Sequence[str], room: int) -> list[str]:
    """The parts, each cut to its fair share of the tokens; each costs one more for what parts it from the next."""
    sizes = [tokens_of(part) + 1 for part in parts]
    left, shares = room, dict[int, int]()
    for done, at in enumerate(sorted(range(len(parts)), key=lambda at: sizes[at])):
        shares[at] = min(sizes[at], left // (len(parts) - done))
        left -= shares[at]
    return [cut_to(part, shares[at] - 1) for at, part in enumerate(parts)]


def said_of(trajectory: Trajectory) -> tuple[str, ...]:
    """What people said was wrong, as a reflection keeps it: the last things, bounded, without secrets."""
    return tuple(told_of(text) for text in trajectory.corrections[-SAID_AT_MOST:])


def told_of(text: str) -> str:
    """A person's words, bounded and without secrets."""
    return redact(visible(text).strip())[:SAID_CHARACTERS]


def task_of(trajectory: Trajectory) -> str:
    """The task as a reflection keeps it."""
    return redact(trajectory.task)[:TASK_CHARACTERS]


def earlier_attempts(trajectory: Trajectory, known: Sequence[Reflection]) -> tuple[Insight, ...]:
    """What was learned from earlier attempts at the same task, oldest first; ``known`` are the thread's, newest first."""
    task = task_of(trajectory)
    same = [one for one in reversed(known) if one.task == task and one.execution != trajectory.execution]
    return tuple(one.insight for one in same)


def on_what_worked(reflection: Reflection, obstacle: Obstacle) -> Reflection:
    """The reflection on a task that ended well: it is recognised by the obstacle, and rests on what was printed of it."""
    return reflection.model_copy(
        update={
            "id": worked_id(reflection.execution),
            "evidence": tuple(redact(visible(line)) for line in obstacle.evidence),
            "error_signature": obstacle.signature,
            "teaches": obstacle.teaches,
        }
    )


def _lines_within(lines: Sequence[str], room: int) -> list[str]:
    kept: list[str] = []
    for line in lines:
        line = cut_to(line, room - 2) if not kept else line
        room -= tokens_of(line) + 2  # the mark and the end of the line
        if room < 0:
            break
        kept.append(line)
    return kept
