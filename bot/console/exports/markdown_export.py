"""A task, a turn or a call as Markdown; pure.

Foreign text stands in code, between runs of backticks that are longer than any in it, so that it can neither close the
code nor become a heading, a link or HTML.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping

from pydantic import JsonValue

from bot.console.exports.export_source import CUT, TEXT, ExportSource
from bot.console.exports.transcript import CallRecord, ModelReply, ModelUse, TaskTotals, TranscriptTurn, Utterance
from bot.console.page_templates import many
from bot.messages.log_text import ASKS
from bot.progress.text import duration

_RUN = re.compile("`+")
_SPACE = re.compile(r"[\x00-\x1f\x7f\u0085\u2028\u2029]+")
INLINE = 120
"""Characters of a value that stands in a line; a longer one gets lines of its own."""


def fence(text: str, language: str = "") -> str:
    """Foreign text as a block of code that it cannot leave."""
    marks = "`" * max(3, _longest(text) + 1)
    return f"{marks}{language}\n{text}\n{marks}"


def code(text: str) -> str:
    """Foreign text as code in a line, which it cannot leave."""
    flat = _SPACE.sub(" ", text).strip()
    marks = "`" * (_longest(flat) + 1)
    return f"{marks} {flat} {marks}" if len(marks) > 1 else f"`{flat or ' '}`"


def _longest(text: str) -> int:
    return max((len(run) for run in _RUN.findall(text)), default=0)


def whole_task(source: ExportSource) -> Iterator[str]:
    """A task in pieces, one a turn."""
    yield f"# Task {code(source.title)}\n\n{facts(source, source.totals)}\n"
    for turn in source.turns():
        if isinstance(turn, TranscriptTurn):
            yield turn_text(turn, source.outputs)
        else:
            yield f"\n*{turn}*\n"
    if source.afterwards:
        yield "\n## Afterwards\n\n" + "".join(f"- {code(line)}\n" for line in source.afterwards)


def facts(source: ExportSource, totals: TaskTotals) -> str:
    """The task's figures as a list."""
    whole = totals.whole
    lines = [
        f"Task: {code(source.execution)}, from {source.began:%Y-%m-%d %H:%M:%S} UTC, {duration(source.seconds)}",
        f"State: {source.status.words if source.finished else 'not ended yet'}",
        f"{totals.turns} turns, {sum(totals.calls.values())} calls, {_requests(whole)}",
        f"Tokens: {whole.tokens_in} in ({whole.cached} from the cache), {whole.tokens_out} out",
        f"Cost: {source.status.usd:.4f} US dollars",
    ]
    if totals.copied_usd:
        lines[-1] += f"; {totals.copied_usd:.4f} more was paid by the task that its beginning was copied from"
    for name, use in totals.models.items():
        lines.append(f"{code(name)}: {_requests(use)}, {use.usd:.4f} US dollars")
    return "".join(f"- {line}\n" for line in lines)


def _requests(use: ModelUse) -> str:
    count = many(use.requests, "request")
    return f"{count}, {use.failed} of them failed" if use.failed else count


def turn_text(turn: TranscriptTurn, outputs: Mapping[str, str]) -> str:
    """A turn, with what was said and done in it."""
    head = f"\n## Turn {turn.number}\n" if turn.number else "\n## The task\n"
    about = [f"{turn.at:%Y-%m-%d %H:%M:%S} UTC"]
    about += [f"{code(reply.model)}, tier {reply.tier}" for reply in turn.replies[:1]]
    copied = ", paid by the task that it was copied from" if turn.copied else ""
    about += [f"{turn.usd:.4f} US dollars{copied}"] if turn.usd else []
    about += [f"confidence {turn.confidence}"] if turn.confidence is not None else []
    return "\n".join((head, " · ".join(about), *(_entry(entry, outputs) for entry in turn.entries))) + "\n"


def _entry(entry: Utterance | ModelReply, outputs: Mapping[str, str]) -> str:
    if isinstance(entry, ModelReply):
        whose = "Agent" if entry.purpose == "turn" else f"Model, for the {entry.purpose}"
        parts = [f"\n**{whose}**\n"]
        parts += [f"Reasoning:\n\n{_block(entry.reasoning)}\n"] if entry.reasoning else []
        parts += [_block(entry.text)] if entry.text else []
        return "\n".join((*parts, *(call_text(call, outputs) for call in entry.calls)))
    if entry.sort == "event":
        return f"\n- {code(entry.text)}"
    head = {
        "person": f"**Person** {code(entry.who)}",
        "question": f"**{ASKS.get(entry.who, entry.who)}**",
        "note": f"**Note from Threadwright** ({code(entry.who)})",
        "end": f"**Ended: {entry.who.replace('_', ' ')}**",
    }[entry.sort]
    files = "".join(f"\n- file {code(file.name)}, {file.size} bytes" for file in entry.files)
    return f"\n{head}\n\n{_block(entry.text)}{files}"


def call_text(call: CallRecord, outputs: Mapping[str, str]) -> str:
    """A call with its arguments and its result."""
    block, result = call.block, call.result
    parts = [f"\n**Call** {code(block.tool)}: {call.state}"]
    if block.problem:
        parts.append(f"Its arguments could not be read ({block.problem.replace('_', ' ')}):\n\n{_block(block.raw)}")
    parts += [_argument(name, value) for name, value in block.arguments.items()]
    if result is not None:
        how = [f"exit {result.exit_code}"] if result.exit_code is not None else []
        how += [f"{result.seconds:.1f} s"] if result.seconds else []
        parts.append(" · ".join(("Result", *how)) + f":\n\n{_block(result.preview)}")
        if result.output is not None and result.output.sha in outputs:
            parts.append(
                f"The whole output, of which the model saw the part above:\n\n{_block(outputs[result.output.sha])}"
            )
        if result.changes:
            parts.append("Changed: " + ", ".join(code(change.path) for change in result.changes[:50]))
    return "\n\n".join(parts)


def _argument(name: str, value: JsonValue) -> str:
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    if len(text) <= INLINE and "\n" not in text:
        return f"{code(name)}: {code(text)}"
    return f"{code(name)}:\n\n{_block(text)}"


def _block(text: str) -> str:
    return fence(text if len(text) <= TEXT else text[:TEXT]) + (f"\n\n{CUT}" if len(text) > TEXT else "")
