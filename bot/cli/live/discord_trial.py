"""Discord for real: a thread, a card, a button, 🛑, edits; posted as tasks post, and cleaned up."""

from __future__ import annotations

import asyncio
import json
import secrets
import time
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any, cast

import discord

from agentic.core.events.execution_events import OutboxItem
from bot.app.client import intents
from bot.app.discord_connection import INTENT, raise_why
from bot.cli.checks import discord_token
from bot.cli.console import note
from bot.cli.live.sandbox_trial import COMMAND, stopped, trial_sandbox
from bot.cli.live.trials import NotTried, StepFailed, Trials
from bot.cli.live.wire_record import RecordingRelay, WireRecord
from bot.config.settings import Settings
from bot.inbound.emoji import STOP, normalised
from bot.local_discord.redirect import attach_over_http
from bot.outbound.discord_api import DiscordApi, Post, nonce_of
from bot.outbound.request_queue import Sender
from bot.rendering.answer_card import carded, words_of
from bot.rendering.custom_ids import CONTROLS, Press
from bot.rendering.secrets import Discretion

DISCORD = str(Settings.model_fields["discord_api"].default)
CONNECT_SECONDS = 60.0
CHANNEL = "in Discord: User Settings → Advanced → Developer Mode, then right-click the channel → Copy Channel ID"
AGAIN = "run it again and do what the thread asks for"
RUNS_ELSEWHERE = "is the bot running with this token? Stop it while this runs"
_OURS = ("id", "channel_id", "message_id")


class TrialClient(discord.Client):
    """Hears what happens in one thread; writes what Discord tells of it into a record."""

    def __init__(self, record: WireRecord | None) -> None:
        discord.VoiceClient.warn_nacl = discord.VoiceClient.warn_dave = False  # it never speaks
        self.sender = Sender()
        super().__init__(
            intents=intents(), max_messages=None, allowed_mentions=discord.AllowedMentions.none(),
            chunk_guilds_at_startup=False, enable_debug_events=record is not None, http_trace=self.sender.trace(),
        )  # fmt: skip
        self.thread = ""
        self._record = record

    async def setup_hook(self) -> None:
        """Buttons are passed on as they are in the bot."""
        self.add_dynamic_items(*CONTROLS)

    async def on_socket_raw_receive(self, text: str) -> None:
        """Write down what is about the thread."""
        told = cast("dict[str, Any]", json.loads(text))
        if self._record is None or told["op"] != 0 or not self.thread:
            return
        if any(told["d"].get(name) == self.thread for name in _OURS):
            self._record.event(told["t"], told["d"])

    async def run_beside(self, token: str) -> asyncio.Task[None]:
        """Connect, and return the task that holds the connection. Raises why Discord does not let it in."""
        await self.login(token)
        connection = asyncio.create_task(self.connect(), name="connection")
        ready = asyncio.create_task(self.wait_until_ready())
        try:
            await asyncio.wait((connection, ready), timeout=CONNECT_SECONDS, return_when=asyncio.FIRST_COMPLETED)
            if connection.done():
                raise_why(connection)
            if not ready.done():
                raise TimeoutError
        finally:
            ready.cancel()
        return connection


async def try_discord(
    trials: Trials, settings: Settings, relay: RecordingRelay | None, channel: int, patience: float
) -> None:
    """Take the steps in this channel; a person has so many seconds for their part of one."""
    if settings.discord_token is None or not channel:
        missing = "DISCORD_TOKEN is not set" if settings.discord_token is None else "no channel is named"
        todo = "run `threadwright setup`" if settings.discord_token is None else f"add --channel ID; {CHANNEL}"
        trials.leave_out("Discord", missing, todo)
        return
    makes = (
        f"makes a message and a thread in channel {channel}, asks you to press, react, write and edit there, and "
        "takes all of it away. Costs nothing. Stop the bot first if it runs with this token."
    )
    if not await trials.begin("Discord", makes):
        return
    token = settings.discord_token.get_secret_value()
    found = await discord_token.check(token, settings.discord_api)
    wrong = next((each for each in found.findings if each.verdict not in ("ok", "warning")), None)
    if wrong is not None:
        trials.show(wrong.name, "missing" if wrong.verdict == "wrong" else "unknown", wrong.said, wrong.todo)
        return
    api = relay.to(settings.discord_api) if relay is not None else settings.discord_api
    detach = await attach_over_http(api, token) if api != DISCORD else lambda: None
    client = TrialClient(trials.record)
    talk = _Talk(trials, settings, client, channel, patience)
    try:
        async with client:
            try:
                if await trials.step("connection", talk.connect(token)):
                    await talk.through()
            finally:
                await trials.clean_up()
                if talk.connection is not None:
                    await client.close()
                    await asyncio.wait((talk.connection,))
    finally:
        detach()


@dataclass(slots=True)
class _Talk:
    """The steps, in the order in which each needs those before it."""

    trials: Trials
    settings: Settings
    client: TrialClient
    channel: int
    patience: float
    mark: str = field(default_factory=lambda: secrets.token_hex(4))
    connection: asyncio.Task[None] | None = None
    _desk: DiscordApi = field(init=False)
    _thread: str = ""
    _card: str = ""
    _posts: int = 0

    def __post_init__(self) -> None:
        self._desk = DiscordApi(self.client, self.client.sender, Discretion(self.settings.secrets))

    async def connect(self, token: str) -> str:
        """Log in and open the gateway."""
        self.connection = await self.client.run_beside(token)
        return f"logged in as {self.client.user}"

    async def through(self) -> None:
        """Everything that happens in the thread."""
        step = self.trials.step
        if not await step("thread", self._open()):
            return
        await step("card", self._show_card())
        await step("edit by the bot", self._edit())
        if self._card:
            await step("button", self._press())
        await step("🛑", self._stop())
        await step("message and edit of yours", self._person_edits())

    # --- the steps ------------------------------------------------------------------------------------------------

    async def _open(self) -> str:
        channel = self.client.get_channel(self.channel)
        if not isinstance(channel, discord.TextChannel):
            raise StepFailed(
                f"the bot sees no text channel {self.channel}",
                f"check the id ({CHANNEL}), and let the bot view it",
            )
        start = await self._post(str(channel.id), "🩺 `threadwright doctor --live` tries Discord in this thread.")
        where = f"in #{channel.name}"
        self.trials.later(
            "the message", lambda: self._deleted(channel, start), f"delete the message of `doctor --live` {where}"
        )
        self._thread = self.client.thread = start  # a thread has the id of the message that it is made from
        self.trials.later(
            "the thread", lambda: self._closed(channel), f"delete the thread “threadwright doctor {self.mark}” {where}"
        )
        await self._desk.open_thread(str(channel.id), start, f"threadwright doctor {self.mark}")
        return f"opened {where}"

    async def _show_card(self) -> str:
        answer = "**It works.** Press 👍 below."
        blocks = carded((answer, "-# This is a card as tasks post it."))
        item = OutboxItem(key=f"{self._name}.1", thread=self._thread, execution=self._name, sort="answer", text=answer)
        posted = await self._desk.post(Post(self._thread, answer, nonce_of(item.key), item=item, card=blocks))
        shown = await self._desk.look(self._thread, lambda place: place.fetch_message(int(posted)))
        if words_of(shown) != "\n\n".join(blocks):
            raise StepFailed("it was read back with other words than it was posted with")
        self._card = posted
        return "posted and read back"

    async def _edit(self) -> str:
        first, then = "A message…", "A message… edited by the bot."
        message = await self._post(self._thread, first)
        await self._desk.edit(self._thread, message, lambda: then)
        if await self._desk.read(self._thread, message) != then:
            raise StepFailed("it was read back with the words from before the edit")
        return "edited and read back"

    async def _press(self) -> str:
        def ours(_: object, press: Press) -> bool:
            return press.key == f"{self._name}.1"

        async with self._heard("pressed", ours) as heard:
            await self._ask("Press 👍 under the card above.")
            interaction, _ = cast("tuple[discord.Interaction, Press]", await heard())
            began = time.monotonic()
            try:
                await interaction.response.defer()
            except discord.HTTPException as error:
                raise StepFailed(f"the press could not be acknowledged: {error}", RUNS_ELSEWHERE) from error
        return f"pressed, and acknowledged in {time.monotonic() - began:.2f} s"

    async def _stop(self) -> str:
        async with trial_sandbox(self.settings) as (name, sandbox):
            running = await sandbox.start(COMMAND)
            message = await self._post(self._thread, f"⏳ `{COMMAND}` runs in a sandbox ({name}).")

            def ours(payload: discord.RawReactionActionEvent) -> bool:
                return self._of_person(payload) and str(payload.message_id) == message and _is_stop(payload.emoji)

            async with self._heard("raw_reaction_add", ours) as heard:
                await self._ask("React with 🛑 to the message above: the command has to stop.")
                await heard()
            said = await stopped(sandbox, running)
            await self._desk.edit(self._thread, message, lambda: f"🛑 Stopped: {said}.")
        return said

    async def _person_edits(self) -> str:
        def written(message: discord.Message) -> bool:
            return str(message.channel.id) == self._thread and not message.author.bot

        async with self._heard("message", written) as heard:
            await self._ask("Write any message here.")
            message = cast("discord.Message", await heard())
        if not message.content:
            raise StepFailed("your message came without its text", INTENT)

        def edited(payload: discord.RawMessageUpdateEvent) -> bool:
            return payload.message_id == message.id and payload.data.get("content", "") not in ("", message.content)

        async with self._heard("raw_message_edit", edited) as heard:
            await self._ask("Now edit that message, so that it says something else.")
            await heard()
        return "both were read"

    # --- small parts ----------------------------------------------------------------------------------------------

    @property
    def _name(self) -> str:
        return f"doctor-{self.mark}"

    async def _post(self, channel: str, text: str) -> str:
        self._posts += 1
        return await self._desk.post(Post(channel, text, nonce_of(self._name, self._posts)))

    async def _ask(self, what: str) -> None:
        """Ask the person for something, in the thread and at the terminal."""
        await self._post(self._thread, f"👉 {what}")
        note(f"… in the thread “threadwright doctor {self.mark}”: {what} ({self.patience:.0f} s)")

    @asynccontextmanager
    async def _heard(self, event: str, check: Callable[..., bool]) -> AsyncGenerator[Callable[[], Any]]:
        """Listen from now on; the value waits for the event. Raises ``NotTried`` where it does not come in time."""
        coming = asyncio.ensure_future(cast("Any", self.client.wait_for(event, check=check)))

        async def heard() -> object:
            try:
                async with asyncio.timeout(self.patience):
                    return await coming
            except TimeoutError:
                raise NotTried(f"nobody did it within {self.patience:.0f} s", AGAIN) from None

        try:
            yield heard
        finally:
            coming.cancel()

    def _of_person(self, payload: discord.RawReactionActionEvent) -> bool:
        bot = payload.member is not None and payload.member.bot
        return not bot and self.client.user is not None and payload.user_id != self.client.user.id

    async def _deleted(self, channel: discord.TextChannel, message: str) -> str:
        await channel.get_partial_message(int(message)).delete()
        return "deleted"

    async def _closed(self, channel: discord.TextChannel) -> str:
        try:
            thread = await self.client.fetch_channel(int(self._thread))
        except discord.NotFound:
            return "there is none"
        assert isinstance(thread, discord.Thread)
        if channel.permissions_for(channel.guild.me).manage_threads:
            await thread.delete()
            return "deleted"
        await thread.edit(archived=True)
        return "archived (the bot lacks “Manage Threads”, so delete it yourself if you don't want it there)"


def _is_stop(emoji: discord.PartialEmoji) -> bool:
    return emoji.id is None and normalised(emoji.name or "") == STOP
