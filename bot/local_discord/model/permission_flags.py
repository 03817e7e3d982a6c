"""Discord's permissions and its order of overwrites.

https://discord.com/developers/docs/topics/permissions#permission-overwrites
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import IntFlag

from bot.local_discord.model.records import Channel, Member, Role


class Permission(IntFlag):
    ADMINISTRATOR = 1 << 3
    MANAGE_CHANNELS = 1 << 4
    ADD_REACTIONS = 1 << 6
    VIEW_CHANNEL = 1 << 10
    SEND_MESSAGES = 1 << 11
    MANAGE_MESSAGES = 1 << 13
    EMBED_LINKS = 1 << 14
    ATTACH_FILES = 1 << 15
    READ_MESSAGE_HISTORY = 1 << 16
    MENTION_EVERYONE = 1 << 17
    USE_EXTERNAL_EMOJIS = 1 << 18
    MANAGE_WEBHOOKS = 1 << 29
    USE_APPLICATION_COMMANDS = 1 << 31
    MANAGE_THREADS = 1 << 34
    CREATE_PUBLIC_THREADS = 1 << 35
    CREATE_PRIVATE_THREADS = 1 << 36
    SEND_MESSAGES_IN_THREADS = 1 << 38
    SEND_VOICE_MESSAGES = 1 << 46
    SEND_POLLS = 1 << 49


ALL = Permission(sum(Permission))

MEMBER_DEFAULT = (
    Permission.ADD_REACTIONS
    | Permission.VIEW_CHANNEL
    | Permission.SEND_MESSAGES
    | Permission.EMBED_LINKS
    | Permission.ATTACH_FILES
    | Permission.READ_MESSAGE_HISTORY
    | Permission.USE_EXTERNAL_EMOJIS
    | Permission.USE_APPLICATION_COMMANDS
    | Permission.CREATE_PUBLIC_THREADS
    | Permission.SEND_MESSAGES_IN_THREADS
    | Permission.SEND_VOICE_MESSAGES
    | Permission.SEND_POLLS
)

# What both have in a direct message: no roles, no overwrites, nothing to manage.
IN_DIRECT = (
    MEMBER_DEFAULT & ~(Permission.CREATE_PUBLIC_THREADS | Permission.SEND_MESSAGES_IN_THREADS)
    | Permission.MENTION_EVERYONE
)


def basic(member: Member, roles: Mapping[int, Role], everyone_id: int) -> Permission:
    """Return the permissions of a member's roles together, before the overwrites of a channel."""
    base = 0
    for role in (roles[everyone_id], *(roles[r] for r in member.roles if r in roles)):
        base |= role.permissions
    return Permission(base)


def granted(member: Member, channel: Channel, roles: Mapping[int, Role], everyone_id: int, owner_id: int) -> Permission:
    """Return a member's permissions in a channel (for a thread, pass its parent)."""
    if member.id == owner_id:
        return ALL
    base = int(basic(member, roles, everyone_id))
    if base & Permission.ADMINISTRATOR:
        return ALL
    return Permission(_overwritten(base, member, channel, everyone_id))


def _overwritten(base: int, member: Member, channel: Channel, everyone_id: int) -> int:
    by_target = {(o.target_id, o.is_member): o for o in channel.overwrites}
    everyone = by_target.get((everyone_id, False))
    if everyone:
        base = base & ~everyone.deny | everyone.allow
    of_roles = [by_target[(r, False)] for r in member.roles if (r, False) in by_target]
    denied = allowed = 0
    for overwrite in of_roles:
        denied |= overwrite.deny
        allowed |= overwrite.allow
    base = base & ~denied | allowed
    own = by_target.get((member.id, True))
    return base & ~own.deny | own.allow if own else base
