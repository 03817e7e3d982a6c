"""System messages, which Discord itself posts."""

from __future__ import annotations

from bot.local_discord.model.records import Channel, Message, MessageFlag, MessageType, Pings
from bot.local_discord.model.state import GuildState
from bot.local_discord.payloads.message_payload import MessageView


def notice(
    state: GuildState,
    view: MessageView,
    channel: Channel,
    author_id: int,
    kind: MessageType,
    *,
    text: str = "",
    about: Pings | None = None,
    thread_id: int | None = None,
) -> Message:
    """Post a system message: its kind, who caused it, and the person or thread it is about."""
    made = state.put_message(
        Message(
            state.ids.next(),
            channel.id,
            author_id,
            text,
            state.clock.now(),
            type=kind,
            pings=about or Pings(),
            thread_id=thread_id,
            flags=int(MessageFlag.HAS_THREAD) if thread_id else 0,
        )
    )
    state.publish("MESSAGE_CREATE", view.event(made), channel_id=channel.id)
    return made
