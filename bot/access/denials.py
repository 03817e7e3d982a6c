"""What people are told when something cannot be done: why, and what to do instead; pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from agentic.core.events.execution_events import Level
from bot.access.permissions import Act

VIEWER = "You're a viewer here. Ask whoever runs Threadwright for a higher role."
NOT_YOURS = "That's someone else's task. Its author or an operator can steer it; anyone can stop it with 🛑."
NOTHING_RUNS = "Nothing is running here. Write what I should do."
IN_THE_THREAD = "That works in a task's thread. Mention me here with a task, and I'll open one."
ANSWERED = "This question is no longer open."
ENDED = "That task has already ended. Write what I should do next."
NOT_OF_HERE = "That button no longer applies here, so nothing was done."
BOT_CANNOT_WRITE = "I'm not allowed to write in this thread, so I did nothing. An administrator can allow it."
APPROVE_THERE = "A step is waiting for approval. Press “Allow once” or “Deny” on its message."
NO_ADVICE = "I have no recommendation for this question. Please write your answer."
BY_BUTTONS = "Reactions don't decide about lessons. Press Approve, Edit or Retire under it."
NO_ANSWER = "👍 and 👎 don't answer a question. Press one of its buttons, or write your answer."


@dataclass(frozen=True, slots=True)
class Bound:
    """Texts about tasks whose logs were deleted; ``days`` is how long logs are kept, 0 for ever."""

    days: int

    @property
    def _why(self) -> str:
        return f" (logs are kept for {self.days} days)" if self.days else ""

    @property
    def expired(self) -> str:
        """Say why nothing can be done with a deleted task."""
        return (
            f"That task is over and its log was deleted{self._why}, so nothing was done. Write what I should do next."
        )

    def missing(self, number: int) -> str:
        """Say how many tasks a list of this thread leaves out."""
        tasks = "1 earlier task is" if number == 1 else f"{number} earlier tasks are"
        return f"-# {tasks} not shown: the log was deleted{self._why}."

    @property
    def always(self) -> str:
        """Say what lists of several threads leave out, '' for nothing."""
        return f"-# Logs are kept for {self.days} days; older tasks are not shown." if self.days else ""


LEVELS: Mapping[Level, str] = {
    "viewer": "anyone here",
    "executor": "the task's author or an operator",
    "operator": "an operator",
    "owner": "an owner of this server",
}
"""Levels in words."""
_ACTS: Mapping[Act, str] = {
    "rate": "That's someone else's task. Only its author and operators can rate it.",
    "undo": "That's someone else's task. Its author or an operator can undo it.",
    "approve": "Only {level} can allow or deny this. 🛑 stops the task.",
    "budget": "Only {level} can give it more. Ask one, or press “Stop here”.",
    "lessons": "Only {level} can decide about lessons. Ask one to look at this message.",
    "merge": "Only {level} can merge or delete a branch. Ask one to look at it.",
}


def refused(act: Act, needed: Level) -> str:
    """Say why somebody may not do it, and who can."""
    return _ACTS.get(act, NOT_YOURS).format(level=LEVELS[needed])
