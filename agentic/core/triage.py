"""Talk or task, and how complex: rules over the words, until a model is asked where they are unsure.

A wrong answer never blocks: talk taken for a task costs a turn, a task taken for talk is asked again.
"""

from __future__ import annotations

import re

from agentic.core.actions import Action, Record
from agentic.core.conversation import Prompt, ToolSpec
from agentic.core.events import Started, Triaged
from agentic.core.execution import Execution

_TALK = re.compile(
    r"^(hi|hello|hey|good (morning|evening|afternoon)|thanks?( you)?|thank you|ok(ay)?|cool|nice|great|bye|"
    r"how are you|who are you|what are you|what can you do|are you there|ping)"
    r"(,? (there|all|everyone|again|bot|threadwright|so much|a lot|you|today|very much))*[\s,.!?🙂👋🙏]*$",
    re.IGNORECASE,
)


def untriaged(execution: Execution) -> Action | None:
    """Talk or task comes first; what derives from it waits for it.  Talk that goes on becomes a task."""
    if execution.triage is None:
        return Record((triage(execution.started),)) if execution.started else None
    if execution.talk and execution.told.unseen:
        return Record((execution.triage.model_copy(update={"talk": False, "complexity": "medium"}),))
    return None


def triage(started: Started) -> Triaged:
    """The first reading of a task."""
    text = started.task.strip()
    if started.side:
        return Triaged(talk=True, role=started.role, complexity="simple")
    if not started.files and _TALK.match(text):
        return Triaged(talk=True, role=started.role, complexity="simple")
    return Triaged(talk=False, role=started.role, complexity=started.complexity)


def prompt(execution: Execution, tools: tuple[ToolSpec, ...]) -> Prompt:
    """What a cheap model is asked about a task that the rules cannot place."""
    return Prompt(system="", tools=(), messages=(), tail=execution.task)
