"""The console as a child of the bot: started once the bot is online, started again if it dies, ended with the bot.

It talks over one end of a pair of sockets and ends by itself when the other end is closed, so that it never outlives the
bot, however that ends. The bot works the same where the console does not.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import socket
import sys
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import cast
from urllib.parse import urlsplit

import orjson

from bot.config.settings import Settings
from bot.console.bot_channel import ACTS, AT_ONCE, LINE_BYTES
from bot.rendering.console_links import ConsoleLinks

TRIES = 5
"""So often it is started again if it dies soon."""
STEADY_SECONDS = 60.0
FIRST_PAUSE, LONGEST_PAUSE = 0.25, 30.0
END_SECONDS = 1.0
FAULT = "That didn't work, by a fault of ours. The bot's log says more."
BUSY = "Too much is being done now, so nothing was done. Try again in a moment."
_ROOT = Path(__file__).parents[3]

log = logging.getLogger(__name__)


class ConsoleHost:
    """Keeps a console for as long as ``run`` runs; ``links`` say where it is, and ``settled`` that this is known.

    ``variables``: settings that it gets beside those of the environment.
    """

    def __init__(
        self, settings: Settings, links: ConsoleLinks,
        answer: Callable[[Mapping[str, object]], Awaitable[Mapping[str, object]]],
        found: Callable[[str], Awaitable[None]],
        variables: Mapping[str, str] | None = None,
    ) -> None:  # fmt: skip
        self._settings, self._links, self._answer, self._found = settings, links, answer, found
        self._variables = variables or {}
        self.settled = asyncio.Event()
        """It listens, or it will not."""
        self.trouble = ""
        """Why there is no console although it is wanted, and what to do."""
        self._port = 0

    async def run(self) -> None:
        """Start it, and again if it dies, until cancelled or until it is of no use."""
        loop, pause, tries = asyncio.get_running_loop(), FIRST_PAUSE, 0
        try:
            while not self.trouble:
                began = loop.time()
                try:
                    code = str(await self._once())
                except OSError as error:  # no process or no descriptor is left just now
                    code = str(error)
                if self.trouble:
                    break
                if loop.time() - began > STEADY_SECONDS:
                    pause, tries = FIRST_PAUSE, 0
                tries += 1
                if tries > TRIES:
                    self.trouble = (
                        f"it ended {tries} times soon after its start; `threadwright console` shows why. Then restart "
                        "the bot, which works without it"
                    )
                    break
                log.warning("the console ended with %s and is started again in %.1f s", code, pause)
                await asyncio.sleep(pause)
                pause = min(pause * 4, LONGEST_PAUSE)
            log.warning("there is no console: %s", self.trouble)
            self._links.url = ""
            await self._found("")
        finally:
            self.settled.set()

    async def _once(self) -> int:
        """Start it and answer it until it ends; its exit code."""
        ours, theirs = socket.socketpair()
        with theirs:
            try:
                process = await self._spawned(theirs.fileno())
            except BaseException:
                ours.close()
                raise
        reader, writer = await asyncio.open_connection(sock=ours, limit=LINE_BYTES)
        try:
            await self._talk(reader, writer)
            return await process.wait()
        finally:
            writer.close()
            await asyncio.shield(_ended(process))

    async def _spawned(self, descriptor: int) -> asyncio.subprocess.Process:
        settings = self._settings
        file = ("--env-file", str(settings.env_file)) if settings.env_file else ()
        return await asyncio.create_subprocess_exec(
            sys.executable, "-P", "-m", "bot.cli.main", *file, "console", "--channel", str(descriptor),
            "--port", str(self._port),
            env={**os.environ, "PYTHONPATH": str(_ROOT), "THREADWRIGHT_HOME": str(settings.home), **self._variables},
            stdin=asyncio.subprocess.DEVNULL, stdout=asyncio.subprocess.DEVNULL, pass_fds=(descriptor,),
            start_new_session=True,
        )  # fmt: skip

    async def _talk(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Answer questions, many at once, until the other end is closed.

        Acts have places of their own. The console sends no more than there are, but what it gave up may still go on here:
        then that is said at once, so that the questions behind it are heard.
        """
        room, acts = asyncio.Semaphore(AT_ONCE), asyncio.Semaphore(AT_ONCE)
        try:
            async with asyncio.TaskGroup() as answers:
                while line := await reader.readline():
                    asked = cast("dict[str, object]", orjson.loads(line))
                    place = acts if asked.get("ask") in ACTS else room
                    if place.locked():
                        await _send(writer, asked, {"words": BUSY})
                        continue
                    await place.acquire()
                    task = answers.create_task(self._answered(asked, writer))
                    task.add_done_callback(lambda _, place=place: place.release())
        except* (OSError, ValueError) as broken:
            log.warning("the channel to the console broke: %s", broken.exceptions[0])

    async def _answered(self, asked: Mapping[str, object], writer: asyncio.StreamWriter) -> None:
        answer: Mapping[str, object] = {}
        try:
            if asked.get("ask") == "listens":
                await self._listens(str(asked.get("url", "")), str(asked.get("trouble", "")))
            else:
                answer = await self._answer(asked)
        except Exception:  # one answer that failed must not be the last one
            log.exception("a fault of ours: the console asked %r", asked.get("ask"))
            answer = {"words": FAULT}
        await _send(writer, asked, answer)

    async def _listens(self, at: str, trouble: str) -> None:
        self.trouble = trouble
        if at:
            self._port = urlsplit(at).port or 0
            self._links.url = self._settings.console_url or at
        self.settled.set()
        if at:
            await self._found(self._links.url)


async def _send(writer: asyncio.StreamWriter, asked: Mapping[str, object], answer: Mapping[str, object]) -> None:
    with contextlib.suppress(OSError):
        writer.write(orjson.dumps({"id": asked.get("id"), **answer}) + b"\n")
        await writer.drain()


async def _ended(process: asyncio.subprocess.Process) -> None:
    """Let it end by itself for a moment, then end it: it keeps nothing that could be lost."""
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(END_SECONDS):
            await process.wait()
            return
    with contextlib.suppress(ProcessLookupError):
        process.kill()
    await process.wait()
