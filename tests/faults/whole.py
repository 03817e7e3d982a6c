"""The whole bot over the local guild, in this process: real threads, loop, store and sockets; a scripted model.

What a task's text says decides what the model does: ``hold`` waits until the test lets go, ``work`` runs a command,
``ask`` asks a person; everything else is answered with its own words.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from agentic.models.scripted.captured_request import CapturedRequest
from agentic.models.scripted.endpoint import ScriptedEndpoint
from agentic.models.scripted.replies import Reply
from agentic.sandbox.backends import selection
from bot.app.app import App, AppHome
from bot.config.settings import Settings
from bot.local_discord.local_discord import LocalGuild
from bot.local_discord.model.records import Message
from tests.integration.bot.whole import tried_once
from tests.waiting import BOUND, eventually


@dataclass
class Mind:
    """What the model does, and what it was asked."""

    go: asyncio.Event = field(default_factory=asyncio.Event)
    asked: list[str] = field(default_factory=list[str])

    async def __call__(self, request: CapturedRequest) -> Reply:
        said = [message.text for message in request.messages if message.role == "user"]
        task = said[0].partition("]\n")[2].partition("\n")[0]
        words = task.split()
        self.asked.append("\n".join(said))
        if "hold" in words and not self.go.is_set():
            await self.go.wait()
        if "work" in words and len(request.messages) == 1:
            return Reply(calls=(("shell", {"command": "echo done > result.txt", "reasoning": "to do it"}),))
        if "ask" in words and len(request.messages) == 1:
            return Reply(calls=(("ask_user", {"question": "Which one?", "options": ["this", "that"]}),))
        if not request.tools:
            return Reply(f"answered <{task}>")
        return Reply(calls=(("finish", {"answer": f"answered <{task}>"}),))


@dataclass
class Whole:
    """The app, the guild it lives in, and the model behind it."""

    app: App
    guild: LocalGuild
    mind: Mind

    @property
    def general(self) -> int:
        return self.guild.channel("general").id

    async def mention(self, text: str, **more: object) -> int:
        """Post a task; its thread's id."""
        posted = await self.guild.post(self.general, f"{self.guild.bot.mention} {text}", **more)  # type: ignore[arg-type]
        return posted.id

    async def until(self, holds: Callable[[], object], what: str = "") -> None:
        """Wait for something that no change of the guild announces."""
        await eventually(holds, what)

    async def state(self, thread: int, wanted: str) -> None:
        """Wait until the thread is in a state."""
        threads = self.app.threads
        await self.until(lambda: threads.state(str(thread)) == wanted, f"{wanted}, it is {threads.state(str(thread))}")

    def said(self, channel: int) -> list[Message]:
        """The bot's messages in a channel."""
        return [m for m in self.guild.messages(channel) if m.author_id == self.guild.bot_user_id and m.content]

    async def seen(self, *messages: Message) -> None:
        """Wait until the bot's sign is on each of these messages."""
        me = self.guild.bot_user_id
        await self.guild.wait_for(
            lambda g: all(me in g.state.find_message(message.id).reactors("👀") for message in messages)
        )

    async def says(self, channel: int, words: str, times: int = 1) -> Message:
        """Wait until the bot has said it so many times; the last of them."""

        def found(_: LocalGuild) -> Message | None:
            try:
                all_of_them = [m for m in self.said(channel) if words in m.content]
            except LookupError:
                return None
            return all_of_them[-1] if len(all_of_them) >= times else None

        try:
            return await self.guild.wait_for(found, BOUND)
        except TimeoutError:
            there = "\n---\n".join(m.content for m in self.said(channel))
            pytest.fail(f"the bot did not say {words!r}; what it said:\n{there}")

    async def logged(self, thread: int, kind: str) -> None:
        """Wait until the thread's newest execution holds an event of a kind."""
        store = self.app.store

        async def there() -> bool:
            rows = await store.executions(str(thread))
            return bool(rows) and kind in [each.event.kind async for each in store.read(rows[-1].execution)]

        await eventually(there, f"{kind} in the log of {thread}")

    async def ended(self, thread: int) -> list[str]:
        """How the thread's executions ended, once nothing runs."""
        await self.app.threads.idle(str(thread))
        return [row.finished for row in await self.app.store.executions(str(thread))]


@asynccontextmanager
async def whole(
    guild: LocalGuild, home: Path, mind: Mind, monkeypatch: pytest.MonkeyPatch, **settings: object
) -> AsyncGenerator[Whole]:
    """Online, with everything from before taken up; closed in order at the end."""
    async with ScriptedEndpoint.start(mind) as endpoint:
        for name, value in endpoint.environment().items():
            monkeypatch.setenv(name, value)
        monkeypatch.setattr(selection, "probe", tried_once)
        chosen = {
            "sandbox": "bubblewrap",
            "tier_2": ("anthropic/claude-haiku-4-5",),
            "drain_seconds": 0.1,
            **settings,
        }
        async with App.open(Settings(home=home, **chosen), AppHome(home), guild=guild) as app:  # type: ignore[arg-type]
            await app.online()
            yield Whole(app, guild, mind)
            mind.go.set()


@pytest.fixture
async def here(guild: LocalGuild, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Whole]:
    """The whole bot in the test's guild."""
    async with whole(guild, tmp_path, Mind(), monkeypatch) as one:
        yield one


async def running(here: Whole, text: str = "hold it") -> int:
    """A task whose model is thinking."""
    thread = await here.mention(text)
    await here.until(lambda: here.mind.asked, "the model is asked")
    await here.says(thread, "Thinking")
    return thread
