"""What a task's shell and interpreter did, in order: commands, what they wrote, how they ended, what goes on beside.

Events are taken one by one, so that a running task costs what is new. Nothing here holds a control sequence: colours and
all else that a terminal acts upon is taken out.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime

from pydantic import JsonValue

from agentic.core.events.execution_events import (
    BlobRef,
    Envelope,
    Finished,
    Gated,
    HandedOver,
    ModelRequested,
    OwnerChanged,
    ToolFinished,
    ToolStarted,
)
from agentic.tools.base.terminal_text import clean, clean_bytes

TOOLS = ("shell", "python", "job")
FIRST, LAST = 1_000, 3_000
"""Characters of a long output that are shown of its beginning and of its end."""
LONGEST_COMMAND = 4_000
PIECE = 64 * 1024
"""Bytes of an output in one piece."""
MARGIN = 16 * 1024
"""Bytes on each side of a piece that are looked at with it, so that a secret is found that lies on its edge."""
LONGEST_LINE = 4 * 1024
"""A piece ends with a line, unless that is longer."""
_VERDICT = re.compile(r"(?:exit -?\d{1,6}|signal \d{1,3}|timed out|killed) after [^\n]{1,200}")


@dataclass(slots=True)
class ShellCommand:
    """One command, or a piece of code. ``seq`` is the event that began it, ``last`` the newest one about it."""

    seq: int
    call: str
    turn: int
    at: datetime
    tool: str
    prompt: str
    cwd: str = ""
    state: str = "running"
    last: int = 0
    exit_code: int | None = None
    seconds: float = 0.0
    verdict: str = ""
    """How it ended, in words, where that is more than an exit code."""
    output: str = ""
    cut: bool = False
    """There is more of the output."""
    whole: BlobRef | None = None
    """The whole output, where it was too long for the model and is kept."""
    ended: int = 0
    """The event with its result; 0 while there is none."""
    job: str = ""
    """The name under which it goes on in the background."""


@dataclass(slots=True)
class BackgroundJob:
    """A command that goes on in the background, as far as anybody looked."""

    name: str
    command: str
    seq: int
    state: str = "running"


@dataclass(slots=True)
class ShellSession:
    """The commands so far."""

    commands: list[ShellCommand] = field(default_factory=list[ShellCommand])
    jobs: dict[str, BackgroundJob] = field(default_factory=dict[str, BackgroundJob])
    _running: dict[str, ShellCommand] = field(default_factory=dict[str, ShellCommand])
    _asked: dict[str, tuple[str, str]] = field(default_factory=dict[str, tuple[str, str]])
    """Of calls that look after a job: its name and what is to be done with it."""
    _turn: int = 0

    def changed_since(self, seq: int) -> list[ShellCommand]:
        """Commands with events after ``seq``."""
        return [one for one in self.commands if one.last > seq]

    def take(self, envelope: Envelope) -> None:
        """Add an event."""
        event = envelope.event
        match event:
            case ModelRequested(purpose="turn"):
                self._turn = event.turn
            case ToolStarted() if event.tool in TOOLS:
                self._end(event.call, "interrupted", envelope.seq)
                prompt, cwd = _prompt(event.tool, event.arguments)
                one = ShellCommand(
                    envelope.seq, event.call, self._turn, envelope.at, event.tool, prompt, cwd, last=envelope.seq
                )
                self.commands.append(one)
                self._running[event.call] = one
                if event.tool == "job":
                    self._asked[event.call] = _text(event.arguments, "job"), _text(event.arguments, "action") or "look"
            case ToolFinished():
                self._finish(event, envelope)
            case Gated() if event.put_back:
                self._end(event.call, "held back" if event.unkept else "put back", envelope.seq)
            case OwnerChanged() | HandedOver():
                self._leave("ended with its process")
            case Finished():
                for call in tuple(self._running):
                    self._end(call, "unknown", envelope.seq)
                self._leave("running when the task ended")
            case _:
                pass

    def _leave(self, state: str) -> None:
        for job in self.jobs.values():
            job.state = state if job.state == "running" else job.state

    def _end(self, call: str, state: str, seq: int) -> None:
        if (one := self._running.pop(call, None)) is not None:
            one.state, one.last = state, seq

    def _finish(self, event: ToolFinished, envelope: Envelope) -> None:
        one = self._running.pop(event.call, None)
        if one is None:
            return
        one.state, one.last, one.ended = event.outcome, envelope.seq, envelope.seq
        one.exit_code, one.whole, one.job = event.exit_code, event.output, event.job
        one.seconds = event.seconds or max((envelope.at - one.at).total_seconds(), 0.0)
        output = clean(event.preview)
        if one.tool == "shell" and (verdict := _VERDICT.match(output)):
            one.verdict = "" if verdict[0].startswith("exit") else verdict[0]
            output = output[verdict.end() :].lstrip("\n")
        one.output, one.cut = shortened(output)
        if one.job:
            self.jobs[one.job] = BackgroundJob(one.job, one.prompt.removeprefix("$ "), one.seq)
        name, action = self._asked.pop(event.call, ("", ""))
        if (job := self.jobs.get(name)) is not None and event.outcome in ("ok", "failed"):
            job.state = "stopped" if action == "stop" else output.partition("\n")[0].rstrip(".").lower()[:80]


def shortened(text: str) -> tuple[str, bool]:
    """A text, or its beginning and its end where it is long; and whether something was left out."""
    if len(text) <= FIRST + LAST + 200:
        return text, False
    return f"{text[:FIRST]}\n… {len(text) - FIRST - LAST:,} characters are left out here …\n{text[-LAST:]}", True


def pieces(size: int) -> int:
    """In how many pieces an output of so many bytes is shown."""
    return max(-(-size // PIECE), 1)


def piece(content: bytes, number: int, hide: Callable[[str], str]) -> str:
    """One of the pieces of an output, without control sequences and without what ``hide`` takes out.

    Pieces lie side by side without gaps, and cost the same wherever they lie.
    """
    begin, end = _edge(content, number * PIECE), _edge(content, (number + 1) * PIECE)
    before = clean_bytes(content[max(begin - MARGIN, 0) : begin])
    after = clean_bytes(content[end : end + MARGIN])
    shown = hide(before + clean_bytes(content[begin:end]) + after)
    first, last = _alike(hide(before), shown), _alike(hide(after)[::-1], shown[::-1])
    return shown[first : max(len(shown) - last, first)]


def _alike(one: str, other: str) -> int:
    """How many characters two texts begin with alike."""
    pairs = enumerate(zip(one, other, strict=False))
    return next((at for at, (this, that) in pairs if this != that), min(len(one), len(other)))


def _edge(content: bytes, at: int) -> int:
    """The end of the line, or at least of the character, near a place."""
    if at <= 0 or at >= len(content):
        return max(min(at, len(content)), 0)
    line = content.find(b"\n", at, at + LONGEST_LINE)
    if line >= 0:
        return line + 1
    return next((place for place in range(at, min(at + 4, len(content))) if content[place] & 0xC0 != 0x80), at)


def _prompt(tool: str, arguments: Mapping[str, JsonValue]) -> tuple[str, str]:
    """What was typed, with the prompts of a shell or an interpreter; and the folder, where it is not the usual one."""
    if tool == "job":
        return f"$ job {_text(arguments, 'job')} {_text(arguments, 'action') or 'look'}", ""
    first, next_line, text = ("$ ", "> ", "command") if tool == "shell" else (">>> ", "... ", "code")
    typed = clean(_text(arguments, text))
    if len(typed) > LONGEST_COMMAND:
        typed = f"{typed[:LONGEST_COMMAND]}\n… {len(typed) - LONGEST_COMMAND:,} more characters"
    if tool == "python" and arguments.get("restart"):
        typed = f"# restarted\n{typed}".rstrip()
    ending = " &" if arguments.get("background") else ""
    cwd = _text(arguments, "cwd") if tool == "shell" else ""
    return first + typed.rstrip("\n").replace("\n", f"\n{next_line}") + ending, "" if cwd in ("", ".") else clean(cwd)


def _text(arguments: Mapping[str, JsonValue], name: str) -> str:
    value = arguments.get(name)
    return value if isinstance(value, str) else ""
