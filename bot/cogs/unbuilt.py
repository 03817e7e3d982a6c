"""Messages that look like a command and are none; pure.

“!undo” must not begin a task that costs money.  Only a single word counts: a path or a sentence stays what it is.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Mapping

from agentic.core.events import InboxItem
from bot.inputs import Outcome, Told

OTHERWISE: Mapping[str, str] = {
    "continue": "That is no command: write `continue` alone, or react with ✅.",
    "escalate": "That is no command: write `escalate` alone, or react with 🚀.",
    "ask": "That is no command: write `ask me` alone, or react with 💬.",
    "btw": "That is no command: write `. btw` and your question.",
    "queue": "That is no command: write `.`, a space and the task, and it is queued.",
    "undo": "That is no command: press “Undo” under the result.",
}
"""What people may take for a command, and how it is done."""
NO_COMMAND = "There is no command `{text}`; try `{prefix}help`."
BY_PREFIX = "Choose `/{name}` from Discord's list of commands, or write `{prefix}{name}`."

ANSWER = " The question above is still open; if that is your answer, write it in a sentence."


def without_commands(outcome: Outcome, prefix: str, built: frozenset[str]) -> Outcome:
    """The outcome, unless it would make a task or guidance of a command that there is not."""
    if not isinstance(outcome, InboxItem) or outcome.sort not in ("task", "guidance", "answer"):
        return outcome
    text = outcome.text.strip()
    if not (found := re.fullmatch(rf"(?:{re.escape(prefix)}|/)([A-Za-z][\w-]{{0,31}})", text)):
        return outcome
    name = found[1].lower()
    if name in OTHERWISE:
        return Told(OTHERWISE[name])
    if name in built:
        answers = ANSWER if outcome.sort == "answer" else ""
        return Told(BY_PREFIX.format(name=name, prefix=prefix) + answers)
    if outcome.sort == "answer":
        return outcome  # “/tmp” answers “where?”
    near = difflib.get_close_matches(name, sorted(built), n=1, cutoff=0.5)
    meant = f" Did you mean `{prefix}{near[0]}`?" if near else ""
    return Told(NO_COMMAND.format(text=text, prefix=prefix) + meant)
