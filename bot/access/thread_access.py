"""The threads that a person may reach with a command from where they are; deny by default.

A thread is within reach if it is a session of the same guild, its parent channel is visible to the person now, and,
where it is private, they are in it or may manage threads. From a direct message only that conversation is within
reach. A thread out of reach looks exactly like one that does not exist, so that nobody learns by asking which threads
there are.

Everyone in the channel reads the answer to a command that was written as a message: then only threads of that channel
are within reach (``openly``).
"""

from __future__ import annotations

import logging
import re
from collections.abc import AsyncIterator
from dataclasses import dataclass, replace
from time import monotonic
from typing import Protocol, TypeVar

import aiohttp
import discord

from agentic.core.events.execution_events import Started
from agentic.ports.runtime import SessionRow, Store
from bot.access.denials import VIEWER
from bot.access.permissions import Act, Speaker, may, needed

NO_SUCH = "There is no thread {named} that you can see here. Pick one from the list, or use the command in the thread."
NOT_A_THREAD = "{command} works only inside a task's thread. Use it there{or_pick}."
PICK = ", or pick one with `thread:`"
ELSEWHERE = "Everyone here could read that answer. Use `/{command}` instead: only you see the reply."
NO_THREADS = "Direct messages have no threads, so I can't fork here. `/retry` works."
NO_PARENT = "I can't see that thread's channel any more, so there is no place for a fork."
PRIVATE = "That thread is private, and everyone in the channel could read a fork. `/retry` works in the thread."
NO_MESSAGES = "In <#{parent}> I can't open threads from my messages, so there is no place for a fork."
MINE = (
    "I'm not allowed to open threads in <#{parent}>. An administrator can grant me “Send Messages”, “Create Public "
    "Threads” and “Send Messages in Threads” there."
)
THEIRS = "You're not allowed to open threads in <#{parent}>, so I can't open one for you. `/retry` works in the thread."
ID = re.compile(r"(?:.*/)?(?:<#)?(\d{15,20})>?/?")
REMEMBERED = 5_000
"""Number of threads whose parents are cached, and of direct conversations whose people are."""
ABSENT_SECONDS = 60.0
"""So long Discord is not asked again for a thread that it does not show to the bot."""
PAGE, LOOKED_THROUGH = 100, 2_000
"""Sessions of a guild that are read at a time, and at most; an older one is found by its id."""
ARCHIVED = 100
LOOKED_UP = 10
"""Number of threads that Discord is asked about at most for one list: archived ones, and who is in private ones."""

T = TypeVar("T")

log = logging.getLogger(__name__)


class OutOfReach(Exception):
    """The command cannot be used from here, or not by this person; the message says what to do instead."""


@dataclass(frozen=True, slots=True)
class Stand:
    """The person with their present level, and where they are; ``openly``: others read the answer."""

    user: discord.abc.User
    speaker: Speaker
    guild: discord.Guild | None
    channel: int
    openly: bool
    command: str = ""

    @property
    def guild_id(self) -> str:
        """The guild's id, '' in a direct message."""
        return str(self.guild.id) if self.guild else ""

    @property
    def alone_in(self) -> str:
        """The id of a direct conversation, which shares nothing with others; '' in a guild."""
        return "" if self.guild else str(self.channel)


@dataclass(frozen=True, slots=True)
class _Home:
    """The parent channel of a thread, and whether the thread is private; neither changes as long as it lives."""

    parent: int
    private: bool


class SpeakerReader(Protocol):
    """Reads a person and the level their roles give them."""

    def speaker(self, user: discord.abc.User, guild: discord.Guild | None, *, writes: bool = True) -> Speaker: ...

    async def in_person(self, user: discord.abc.User) -> Speaker: ...


class Reach:
    """Looks threads up for commands."""

    def __init__(self, client: discord.Client, reader: SpeakerReader, store: Store) -> None:
        self._client, self._reader, self._store = client, reader, store
        self._homes: dict[int, _Home] = {}
        self._people: dict[int, frozenset[str]] = {}
        """Who is in a direct conversation, which never changes."""
        self._absent: dict[int, float] = {}
        """Until when a thread counts as gone."""

    async def stand(self, source: discord.Interaction | discord.Message, command: str = "") -> Stand:
        """Return where a command is used, and the present rights of the person."""
        user = source.user if isinstance(source, discord.Interaction) else source.author
        channel = source.channel_id if isinstance(source, discord.Interaction) else source.channel.id
        reader = self._reader
        if source.guild is None:
            speaker = await reader.in_person(user)
        else:
            user = await _member(user, source.guild)
            speaker = reader.speaker(user, source.guild)
            if not isinstance(user, discord.Member):
                speaker = replace(speaker, level="viewer")
        return Stand(
            user, speaker, source.guild, channel or 0, not isinstance(source, discord.Interaction) and bool(source.guild),
            command,
        )  # fmt: skip

    async def stand_of(self, person: str, row: SessionRow, guild: discord.Guild | None) -> Stand | None:
        """Return the present rights of somebody who is not in Discord's window now, as in this thread's server.

        None where they are not in it, or a direct conversation is not theirs. Raises what discord.py raises where
        Discord cannot be asked.
        """
        try:
            if guild is not None:
                member = await guild.fetch_member(int(person))
                return Stand(member, self._reader.speaker(member, guild), guild, 0, openly=False)
            if person not in await self._people_of(int(row.thread)):
                return None
            user = await self._client.fetch_user(int(person))
            return Stand(user, await self._reader.in_person(user), None, int(row.thread), openly=False)
        except (discord.NotFound, discord.Forbidden, discord.InvalidData):
            return None

    def is_foreign(self, person: str, row: SessionRow) -> bool:
        """Whether it is known, without asking Discord, that a direct conversation is not theirs."""
        if row.guild or not row.thread.isdecimal():
            return not row.guild
        id = int(row.thread)
        return self._is_absent(id) or person not in self._people.get(id, (person,))

    def is_theirs(self, person: str, row: SessionRow) -> bool | None:
        """Whether a direct conversation is theirs; None where Discord has to be asked who is in it."""
        if self.is_foreign(person, row):
            return False
        return True if int(row.thread) in self._people else None

    async def asks_people(self, row: SessionRow) -> None:
        """Have Discord asked who is in a direct conversation. Raises what discord.py raises."""
        await self._people_of(int(row.thread))

    def is_placed(self, stand: Stand, row: SessionRow) -> bool:
        """Whether Discord need not be asked where a thread is and of what kind."""
        return stand.guild is None or self._known_home(stand.guild, int(row.thread)) is not None

    async def asks_archived(self, stand: Stand, row: SessionRow) -> None:
        """Have Discord asked for archived threads of a session's channel, a hundred with one question.

        Raises what discord.py raises.
        """
        parent = stand.guild.get_channel(int(row.channel)) if stand.guild else None
        if isinstance(parent, discord.TextChannel | discord.ForumChannel):
            async for thread in parent.archived_threads(limit=ARCHIVED):
                self._keep_home(thread)

    async def thread(self, stand: Stand, named: str = "") -> SessionRow:
        """Return the named session, or the one where the command is used. Raises ``OutOfReach``."""
        wanted = _id(named) if named else str(stand.channel)
        row = await self._store.session(wanted) if wanted else None
        if row is None or not await self._visible(stand, row):
            raise OutOfReach(NO_SUCH.format(named=f"`{named[:40]}`") if named else _not_a_thread(stand))
        if stand.openly and not await self._here(stand, row):
            raise OutOfReach(ELSEWHERE.format(command=stand.command))
        return row

    async def threads(self, stand: Stand, limit: int = 25, fitting: str = "") -> list[SessionRow]:
        """Return sessions within reach whose title or id holds ``fitting``, last used first."""
        found: list[SessionRow] = []
        wanted = fitting.strip().lower()
        unknown = LOOKED_UP
        async for row in self._last_used(stand.guild_id):
            if len(found) == limit:
                break
            if wanted not in f"{row.title} {row.thread}".lower():
                continue
            if not self.is_known(stand, row):
                if not unknown:
                    continue
                unknown -= 1
            if await self.sees(stand, row):
                found.append(row)
        return found

    async def sees(self, stand: Stand, row: SessionRow) -> bool:
        """Whether a session is within reach; Discord may be asked for its thread."""
        return await self._visible(stand, row) and (not stand.openly or await self._here(stand, row))

    def may_see(self, stand: Stand, row: SessionRow) -> bool:
        """Whether a session could be within reach by its channel, as far as that is known without asking Discord."""
        if stand.guild is None or row.guild != stand.guild_id or not isinstance(stand.user, discord.Member):
            return row.guild == stand.guild_id and stand.alone_in == row.thread
        parent = stand.guild.get_channel(int(row.channel)) if row.channel.isdecimal() else None
        return parent is None or parent.permissions_for(stand.user).view_channel

    def is_known(self, stand: Stand, row: SessionRow) -> bool:
        """Whether Discord need not be asked what kind of thread it is, nor who is in it."""
        return stand.guild is None or self.known(stand, row) is not None

    def known(self, stand: Stand, row: SessionRow) -> bool | None:
        """Whether a session is within reach, as far as that is known without asking Discord; else None."""
        if stand.guild is None or row.guild != stand.guild_id:
            return self.may_see(stand, row)
        home = self._known_home(stand.guild, int(row.thread))
        if home is not None:
            return self._allows(stand, row, home)
        return False if self._is_absent(int(row.thread)) or not self.may_see(stand, row) else None

    async def may_read(self, stand: Stand, row: SessionRow) -> bool:
        """Whether somebody may see a session. Raises what discord.py raises where Discord cannot be asked."""
        if row.guild != stand.guild_id:
            return False
        if stand.guild is None:
            return row.thread == str(stand.channel)
        home = await self._asked_home(stand.guild, row)
        allowed = home is not None and self._allows(stand, row, home)
        return await self._is_in(stand, row) if allowed is None else allowed

    async def _last_used(self, guild: str) -> AsyncIterator[SessionRow]:
        """Yield sessions of a guild, last used first, at most ``LOOKED_THROUGH``: autocompletion asks with each letter."""
        rows: list[SessionRow] = []
        for _ in range(LOOKED_THROUGH // PAGE):
            rows = await self._store.recent_sessions(PAGE, guild=guild, before=rows[-1] if rows else None)
            for row in rows:
                yield row
            if len(rows) < PAGE:
                return

    async def speaker(self, stand: Stand, row: SessionRow) -> Speaker:
        """Return the person with what Discord lets them do in that thread."""
        home = await self._home(stand.guild, row)
        parent = stand.guild.get_channel(home.parent) if stand.guild and home else None
        if stand.guild is None or parent is None or not isinstance(stand.user, discord.Member):
            return stand.speaker
        rights = parent.permissions_for(stand.user)
        writes = rights.send_messages_in_threads and (
            rights.manage_threads or not await self._is_locked(stand.guild, row)
        )
        return self._reader.speaker(stand.user, stand.guild, writes=writes)

    async def bot_writes(self, stand: Stand, row: SessionRow) -> bool:
        """Whether Discord lets the bot itself write in that thread."""
        home = await self._home(stand.guild, row)
        parent = stand.guild.get_channel(home.parent) if stand.guild and home else None
        return parent is None or parent.permissions_for(parent.guild.me).send_messages_in_threads

    async def room_for_fork(self, stand: Stand, row: SessionRow) -> str:
        """Return the channel that a fork of the thread would be in. Raises ``OutOfReach`` where there can be none."""
        if stand.guild is None:
            raise OutOfReach(NO_THREADS)
        home = await self._home(stand.guild, row)
        parent = stand.guild.get_channel(home.parent) if home else None
        if home is None or parent is None:
            raise OutOfReach(NO_PARENT)
        if home.private:
            raise OutOfReach(PRIVATE)
        if not isinstance(parent, discord.TextChannel):
            raise OutOfReach(NO_MESSAGES.format(parent=parent.id))
        mine, theirs = parent.permissions_for(parent.guild.me), parent.permissions_for(_as_member(stand))
        if not (mine.send_messages and mine.create_public_threads and mine.send_messages_in_threads):
            raise OutOfReach(MINE.format(parent=parent.id))
        if not (theirs.send_messages and theirs.create_public_threads):
            raise OutOfReach(THEIRS.format(parent=parent.id))
        return str(parent.id)

    async def requesters(self, thread: str) -> set[str]:
        """Return the people who asked for executions in a thread."""
        people: set[str] = set()
        for row in await self._store.executions(thread):
            async for envelope in self._store.read(row.execution):
                if isinstance(envelope.event, Started):
                    people.add(envelope.event.requester.id)
                break
        return people

    async def owns(self, stand: Stand, thread: str) -> bool:
        """Whether this person asked for everything that ran in the thread."""
        return await self.requesters(thread) <= {stand.speaker.id}

    async def _here(self, stand: Stand, row: SessionRow) -> bool:
        """Whether everybody who reads this channel can read that thread, too."""
        if row.thread == str(stand.channel):
            return True
        home = await self._home(stand.guild, row)
        here = self._client.get_channel(stand.channel)
        parent = here.parent_id if isinstance(here, discord.Thread) else stand.channel
        return home is not None and not home.private and home.parent == parent

    async def _visible(self, stand: Stand, row: SessionRow) -> bool:
        try:
            return await self.may_read(stand, row)
        except (discord.HTTPException, discord.InvalidData) as error:
            log.info("whether %s may see %s cannot be asked: %s", stand.speaker.id, row.thread, error)
            return False

    def _allows(self, stand: Stand, row: SessionRow, home: _Home) -> bool | None:
        """Whether the person's rights show them a thread; None where it depends on who is in it, which Discord knows."""
        parent = stand.guild.get_channel(home.parent) if stand.guild else None
        if parent is None or not isinstance(stand.user, discord.Member):
            return False
        rights = parent.permissions_for(stand.user)
        if not rights.view_channel:
            return False
        acts_from_it = row.thread == str(stand.channel)
        return True if not home.private or rights.manage_threads or acts_from_it else None

    async def _is_in(self, stand: Stand, row: SessionRow) -> bool:
        """Whether Discord says that the person is in a private thread. Raises what discord.py raises."""
        try:
            thread = stand.guild and await stand.guild.fetch_channel(int(row.thread))
            return isinstance(thread, discord.Thread) and bool(await thread.fetch_member(stand.user.id))
        except (discord.NotFound, discord.Forbidden):
            return False

    async def _is_locked(self, guild: discord.Guild, row: SessionRow) -> bool:
        """Whether only those who may manage threads write in it; also where Discord does not say."""
        try:
            thread = guild.get_thread(int(row.thread)) or await guild.fetch_channel(int(row.thread))
        except (discord.HTTPException, discord.InvalidData, aiohttp.ClientError, OSError) as error:
            log.info("whether %s is locked cannot be asked: %s", row.thread, error)
            return True
        return not isinstance(thread, discord.Thread) or thread.locked

    async def _home(self, guild: discord.Guild | None, row: SessionRow) -> _Home | None:
        if guild is None:
            return self._homes.get(int(row.thread))
        try:
            return await self._asked_home(guild, row)
        except (discord.HTTPException, discord.InvalidData) as error:
            log.info("thread %s cannot be asked for: %s", row.thread, error)
            return None

    async def _asked_home(self, guild: discord.Guild, row: SessionRow) -> _Home | None:
        """Where a thread is; None where Discord shows none. Raises what discord.py raises."""
        id = int(row.thread)
        known = self._known_home(guild, id)
        if known is not None or self._is_absent(id):
            return known
        try:
            fetched = await guild.fetch_channel(id)
        except (discord.NotFound, discord.Forbidden) as error:
            self._note_absent(id, error)
            return None
        return self._keep_home(fetched) if isinstance(fetched, discord.Thread) else None

    async def _people_of(self, id: int) -> frozenset[str]:
        """Return who is in a direct conversation. Raises what discord.py raises."""
        if id not in self._people and not self._is_absent(id):
            try:
                place = await self._client.fetch_channel(id)
            except discord.HTTPException as error:
                self._note_absent(id, error)
                raise
            _make_room(self._people)
            people = place.recipients if isinstance(place, discord.DMChannel) else ()
            self._people[id] = frozenset(str(user.id) for user in people)
        return self._people.get(id, frozenset())

    def _is_absent(self, id: int) -> bool:
        return self._absent.get(id, 0.0) > monotonic()

    def _note_absent(self, id: int, error: Exception) -> None:
        """Remember that Discord does not show a thread, if that is what it says."""
        if isinstance(error, discord.NotFound | discord.Forbidden):
            _make_room(self._absent)
            self._absent[id] = monotonic() + ABSENT_SECONDS

    def _known_home(self, guild: discord.Guild, id: int) -> _Home | None:
        """Return what is known of a thread without asking Discord."""
        if id not in self._homes and (thread := guild.get_thread(id)) is not None:
            return self._keep_home(thread)
        return self._homes.get(id)

    def _keep_home(self, thread: discord.Thread) -> _Home:
        _make_room(self._homes)
        home = self._homes[thread.id] = _Home(thread.parent_id, thread.is_private())
        return home


def _make_room(known: dict[int, T]) -> None:
    """Forget the oldest where there are too many."""
    while len(known) >= REMEMBERED:
        del known[next(iter(known))]


def _as_member(stand: Stand) -> discord.Member:
    if not isinstance(stand.user, discord.Member):
        raise OutOfReach(NO_PARENT)
    return stand.user


async def _member(user: discord.abc.User, guild: discord.Guild) -> discord.abc.User:
    """Return the same person with their roles, which a message that was fetched later lacks."""
    if isinstance(user, discord.Member):
        return user
    try:
        return await guild.fetch_member(user.id)
    except (discord.HTTPException, aiohttp.ClientError, OSError) as error:
        log.info("who %s is cannot be asked: %s", user.id, error)
        return user


def require(stand: Stand, act: Act, *, own: bool = True) -> None:
    """Raise ``OutOfReach`` if the person may not do it now."""
    if may(stand.speaker.level, act, own=own):
        return
    raise OutOfReach(VIEWER if stand.speaker.level == "viewer" else _needed(act, own=own))


def _not_a_thread(stand: Stand) -> str:
    """Say which command needs a thread; those on files take none."""
    command = f"`/{stand.command}`" if stand.command else "That"
    return NOT_A_THREAD.format(command=command, or_pick="" if stand.command.startswith("workspace") else PICK)


def _needed(act: Act, *, own: bool) -> str:
    level = needed(act, own=own)
    whose = "" if own else "This task is not only yours. "
    article = "a" if level == "viewer" else "an"
    return f"{whose}Only {article} {level} can do that. Ask whoever runs Threadwright for a higher role."


def _id(named: str) -> str:
    found = ID.fullmatch(named.strip())
    return found[1] if found else ""
