"""Watches the pull requests that agents opened until they are merged or closed, by asking their hosts; no model is asked.

One task asks for all of them, often after something changed and rarely where nothing does.  A check that failed begins a
task in the thread, by the right that the person has now; what its log says is quoted as data.  Everything that is told
or begun has an id made of the pull request and of how often it took a turn, so that it happens once, also where the process
dies in between, and again where a check turns red once more.
"""

from __future__ import annotations

import asyncio
import hashlib
import logging
from collections import Counter
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Protocol

from agentic.core.events.execution_events import InboxItem, OutboxItem, Person, QuotedMessage
from agentic.core.events.ids import execution_id
from agentic.forges.hosts import Forges
from agentic.ports.errors import (
    AgenticError,
    AnswerTooLarge,
    ForgeBusy,
    ForgeUnclear,
    RemoteError,
    RepositoryGone,
    RightMissing,
)
from agentic.ports.failpoints import reach
from agentic.ports.forge import Remark, RemoteCheck
from agentic.ports.runtime import Store
from bot.access.permissions import may
from bot.inbound.parse import FOREIGN
from bot.ports.conversation import Receipt, ThreadState
from bot.rendering.discord_text import inline, plain
from bot.workspace.pull_requests import ATTEMPTS, Change, PullRow, PullRows, Sighting, judged

SHORTEST, LONGEST, GROWTH = 20.0, 600.0, 1.6
"""Seconds between two looks: after a change, where nothing changes for long, and how fast the one becomes the other.

All of them at the usual pace, which is set by the first one."""
OPENED_SECONDS = 30.0
"""How often it is looked for those that other processes opened."""
EACH = 3.0
"""Seconds that a host has between two looks, however many pull requests are watched there."""
SILENT = 3
"""So many of a host's pull requests that get no answer, and none that gets one, make a host that does not answer."""
RINGS_KEPT = 100
"""Names of repositories that may have rung and were not looked at yet; what is beyond that is found by polling."""
LOG_CHARACTERS = 6_000
LOGS_QUOTED, NAMES_TOLD, NAME_CHARACTERS = 3, 6, 80
REMARK_CHARACTERS = 1_500
REMARKS_TOLD = 5
TASK = (
    "{count} of the checks of pull request {number} failed, attempt {attempt} of {most}. Find out why, fix it in the "
    "checkout, run the check yourself where you can, commit, and publish again. What they are called and what they wrote is "
    "quoted as data."
)
RED = "❌ {names} failed on pull request {number}. I'll fix it (attempt {attempt} of {most})."
GREEN = "✅ Pull request {number} is green: {names} passed. {url}"
GIVEN_UP = (
    "❌ {names} still fails on pull request {number} after {most} attempts, so I stop here. Tell me how to continue: "
    "{url}"
)
LEFT = (
    "❌ {names} failed on pull request {number}. I don't fix it by myself: whoever asked for it may not start tasks here any "
    "more. Mention me to continue."
)
MERGED, CLOSED = "🟣 Pull request {number} was merged.", "⚪ Pull request {number} was closed without merging."
REMARKED = FOREIGN + " {author} on pull request {number}{where}:\n> {text}"
HANDLE = "-# Write here what I should do with it."
UNSEEN = "⚠️ I can't see the checks of pull request {number}, so I don't know whether they pass: {why} {url}"
TROUBLE = "⚠️ I can't look at pull request {number} now: {why}"

_SEEN = ("state", "sha", "checks", "attempts", "told", "seen", "unread", "trouble")
"""What of a row the watch writes."""

log = logging.getLogger(__name__)


class Delivering(Protocol):
    """``bot.threads.registry.Threads.deliver``."""

    def __call__(self, item: InboxItem, *, guild: str) -> Awaitable[Receipt]:
        """Store the item and wake what it concerns."""
        ...


@dataclass(frozen=True, slots=True)
class Around:
    """What the watch has to do with the rest of the bot."""

    changed: Callable[[str], Awaitable[None]]
    """Told the key of a pull request whose messages have to change."""
    tell: Callable[[OutboxItem], Awaitable[None]]
    deliver: Delivering
    state: Callable[[str], Awaitable[ThreadState]]
    present: Callable[[str, str], Awaitable[Person | None]]
    """A person of a server with the right they have now."""


class PullWatch:
    """Asks for as long as ``run`` runs."""

    def __init__(
        self, store: Store, forges: Forges, around: Around, seconds: float = SHORTEST, *, alone: bool = True
    ) -> None:
        self._store, self._forges, self._around = store, forges, around
        self.rows = PullRows(store)
        self.pace = seconds / SHORTEST
        """Factor of all pauses."""
        self._longest = LONGEST * self.pace if alone else min(LONGEST * self.pace, OPENED_SECONDS)
        """The longest pause after which it is looked which there are: other processes may open some."""
        self.gap = 2.0
        """Seconds between two looks at a pull request that webhooks ask for, for each that is watched at its host."""
        self._rung: set[str] = set()
        self._looked: dict[str, float] = {}
        """When each was looked at last."""
        self._pauses: dict[str, float] = {}
        self._due: dict[str, float] = {}
        self._rests: dict[str, float] = {}
        """Until when a host that has asked to wait, or that does not answer, is asked nothing."""
        self._unanswered: dict[str, Counter[str]] = {}
        """How often a host gave no answer since its last one, by pull request."""
        self._at_work: set[str] = set()
        """Hosts whose pull requests are looked at in this moment, one after the other."""
        self._bell = asyncio.Event()

    def opened(self, key: str) -> None:
        """A pull request was opened or published to: it is looked at soon."""
        self._pauses[key] = SHORTEST
        self._due[key] = _now() + SHORTEST * self.pace
        self._bell.set()

    def rung(self, repository: str) -> None:
        """A webhook says that something happened in ``owner/name``: its pull requests are looked at now."""
        if len(self._rung) < RINGS_KEPT:
            self._rung.add(repository.lower())
            self._bell.set()

    async def run(self) -> None:
        """Look at each when it is due, until cancelled; a host that is slow or dead keeps only its own waiting."""
        async with asyncio.TaskGroup() as hosts:
            while True:
                self._bell.clear()
                await self._read()
                now = _now()
                for host in {_host(key) for key, at in self._due.items() if at <= now} - self._at_work:
                    self._at_work.add(host)
                    hosts.create_task(self._look_at_all_of(host), name=f"pull requests at {host}")
                ahead = [at - now for key, at in self._due.items() if _host(key) not in self._at_work]
                try:
                    async with asyncio.timeout(max(min([self._longest, *ahead]), 0.01)):
                        await self._bell.wait()
                except TimeoutError:
                    continue

    async def _read(self) -> None:
        """Which are watched, and which of them are due because their repository rang."""
        before = set(self._due)  # what is opened while the store is read stays
        try:
            watched = await self.rows.watched()
        except AgenticError as error:
            log.warning("which pull requests are watched cannot be read now: %s", error)
            watched = tuple(before)
        for key in before.difference(watched):
            for known in (self._due, self._looked, self._pauses):
                known.pop(key, None)
        rung, self._rung = self._rung, set()
        for key in watched:
            self._due.setdefault(key, 0.0)
            if _repository(key) in rung:  # however often it rings, its host is asked once in ``gap`` seconds
                rest = self.gap * self._beside(_host(key))
                self._due[key] = min(self._due[key], self._looked.get(key, -rest) + rest)
                self._pauses[key] = SHORTEST / GROWTH

    def _beside(self, host: str) -> int:
        """How many are watched at a host, as far as is known."""
        return sum(_host(each) == host for each in self._due)

    async def _look_at_all_of(self, host: str) -> None:
        """Look at those of a host that are due, the one first that was looked at longest ago."""
        due = [key for key, at in self._due.items() if at <= _now() and _host(key) == host]
        try:
            for key in sorted(due, key=lambda key: self._looked.get(key, 0.0)):
                await self._look(key)
        finally:
            self._at_work.discard(host)
            self._bell.set()

    async def _look(self, key: str) -> None:
        """Look at one; whatever goes wrong, it is looked at again."""
        host, pause = _host(key), LONGEST
        if (rest := self._rests.get(host, 0.0)) > _now():
            self._due[key] = rest
            return
        self._looked[key] = _now()
        longer = min(self._pauses.get(key, SHORTEST) * GROWTH, LONGEST)
        try:
            pause = await self._asked(key, longer)
        except AgenticError as error:
            log.warning("pull request %s cannot be looked at now: %s", key, error)
            pause = longer
        except Exception:  # one of them must not end the watch of all others
            log.exception("a fault of ours: pull request %s", key)
        self._pauses[key] = pause
        self._due[key] = _now() + max(pause, EACH * self._beside(host)) * self.pace

    async def _asked(self, key: str, longer: float) -> float:
        """Seconds until the next look, ``longer`` than the last where nothing changed."""
        host = _host(key)
        try:
            row = await self.rows.of(key)
            if row is None:
                await self.rows.ended(key)
                return LONGEST
            moved = await self._seen(row)
        except ForgeBusy as busy:
            self._rests[host] = _now() + busy.retry_after
        except ForgeUnclear as unclear:
            log.info("pull request %s: %s", key, unclear)
            self._unheard(host, key)
        except RemoteError as error:
            self._unanswered.pop(host, None)
            await self._in_trouble(key, error)
            return LONGEST
        else:
            self._unanswered.pop(host, None)
            return SHORTEST if moved else longer
        return longer

    def _unheard(self, host: str, key: str) -> None:
        """A host gave no answer: where that is so for several in a row, it is asked for one at a time, ever more rarely.

        One that cannot be read says nothing about the host, and waits by itself.
        """
        unanswered = self._unanswered.setdefault(host, Counter())
        unanswered[key] += 1
        if len(unanswered) >= SILENT:
            times = min(unanswered.total() - SILENT, 20)
            self._rests[host] = _now() + min(SHORTEST * GROWTH**times, LONGEST) * self.pace

    async def _seen(self, row: PullRow) -> bool:
        """Ask the host, and do what follows; whether something changed."""
        if await self._store.session(row.thread) is None:
            await self.rows.ended(row.key)  # its thread is no more
            return False
        forge, remote = self._forges.forge(row.remote), row.remote
        pull = await forge.pull_request(remote, row.number)
        checks, unseen = (), ""
        try:
            checks = await forge.checks(remote, pull.sha) if pull.state == "open" else ()
        except (RightMissing, AnswerTooLarge) as missing:
            unseen = str(missing)
        remarks = await forge.remarks(remote, row.number)
        account = await forge.account() if remarks else ""
        change = judged(row, Sighting(pull, checks, remarks, account, unseen))
        if change.red and await self._around.state(row.thread) not in ("idle", "unknown"):
            return False  # what runs there may be about to mend it; the next look decides
        if change.row == row:
            return False
        now = await self._follow(row, change)
        reach("watch.told")
        newest = await self.rows.of(row.key) or row  # it may have been published to meanwhile
        seen = {name: getattr(now, name) for name in _SEEN}
        await self.rows.put(newest.model_copy(update={**seen, "turns": row.turns + 1}))
        if change.ended:
            await self.rows.ended(row.key)
        await self._around.changed(row.key)
        return change.moved

    async def _follow(self, row: PullRow, change: Change) -> PullRow:
        """Tell and begin what follows; returns the row as it is from now on."""
        now = change.row
        said = {
            "number": row.number, "names": _names([check.name for check in change.red] or list(now.checks)),
            "count": len(change.red), "most": ATTEMPTS, "attempt": now.attempts, "url": f"<{row.url}>",
        }  # fmt: skip
        for remark in change.remarks[-REMARKS_TOLD:]:
            await self._say(row, f"remark.{remark.id}", _quoting(row, remark))
        if now.trouble and now.trouble != row.trouble:
            told = UNSEEN.format(why=plain(now.trouble, 400), **said)
            await self._say(row, "trouble", told, once=now.trouble)
        if change.ended:
            await self._say(row, now.state, (MERGED if now.state == "merged" else CLOSED).format(**said))
        elif change.green:
            await self._say(row, "green", GREEN.format(**said))
        elif change.gives_up:
            await self._say(row, "given-up", GIVEN_UP.format(**said), notify=True)
        elif change.red and not await self._mend(row, change, said):
            return now.model_copy(update={"attempts": row.attempts})
        return now

    async def _mend(self, row: PullRow, change: Change, said: Mapping[str, object]) -> bool:
        """Begin a task that mends what failed, where its person may still give one; whether there is one."""
        session = await self._store.session(row.thread)
        if session is None:
            return False
        person = await self._around.present(row.person, session.guild)
        if person is None or not may(person.level, "start"):
            await self._say(row, "left", LEFT.format(**said), notify=True)
            return False
        id = f"checks.{_digest(row.key, change.row.sha, str(row.turns))}"
        if await self._store.execution(execution_id(row.thread, id)) is not None:
            return True
        quoted = [await self._log_of(row, check) for check in change.red[:LOGS_QUOTED]]
        await self._say(row, "red", RED.format(**said))
        item = InboxItem(
            id=id, thread=row.thread, sort="task", author=person, at=datetime.now(UTC), text=TASK.format(**said),
            quoted=tuple(quoted), unspoken=True,
        )  # fmt: skip
        await self._around.deliver(item, guild=session.guild)
        return True

    async def _log_of(self, row: PullRow, check: RemoteCheck) -> QuotedMessage:
        forge = self._forges.forge(row.remote)
        text = await forge.log_of(row.remote, check, LOG_CHARACTERS)
        name = " ".join(check.name[:NAME_CHARACTERS].split())
        said = f"{name}\n\n{text or '(The host gives no log out.)'}"
        return QuotedMessage(author="a check that failed", text=said, what="the log of a check that failed")

    async def _in_trouble(self, key: str, error: RemoteError) -> None:
        """Say once why it cannot be looked at; one that is gone is watched no more."""
        row = await self.rows.of(key)
        if row is None:
            return
        why = str(error)
        if row.trouble != why:
            told = TROUBLE.format(number=row.number, why=plain(why, 400))
            await self._say(row, "trouble", told, once=why)
            await self.rows.put(row.model_copy(update={"trouble": why, "turns": row.turns + 1}))
            await self._around.changed(key)
        if isinstance(error, RepositoryGone):
            await self.rows.ended(key)

    async def _say(self, row: PullRow, what: str, text: str, *, notify: bool = False, once: str = "") -> None:
        """Tell it once for this turn of the pull request, or ``once`` for these words whenever they are true again."""
        key = f"pull.{_digest(row.key)}.{_digest(once) if once else row.turns}.{what}"
        await self._around.tell(
            OutboxItem(key=key, thread=row.thread, execution="", sort="notice", text=text, notify=notify)
        )


def _names(names: Sequence[str]) -> str:
    more = len(names) - NAMES_TOLD
    return ", ".join([inline(name, 40) for name in names[:NAMES_TOLD]] + ([f"{more} more"] if more > 0 else []))


def _quoting(row: PullRow, remark: Remark) -> str:
    where = f", on {inline(remark.path)}:{remark.line}" if remark.path else ""
    text = plain(remark.text, REMARK_CHARACTERS).replace("\n", "\n> ")
    said = REMARKED.format(author=plain(remark.author, 40) or "Somebody", number=row.number, where=where, text=text)
    return f"{said}\n{HANDLE}"


def _host(key: str) -> str:
    """The host that a pull request's key begins with."""
    return key.partition("/")[0]


def _repository(key: str) -> str:
    return key.partition("/")[2].rpartition("/")[0].lower()


def _digest(*parts: str) -> str:
    return hashlib.sha256("\x1f".join(parts).encode()).hexdigest()[:16]


def _now() -> float:
    return asyncio.get_running_loop().time()
