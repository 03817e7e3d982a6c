"""Messages that look like a command but are none; pure.

“!undo” must not begin a task that costs money. Only a single word counts: a path or a sentence stays what it is.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Mapping

from agentic.core.events.execution_events import InboxItem
from bot.inbound.events import Outcome, Reply

OTHERWISE: Mapping[str, str] = {
    "continue": "Not a command. To continue, write `continue` alone or react with ✅.",
    "escalate": "Not a command. For a stronger model, write `escalate` alone or react with 🚀.",
    "ask": "Not a command. Write `ask me` alone, or react with 💬.",
    "btw": "Not a command. For a side question, write `. btw` and the question.",
    "queue": "Not a command. To queue a task, write `.`, a space and the task.",
    "undo": "Not a command. Press “Undo” under the result.",
}
"""Words that people may take for a command, and what to do instead."""
NO_COMMAND = "There is no command `{text}`; try `{prefix}help`."
BY_PREFIX = "Choose `/{name}` from Discord's list of commands, or write `{prefix}{name}`."

ANSWER = " My question above is still open; if that's your answer, write it as a sentence."


_COMMAND = re.compile(r"[a-z][\w-]{0,31}")


def _called(text: str, prefix: str) -> str:
    """Return the word after the prefix or a slash; '' where there is neither."""
    mark = next((mark for mark in (prefix, "/") if text.startswith(mark)), None)
    return "" if mark is None else text.removeprefix(mark)


def without_commands(outcome: Outcome, prefix: str, built: frozenset[str]) -> Outcome:
    """Return the outcome, or a reply where it would treat a lone command word as a task, guidance or answer.

    ``built`` holds the names of all existing commands. An unknown word stays an answer.
    """
    if not isinstance(outcome, InboxItem) or outcome.sort not in ("task", "guidance", "answer"):
        return outcome
    text = outcome.text.strip()
    name = _called(text, prefix).lower()
    if not _COMMAND.fullmatch(name):
        return outcome
    if name in OTHERWISE:
        return Reply(OTHERWISE[name])
    if name in built:
        answers = ANSWER if outcome.sort == "answer" else ""
        return Reply(BY_PREFIX.format(name=name, prefix=prefix) + answers)
    if outcome.sort == "answer":
        return outcome  # “/tmp” answers “where?”
    near = difflib.get_close_matches(name, sorted(built), n=1, cutoff=0.5)
    meant = f" Did you mean `{prefix}{near[0]}`?" if near else ""
    return Reply(NO_COMMAND.format(text=text, prefix=prefix) + meant)
