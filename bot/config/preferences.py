"""Choices of people for a guild, a channel or a thread; the nearest one counts: thread, channel, guild, default.

Each place's choices are one small fact in the store, and stay in memory once read, so that reading them is cheap enough
for every edit of a progress message.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, fields
from time import monotonic
from typing import Literal, cast, get_args

import orjson

from agentic.egress.host_list import ADDS, NONE, PACKAGES, WEB, NoHost, joined, stored
from agentic.ports.stores import Facts
from agentic.text.head_fields import NAME
from bot.access.permissions import Act
from bot.config.time_zones import zone_named

Scope = Literal["guild", "channel", "thread"]
Verbosity = Literal["quiet", "normal", "detailed"]
Answers = Literal["text", "card"]
Pings = Literal["all", "questions", "never"]
Posts = Literal["mention", "all"]
Origin = Literal["default", "guild", "channel", "thread"]

AUTO, NOBODY, OFF = "auto", "nobody", "off"
SCOPES: tuple[Scope, ...] = get_args(Scope)
"""Scopes from the widest to the nearest."""
START_WITH = "new tasks start with it"
_MODEL = re.compile(r"[^\s`]{1,200}")
_WATCHERS = re.compile(r"[a-z][a-z0-9-]{0,30}(?: [a-z][a-z0-9-]{0,30}){0,19}")
_ROLE = re.compile(r"<@&(\d{15,20})>|(\d{15,20})")


@dataclass(frozen=True, slots=True)
class Preference:
    """The choices that apply in one place."""

    verbosity: Verbosity = "normal"
    role: str = AUTO
    ping: Pings = "all"
    approvers: str = NOBODY
    """The id of a role."""
    answers: Answers = "text"
    model: str = AUTO
    """A model's whole name, or a tier such as "tier3"."""
    network: str = NONE
    """Presets and hosts, separated by spaces."""
    timezone: str = "UTC"
    """An IANA name."""
    posts: Posts = "mention"
    """Which posts of a forum are tasks."""
    watchers: str = OFF
    """Off, on, or names separated by spaces."""


@dataclass(frozen=True, slots=True)
class PreferenceChoice:
    """One thing that can be chosen: its values, what they do, and the default."""

    name: str
    about: str
    values: Mapping[str, str]
    default: str
    names_role: bool = False
    """Whether a role of the server is a value as well, as its mention or id."""
    names_model: bool = False
    """Whether a model or tier is a value as well; which there are is known where models are configured."""
    names_hosts: bool = False
    """Whether names of hosts are a value as well, also beside a preset."""
    names_template: bool = False
    """Whether a role of the agent is a value as well; which there are is known where files of roles are read."""
    names_zone: bool = False
    """Whether every time zone is a value."""
    names_watchers: bool = False
    """Whether names of watchers are a value as well; which there are, their files say."""
    act: Act = "verbosity"
    """What somebody has to be allowed to, to choose it for a thread or a channel."""

    def meaning(self, value: str) -> str:
        """Return what a value does."""
        if value in self.values:
            return self.values[value]
        if self.names_hosts and value == f"{ADDS}{WEB}":
            return "I may search and read the whole web as well"
        if self.names_hosts and value.startswith(ADDS):
            return f"{self.meaning(value.removeprefix(ADDS)).removesuffix(', and nothing else')} as well"
        if self.names_hosts:
            words = [each for each in value.split() if each != WEB]
            hosts = ("the usual package indexes" if each == PACKAGES else f"`{each}`" for each in words)
            web = "I may search and read the whole web; " if WEB in value.split() else ""
            return f"{web}commands reach {', '.join(hosts)}, and nothing else"
        if self.names_zone:
            return f"times are those in {value}"
        if self.names_template:
            return "new tasks here are in that role"
        if self.names_watchers:
            names = value.split()
            look = "look" if len(names) > 1 else "looks"
            return f"{' and '.join(f'`{name}`' for name in names)} {look} on, from the next task on"
        return START_WITH if self.names_model else f"<@&{value}> is pinged"

    def shown(self, value: str) -> str:
        """Return a value as people read it."""
        if not self.names_role:
            return value
        return {NOBODY: "the person who gave the task", "@role": "@role"}.get(value, f"<@&{value}>")

    @property
    def offered(self) -> Mapping[str, str]:
        """The values as people write them, with what they do."""
        if self.names_hosts:
            return {
                **self.values,
                "hosts": "names like `example.org` or `*.example.org`, separated by spaces",
                "+hosts": "these as well as what the channel or the server allows",
            }
        if self.names_zone:
            return {
                **self.values,
                "Europe/Berlin": "times are those there",
                "America/New_York": "times are those there",
            }
        if self.names_watchers:
            return {**self.values, "NAMES": "those that `/watchers` lists, separated by spaces"}
        if self.names_role:
            return {**self.values, "@role": "that role is pinged"}
        if self.names_template:
            return {**self.values, "NAME": "a role that `/role list` shows"}
        return {**self.values, "NAME": "a model or tier that `/model` lists"} if self.names_model else self.values

    def read(self, value: str) -> str | None:
        """Return a value as it is stored; None where there is no such value."""
        if self.names_zone:
            return zone_named(value)
        found = value.strip().lower()
        if found in self.values:
            return found
        if self.names_template:
            return found if NAME.fullmatch(found) else None
        if self.names_model:
            return value.strip() if _MODEL.fullmatch(value.strip()) else None
        if self.names_hosts:
            with suppress(NoHost):
                return stored(value)
        if self.names_watchers:
            names = " ".join(found.replace(",", " ").split())
            return names if _WATCHERS.fullmatch(names) else None
        id = _ROLE.fullmatch(found)
        return (id[1] or id[2]) if self.names_role and id else None


CHOICES: Mapping[str, PreferenceChoice] = {
    "verbosity": PreferenceChoice(
        "verbosity",
        "How much a task's progress message shows",
        {
            "quiet": "what it is doing now, in one line",
            "normal": "the last steps and the to-do list as well",
            "detailed": "every step, with the model's words and what commands print",
        },
        "normal",
    ),
    "role": PreferenceChoice(
        "role",
        "My role: what I pay attention to, which tools I have, where I start",
        {
            AUTO: "chosen by each task",
        },
        AUTO,
        names_template=True,
    ),
    "ping": PreferenceChoice(
        "ping",
        "When I ping the person who gave a task",
        {
            "all": "for answers, questions and failures",
            "questions": "for questions and approvals only",
            "never": "not at all; you still see new messages in the thread",
        },
        "all",
    ),
    "approvers": PreferenceChoice(
        "approvers",
        "Whom I ping when a step needs approval: a role I can mention, as @role or its id",
        {NOBODY: "the person who gave the task is pinged"},
        NOBODY,
        names_role=True,
    ),
    "answers": PreferenceChoice(
        "answers",
        "What an answer looks like",
        {
            "text": "a message; notifications show how it begins",
            "card": "one framed card of up to 4,000 characters; notifications show no words of it",
        },
        "text",
    ),
    "model": PreferenceChoice(
        "model",
        "Which model or tier new tasks start with; a task that gets stuck moves up from there",
        {AUTO: "the usual start, or higher where the task's role asks for it"},
        AUTO,
        names_model=True,
        act="model",
    ),
    "network": PreferenceChoice(
        "network",
        "Which hosts commands may reach, and whether I may read the web",
        {
            NONE: "commands reach no host; I can ask for one when I need it",
            PACKAGES: "commands reach the usual package indexes (Python, npm, Rust, Go, Debian), and nothing else",
            WEB: "I may search and read the whole web; commands reach no host",
        },
        NONE,
        names_hosts=True,
        act="network",
    ),
    "timezone": PreferenceChoice(
        "timezone",
        "The time zone of schedules that name none, such as Europe/Berlin",
        {"UTC": "times are those in UTC"},
        "UTC",
        names_zone=True,
    ),
    "posts": PreferenceChoice(
        "posts",
        "Which new posts of a forum are tasks for me",
        {"mention": "those that mention me", "all": "all of them"},
        "mention",
    ),
    "watchers": PreferenceChoice(
        "watchers",
        "Small agents that look on and warn; each look is a request to a cheap model",
        {OFF: "nobody looks on", "on": "all that `/watchers` lists look on, from the next task on"},
        OFF,
        names_watchers=True,
        act="model",
    ),
}


class UnknownChoice(Exception):
    """There is no such choice, or it has no such value; the message says which there are."""


OLD_SECONDS = 2.0
"""So long what was read counts where other processes choose as well: a command asks several times in a moment."""
REMEMBERED = 5_000
"""Number of places whose choices are kept in memory."""


class Preferences:
    """Choices by place, durable in the store."""

    def __init__(self, store: Facts) -> None:
        self._store = store
        self._known: dict[str, tuple[float, dict[str, str]]] = {}
        """What was chosen, and when it was read."""
        self.shared = False
        """Other processes choose as well, so what is known grows old."""
        self._writing = asyncio.Lock()

    async def of(self, thread: str = "", channel: str = "", guild: str = "") -> Preference:
        """Return what applies in the thread, or in the channel or guild where no thread is given."""
        applies = await self.origins(thread, channel, guild)
        return Preference(
            verbosity=cast(Verbosity, applies["verbosity"][0]), role=applies["role"][0],
            ping=cast(Pings, applies["ping"][0]), approvers=applies["approvers"][0],
            answers=cast(Answers, applies["answers"][0]), model=applies["model"][0],
            network=applies["network"][0], timezone=applies["timezone"][0], posts=cast(Posts, applies["posts"][0]),
            watchers=applies["watchers"][0],
        )  # fmt: skip

    async def origins(self, thread: str = "", channel: str = "", guild: str = "") -> dict[str, tuple[str, Origin]]:
        """Return each choice's value and where it was made."""
        applies: dict[str, tuple[str, Origin]] = {name: (each.default, "default") for name, each in CHOICES.items()}
        places: list[tuple[Scope, str]] = [
            (scope, id) for scope, id in zip(SCOPES, (guild, channel, thread), strict=True) if id
        ]
        for (scope, _), chosen in zip(places, await self._chosen(places), strict=True):
            for name, value in chosen.items():
                counts = joined(applies[name][0], value) if CHOICES[name].names_hosts else value
                applies[name] = (counts, scope)
        return applies

    async def at(self, scope: Scope, id: str, name: str) -> str:
        """Return what was chosen for exactly this place, '' where nothing was."""
        return (await self._chosen([(scope, id)]))[0].get(name, "")

    async def put(self, scope: Scope, id: str, name: str, value: str) -> None:
        """Choose for one place; '' withdraws the choice. Raises ``UnknownChoice``."""
        value = value and checked(name, value)
        if not value:
            checked(name, CHOICES[name].default if name in CHOICES else "")
        async with self._writing:
            if self.shared:
                self._known.pop(_key(scope, id), None)  # what another process chose a moment ago stays
            chosen = {**(await self._chosen([(scope, id)]))[0], name: value}
            chosen = {each: kept for each, kept in chosen.items() if kept}
            await self._store.set_fact(_key(scope, id), orjson.dumps(chosen, option=orjson.OPT_SORT_KEYS).decode())
            self._known[_key(scope, id)] = monotonic(), chosen

    async def _chosen(self, places: Sequence[tuple[Scope, str]]) -> list[dict[str, str]]:
        """What was chosen for each of these places, asked for together."""
        keys, now = [_key(*place) for place in places], monotonic()
        since = now - OLD_SECONDS if self.shared else 0.0
        chosen = {key: self._known[key][1] for key in keys if key in self._known and self._known[key][0] >= since}
        unknown = [key for key in keys if key not in chosen]
        found = await self._store.facts(unknown) if unknown else {}
        for key in unknown:
            while len(self._known) > REMEMBERED:
                del self._known[next(iter(self._known))]  # it is read again when it is needed
            if key not in self._known or self._known[key][0] < since:  # else it was put meanwhile, and is newer
                self._known[key] = now, _readable(found.get(key))
            chosen[key] = self._known[key][1]
        return [chosen[key] for key in keys]


def checked(name: str, value: str) -> str:
    """Return the value as it is stored. Raises ``UnknownChoice``, which names the valid ones."""
    choice = CHOICES.get(name.strip().lower())
    if choice is None:
        raise UnknownChoice(f"There is no setting {name!r}. There is: {', '.join(CHOICES)}.")
    found = choice.read(value)
    if found is None:
        why = _no_host(value) if choice.names_hosts else ""
        raise UnknownChoice(f"{choice.name} cannot be {value!r}{why}. It can be: {', '.join(choice.offered)}.")
    return found


def _no_host(value: str) -> str:
    try:
        stored(value)
    except NoHost as wrong:
        return f": {wrong}"
    return ""


def _key(scope: Scope, id: str) -> str:
    return f"preference.{scope}.{id}"


def _readable(fact: str | None) -> dict[str, str]:
    """Return the part of a stored fact that this version understands."""
    try:
        raw: object = orjson.loads(fact or "{}")
    except orjson.JSONDecodeError:
        return {}
    if not isinstance(raw, dict):
        return {}
    pairs = cast(dict[str, object], raw).items()
    return {name: str(value) for name, value in pairs if name in CHOICES and CHOICES[name].read(str(value)) == value}


assert {field.name for field in fields(Preference)} == set(CHOICES), "each setting is a field, and the other way round"
