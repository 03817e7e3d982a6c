"""The local guild: a Discord on loopback (REST v10, gateway, files, and a page to chat in).

`LocalGuild` is what tests, `threadwright run` and `threadwright task` use; docs/local-guild.md says
what is covered and where it differs from Discord.
"""

from bot.guild.errors import ApiError
from bot.guild.local import LocalGuild
from bot.guild.misbehave import (
    Delayed,
    Dropped,
    Duplicated,
    RateLimited,
    Refused,
    Reordered,
    Reset,
    Rule,
    SessionLost,
)
from bot.guild.permissions import Permission
from bot.guild.records import Attachment, Channel, Member, Message, Pings, Reaction, Role
from bot.guild.store import UnusableFolder

__all__ = [
    "ApiError",
    "Attachment",
    "Channel",
    "Delayed",
    "Dropped",
    "Duplicated",
    "LocalGuild",
    "Member",
    "Message",
    "Permission",
    "Pings",
    "RateLimited",
    "Reaction",
    "Refused",
    "Reordered",
    "Reset",
    "Role",
    "Rule",
    "SessionLost",
    "UnusableFolder",
]
