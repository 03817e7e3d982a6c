"""The local guild: a Discord on loopback (REST v10, gateway, files, and a page to chat in).

`LocalGuild` is what tests, `threadwright run` and `threadwright task` use; docs/local-guild.md says
what is covered and where it differs from Discord.
"""

from bot.local_discord.faults.rules import (
    AnswerFirst,
    Delayed,
    Dropped,
    Duplicated,
    ErrorAnswer,
    EventsFirst,
    RateLimited,
    Reordered,
    Reset,
    Rule,
    SessionLost,
)
from bot.local_discord.local_discord import LocalGuild
from bot.local_discord.messages.message_params import Upload
from bot.local_discord.model.errors import ApiError
from bot.local_discord.model.permission_flags import Permission
from bot.local_discord.model.records import (
    Attachment,
    Channel,
    Member,
    Message,
    Pings,
    Reaction,
    Role,
)
from bot.local_discord.model.store import UnusableFolder
from bot.local_discord.rest.rate_limit_buckets import (
    DISCORD,
    WIDE,
    Allowances,
    Limit,
)

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
    "ErrorAnswer",
    "EventsFirst",
    "Limit",
    "LocalGuild",
    "Member",
    "Message",
    "Permission",
    "Pings",
    "RateLimited",
    "Reaction",
    "Reordered",
    "Reset",
    "Role",
    "Rule",
    "SessionLost",
    "UnusableFolder",
    "Upload",
]
