"""Read Discord objects into the small values of ``bot/inbound/events.py``."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime

import aiohttp
import discord

from agentic.core.events.execution_events import (
    FileRef,
    Level,
    QuotedMessage,
    Started,
)
from agentic.ports.runtime import EventLog
from bot.access.permissions import Speaker, at_least, level_of, limited, role_marks
from bot.access.shared_servers import NotAllAsked, SharedServers
from bot.inbound.events import BotIdentity, Kind, MessageEvent, ThreadView
from bot.inbound.interpret_message import without_mentions
from bot.outbound.discord_places import guild_of
from bot.ports.conversation import Conversation
from bot.rendering.answer_card import words_of
from bot.rendering.discord_text import cut, named, storable

LISTED = 1_000
"""Number of servers that are asked for, where the gateway does not tell them."""
QUOTED_CHARACTERS = 2_000
FOREIGN = "\N{SPEECH BALLOON}"
"""The sign of messages in which the bot shows what strangers wrote on a pull request."""

FROM_FORM = "menu-"
"""What the ids begin with of what was written in a form about a message; the interaction's follows. No message has them."""

log = logging.getLogger(__name__)


HERE = "on the computer that runs the bot"


@dataclass(frozen=True, slots=True)
class Options:
    """Configuration for Discord; ``roles`` maps ids (or names) of Discord roles to levels."""

    prefix: str = "!"
    roles: Mapping[str, Level] = field(default_factory=dict[str, Level])
    default_level: Level = "executor"
    custom_emoji: Mapping[str, str] = field(default_factory=dict[str, str])
    speaking_bots: frozenset[str] = frozenset()
    command_guilds: tuple[str, ...] = ()
    """Ids of guilds that the slash commands are registered in; none for everywhere."""
    retention_days: int = 30
    """Days that logs of finished tasks are kept; 0 for ever."""
    kept_where: str = HERE
    """Where all that is stored is, in a person's words."""
    wire_seconds: float = 20.0
    """Seconds one request to Discord may take before it is sent again."""
    secrets: frozenset[str] = frozenset()
    """Values that are never shown in a message."""


class Reader:
    """Reads Discord objects through one client, by its options."""

    def __init__(self, client: discord.Client, options: Options) -> None:
        self._client, self._options = client, options
        self._shared = SharedServers(self._level_in)
        self.asks = False
        """Discord is asked for what the gateway does not tell."""

    def house(self, guild: discord.Guild | None) -> BotIdentity:
        """Return the configuration, with the ids that name the bot in this guild."""
        role = guild.self_role if guild is not None else None
        ids = [str(self._client.user.id)] if self._client.user else []
        if role is not None:
            ids.append(str(role.id))
        return BotIdentity(tuple(ids), self._options.speaking_bots, self._options.custom_emoji)

    def speaker(
        self, user: discord.abc.User, guild: discord.Guild | None, *, webhook: bool = False, writes: bool = True
    ) -> Speaker:
        """Return the person with their present level; ``writes``: Discord lets them write in that place."""
        itself = self._client.user is not None and user.id == self._client.user.id
        level = self._level(user, guild)
        if guild is not None and isinstance(user, discord.Member) and not user.bot:
            self._shared.saw(user.id, guild.id)
        return Speaker(
            str(user.id), named(user.display_name), level, bot=user.bot or webhook, itself=itself, writes=writes
        )

    def _level(self, user: discord.abc.User, guild: discord.Guild | None) -> Level:
        owner = guild is not None and guild.owner_id == user.id
        if not isinstance(user, discord.Member):
            return level_of((), self._options.roles, administrator=owner, default=self._options.default_level)
        mine = ((str(role.id), role.name) for role in user.roles)
        names = role_marks(mine, (role.name for role in user.guild.roles))
        administrator = owner or user.guild_permissions.administrator
        return level_of(names, self._options.roles, administrator=administrator, default=self._options.default_level)

    def said(self, message: discord.Message) -> MessageEvent:
        """Read a message; a channel that is not among the guild's is a thread that was not announced.

        The ``path`` of a file is the address it can be fetched from.
        """
        in_channel = isinstance(message.channel, discord.abc.GuildChannel)
        house = self.house(message.guild)
        webhook = message.webhook_id is not None
        direct = isinstance(message.channel, discord.DMChannel)
        addressed = any(f"<@{mark}{own}>" in message.content for own in house.mentions for mark in ("", "!", "&"))
        return MessageEvent(
            id=str(message.id),
            channel=str(message.channel.id),
            thread="" if in_channel else str(message.channel.id),
            text=storable(message.content),
            at=message.created_at,
            speaker=self.speaker(message.author, message.guild, webhook=webhook),
            addressed=addressed or direct,
            kind=_kind(message),
            files=_file_refs(self._files(message)),
            quoted=self._quoted(message),
        )

    async def asked(self, interaction: discord.Interaction, about: discord.Message, text: str) -> MessageEvent:
        """Read a form that was opened on a message as if its words were a mention that replies to that message.

        The right to write is that for the place where a mention would stand: the channel, or the message's thread.
        """
        channel, place, rights = str(interaction.channel_id), interaction.channel, interaction.permissions
        thread = "" if isinstance(place, discord.abc.GuildChannel) else channel
        if not thread and about.flags.has_thread:
            thread = str(about.id)
        if interaction.guild_id is None:
            speaker = await self.in_person(interaction.user)
        else:
            writes = rights.send_messages_in_threads if thread else rights.send_messages
            locked = isinstance(place, discord.Thread) and place.locked and not rights.manage_threads
            speaker = self.speaker(interaction.user, interaction.guild, writes=writes and not locked)
            speaker = replace(speaker, level=limited(speaker.level, writes=speaker.writes))
        by = str(interaction.user.id)
        quoted = (self._reply(about, by, interaction.guild),)
        return MessageEvent(
            id=f"{FROM_FORM}{interaction.id}", channel=channel, thread=thread, text=storable(text), at=interaction.created_at,
            speaker=speaker, addressed=True, files=_file_refs(self._replied_files(about, by)),
            quoted=tuple(one for one in quoted if one.text), about=str(about.id),
        )  # fmt: skip

    def _files(self, message: discord.Message) -> list[tuple[discord.Attachment, bool]]:
        """Return the attachments of a message, and those of another person's message that it replies to or forwards.

        With each, whether somebody else may have sent it.
        """
        replied = _replied_to(message)
        files = [(file, False) for file in message.attachments]
        files += [(file, True) for snapshot in message.message_snapshots for file in snapshot.attachments]
        return files + (self._replied_files(replied, author_of(message)) if replied is not None else [])

    def _replied_files(self, replied: discord.Message, by: str) -> list[tuple[discord.Attachment, bool]]:
        """Return the same of a message that ``by`` replies to, if it is not the bot's own."""
        if replied.author == self._client.user:
            return []
        files = [(file, author_of(replied) != by) for file in replied.attachments]
        return files + [(file, True) for snapshot in replied.message_snapshots for file in snapshot.attachments]

    def _quoted(self, message: discord.Message) -> tuple[QuotedMessage, ...]:
        """Return the messages it replies to and forwards."""
        replied = _replied_to(message)
        found = [] if replied is None else [self._reply(replied, author_of(message), message.guild)]
        found += [_quote("somebody, forwarded", each.content, trusted=False) for each in message.message_snapshots]
        return tuple(one for one in found if one.text)

    def _reply(self, replied: discord.Message, by: str, guild: discord.Guild | None) -> QuotedMessage:
        """Return a message that ``by`` replies to."""
        trusted = self._is_trusted(replied, by, guild)
        return _quote(replied.author.display_name, said_in(replied), trusted=trusted)

    def _is_trusted(self, replied: discord.Message, by: str, guild: discord.Guild | None) -> bool:
        """Whether what ``by`` replies to is their own, an operator's, or the bot's own words."""
        if replied.message_snapshots or replied.webhook_id is not None:
            return False
        if replied.author == self._client.user:
            return FOREIGN not in replied.content
        return author_of(replied) == by or at_least(self._level(replied.author, guild), "operator")

    async def speaker_of(self, message: discord.Message) -> Speaker:
        """Return the author with their present level, which a message that was fetched later does not hold."""
        if isinstance(message.channel, discord.DMChannel):
            return await self.in_person(message.author)
        webhook = message.webhook_id is not None
        if isinstance(message.author, discord.Member) or webhook or message.guild is None or message.author.bot:
            return self.speaker(message.author, message.guild, webhook=webhook)
        found = await self.speaker_by_id(message.author.id, message.guild)
        return found or replace(self.speaker(message.author, message.guild), level="viewer")

    async def speaker_by_id(self, person: int, guild: discord.Guild | None) -> Speaker | None:
        """Return a member of a server (or, without one, of any that is shared).

        None where they have left, or where Discord cannot be asked now.
        """
        try:
            if guild is None:
                return await self.in_person(await self._client.fetch_user(person))
            return self.speaker(await guild.fetch_member(person), guild)
        except (discord.HTTPException, aiohttp.ClientError, OSError) as error:
            log.info("who %s is cannot be asked: %s", person, error)
            return None

    async def presser(self, interaction: discord.Interaction) -> Speaker:
        """Return who pressed a button or sent a form, with the rights that Discord states for this place now."""
        if interaction.guild_id is None:
            return await self.in_person(interaction.user)
        here = interaction.permissions.send_messages_in_threads
        return self.speaker(interaction.user, interaction.guild, writes=here)

    async def _guilds(self) -> Sequence[discord.Guild]:
        """The servers that the bot is in; without a connection to the gateway they are asked for, and have no roles."""
        if self._client.guilds or not self.asks:
            return self._client.guilds
        try:
            return [guild async for guild in self._client.fetch_guilds(limit=LISTED, with_counts=False)]
        except (discord.HTTPException, aiohttp.ClientError, OSError) as error:
            log.info("which servers there are cannot be asked now: %s", error)
            return ()

    async def in_person(self, user: discord.abc.User) -> Speaker:
        """Return the author of a direct message, with their highest level in the servers they share with the bot."""
        try:
            level = await self.level_anywhere(user.id)
        except NotAllAsked:
            level = None
        return replace(self.speaker(user, None), level=level or "viewer")

    async def level_anywhere(self, person: int) -> Level | None:
        """Return somebody's highest level in the servers they share with the bot, as far as Discord can be asked now.

        None where they share none. Raises ``NotAllAsked`` where that is not known now.
        """
        guilds = await self._guilds()
        if any(guild.owner_id == person for guild in guilds):
            return "owner"
        return await self._shared.highest_level(person, guilds)

    async def _level_in(self, person: int, guild: discord.Guild) -> Level:
        """Return a member's level. Raises what discord.py raises."""
        member = await guild.fetch_member(person)
        if not guild.roles:  # each server has one at least
            guild = await guild_of(self._client, guild.id)
            member = await guild.fetch_member(person)
        return self._level(member, guild)


def _quote(author: str, text: str, *, trusted: bool) -> QuotedMessage:
    return QuotedMessage(author=named(author), text=cut(storable(text), QUOTED_CHARACTERS), trusted=trusted)


def _file_refs(files: list[tuple[discord.Attachment, bool]]) -> tuple[FileRef, ...]:
    return tuple(
        FileRef(name=named(file.filename, "file"), path=file.url, size=file.size, foreign=foreign)
        for file, foreign in files
    )


def is_first_of_post(message: discord.Message) -> bool:
    """Whether it opened a post in a forum: it has the post's id."""
    place = message.channel
    return (
        isinstance(place, discord.Thread) and place.id == message.id and isinstance(place.parent, discord.ForumChannel)
    )


def with_title(said: MessageEvent, title: str, own: tuple[str, ...], *, addressed: bool) -> MessageEvent:
    """The first message of a post with the post's title, which may be all that says what it is about."""
    after = f"\n\n(Title: {title})" if without_mentions(said.text, own) else f" {title}"
    return replace(said, text=storable(said.text + after).strip(), addressed=addressed)


def said_in(message: discord.Message) -> str:
    """Return the text of a message, or of the one it forwards."""
    forwarded = "\n".join(snapshot.content for snapshot in message.message_snapshots)
    return message.content or words_of(message) or forwarded


def _replied_to(message: discord.Message) -> discord.Message | None:
    reference = message.reference if message.type is discord.MessageType.reply else None
    return reference.resolved if reference is not None and isinstance(reference.resolved, discord.Message) else None


def author_of(message: discord.Message) -> str:
    """Return the id of whoever answers for the words of a message; '' where a webhook wrote it, or it passes others' on."""
    return "" if message.webhook_id is not None or message.message_snapshots else str(message.author.id)


def _kind(message: discord.Message) -> Kind:
    if message.type not in (discord.MessageType.default, discord.MessageType.reply):
        return "system"
    if message.flags.voice:
        return "voice"
    if message.poll is not None:
        return "poll"
    if message.message_snapshots or message.flags.forwarded:
        return "forwarded"
    if message.stickers and not message.content:
        return "sticker"
    return "text"


async def scene_of(conversation: Conversation, thread: str, *, wholly: bool = False) -> ThreadView:
    """Return what a thread is doing; with ``wholly`` also its last execution and requester while the thread is idle.

    Votes and actions on a finished execution need those.
    """
    state = conversation.state(thread) if thread and await conversation.knows(thread) else "unknown"
    if state == "unknown" or (state == "idle" and not wholly):
        return ThreadView(state)
    status = await conversation.standing(thread)
    return ThreadView(
        state, status.question, status.requester, status.asked, execution=status.execution, paused=status.paused
    )


async def scene_about(conversation: Conversation, log: EventLog, thread: str, target: str) -> ThreadView:
    """The same for an event that concerns a certain execution, perhaps an earlier one."""
    execution = target.partition("/")[0]
    requester = await _requester(log, execution) if execution else ""
    if not requester:
        return await scene_of(conversation, thread, wholly=True)
    return replace(await scene_of(conversation, thread), requester=requester)


async def _requester(log: EventLog, execution: str) -> str:
    if await log.execution(execution) is None:
        return ""
    async for envelope in log.read(execution):
        return envelope.event.requester.id if isinstance(envelope.event, Started) else ""
    return ""


def when() -> datetime:
    """Return the present, for events that Discord sends without a time."""
    return datetime.now(UTC)
