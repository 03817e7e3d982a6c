"""Traces the way of one mention through the product, from the gateway to the first request of a model.

The bot runs whole, in this process, over loopback sockets.  A first mention warms it up; the second one is traced with
``sys.setprofile``.  Counted is what runs because of it: tasks inherit a context variable that is set where discord.py
dispatches the message.
"""

from __future__ import annotations

import asyncio
import os
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from types import FrameType
from unittest import mock

from discord.ext.commands.bot import BotBase

from agentic.models.scripted.captured_request import CapturedRequest
from agentic.models.scripted.endpoint import ScriptedEndpoint
from agentic.models.scripted.replies import Reply
from bot.app.app import App, AppHome
from bot.config.settings import Settings
from bot.local_discord.local_discord import LocalGuild

SECONDS = 60.0
PRODUCT = ("agentic", "bot", "reflexion")
APART = "bot.local_discord"
"""Stands for Discord itself, and runs in the same process only here."""
SCRIPTED = "agentic.models.scripted"
MARK = "This one is traced"

_traced = ContextVar("traced", default=False)


@dataclass
class MentionPath:
    """The modules that were entered, in order of the first visit, and how often a call went from one of the three
    distributions (bot, agentic, reflexion) into another."""

    modules: dict[str, None] = field(default_factory=dict[str, None])
    crossings: int = 0
    last: str = ""

    @property
    def changes(self) -> int:
        """How often the next module stands in another package than the one before."""
        packages = [module.rpartition(".")[0] for module in self.modules]
        return sum(one != other for one, other in pairwise(packages))

    def enter(self, frame: FrameType, event: str, _: object) -> None:
        """Note a call; for ``sys.setprofile``."""
        if event == "call" and _traced.get():
            module = str(frame.f_globals.get("__name__", ""))
            if module.partition(".")[0] in PRODUCT and not module.startswith((APART, SCRIPTED)):
                self.modules.setdefault(module)
                self.crossings += bool(self.last) and self.last.partition(".")[0] != module.partition(".")[0]
                self.last = module


async def trace_mention() -> MentionPath:
    """Run a bot in a folder of its own, and trace its second mention.  Raises ``TimeoutError`` after 40 s."""
    path = MentionPath()
    asked = asyncio.Event()

    def answer(request: CapturedRequest) -> Reply:
        if MARK in request.text() and not asked.is_set():
            sys.setprofile(None)
            asked.set()
        return Reply(calls=(("finish", {"answer": "It is done."}),))

    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder)
        async with ScriptedEndpoint.start(answer) as endpoint, await LocalGuild.start() as guild:
            with mock.patch.dict(os.environ, endpoint.environment()):
                chosen = {
                    "home": home,
                    "tier_2": ("anthropic/claude-haiku-4-5",),
                    "sandbox": "host",
                    "embeddings": "off",
                }
                settings = Settings(_env_file=None, **chosen)  # type: ignore[call-arg, arg-type]
                async with App.open(settings, AppHome(home), guild=guild) as app, asyncio.timeout(SECONDS):
                    await app.online()
                    first = await guild.post(guild.channel().id, f"{guild.bot.mention} Write the file a.txt")
                    while not await app.store.executions(str(first.id)):
                        await asyncio.sleep(0.02)
                    await app.threads.idle(str(first.id))
                    with _dispatch_traced(path):
                        await guild.post(guild.channel().id, f"{guild.bot.mention} {MARK}: write the file b.txt")
                        await asked.wait()
    return path


@contextmanager
def _dispatch_traced(path: MentionPath) -> Iterator[None]:
    """Mark everything that discord.py starts with the message."""
    dispatch = BotBase.dispatch

    def marked(client: BotBase, event: str, /, *args: object, **kwargs: object) -> None:
        if event != "message" or MARK not in getattr(args[0], "content", ""):
            dispatch(client, event, *args, **kwargs)
            return
        sys.setprofile(path.enter)
        token = _traced.set(True)
        try:
            dispatch(client, event, *args, **kwargs)
        finally:
            _traced.reset(token)

    with mock.patch.object(BotBase, "dispatch", marked):
        yield
