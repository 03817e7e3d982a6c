"""Archive threads in which nothing was posted for their time.

https://discord.com/developers/docs/topics/threads#active-archived-threads
"""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta

from bot.local_discord.model.records import Channel
from bot.local_discord.model.snowflakes import made_at
from bot.local_discord.model.state import GuildState
from bot.local_discord.payloads import guild_payloads

LOOK_EVERY_SECONDS = 30.0


def archive_quiet(state: GuildState) -> None:
    """Archive each thread whose time has passed, and publish that."""
    now = state.clock.now()
    for thread in [c for c in state.channels.values() if c.is_thread and not c.archived]:
        if now - _last_activity(thread) >= timedelta(minutes=thread.auto_archive_minutes):
            quiet = state.put_channel(replace(thread, archived=True, archive_changed_at=now))
            state.publish("THREAD_UPDATE", guild_payloads.channel(state, quiet), channel_id=quiet.id)


def _last_activity(thread: Channel) -> datetime:
    spoken = made_at(max(thread.id, thread.last_message_id or 0))
    return max(spoken, thread.archive_changed_at) if thread.archive_changed_at else spoken
