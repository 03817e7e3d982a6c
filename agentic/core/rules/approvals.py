"""Calls that a person must approve: what they are asked, what their answer means, when an approval covers a call.

An approval is bound to the exact arguments and to the state of the world that was looked at when it was asked for.
What is not plainly a yes is a no: whoever writes something else is heard, and the call does not run.
"""

from __future__ import annotations

import json
import re
from datetime import timedelta

from pydantic import JsonValue

from agentic.core.events.execution_events import (
    Asked,
    Gated,
    Option,
    ToolFinished,
)
from agentic.core.events.ids import question_id
from agentic.core.fold.people import ALLOW, ALWAYS, DENY
from agentic.core.state.execution import Call, Execution
from agentic.core.text.answers import option_of

_TICKS = re.compile(r"`+")
_YES = frozenset(("yes", "y", "ok", "okay", "sure", "allow", "allow it", "approve", "approved", "go ahead", "do it"))
OPTIONS = (Option(id=ALLOW, label="Allow once"), Option(id=DENY, label="Deny"))
HOST_OPTIONS = (
    Option(id=ALLOW, label="Allow for this task"),
    Option(id=ALWAYS, label="Always allow here", who_may="owner"),
    Option(id=DENY, label="Deny"),
)
_NOT_SHOWN = ("reasoning", "alternatives", "expectation", "command", "fallback", "code")
_UNATTENDED = "it needs the approval of a person, and nobody can give it here"


def approval(execution: Execution, call: Call) -> Asked:
    """The question whether a gated call may run, with all of what would run."""
    assert call.gated is not None
    assert execution.at is not None
    return Asked(
        question=question_id(execution.id, execution.seq + 1),
        sort="approval",
        text=f"{_asks(call.gated)}\n\n{exactly(call)}",
        options=HOST_OPTIONS if call.gated.hosts else OPTIONS,
        call=call.id,
        args_sha=call.gated.args_sha,
        who_may=call.gated.who_may,
        expires=execution.at + timedelta(minutes=execution.policy.approval_minutes),
    )


def verdict(options: tuple[Option, ...], said: str, name: str) -> tuple[str, str]:
    """Allow or deny, and why it was denied in words for the model."""
    option = option_of(options, said)
    if option is not None and option.id != DENY:
        return option.id, ""
    if said_yes(said):
        return ALLOW, ""
    return DENY, f"{name} denied it" if option is not None or not said.strip() else f"{name} denied it and said: {said}"


def said_yes(said: str) -> bool:
    """Whether words are plainly a yes, and nothing else."""
    return said.strip(" .,!\n").casefold() in _YES


def denial(execution: Execution, call: Call) -> ToolFinished | None:
    """The result of a call that was denied, or that nobody here can approve; None where it may still be approved."""
    assert call.gated is not None
    why = call.denied or ("" if execution.attended else _UNATTENDED)
    if not why:
        return None
    if call.gated.publishes:
        text = f"Not published: it {call.gated.reason}, and {why}."
    elif call.gated.put_back:
        text = f"Put back: it {call.gated.reason}, and {why}. {_stands(call.gated)}"
    else:
        text = f"Not run: it {call.gated.reason}, and {why}."
    text += " Do not try to get the same in another way; choose a safer one."
    return ToolFinished(call=call.id, outcome="denied", preview=text)


def covers(call: Call, args_sha: str, state_sha: str) -> bool:
    """Whether a person's approval of this call holds for these arguments and this state of the world.

    What has begun is the same act when it is begun again under its key.
    """
    if call.intent is not None:
        return True
    return (
        bool(call.approval)
        and call.gated is not None
        and ((call.gated.args_sha, call.gated.state_sha) == (args_sha, state_sha))
    )


def _asks(gated: Gated) -> str:
    if gated.hosts:
        return f"May commands of this task reach {', '.join(gated.hosts)}?"
    if gated.publishes:
        return f"May I publish this? It {gated.reason}. Nothing has left this machine yet.\n\n{_fenced(gated.shown, 'diff')}"
    if not gated.put_back:
        return f"May I do this? It {gated.reason}."
    return (
        f"I ran this, and it {gated.reason}. {_stands(gated)} May I run it again, this time without restoring anything?"
    )


def _stands(gated: Gated) -> str:
    """How the files stand after it."""
    new = len(gated.changes)
    besides = f", and {new} new file{'s stay' if new > 1 else ' stays'}" if new else ""
    if gated.left:
        return f"What was there is restored{besides}, except {gated.left}."
    return f"What was there is restored{besides}."


def exactly(call: Call) -> str:
    """All of what a call would do: its command and its other arguments, in fences that it cannot leave."""
    arguments = call.block.arguments
    parts: list[str] = []
    for name, lead in (("command", ""), ("code", ""), ("fallback", "and if that fails:\n")):
        if arguments.get(name):
            parts.append(f"{lead}{_fenced(_plain(arguments[name]), 'bash' if name != 'code' else 'python')}")
    rest = {name: value for name, value in arguments.items() if name not in _NOT_SHOWN}
    if rest:
        lines = (f"{name}: {_plain(value)}" for name, value in rest.items())
        parts.append(f"{call.block.tool}, with\n{_fenced(chr(10).join(lines))}")
    return "\n".join(parts) or f"`{call.block.tool}`"


def _plain(value: JsonValue) -> str:
    """The value with every character that could hide or reorder others written out."""
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return "".join(c if c.isprintable() or c in "\n\t" else f"\\u{ord(c):04x}" for c in text)


def _fenced(text: str, language: str = "") -> str:
    longest = max((len(run) for run in _TICKS.findall(text)), default=0)
    fence = "`" * max(3, longest + 1)
    return f"{fence}{language}\n{text}\n{fence}"
