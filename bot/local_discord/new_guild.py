"""Create a guild, or load the one in a folder."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

from bot.local_discord.interactions.commands import Commands
from bot.local_discord.model.records import Channel, Member, Message, Role
from bot.local_discord.model.snowflakes import Snowflakes, bot_token
from bot.local_discord.model.state import GuildState, Identity, text_channel
from bot.local_discord.model.store import FolderStore, MemoryStore, Store

HUMAN_NAME = "you"
FIRST_CHANNEL = "general"


@dataclass(frozen=True, slots=True)
class Founded:
    """A guild's state, its commands, the bot's token, and its store."""

    state: GuildState
    commands: Commands
    token: str
    store: Store


def found(folder: Path | None, bot_name: str) -> Founded:
    """Create a new guild without a folder; with one, load the guild in it."""
    if folder is None:
        return _new(MemoryStore(), bot_name)
    store = FolderStore(folder)
    facts = list(store.texts("fact").values())
    if not facts:
        made = _new(store, bot_name)
        one = made.state.identity
        spare = bot_token(one.bot_id)  # versions before read one here; the real one is never kept
        store.save_text("fact", 1, json.dumps([one.guild_id, one.bot_id, one.owner_id, one.bot_role_id, spare]))
        return made
    state = GuildState(Identity(*json.loads(facts[0])[:4]), Snowflakes(), store, bot_name)
    _remember(state, store)
    commands = Commands(state)
    for raw in facts[1:]:
        commands.remember(raw)
    return Founded(state, commands, bot_token(state.identity.bot_id), store)


def last_port(store: Store) -> int:
    """Return the port at which the guild was last reached, 0 where it never was."""
    return int(store.texts("port").get(1, "0"))


def keep_port(store: Store, port: int) -> None:
    """Store the port for the next start."""
    store.save_text("port", 1, str(port))


def _new(store: Store, bot_name: str) -> Founded:
    ids = Snowflakes()
    identity = Identity(ids.next(), ids.next(), ids.next(), ids.next())
    state = GuildState(identity, ids, store, bot_name)
    state.put_member(Member(identity.bot_id, bot_name, bot=True, roles=(identity.bot_role_id,)))
    state.put_member(Member(identity.owner_id, HUMAN_NAME))
    text_channel(state, FIRST_CHANNEL)
    return Founded(state, Commands(state), bot_token(identity.bot_id), store)


def _remember(state: GuildState, store: FolderStore) -> None:
    state.members |= {one.id: one for one in store.records(Member)}
    state.roles |= {one.id: one for one in store.records(Role)}
    state.channels |= {one.id: one for one in store.records(Channel)}
    for message in store.records(Message):
        state.messages.setdefault(message.channel_id, {})[message.id] = message
