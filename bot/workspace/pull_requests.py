"""What is kept of the pull requests that agents opened, and what follows from what their host says of them.

A row is one small fact in the store, so that a watch goes on after a restart; rows of pull requests that ended stay for
their message.  ``judged`` is pure: it compares what is known with what was seen.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import Literal

from pydantic import BaseModel, ConfigDict, TypeAdapter, ValidationError

from agentic.core.events.execution_events import PullRequestOpened, QuotedMessage
from agentic.ports.forge import PullRequest, Remark, Remote, RemoteCheck, remote_at
from agentic.ports.stores import Facts

WATCHED, KNOWN = "pulls.watched", "pulls.known"
ATTEMPTS = 3
"""So often in a row a red check begins a task by itself."""
UNREAD_KEPT, UNREAD_CHARACTERS = 10, 2_000
OURS = "<!-- threadwright:"
_NAMES = TypeAdapter(tuple[str, ...])


class PullRow(BaseModel):
    """One pull request as it is known, and what was told of it."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    key: str
    thread: str
    host: str
    repository: str
    number: int
    url: str
    title: str
    branch: str
    base: str
    commits: int = 0
    files: int = 0
    person: str
    """The id of whom it was opened for, '' where that was erased."""
    state: Literal["open", "merged", "closed"] = "open"
    sha: str = ""
    checks: dict[str, str] = {}
    """The state of each check of the head."""
    attempts: int = 0
    """How often in a row a red check has begun a task; green on a commit that was red before mended nothing of that commit."""
    told: str = ""
    """What was told last, of which head: ``<sha>:green``, ``<sha>:red``, ``<sha>:given up``."""
    seen: tuple[str, ...] = ()
    """Ids of remarks that were told."""
    unread: tuple[QuotedMessage, ...] = ()
    """Remarks since it was published to last, for whoever works in the thread next."""
    turns: int = 0
    """How often something of it changed and was told: what is told at each of them is told once."""
    trouble: str = ""
    """Why it cannot be looked at now, in words; told once."""

    @property
    def remote(self) -> Remote:
        """Its repository."""
        owner, _, name = self.repository.partition("/")
        return remote_at(self.host, self.repository) or Remote(self.host, owner, name)

    @property
    def colour(self) -> Literal["none", "running", "red", "green"]:
        """What its checks come to."""
        states = set(self.checks.values())
        if not states:
            return "none"
        return "running" if "running" in states else "red" if "failed" in states else "green"


@dataclass(frozen=True, slots=True)
class Sighting:
    """What a host says of a pull request at one moment; ``account`` is who the bot is there.

    ``unseen`` says why its checks cannot be seen, '' where they can.
    """

    pull: PullRequest
    checks: tuple[RemoteCheck, ...] = ()
    remarks: tuple[Remark, ...] = ()
    account: str = ""
    unseen: str = ""


@dataclass(frozen=True, slots=True)
class Change:
    """The row as it is from now on, and what is to be told or done."""

    row: PullRow
    red: tuple[RemoteCheck, ...] = ()
    """Failed checks that a task is to mend."""
    gives_up: bool = False
    green: bool = False
    ended: bool = False
    remarks: tuple[Remark, ...] = ()
    moved: bool = False
    """Something is different from what was known."""


def judged(row: PullRow, seen: Sighting) -> Change:
    """What follows; told again for the same row, nothing does."""
    pull = seen.pull
    states = {} if seen.unseen else {check.name: check.state for check in seen.checks}
    now = row.model_copy(
        update={"state": pull.state, "sha": pull.sha, "title": pull.title, "checks": states, "trouble": seen.unseen}
    )
    new = tuple(each for each in seen.remarks if each.id not in row.seen and not _is_ours(each, seen.account))
    ids = tuple(each.id for each in seen.remarks)  # all that are read, else the rest would be new at each look
    unread = (*row.unread, *map(_quoted, new))[-UNREAD_KEPT:]
    now = now.model_copy(update={"seen": ids or row.seen, "unread": unread})
    moved = (now.state, now.sha, now.checks) != (row.state, row.sha, row.checks) or bool(new)
    if pull.state != "open":
        return Change(now, ended=True, remarks=new, moved=True)
    if now.colour == "green" and row.told != (told := f"{pull.sha}:green"):
        attempts = row.attempts if row.told.startswith(f"{pull.sha}:") else 0
        return Change(now.model_copy(update={"told": told, "attempts": attempts}), green=True, remarks=new, moved=moved)
    if now.colour == "red" and row.told not in (f"{pull.sha}:red", f"{pull.sha}:given up"):
        anew = row.told.endswith(":green") and not row.told.startswith(f"{pull.sha}:")
        attempts = 0 if anew else row.attempts
        if attempts >= ATTEMPTS:
            return Change(
                now.model_copy(update={"told": f"{pull.sha}:given up"}), gives_up=True, remarks=new, moved=moved
            )
        red = tuple(check for check in seen.checks if check.state == "failed")
        told_red = now.model_copy(update={"told": f"{pull.sha}:red", "attempts": attempts + 1})
        return Change(told_red, red=red, remarks=new, moved=moved)
    return Change(now, remarks=new, moved=moved)


def _quoted(remark: Remark) -> QuotedMessage:
    where = f" on {remark.path}:{remark.line}" if remark.path else ""
    author, text = f"{remark.author}, on the pull request{where}", remark.text[:UNREAD_CHARACTERS]
    return QuotedMessage(author=author, text=text, what="a comment on the pull request")


def _is_ours(remark: Remark, account: str) -> bool:
    return remark.author == account or OURS in remark.text


class PullRows:
    """The rows, durable in the store."""

    def __init__(self, store: Facts) -> None:
        self._store = store
        self._writing = asyncio.Lock()

    async def of(self, key: str) -> PullRow | None:
        """A row; None where there is none that can be read."""
        try:
            return PullRow.model_validate_json(await self._store.fact(f"pull.{key}") or "")
        except ValidationError:
            return None

    async def put(self, row: PullRow) -> None:
        """Keep a row."""
        await self._store.set_fact(f"pull.{row.key}", row.model_dump_json())

    async def watched(self) -> tuple[str, ...]:
        """The keys of those that are watched."""
        return await self._listed(WATCHED)

    async def facts_of(self, thread: str) -> tuple[str, ...]:
        """The names of all that is kept of a thread's pull requests, ended ones too."""
        keys = [row.key for row in await self._all() if row.thread == thread]
        return tuple(name for key in keys for name in (f"pull.{key}", f"pull.cards.{key}"))

    async def forgotten(self) -> None:
        """Take those off the lists of which no row is left."""
        for key in await self._keys():
            if await self.of(key) is None:
                await self._note(key, watched=False, known=False)

    async def _all(self) -> tuple[PullRow, ...]:
        rows = [await self.of(key) for key in await self._keys()]
        return tuple(row for row in rows if row is not None)

    async def _keys(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys((*await self._listed(KNOWN), *await self.watched())))

    async def _listed(self, name: str) -> tuple[str, ...]:
        return _names_in(await self._store.fact(name))

    async def of_thread(self, thread: str) -> tuple[PullRow, ...]:
        """Those of a thread that are open."""
        rows = [await self.of(key) for key in await self.watched()]
        return tuple(row for row in rows if row is not None and row.thread == thread)

    async def opened(self, event: PullRequestOpened, thread: str, person: str) -> None:
        """Watch a pull request; what is known of it stays."""
        row = await self.of(event.key) or PullRow(
            key=event.key, thread=thread, host=event.host, repository=event.repository, number=event.number,
            url=event.url, title=event.title, branch=event.branch, base=event.base, person=person,
        )  # fmt: skip
        now = {"thread": thread, "person": person, "title": event.title, "state": "open", "commits": event.commits}
        await self.put(row.model_copy(update={**now, "files": len(event.files), "checks": {}, "unread": ()}))
        await self._note(event.key, watched=True)

    async def cards(self, key: str) -> tuple[str, ...]:
        """The outbox keys of the messages about a pull request."""
        try:
            return _NAMES.validate_json(await self._store.fact(f"pull.cards.{key}") or "[]")
        except ValidationError:
            return ()

    async def carded(self, key: str, card: str) -> None:
        """A message about it is being posted."""
        known = await self.cards(key)
        if card not in known:
            await self._store.set_fact(f"pull.cards.{key}", _NAMES.dump_json((*known, card)).decode())

    async def erase(self, person: str) -> None:
        """Forget for whom pull requests were opened; their watch ends, since nobody may be asked any more."""
        for row in await self._all():
            if row.person == person:
                await self.put(row.model_copy(update={"person": ""}))
                await self.ended(row.key)

    async def ended(self, key: str) -> None:
        """Watch it no more."""
        await self._note(key, watched=False)

    async def _note(self, key: str, *, watched: bool, known: bool = True) -> None:
        async with self._writing:
            for name, listed in ((KNOWN, known), (WATCHED, watched)):
                noted = False
                while not noted:  # another process may note one in this moment
                    kept = await self._store.fact(name)
                    before = _names_in(kept)
                    after = before if listed and key in before else tuple(each for each in before if each != key)
                    after += (key,) if listed and key not in before else ()
                    same = after == before
                    noted = same or await self._store.swap_fact(name, kept, _NAMES.dump_json(after).decode())


def _names_in(kept: str | None) -> tuple[str, ...]:
    try:
        return _NAMES.validate_json(kept or "[]")
    except ValidationError:
        return ()
