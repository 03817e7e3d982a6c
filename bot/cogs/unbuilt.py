"""Messages that look like a command and are none; pure.

“!retry” must not begin a task that costs money.  Only a single word counts: a path or a sentence stays what it is.
"""

from __future__ import annotations

import re

from agentic.core.events import InboxItem
from bot.inputs import Outcome, Told

KNOWN = frozenset(("pause", "resume", "retry", "fork", "continue", "escalate", "ask", "btw", "undo"))
"""Names that people know from the design and that do nothing yet."""
NOT_BUILT = "“{name}” is not built yet. You can write to me in the thread, and 🛑 stops a task."
NO_COMMAND = "There is no command `{text}`; try `{prefix}help`."
BY_PREFIX = "Choose `/{name}` from Discord's list of commands, or write `{prefix}{name}`."


def without_commands(outcome: Outcome, prefix: str, built: frozenset[str]) -> Outcome:
    """The outcome, unless it would make a task or guidance of a command that there is not."""
    if not isinstance(outcome, InboxItem) or outcome.sort not in ("task", "guidance", "answer"):
        return outcome
    text = outcome.text.strip()
    if not (found := re.fullmatch(rf"(?:{re.escape(prefix)}|/)([A-Za-z][\w-]{{0,31}})", text)):
        return outcome
    name = found[1].lower()
    if name in KNOWN:
        return Told(NOT_BUILT.format(name=name))
    if outcome.sort == "answer":
        return outcome  # “/tmp” answers “where?”
    if name in built:
        return Told(BY_PREFIX.format(name=name, prefix=prefix))
    return Told(NO_COMMAND.format(text=text, prefix=prefix))
