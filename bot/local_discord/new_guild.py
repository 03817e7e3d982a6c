"""A new guild, or the one that a folder remembers."""

from __future__ import annotations

import json
import secrets
from pathlib import Path

from agentic.core.lazy_dataclass import dataclass
from bot.local_discord.interactions.commands import Commands
from bot.local_discord.model.records import Member
from bot.local_discord.model.snowflakes import Snowflakes
from bot.local_discord.model.state import GuildState, Identity, text_channel
from bot.local_discord.model.store import (
    FolderKeeper,
    MemoryKeeper,
    read_channel,
    read_member,
    read_message,
    read_role,
)

BOT_NAME = "Threadwright"
HUMAN_NAME = "you"
FIRST_CHANNEL = "general"


@dataclass(frozen=True, slots=True)
class Founded:
    """A guild's state, its commands, the bot's token, and what keeps the records."""

    state: GuildState
    commands: Commands
    token: str
    keeper: MemoryKeeper | FolderKeeper


def found(folder: Path | None) -> Founded:
    """A new guild without a folder; with one, the guild it remembers."""
    if folder is None:
        memory = MemoryKeeper()
        state, token = _new(memory)
        return Founded(state, Commands(state), token, memory)
    keeper = FolderKeeper(folder)
    facts = keeper.load("fact")
    if not facts:
        state, token = _new(keeper)
        keeper.save_fact(1, json.dumps([*_numbers(state.identity), _token()]))
        return Founded(state, Commands(state), token, keeper)
    numbers = json.loads(facts[0])[:4]
    state = GuildState(Identity(*numbers), Snowflakes(), keeper)
    _remember(state, keeper)
    commands = Commands(state)
    for raw in facts[1:]:
        commands.remember(raw)
    return Founded(state, commands, _token(), keeper)


def _token() -> str:
    """The bot's token: another one at each start. The one that is kept is for versions that read it."""
    return f"local.{secrets.token_urlsafe(32)}"


def _numbers(identity: Identity) -> tuple[int, int, int, int]:
    return identity.guild_id, identity.bot_id, identity.owner_id, identity.bot_role_id


def _new(keeper: MemoryKeeper | FolderKeeper) -> tuple[GuildState, str]:
    ids = Snowflakes()
    identity = Identity(ids.next(), ids.next(), ids.next(), ids.next())
    state = GuildState(identity, ids, keeper)
    state.put_member(Member(identity.bot_id, BOT_NAME, bot=True, roles=(identity.bot_role_id,)))
    state.put_member(Member(identity.owner_id, HUMAN_NAME))
    text_channel(state, FIRST_CHANNEL)
    return state, _token()


def _remember(state: GuildState, keeper: FolderKeeper) -> None:
    for raw in keeper.load("member"):
        member = read_member(raw)
        state.members[member.id] = member
    for raw in keeper.load("role"):
        role = read_role(raw)
        state.roles[role.id] = role
    for raw in keeper.load("channel"):
        channel = read_channel(raw)
        state.channels[channel.id] = channel
    for raw in keeper.load("message"):
        message = read_message(raw)
        state.messages.setdefault(message.channel_id, {})[message.id] = message
