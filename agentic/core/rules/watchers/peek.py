"""Which watcher looks on now, and what it is shown: a bounded part of the work, with secrets hidden.

A watcher is asked at most once about a call, and once after so many turns; where its request was lost, once more.  What it
reads was written by files, commands and models, so it may be misled: then it misses something, or holds a call in vain.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache

from agentic.core.events.execution_events import Watcher
from agentic.core.prompt import recap
from agentic.core.rules import task_end
from agentic.core.rules.approvals import exactly
from agentic.core.state.conversation import Message, Prompt, ToolSpec
from agentic.core.state.execution import Call, Execution
from agentic.core.text.foreign_text import mark_of, one_line, section
from agentic.prompts import watcher_prompt as asking
from agentic.text.secret_patterns import secrets_in

RESTS = 3
"""So often in a row without an answer, and a watcher is not asked again, unless its calls then wait for a person."""
CALLS = 8
"""So many calls are shown at once."""
_TASK, _SAID, _GUIDED, _LINES, _CALL = 2_000, 800, 600, 12, 3_000
MOST = 12_000
"""Characters of what is shown at most, beside the calls."""


@dataclass(frozen=True, slots=True)
class Peek:
    """A watcher that looks on now, and the calls that it is shown; none before a model is asked."""

    watcher: Watcher
    calls: tuple[Call, ...] = ()


def due(execution: Execution) -> Peek | None:
    """The next watcher to ask, or None."""
    started, policy = execution.started, execution.policy
    if started is None or execution.talk or policy.tour or not policy.tiers:
        return None
    for watcher in started.watchers:
        if execution.watches.failed.get(watcher.name, 0) >= RESTS and watcher.if_it_fails == "go on":
            continue
        if watcher.when == "before action":
            calls = [call for call in execution.open_calls if _concerns(execution, watcher, call)]
            if calls:
                return Peek(watcher, tuple(calls[:CALLS]))
        elif _is_turn_of(execution, watcher):
            return Peek(watcher)
    return None


def _is_turn_of(execution: Execution, watcher: Watcher) -> bool:
    """Enough turns have ended since it looked last."""
    turn = execution.turn
    return turn.ended and turn.number - execution.watches.looked.get(watcher.name, 0) >= watcher.every


def _concerns(execution: Execution, watcher: Watcher, call: Call) -> bool:
    """Whether it is to be shown a call: one that could begin, that it has not seen, and that its conditions name."""
    if call.intent is not None or call.gated is not None or call.asked or watcher.name in call.watched:
        return False
    if not any(_names(pattern, call.block.tool) for pattern in watcher.tools):
        return False
    if watcher.matching and not _any_of(watcher.matching).search(exactly(call)):
        return False
    return task_end.refused(execution, call) is None


def _names(pattern: str, tool: str) -> bool:
    return tool.startswith(pattern[:-1]) if pattern.endswith("*") else tool == pattern


@lru_cache(maxsize=64)
def _any_of(words: tuple[str, ...]) -> re.Pattern[str]:
    """Any of these words, as whole words: no letter or digit goes on at their ends."""
    each = "|".join(re.escape(word) for word in words)
    return re.compile(rf"(?<![^\W_])(?:{each})(?![^\W_])", re.IGNORECASE)


def prompt(execution: Execution, tools: tuple[ToolSpec, ...]) -> Prompt:
    """What the watcher is asked that is due; without one, nothing but where the work stands."""
    peek = due(execution) or Peek(Watcher(name=""))
    watcher, mark = peek.watcher, mark_of(execution.started)
    answer = asking.VETO if watcher.may == "veto" else asking.NOTE
    parts = (
        ("Task", execution.task[:_TASK]),
        ("What people said since, newest last", "\n".join(text[:_GUIDED] for text in execution.mind.guided[-3:])),
        ("The plan that the person agreed to", execution.mind.plan[:_TASK]),
        ("To do", "\n".join(f"[{item.state}] {item.text[:150]}" for item in execution.todo[:15])),
        ("Work so far, oldest first", "\n".join(recap.work_log(execution, _LINES))),
        ("Its last words", execution.turn.text[-_SAID:]),
    )
    shown = "\n\n".join(section(mark, f"[{title}]", body) for title, body in parts if body)[:MOST]
    for number, call in enumerate(peek.calls, start=1):
        shown += f"\n\n{section(mark, f'[Call {number}: {one_line(call.block.tool, 80)}]', _shortened(exactly(call)))}"
    return Prompt(
        system=asking.SYSTEM.replace("{answer}", answer).replace("{instruction}", watcher.instruction),
        tools=(),
        messages=(Message("user", text=f"{without_secrets(shown)}\n\n{mark} [End of the data]\nYour line of JSON:"),),
    )


def without_secrets(text: str) -> str:
    """The text with each secret of known form replaced by what kind it is of."""
    parts: list[str] = []
    at = 0
    for secret in secrets_in(text):
        parts += [text[at : secret.start], f"[secret: {secret.kind}]"]
        at = secret.end
    return "".join((*parts, text[at:]))


def _shortened(text: str) -> str:
    if len(text) <= _CALL:
        return text
    half = _CALL // 2
    return f"{text[:half]}\n[… {len(text) - 2 * half:,} characters are not shown here …]\n{text[-half:]}"
