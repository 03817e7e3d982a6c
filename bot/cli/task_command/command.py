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
import signal
import sys
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

from agentic.core.events.execution_events import Asked, Envelope, InboxItem, Person, ToolStarted
from agentic.ports.errors import AgenticError
from bot.cli.console import (
    NO_WALLS,
    fail,
    note,
    plainly,
    print_to,
)
from bot.cli.task_command.answers import Answers
from bot.config.home import new_task_folder
from bot.config.settings import Settings
from bot.progress.model import Progress
from bot.progress.text import progress_text
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
    """A sink that prints a line when a step begins."""

    def __init__(self, out: TextIO) -> None:
        self._out = out

    def saw(self, envelope: Envelope) -> None:
        """Print the event if it is a step."""
        if isinstance(envelope.event, ToolStarted):
            alone = Progress(envelope.execution)
            alone.take(envelope)
            with contextlib.suppress(OSError):
                self._out.write(plainly(progress_text(alone).partition("\n")[0]) + "\n")
                self._out.flush()

    def streamed(self, execution: str, text: str) -> None:
        """Ignore streamed text."""


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
STOP_SECONDS = 10.0
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


async def task(settings: Settings, order: TaskOrder) -> int:
    """Run the task; the exit code says how it ended. Without a model nothing begins: a script cannot use a tour."""
    from bot.config.models import NO_MODEL, has_model

    if not has_model(settings, os.environ):
        note(f"Nothing was started. {NO_MODEL}")
        return UNCONFIGURED
    if settings.sandbox == "host":
        note(NO_WALLS)
    from bot.app.app import App, AppHome
    from bot.local_discord import LocalGuild

    with _pure_standard_output() as out, lent(order.folder):
        async with await LocalGuild.start() as guild:
            home = new_task_folder(settings.home, datetime.now(UTC))
            answers = Answers(order.answers, yes=order.yes)
            place = AppHome(home, bound=order.folder, attended=answers.possible, recovers=False)
            sinks: tuple[Sink, ...] = (JsonLines(out),) if order.as_json else (Steps(sys.stderr),)
            async with App.open(settings, place, guild=guild, sinks=sinks) as app:
                await app.online()
                with contextlib.suppress(AgenticError):  # without a sandbox the thread itself says so
                    await app.workshop.choice()
                watch = _Watch(app, guild, order, answers)
                code = await watch.follow()
                if not order.as_json:
                    print_to(out, f"{as_people_see_it(guild)}\n\n{await watch.left_behind(home)}")
                if code == ASKING:
                    note(watch.how_to_answer(home))
                return code


class _Watch:
    """Posts the task, answers what it asks, and waits for its end, Ctrl-C or the time-out."""

    def __init__(self, app: App, guild: LocalGuild, order: TaskOrder, answers: Answers) -> None:
        self._app = app
        self._guild = guild
        self._order = order
        self._answers = answers
        self._interrupted = asyncio.Event()
        self._thread = ""

    async def follow(self) -> int:
        """Wait for the end; returns the exit code."""
        message = await self._post()
        self._thread = thread = str(message)
        asyncio.get_running_loop().add_signal_handler(signal.SIGINT, self._interrupted.set)
        limit = asyncio.timeout(self._order.timeout)
        try:
            async with limit:
                return await self._until_settled(message, thread)
        except TimeoutError:
            if not limit.expired():
                raise
            await self._end(thread)
            return fail(f"Not done after {self._order.timeout:g} s: {TIMED_OUT}.")
        finally:
            asyncio.get_running_loop().remove_signal_handler(signal.SIGINT)

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
        try:
            await self._guild.wait_for(lambda _: self._app.threads.took_up(thread), BEGIN_SECONDS)
        except TimeoutError:
            return fail("The bot didn't start the task. `threadwright doctor` shows what is missing.")
        worked = asyncio.create_task(self._work(thread))
        interrupted = asyncio.create_task(self._interrupted.wait())
        try:
            await asyncio.wait((worked, interrupted), return_when=asyncio.FIRST_COMPLETED)
            if worked.done():
                worked.result()
            else:
                note("Stopping …")
                await self._stop(message, thread)
            return await self._verdict(thread)
        finally:
            worked.cancel()
            interrupted.cancel()
            await asyncio.gather(worked, interrupted, return_exceptions=True)

    async def _work(self, thread: str) -> None:
        """Wait for the end, or for a question that there is no answer to."""
        while True:
            await self._app.threads.settled(thread)
            asked = (await self._app.threads.status(thread)).asked
            if asked is None or (answer := await self._answers.to(asked)) is None:
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
        note("The answer was not accepted in time.")

    async def _stop(self, message: int, thread: str) -> None:
        """Stop as a person would: 🛑 on the task's message."""
        await self._guild.react(message, "🛑")
        await self._idle(thread)

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
            note("The task did not stop in time.")

    async def _verdict(self, thread: str) -> int:
        status = await self._app.threads.status(thread)
        await self._app.delivered(thread)
        if status.state == "asking":
            return ASKING
        if self._interrupted.is_set() and not status.execution:
            return STOPPED  # it was called off before it began
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
