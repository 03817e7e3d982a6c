"""The work log: what was done in turns that stand no more in the history, in a bounded length.  Pure.

A turn is a line: the thought (200 characters), each call with OK or FAILED and the beginning of its result (100).  What was
longest ago is told in fewer words first, and then only counted by tool: the log never grows beyond its bound.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from agentic.core.state.conversation import Message, ToolAnswer, ToolCall

THOUGHT, RESULT, ARGUMENT = 200, 100, 60
LINE = 600
"""Characters of a turn at most, however many calls it had."""
SHORT = 90
"""Characters of a turn that was longer ago."""
IN_FULL = 0.7
"""The share of the room for turns that are told in full."""
COUNTED = 300
"""Room for the line that only counts."""
_TELLING = ("command", "path", "pattern", "code", "url", "query", "name")
"""Arguments that say best what a call was about."""


@dataclass(frozen=True)
class WorkLogLine:
    """One turn: its words, and each call with whether it succeeded."""

    text: str
    calls: tuple[tuple[str, bool], ...] = ()


@dataclass(frozen=True)
class Chronicle:
    """What was done, oldest first: turns that are only counted, then the lines."""

    turns: int = 0
    """How many turns are only counted."""
    counts: tuple[tuple[str, int, int], ...] = ()
    """(tool, calls, those that failed) of these."""
    lines: tuple[WorkLogLine, ...] = ()
    answers: tuple[str, ...] = ()
    """What people answered to the agent's questions, with the questions."""


def advanced(chronicle: Chronicle, dropped: Sequence[Message], asking: Collection[str] = ()) -> Chronicle:
    """With the turns of these messages; ``asking`` are the tools that put a question to a person."""
    lines: list[WorkLogLine] = []
    answers: list[str] = []
    for place, message in enumerate(dropped):
        if message.role != "assistant":
            continue
        after = dropped[place + 1].answers if place + 1 < len(dropped) else ()
        results = {answer.provider_id: answer for answer in after}
        lines.append(_line(message, results))
        answers += [_answered(call, results) for call in message.calls if call.tool in asking]
    return Chronicle(
        turns=chronicle.turns,
        counts=chronicle.counts,
        lines=(*chronicle.lines, *lines),
        answers=(*chronicle.answers, *answers),
    )


def bounded(chronicle: Chronicle, room: int) -> Chronicle:
    """Within ``room`` characters: older turns shorter, the oldest only counted."""
    used, kept = min(COUNTED, room // 4), list[WorkLogLine]()
    for line in reversed(chronicle.lines):
        if used + len(line.text) > IN_FULL * room:
            line = WorkLogLine(clipped(line.text, SHORT), line.calls)
        if used + len(line.text) > room:
            break
        used += len(line.text) + 3
        kept.append(line)
    merged = chronicle.lines[: len(chronicle.lines) - len(kept)]
    return Chronicle(
        turns=chronicle.turns + len(merged),
        counts=_counted(chronicle.counts, merged),
        lines=tuple(reversed(kept)),
        answers=chronicle.answers,
    )


def told(chronicle: Chronicle) -> list[str]:
    """The log's lines, as they stand in the summary."""
    lines = [f"- {line.text}" for line in chronicle.lines]
    if not chronicle.turns:
        return lines
    counts = ", ".join(
        f"{tool} {calls}" + (f" ({failed} failed)" if failed else "") for tool, calls, failed in chronicle.counts
    )
    earlier = "1 earlier turn" if chronicle.turns == 1 else f"{chronicle.turns} earlier turns"
    return [f"- {clipped(f'{earlier}: {counts}' if counts else earlier, COUNTED)}", *lines]


def clipped(text: str, characters: int) -> str:
    """On one line, and no longer than this."""
    flat = " ".join(text.split())
    return flat if len(flat) <= characters else f"{flat[: characters - 1]}…"


def newest(texts: Sequence[str], room: int, longest: int) -> tuple[str, ...]:
    """As many of the newest texts as fit, in their order; a single one is cut at ``longest`` characters."""
    kept: list[str] = []
    for text in reversed(texts):
        cut = text if len(text) <= longest else f"{text[: longest - 1]}…"
        room -= len(cut)
        if room < 0:
            break
        kept.append(cut)
    return tuple(reversed(kept))


def _line(message: Message, results: dict[str, ToolAnswer]) -> WorkLogLine:
    calls = [(call, results.get(call.provider_id)) for call in message.calls]
    parts = [clipped(message.text, THOUGHT)] if message.text.strip() else []
    parts += [_call(call, result) for call, result in calls]
    done = tuple((call.tool, result is not None and not result.failed) for call, result in calls)
    return WorkLogLine(clipped(" | ".join(parts), LINE), done)


def _call(call: ToolCall, result: ToolAnswer | None) -> str:
    about = next((value for name in _TELLING if isinstance(value := call.arguments.get(name), str)), "")
    name = f"{call.tool} `{clipped(about, ARGUMENT)}`" if about else call.tool
    if result is None:
        return f"{name} without a result"
    return f"{name} {'FAILED' if result.failed else 'OK'}: {clipped(result.text, RESULT)}"


def _answered(call: ToolCall, results: dict[str, ToolAnswer]) -> str:
    several = call.arguments.get("questions")
    parts = [part.get("text") for part in several if isinstance(part, dict)] if isinstance(several, list) else []
    asked = "; ".join(words for words in (call.arguments.get("question"), *parts) if isinstance(words, str) and words)
    answer = results.get(call.provider_id)
    return f"{asked} -> {answer.text if answer is not None else 'no answer'}"


def _counted(
    counts: tuple[tuple[str, int, int], ...], merged: Sequence[WorkLogLine]
) -> tuple[tuple[str, int, int], ...]:
    known = {tool: (calls, failed) for tool, calls, failed in counts}
    for line in merged:
        for tool, ok in line.calls:
            calls, failed = known.get(tool, (0, 0))
            known[tool] = (calls + 1, failed + (not ok))
    return tuple((tool, calls, failed) for tool, (calls, failed) in known.items())
