"""`threadwright task "TEXT"`: run one task the same way as a mention.

A local guild is started with the bot in it; the text is posted as a person's message, a thread opens, and the command
watches it. There is no second way in, so its output is what people on Discord get: the guild's threads as plain text,
without buttons, which nobody could press there and whose words are in the text.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import shlex
import sys
from collections.abc import Coroutine, Generator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

from agentic.core.events.execution_events import (
    Asked,
    Envelope,
    InboxItem,
    ModelFailed,
    ModelRequested,
    Person,
    ToolStarted,
)
from agentic.core.state.tiers import short
from agentic.ports.errors import AgenticError
from bot.cli.console import (
    NO_WALLS,
    plainly,
    print_to,
)
from bot.cli.life_line import LifeLine
from bot.cli.stop_signals import stop_signals
from bot.cli.task_command.answers import Answers
from bot.config.home import new_task_folder
from bot.config.settings import Settings
from bot.progress.model import Progress
from bot.progress.text import UNANSWERED, progress_text
from bot.workspace.folders import lent

if TYPE_CHECKING:
    from agentic.ports.runtime import Sink
    from bot.app.app import App
    from bot.local_discord import LocalGuild, Message
    from bot.local_discord.model.json_fields import JsonObject


class JsonLines:
    """A sink that prints each event as one line."""

    def __init__(self, out: TextIO) -> None:
        self._out = out

    def saw(self, envelope: Envelope) -> None:
        """Print the event."""
        print_to(self._out, envelope.model_dump_json())

    def streamed(self, execution: str, text: str) -> None:
        """Ignore streamed text."""


class Steps:
    """A sink that says what is waited for, and prints a line when a step begins, if these are ``printed``."""

    def __init__(self, life: LifeLine, *, printed: bool = True) -> None:
        self._life = life
        self._printed = printed
        self._asked = ""
        """The model that was asked and has not said anything yet."""

    def saw(self, envelope: Envelope) -> None:
        """Follow what is done; children count as well."""
        event = envelope.event
        self._asked = short(event.model) if isinstance(event, ModelRequested) else ""
        match event:
            case ModelRequested():
                self._life.now(f"Asked {self._asked}; waiting for its first words")
            case ToolStarted():
                alone = Progress(envelope.execution)
                alone.take(envelope)
                step = plainly(progress_text(alone).partition("\n")[0])
                if self._printed:
                    self._life.note(step)
                self._life.now(step)
            case ModelFailed():
                self._life.now(f"Trying the model again: {UNANSWERED.get(event.failure, 'it gave no answer')}")
            case _:
                self._life.now("Working")

    def streamed(self, execution: str, text: str) -> None:
        """Note a model's first words."""
        if self._asked:
            self._life.now(f"{self._asked} answers")
            self._asked = ""


def as_people_see_it(guild: LocalGuild) -> str:
    """Return every message of every thread, oldest first."""
    parts: list[str] = []
    for thread in guild.threads():
        parts.append(f"# {thread.name}")
        parts += [_message(guild, message) for message in guild.messages(thread.id)]
    return "\n\n".join(part for part in parts if part)


def _message(guild: LocalGuild, message: Message) -> str:
    lines = [message.content] if message.content else []
    lines += [_embed(embed) for embed in message.embeds]
    lines += [f"[file] {file.filename} ({file.size} bytes)" for file in message.attachments]
    lines += [" ".join(reaction.emoji for reaction in message.reactions)] if message.reactions else []
    body = "\n".join(line for line in lines if line)
    return f"{guild.state.member(message.author_id).name}: {plainly(body)}" if body else ""


def _embed(embed: JsonObject) -> str:
    parts = [embed.get("title"), embed.get("description")]
    footer = embed.get("footer")
    parts.append(footer.get("text") if isinstance(footer, dict) else None)
    return "\n".join(str(part) for part in parts if part)


DONE, FAILED, ASKING, STOPPED = 0, 1, 2, 3
UNCONFIGURED = 64
"""The exit code of mistakes in the settings: nothing was begun."""
MESSAGE_CHARACTERS = 1_900
"""Room in a message beside the mention; a longer task is sent as a file, as Discord's own client does."""
BEGIN_SECONDS = 60.0
STOP_SECONDS = 60.0
"""How long its end is waited for; whoever does not want to wait sends the signal again."""
ANSWER_LOOKS, LOOK_SECONDS = 600, 0.05
"""How often, and how many seconds apart, it is looked whether an answer was taken."""
TIMED_OUT = "the time limit ended it"
NOBODY = Person(id="0", name="the time-out", level="operator")
"""The author of a stop by time-out."""


@dataclass(frozen=True, slots=True)
class TaskOrder:
    """The command's arguments."""

    text: str
    folder: Path | None = None
    as_json: bool = False
    timeout: float | None = None
    answers: tuple[str, ...] = ()
    yes: bool = False
    """Whether every approval is given."""


async def task(settings: Settings, order: TaskOrder, life: LifeLine) -> int:
    """Run the task; the exit code says how it ended. Without a model nothing begins: a script cannot use a tour."""
    from bot.config.models import NO_MODEL, has_model, models_from, prices_from, usual_start

    if not has_model(settings, os.environ):
        life.note(f"Nothing was started. {NO_MODEL}")
        return UNCONFIGURED
    if settings.sandbox == "host":
        life.note(NO_WALLS)
    stopped = asyncio.Event()
    with stop_signals(stopped), _pure_standard_output() as out, lent(order.folder):
        tiers = models_from(settings, os.environ, prices_from(settings)).tiers
        model = next(short(tier.models[0]) for tier in tiers if tier.number == usual_start(tiers))
        life.now(f"Starting: sandbox, model {model}", printed=True)
        from bot.app.app import App, AppHome
        from bot.local_discord import LocalGuild

        async with await LocalGuild.start() as guild:
            home = new_task_folder(settings.home, datetime.now(UTC))
            answers = Answers(order.answers, yes=order.yes)
            place = AppHome(home, bound=order.folder, attended=answers.possible, recovers=False)
            steps = Steps(life, printed=not order.as_json)
            sinks: tuple[Sink, ...] = (JsonLines(out), steps) if order.as_json else (steps,)
            async with App.open(settings, place, guild=guild, sinks=sinks) as app:
                if not await app.online(stopped) or not await _unless(stopped, _choose_sandbox(app)):
                    return STOPPED
                watch = _Watch(app, guild, order, answers, stopped, life)
                code = await watch.follow()
                if not order.as_json:
                    print_to(out, f"{as_people_see_it(guild)}\n\n{await watch.left_behind(home)}")
                if code == ASKING:
                    life.note(watch.how_to_answer(home))
                return code


async def _choose_sandbox(app: App) -> None:
    with contextlib.suppress(AgenticError):  # without a sandbox the thread itself says so
        await app.workshop.choice()


async def _unless(stopped: asyncio.Event, work: Coroutine[None, None, None]) -> bool:
    """Do the work; False where a stop came first and called it off."""
    working, stop = asyncio.create_task(work), asyncio.create_task(stopped.wait())
    try:
        await asyncio.wait((working, stop), return_when=asyncio.FIRST_COMPLETED)
        if working.done():
            working.result()
            return True
        return False
    finally:
        working.cancel()
        stop.cancel()
        await asyncio.gather(working, stop, return_exceptions=True)


class _Watch:
    """Posts the task, answers what it asks, and waits for its end, a stop or the time-out."""

    def __init__(
        self, app: App, guild: LocalGuild, order: TaskOrder, answers: Answers, stopped: asyncio.Event, life: LifeLine
    ) -> None:
        self._app = app
        self._guild = guild
        self._order = order
        self._answers = answers
        self._stopped = stopped
        self._life = life
        self._thread = ""

    async def follow(self) -> int:
        """Wait for the end; returns the exit code."""
        message = await self._post()
        self._thread = thread = str(message)
        limit = asyncio.timeout(self._order.timeout)
        try:
            async with limit:
                return await self._until_settled(message, thread)
        except TimeoutError:
            if not limit.expired():
                raise
            await self._end(thread)
            self._life.note(f"Not done after {self._order.timeout:g} s: {TIMED_OUT}.")
            return FAILED

    async def left_behind(self, home: Path) -> str:
        """Say where the files are, and how to call `replay`."""
        lines: list[str] = []
        if self._order.folder is None and (folder := self._workspace(home)).is_dir():
            lines.append(f"Files: {folder}")
        if execution := (await self._app.threads.status(self._thread)).execution:
            forgotten = self._app.settings.store == "memory"
            lines.append(f"Task: {execution}" + ("" if forgotten else f" (threadwright replay {execution})"))
        return "\n".join(lines)

    def how_to_answer(self, home: Path) -> str:
        """Say what can be done about an open question, since an ended process cannot be answered."""
        folder = self._order.folder or self._workspace(home)
        again = f" with --dir {shlex.quote(str(folder))}" if folder.is_dir() else ""
        return (
            f"It's waiting for an answer. Run it again{again} with the answer: --answer TEXT, or --answer - to read "
            "standard input, or --yes to allow every step that needs approval. Or use `threadwright run`, where you "
            "can answer."
        )

    def _workspace(self, home: Path) -> Path:
        return home / "workspaces" / self._thread

    async def _post(self) -> int:
        text = self._order.text
        files: list[tuple[str, bytes]] = []
        if len(text) > MESSAGE_CHARACTERS:
            files, text = [("task.md", text.encode())], "Do what the attached task.md asks for."
        posted = await self._guild.post(self._guild.channel().id, f"{self._guild.bot.mention} {text}", files=files)
        return posted.id

    async def _until_settled(self, message: int, thread: str) -> int:
        if not await _unless(self._stopped, self._work(thread)):
            self._life.now("Stopping", printed=True)
            await self._guild.react(message, "🛑")  # as a person would
            await self._idle(thread)
        self._life.now("Ending")
        return await self._verdict(thread)

    async def _work(self, thread: str) -> None:
        """Wait for the end, or for a question that there is no answer to."""
        with contextlib.suppress(TimeoutError):
            await self._guild.wait_for(lambda _: self._app.threads.took_up(thread), BEGIN_SECONDS)
        while True:
            await self._app.threads.settled(thread)
            asked = (await self._app.threads.status(thread)).asked
            if asked is None:
                return
            self._life.now("")  # it waits for a person
            if (answer := await self._answers.to(asked)) is None:
                return
            await self._app.delivered(thread)
            await self._answer(int(thread), asked, answer)

    async def _answer(self, thread: int, asked: Asked, answer: str) -> None:
        """Answer as a person would: press the option's button, or write the words; then wait until it is taken."""
        numbers = [number for number, option in enumerate(asked.options) if option.id == answer]
        wanted = f"tw:ask:{asked.question}:{numbers[0]}:" if numbers else ""
        for message in self._guild.messages(thread):
            for custom_id in message.custom_ids():
                if wanted and custom_id.startswith(wanted):
                    await self._guild.click(message.id, custom_id)
                    return await self._taken(str(thread), asked)
        await self._guild.post(thread, answer)
        return await self._taken(str(thread), asked)

    async def _taken(self, thread: str, asked: Asked) -> None:
        for _ in range(ANSWER_LOOKS):
            if (await self._app.threads.status(thread)).question != asked.question:
                return
            await asyncio.sleep(LOOK_SECONDS)
        self._life.note("The answer was not accepted in time.")

    async def _end(self, thread: str) -> None:
        """Stop because of the time-out."""
        at = datetime.now(UTC)
        id = f"timeout{thread}.{at:%H%M%S%f}"
        stop = InboxItem(id=id, thread=thread, sort="stop", author=NOBODY, at=at)
        await self._app.threads.deliver(stop, guild=str(self._guild.guild_id))
        await self._idle(thread)

    async def _idle(self, thread: str) -> None:
        try:
            async with asyncio.timeout(STOP_SECONDS):
                await self._app.threads.idle(thread)
        except TimeoutError:
            self._life.note("The task did not stop in time.")

    async def _verdict(self, thread: str) -> int:
        status = await self._app.threads.status(thread)
        await self._app.delivered(thread)
        if status.state == "asking":
            return ASKING
        if not status.execution:
            if self._stopped.is_set():
                return STOPPED  # it was called off before it began
            self._life.note("The bot didn't start the task. `threadwright doctor` shows what is missing.")
        return {"done": DONE, "stopped": STOPPED}.get(status.finished, FAILED)


@contextmanager
def _pure_standard_output() -> Generator[TextIO]:
    """Reserve standard output for results: whatever a library prints goes to standard error."""
    sys.stdout.flush()
    real = os.dup(1)
    os.dup2(2, 1)
    try:
        with os.fdopen(real, "w", encoding="utf-8") as out:
            yield out
            out.flush()
            os.dup2(out.fileno(), 1)
    finally:
        sys.stdout.flush()
