"""Check a token with Discord: whether it is valid, which intents are granted, and the bot's permissions.

`threadwright setup` and `threadwright doctor` use it. It uses plain HTTP, so a check costs no session start at the
gateway.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, cast
from urllib.parse import urlencode

import aiohttp
from pydantic import JsonValue


@dataclass(frozen=True, slots=True)
class NeededPermission:
    """One permission that the bot uses: its bit in Discord's numbers, and why."""

    bit: int
    why: str


NEEDED: Mapping[str, NeededPermission] = {
    "View Channels": NeededPermission(1 << 10, "see messages that mention it"),
    "Send Messages": NeededPermission(1 << 11, "answer in channels"),
    "Send Messages in Threads": NeededPermission(1 << 38, "answer in threads"),
    "Create Public Threads": NeededPermission(1 << 35, "open a thread for each task"),
    "Read Message History": NeededPermission(1 << 16, "read what was said while it was offline"),
    "Add Reactions": NeededPermission(1 << 6, "show that it got your message"),
    "Attach Files": NeededPermission(1 << 15, "send files it made"),
    "Embed Links": NeededPermission(1 << 14, "show results as cards"),
}
"""The permissions that the bot uses, by the names that Discord shows."""
ADMINISTRATOR = 1 << 3
MESSAGE_CONTENT, MESSAGE_CONTENT_LIMITED = 1 << 18, 1 << 19
API = "https://discord.com/api/v10"
AUTHORIZE = "https://discord.com/oauth2/authorize"
PORTAL = "https://discord.com/developers/applications"
SECONDS = 10.0
GUILDS_SHOWN = 200

Verdict = Literal["ok", "warning", "wrong", "unknown"]
"""wrong: it cannot run like this; warning: it runs, and less is possible; unknown: Discord could not be asked."""


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that was checked."""

    name: Literal["token", "intent", "invite", "server"]
    verdict: Verdict
    said: str
    todo: str = ""
    alone: bool = False
    """Whether the bot is in no server at all."""


@dataclass(frozen=True, slots=True)
class Checked:
    """The findings; ``invite`` is the link that adds the bot to a server, '' where the token is invalid."""

    findings: tuple[Finding, ...]
    bot: str = ""
    invite: str = ""

    @property
    def usable(self) -> bool:
        """Whether nothing keeps it from running."""
        return all(finding.verdict != "wrong" for finding in self.findings)


class _Refused(Exception):
    """Discord answered with an error; ``status`` is its HTTP status."""

    def __init__(self, status: int) -> None:
        self.status = status
        super().__init__(str(status))


async def check(token: str, api: str = API) -> Checked:
    """Ask Discord everything that setup and doctor need; never raises."""
    timeout = aiohttp.ClientTimeout(total=SECONDS)
    headers = {"Authorization": f"Bot {token}", "User-Agent": "DiscordBot (threadwright, 0.1)"}
    try:
        async with aiohttp.ClientSession(headers=headers, timeout=timeout) as session:
            me = _object(await _get(session, f"{api}/users/@me"))
            application = _object(await _get(session, f"{api}/applications/@me"))
            guilds = await _get(session, f"{api}/users/@me/guilds?limit={GUILDS_SHOWN}")
    except _Refused as refused:
        return Checked((_of_refusal(refused.status),))
    except (aiohttp.ClientError, TimeoutError, OSError, ValueError) as error:
        said = f"Discord could not be reached ({type(error).__name__})"
        return Checked((Finding("token", "unknown", said, "check the network, then try again"),))
    name = str(me.get("username", "the bot"))
    rows = [_object(row) for row in cast("list[JsonValue]", guilds)] if isinstance(guilds, list) else []
    findings = [
        Finding("token", "ok", f"it belongs to the bot “{name}”"),
        _intent(application),
        *_inviting(application),
        *_guilds(rows),
    ]
    return Checked(tuple(findings), name, invite(str(application.get("id", me.get("id", "")))))


def invite(application: str) -> str:
    """Return the link that adds the application to a server with exactly the permissions it uses, and its slash
    commands.
    """
    query = {
        "client_id": application,
        "permissions": sum(each.bit for each in NEEDED.values()),
        "scope": "bot applications.commands",
    }
    return f"{AUTHORIZE}?{urlencode(query)}"


def missing(permissions: int) -> tuple[str, ...]:
    """Return the missing permissions, by the names that Discord shows."""
    if permissions & ADMINISTRATOR:
        return ()
    return tuple(name for name, each in NEEDED.items() if not permissions & each.bit)


def _of_refusal(status: int) -> Finding:
    if status in (401, 403):
        todo = f"get a new one: {PORTAL} → your application → Bot → Reset Token"
        return Finding("token", "wrong", "Discord refuses this token", todo)
    if status == 429:
        return Finding("token", "unknown", "Discord asks to wait (too many requests)", "check again in a few minutes")
    return Finding("token", "unknown", f"Discord answered with an error ({status})", "check again in a few minutes")


def _intent(application: Mapping[str, JsonValue]) -> Finding:
    flags = application.get("flags")
    if isinstance(flags, int) and flags & (MESSAGE_CONTENT | MESSAGE_CONTENT_LIMITED):
        return Finding("intent", "ok", "it can read messages (Message Content Intent is on)")
    todo = f"switch on “Message Content Intent”: {PORTAL} → your application → Bot → Privileged Gateway Intents"
    return Finding("intent", "wrong", "it can't read messages", todo)


def _inviting(application: Mapping[str, JsonValue]) -> list[Finding]:
    if application.get("bot_require_code_grant") is not True:
        return []
    todo = f"switch off “Requires OAuth2 Code Grant”: {PORTAL} → your application → Bot"
    return [Finding("invite", "warning", "the invite link can't work", todo)]


def _guilds(rows: list[Mapping[str, JsonValue]]) -> list[Finding]:
    if not rows:
        return [
            Finding(
                "server", "warning", "it is in no server yet", "open the invite link and choose a server", alone=True
            )
        ]
    found: list[Finding] = []
    for row in rows:
        name, raw = str(row.get("name", "a server")), str(row.get("permissions", "0"))
        lacking = missing(int(raw) if raw.isdigit() else 0)
        if lacking:
            todo = "give its role these permissions in the server's settings, or open the invite link again"
            found.append(Finding("server", "warning", f"in “{name}” it lacks: {', '.join(lacking)}", todo))
        else:
            found.append(Finding("server", "ok", f"in “{name}” it has every permission it needs"))
    return found


async def _get(session: aiohttp.ClientSession, url: str) -> JsonValue:
    async with session.get(url) as response:
        if response.status != 200:
            raise _Refused(response.status)
        return cast("JsonValue", await response.json(content_type=None))


def _object(value: JsonValue) -> Mapping[str, JsonValue]:
    if not isinstance(value, dict):
        raise ValueError("no object")
    return value
