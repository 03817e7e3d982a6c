"""What people are told when something cannot be done: why, and what to do instead; pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from agentic.core.events.execution_events import Level
from bot.access.permissions import Act

VIEWER = "You may look here, but not start or steer tasks. Ask an operator of this server for the right to."
NOT_YOURS = "That is someone else's task. Its author or an operator can steer it; 🛑 stops it."
NOTHING_RUNS = "Nothing is running here. Write what I should do."
IN_THE_THREAD = "That works in a task's thread. Here, write my name and a task, and I open one."
ANSWERED = "This question is no longer open."
ENDED = "That task has ended already. Write what I should do now."
NOT_OF_HERE = "This button does not belong to what runs in this thread, so nothing was done."
BOT_CANNOT_WRITE = "I may not write in this thread, so I do nothing there. An administrator can grant me the right to."
APPROVE_THERE = "A step waits for an approval. That is given at its own message: press “Allow once” or “Deny” there."
NO_ADVICE = "I recommend no answer to this question. Please write yours."
BY_BUTTONS = "A sign does not decide on a lesson. Press Approve, Edit or Retire under it."
NO_ANSWER = "👍 and 👎 do not answer a question. Press one of its buttons, or write your answer."


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
        return f"That task is over and its log was deleted{self._why}, so nothing was done. Write what I should do now."

    def missing(self, number: int) -> str:
        """Say how many tasks a list of this thread leaves out."""
        tasks = "1 earlier task is" if number == 1 else f"{number} earlier tasks are"
        return f"-# {tasks} left out: the log was deleted{self._why}."

    @property
    def always(self) -> str:
        """Say what lists of several threads leave out, '' for nothing."""
        return f"-# Logs are kept for {self.days} days; older tasks are left out." if self.days else ""


LEVELS: Mapping[Level, str] = {
    "viewer": "anyone here",
    "executor": "the task's author or an operator",
    "operator": "an operator",
    "owner": "an owner of this server",
}
"""Levels in words."""
_ACTS: Mapping[Act, str] = {
    "rate": "That is someone else's task. Its author and operators rate it.",
    "undo": "That is someone else's task. Its author or an operator can undo it.",
    "approve": "Only {level} may allow or deny this. 🛑 stops the task.",
    "budget": "Only {level} may give it more of this. Ask one, or press “Stop here”; 🛑 stops the task too.",
    "lessons": "Only {level} decides which lessons count. Ask one to look at this message.",
    "merge": "Only {level} may merge or delete a branch. Ask one to look at it.",
}


def refused(act: Act, needed: Level) -> str:
    """Say why somebody may not do it, and who can."""
    return _ACTS.get(act, NOT_YOURS).format(level=LEVELS[needed])
