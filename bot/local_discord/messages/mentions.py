"""Which mentions in a text notify somebody.

A mention notifies if it is in the text outside code, `allowed_mentions` permits it, and the author has the permission:
https://discord.com/developers/docs/resources/message#allowed-mentions-object
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from bot.local_discord.model.errors import invalid
from bot.local_discord.model.json_fields import Fields, Json
from bot.local_discord.model.records import Pings

_CODE = re.compile(r"```.*?```|``[^`].*?``|`[^`]+`", re.DOTALL)
_USER = re.compile(r"<@!?(\d{1,20})>")
_ROLE = re.compile(r"<@&(\d{1,20})>")
_EVERYONE = re.compile(r"@(?:everyone|here)\b")
_KINDS = ("everyone", "users", "roles")


@dataclass(frozen=True, slots=True)
class AllowedMentions:
    """The sender's filter; None for a kind means "all of them"."""

    everyone: bool = True
    users: frozenset[int] | None = None
    roles: frozenset[int] | None = None
    replied_user: bool = True

    @classmethod
    def parse(cls, fields: Fields | None) -> AllowedMentions:
        """The filter of a request; no filter at all lets everything through."""
        if fields is None:
            return cls()
        parse = fields.array("parse") or []
        for i, kind in enumerate(parse):
            if kind not in _KINDS:
                raise invalid(
                    (*fields.at("parse"), str(i)),
                    "BASE_TYPE_CHOICES",
                    f"Value must be one of {set(_KINDS)}.",
                )
        return cls(
            everyone="everyone" in parse,
            users=_listed(fields, "users", parse),
            roles=_listed(fields, "roles", parse),
            replied_user=fields.flag("replied_user") or False,
        )


def _listed(fields: Fields, kind: str, parse: list[Json]) -> frozenset[int] | None:
    listed = fields.snowflakes(kind)
    if kind in parse:
        if listed:
            raise invalid(
                fields.path,
                "MESSAGE_ALLOWED_MENTIONS_PARSE_EXCLUSIVE",
                f'parse:["{kind}"] and {kind}: [ids...] are mutually exclusive.',
            )
        return None
    return frozenset(listed)


def resolve(
    content: str,
    allowed: AllowedMentions,
    *,
    members: frozenset[int],
    roles: frozenset[int],
    may_everyone: bool,
    replied_to: int | None = None,
) -> Pings:
    """Return whom `content` notifies; `roles` are those the author may mention."""
    text = _CODE.sub(" ", content)
    users = {int(i) for i in _USER.findall(text)} & members
    if allowed.users is not None:
        users &= allowed.users
    if replied_to is not None and allowed.replied_user:
        users.add(replied_to)
    named = {int(i) for i in _ROLE.findall(text)} & roles
    if allowed.roles is not None:
        named &= allowed.roles
    everyone = may_everyone and allowed.everyone and _EVERYONE.search(text) is not None
    return Pings(everyone, tuple(sorted(users)), tuple(sorted(named)))


def merged(first: Pings, second: Pings) -> Pings:
    """Return everyone whom either of the two notifies."""
    return Pings(
        first.everyone or second.everyone,
        tuple(sorted({*first.users, *second.users})),
        tuple(sorted({*first.roles, *second.roles})),
    )
