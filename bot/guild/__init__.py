"""The local guild: a Discord on loopback (REST v10, gateway, files, and a page to chat in).

`LocalGuild` is what tests, `threadwright run` and `threadwright task` use; docs/local-guild.md says
what is covered and where it differs from Discord.
"""

from bot.guild.allowances import DISCORD, WIDE, Allowances, Limit
from bot.guild.drafts import Upload
from bot.guild.errors import ApiError
from bot.guild.local import LocalGuild
from bot.guild.misbehave import (
    AnswerFirst,
    Delayed,
    Dropped,
    Duplicated,
    EventsFirst,
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
    "DISCORD",
    "WIDE",
    "Allowances",
    "AnswerFirst",
    "ApiError",
    "Attachment",
    "Channel",
    "Delayed",
    "Dropped",
    "Duplicated",
    "EventsFirst",
    "Limit",
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
    "Upload",
]
