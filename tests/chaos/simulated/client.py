"""The edge of discord.py as a simulated process sees it: requests that take time, fail, or whose answer is lost.

``bot/outbound/discord_api.py`` and ``bot/outbound/request_queue.py`` are the real ones; this gives them a client
with the few methods they use.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
from types import SimpleNamespace
from typing import Any, TypeVar

import discord
from discord.utils import MISSING

from tests.chaos.simulated.place import BOT, PARENT, Guild, Message, Refusal
from tests.chaos.simulated.town import Town
from tests.chaos.simulated.virtual import now

T = TypeVar("T")
Cross = Callable[[str], Awaitable[None]]


def refused(status: int, code: int, text: str) -> discord.HTTPException:
    """What discord.py raises for such an answer."""
    kind = {403: discord.Forbidden, 404: discord.NotFound}.get(status, discord.HTTPException)
    if status >= 500:
        kind = discord.DiscordServerError
    response = SimpleNamespace(status=status, reason=text, headers={})
    return kind(response, {"code": code, "message": text})


class Client:
    """What ``Desk`` needs of a ``discord.Client``."""

    def __init__(self, guild: Guild, cross: Cross) -> None:
        self.guild, self.town = guild, guild.town
        self.user = SimpleNamespace(id=BOT)
        self._cross = cross
        self._dice = self.town.dice("rest")

    def get_channel(self, id: int) -> Parent | None:
        """Only the channel is known; threads are asked for by their ids."""
        return Parent(self) if str(id) == PARENT else None

    def get_partial_messageable(self, id: int) -> Channel:
        """A channel by its id alone."""
        return Channel(self, str(id))

    async def fetch_channel(self, id: int) -> Thread:
        """A thread."""
        return await self.request("fetch", lambda: Thread(self, str(id)))

    async def request(self, kind: str, act: Callable[[], T]) -> T:
        """One request: on its way, done at one moment, and answered."""
        await self._cross(f"before the request to {kind}")
        await asyncio.sleep(self._dice.uniform(0.02, 0.15))
        await self._on_the_way(kind)
        try:
            done = act()
        except Refusal as refusal:
            raise refused(refusal.status, refusal.code, refusal.text) from None
        await self._cross(f"after the request to {kind}")
        await self._on_the_way_back(kind)
        return done

    async def _on_the_way(self, kind: str) -> None:
        town: Town = self.town
        if now() < self.guild.down_until or town.strikes("rest_503"):
            raise refused(503, 0, "Service Unavailable")
        if town.strikes("rest_limited"):
            raise discord.RateLimited(self._dice.uniform(0.2, 5.0))
        if town.strikes("rest_reset"):
            raise ConnectionResetError(104, "Connection reset by peer")
        if town.strikes("rest_slow"):
            await asyncio.sleep(self._dice.uniform(1.0, 8.0))
        if town.strikes("rest_hangs"):
            await asyncio.sleep(20.0)
            raise TimeoutError

    async def _on_the_way_back(self, kind: str) -> None:
        await asyncio.sleep(self._dice.uniform(0.01, 0.08))
        if self.town.strikes("rest_answer_lost", 4.0 if kind == "post" else 0.5):
            self.town.tell(f"FAULT rest_answer_lost: the {kind} was done, its answer is lost")
            if self._dice.random() < 0.5:
                await asyncio.sleep(20.0)
                raise TimeoutError
            raise ConnectionResetError(104, "Connection reset by peer")


class Channel:
    """A channel or thread."""

    def __init__(self, client: Client, id: str) -> None:
        self.client, self.place = client, id

    async def send(
        self,
        content: str = "",
        *,
        nonce: str,
        view: Any = MISSING,
        files: Iterable[discord.File] = (),
        reference: discord.MessageReference | None = None,
        **_: object,
    ) -> SimpleNamespace:
        """Create Message, with ``enforce_nonce`` as discord.py sets it."""
        texts = [file.fp.read().decode("utf-8", "replace") for file in files]
        buttons = _buttons(view)
        reply = (reference.message_id if reference is not None else 0) or 0
        made = await self.client.request(
            "post", lambda: self.client.guild.post(self.place, content, nonce, buttons, texts, reply)
        )
        return SimpleNamespace(id=made)

    def get_partial_message(self, id: int) -> Partial:
        """A message by its id alone."""
        return Partial(self.client, id)

    async def history(self, limit: int) -> AsyncIterator[SimpleNamespace]:
        """The newest first."""
        guild = self.client.guild
        found = await self.client.request(
            "look", lambda: [m for m in guild.messages.values() if m.channel == self.place and not m.deleted][-limit:]
        )
        for message in reversed(found):
            yield _seen(message)


class Partial:
    """A message by its id alone."""

    def __init__(self, client: Client, id: int) -> None:
        self._client, self._id = client, id

    async def edit(self, *, content: Any = MISSING, view: Any = MISSING) -> None:
        """Edit Message."""
        text = None if content is MISSING else content
        buttons = None if view is MISSING else _buttons(view)
        await self._client.request("edit", lambda: self._client.guild.edit(self._id, text, buttons))

    async def fetch(self) -> SimpleNamespace:
        """The message as it stands."""
        return await self._client.request("fetch", lambda: _seen(self._client.guild.messages[self._id]))

    async def add_reaction(self, emoji: str) -> None:
        """A sign of the bot's own; it means nothing to anybody here, and stands for a receipt in words."""
        await self._client.request("react", lambda: self._client.guild.signed.add(self._id))

    async def create_thread(self, *, name: str) -> None:
        """Start Thread from Message."""
        self._client.guild.shown.append(name)
        await self._client.request("thread", lambda: self._client.guild.open_thread(self._id))


class Parent(Channel, discord.TextChannel):
    """The channel, of the class that ``Desk`` asks for."""

    def __init__(self, client: Client) -> None:
        Channel.__init__(self, client, PARENT)


class Thread(Channel, discord.Thread):
    """The same for a thread."""

    async def edit(self, *, archived: bool) -> None:
        """Modify Channel."""
        await self.client.request("edit", lambda: self.client.guild.archived.discard(self.place))


def _buttons(view: Any) -> tuple[str, ...]:
    if view is MISSING or view is None:
        return ()
    return tuple(filter(None, (getattr(child, "custom_id", None) for child in view.children)))


def _seen(message: Message) -> SimpleNamespace:
    row = SimpleNamespace(children=[SimpleNamespace(custom_id=one) for one in message.buttons])
    return SimpleNamespace(
        id=message.id,
        content=message.content,
        author=SimpleNamespace(id=message.author),
        components=[row],
        type=discord.MessageType.reply if message.reply_to else discord.MessageType.default,
        reference=SimpleNamespace(message_id=message.reply_to) if message.reply_to else None,
        attachments=[None] * message.files,
    )
