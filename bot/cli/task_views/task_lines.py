"""`threadwright logs THREAD [--follow] [--json | --turns]`: what a task does, as lines, while it does it.

With ``--follow`` it goes on with what the thread does next, until Ctrl-C. The bot is not asked: the store is read beside it.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable
from dataclasses import dataclass, field

from agentic.core.events.execution_events import (
    Asked,
    Envelope,
    Escalated,
    Event,
    Finished,
    Gated,
    InputReceived,
    Intervened,
    ModelFailed,
    Started,
    ToolFinished,
)
from agentic.ports.errors import StoreUnavailable
from bot.cli.console import fail, note, say
from bot.cli.replay.replay import deleted
from bot.cli.task_views.named_task import FoundTask, NotFound, found
from bot.config.log_format import one_line
from bot.config.settings import Settings
from bot.console.logs.task_log import without_secrets
from bot.console.page_templates import seconds, tokens, usd
from bot.console.views.story import Story, StoryTurn
from bot.messages.log_text import told
from bot.rendering.secrets import Discretion

UNKNOWN = (
    "There is no thread or task {name} in {place}. Give a thread's link or id (in Discord: right-click the thread, Copy "
    "Link), or a task's id: `/status` in its thread shows it, and `threadwright replay` lists the newest."
)
NOT_BEGUN = "Nothing has begun in this thread yet. With --follow, this waits for it."

Show = Callable[[str, Event | None], None]
"""Prints a line; the event that it is of decides its colour."""


@dataclass(frozen=True, slots=True)
class LogsArguments:
    """What is to be shown, and how."""

    name: str
    follow: bool = False
    as_json: bool = False
    turns: bool = False


async def logs(settings: Settings, wanted: LogsArguments) -> int:
    """Print a task's lines; 1 where there is none of this name."""
    async with found(settings, wanted.name) as task:
        if isinstance(task, NotFound):
            name = f"“{one_line(wanted.name[:80])}”"
            return fail(deleted(task.deleted) if task.deleted else UNKNOWN.format(name=name, place=settings.kept_in))
        if not task.execution and not wanted.follow:
            return fail(NOT_BEGUN)
        return await _Reading(task, Discretion(settings.secrets), wanted, _shown()).run()


def _shown() -> Show:
    """How lines are printed: with colours at a terminal."""
    if not sys.stdout.isatty():
        return lambda line, _: say(line)
    from rich.console import Console as RichConsole
    from rich.text import Text

    screen = RichConsole(highlight=False, soft_wrap=True)
    return lambda line, event: screen.print(Text(line, style=_style(event) if event is not None else "bold"))


def _style(event: Event) -> str:
    match event:
        case Started() | InputReceived():
            return "cyan"
        case ToolFinished(outcome="ok"):
            return "green"
        case ToolFinished() | ModelFailed():
            return "red"
        case Asked() | Gated() | Intervened() | Escalated():
            return "yellow"
        case Finished():
            return "bold green" if event.reason == "done" else "bold yellow"
        case _:
            return ""


@dataclass(slots=True)
class _Reading:
    task: FoundTask
    discretion: Discretion
    wanted: LogsArguments
    show: Show
    story: Story = field(default_factory=Story)
    """Of the task that is printed, for ``--turns``."""
    read: int = 0
    """Its events that were read, as are of what ``followed`` its end."""
    followed: int = 0
    printed: int = 0
    """Its turns that were printed."""
    labels: dict[str, str] = field(default_factory=dict[str, str])
    unread: str = ""
    """Why the store could not be read, as it was said last."""

    async def run(self) -> int:
        """Print the task, and with ``follow`` those after it."""
        execution, begun = self.task.execution, False
        while True:
            try:
                if not execution:
                    execution = await self._next("")
                if execution and not begun:
                    begun = await self._begin(execution)
                    if not begun:
                        return fail(deleted(execution))
                over = bool(execution) and await self._go_on(execution)
                self.unread = ""
                if execution and (not self.wanted.follow or (over and self.task.is_child)):
                    return 0
                if over and (later := await self._next(execution)):
                    execution, begun = later, False
                    continue
            except StoreUnavailable as error:
                if not self.wanted.follow:
                    raise
                self._say_unread(error)
            await asyncio.sleep(self.task.at_once)

    async def _next(self, execution: str) -> str:
        """The thread's task after this one, '' while there is none."""
        names = [row.execution for row in await self.task.store.executions(self.task.thread)]
        later = names[names.index(execution) + 1 :] if execution in names else names
        return later[0] if later else ""

    async def _begin(self, execution: str) -> bool:
        """Print whose lines follow; False where the log is gone."""
        row = await self.task.store.execution(execution)
        self.story, self.read, self.followed, self.printed = Story(), 0, 0, 0
        if row is not None and not self.wanted.as_json:
            began = f" · {row.started_at:%Y-%m-%d %H:%M} UTC" if row.started_at else ""
            self.show(f"Task {row.execution}{began}", None)
        return row is not None

    async def _go_on(self, execution: str) -> bool:
        """Print what is new; whether the task has ended."""
        row = await self.task.store.execution(execution)
        if row is not None and row.head > self.read:
            async for envelope in self.task.store.read(execution, self.read):
                self.read = envelope.seq
                self._take(without_secrets(envelope, self.discretion))
        over = row is None or bool(row.finished)
        if self.wanted.turns:
            self._turns(over=over or not self.wanted.follow)
        if over:
            outcome = await self.task.store.read_outcome(execution)
            for envelope in outcome[self.followed :]:
                self._line(without_secrets(envelope, self.discretion), number="")
            self.followed = len(outcome)
        return over

    def _say_unread(self, error: StoreUnavailable) -> None:
        if str(error) != self.unread:
            self.unread = str(error)
            note(f"The store cannot be read now, trying again: {one_line(error)}")

    def _take(self, envelope: Envelope) -> None:
        if self.wanted.turns:
            self.story.take(envelope)
        else:
            self._line(envelope, str(envelope.seq))

    def _line(self, envelope: Envelope, number: str) -> None:
        event = envelope.event
        if self.wanted.as_json:
            say(envelope.model_dump_json())
            return
        if isinstance(event, Asked):
            self.labels = {option.id: option.label for part in (event, *event.parts) for option in part.options}
        if line := told(event, self.labels):
            self.show(f"{envelope.at:%H:%M:%S} {number:>4}  {one_line(line)}", event)

    def _turns(self, *, over: bool) -> None:
        """Print the turns that are complete."""
        complete = len(self.story.turns) - (0 if over else 1)
        for turn in self.story.turns[self.printed : complete]:
            self.show(turn_line(turn), None)
        self.printed = max(self.printed, complete)


def turn_line(turn: StoryTurn) -> str:
    """A turn in a line: when, which, what it did, what it cost."""
    calls, cost = [item for item in turn.items if item.sort == "call"], turn.figures
    done = ", ".join(f"{item.tool} {item.state}" for item in calls[:6]) + (
        f" and {len(calls) - 6} more" if calls[6:] else ""
    )
    said = next((item.text for item in turn.items if item.sort in ("end", "question", "person")), "")
    parts = [
        f"{turn.model}, tier {turn.tier}" if turn.model else "",
        f"{usd(cost.usd)}{', copied' if cost.copied_usd else ''}, {tokens(cost.spend.tokens_in)} in, "
        f"{tokens(cost.spend.tokens_out)} out"
        if cost.usd or cost.spend.tokens_in
        else "",
        seconds(turn.seconds),
        f"confidence {turn.confidence}" if turn.confidence is not None else "",
        done or " ".join(said.split())[:120],
    ]
    return f"{turn.at:%H:%M:%S} turn {turn.number:>3}  {one_line(' · '.join(part for part in parts if part))}"
