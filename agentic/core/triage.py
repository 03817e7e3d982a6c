"""Talk or task, and how complex: rules over the words, until a model is asked where they are unsure.

A wrong answer never blocks: talk taken for a task costs a turn, a task taken for talk is asked again.
"""

from __future__ import annotations

import re

from agentic.core.events import Started, Triaged

_TALK = re.compile(
    r"^(hi|hello|hey|good (morning|evening|afternoon)|thanks?( you)?|thank you|ok(ay)?|cool|nice|great|bye|"
    r"how are you|who are you|what are you|what can you do|are you there|ping)"
    r"(,? (there|all|everyone|again|bot|threadwright|so much|a lot|you|today|very much))*[\s,.!?🙂👋🙏]*$",
    re.IGNORECASE,
)


def triage(started: Started) -> Triaged:
    """The first reading of a task."""
    text = started.task.strip()
    if started.side:
        return Triaged(talk=True, role=started.role, complexity="simple")
    if not started.files and _TALK.match(text):
        return Triaged(talk=True, role=started.role, complexity="simple")
    return Triaged(talk=False, role=started.role, complexity=started.complexity)
