"""The repository of a channel or a thread: attached by people, fetched, checked out when a task begins.

A thread keeps the repository that it began with, whatever is attached to its channel later; ``/repo`` in the thread
changes it.
"""

from __future__ import annotations

import asyncio
import logging
import re
import time
from collections.abc import AsyncGenerator, Awaitable, Callable, Collection, Iterator, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict, ValidationError

from agentic.core.events.execution_events import (
    UNEXPOSED,
    Exposure,
    InboxItem,
    OutboxItem,
    Person,
    PullRequestOpened,
    QuotedMessage,
    Started,
)
from agentic.forges.repository_list import NotAllowed, RepositoryList
from agentic.ports.errors import AgenticError, RemoteError, RepositoryGone, RightMissing, TokenRefused
from agentic.ports.forge import Hosted, Remote, remote_at
from agentic.ports.runtime import SessionRow, Store
from agentic.remotes.checkout import Checked, check_out
from agentic.remotes.mirror import BRANCH
from agentic.remotes.publication import Hand, Origin, Publisher
from agentic.remotes.thread_remote import WayOut
from agentic.sandbox.pool import Sandboxes
from agentic.workspace.workspace import RealWorld
from bot.access.permissions import at_least
from bot.rendering.discord_text import inline, plain
from bot.workspace.linked_accounts import LinkedAccounts
from bot.workspace.pull_requests import PullRows
from reflexion.lessons.fact import Workplace

Scope = Literal["thread", "channel"]

MIRROR_DAYS, SWEEP_SECONDS = 30, 3_600.0
"""Days after which the copy of a repository goes at the latest that no task fetched since, and how often such are looked
for."""
SOON = 4.0
"""Seconds of fetching after which the person is told what is waited for."""
_NAMED = re.compile(r"(?:^|(?<=\s))repo:(\S{3,300})(?=\s|$)")
_NOT_OF_A_NAME = re.compile(r"[^\w .-]")
_BRANCH = re.compile(r"(?:^|(?<=\s))branch:(\S{1,200})(?=\s|$)")
FETCHING = "Fetching {repository}. I begin when it is here."
NOT_YOURS = (
    "Only operators can choose another repository for a task, so I use {used}. An operator can attach it here with `/repo "
    "attach`."
)
RENAMED = "{old} is called {new} now. I use that; `/repo attach` with the new name makes it tidy for new threads."
SUBMODULES = (
    "{repository} has submodules, which I don't fetch: their folders are empty. If the task needs one, start a thread with "
    "that repository, or send me its files here."
)
LFS = (
    "{repository} keeps large files in Git LFS, which I don't fetch: I see only pointers to them. If the task needs one, send "
    "it to me here, and say where it belongs."
)
EMPTY = (
    "{repository} has no commit yet, so I can't open a pull request there. Make the first one at the host (a README is "
    "enough)."
)
READ_ONLY = (
    "I may only read {repository}, so I can't open a pull request there. Whoever runs the bot can give its token the right "
    "to write contents and pull requests, and its account the right to write."
)
FAILED = "I could not get {repository}: {why}"
NOT_HAD = "Repository: {repository} could not be brought up to date; its files may be missing or old. The person was told why."
"""To the agent.  What git and hosts say may hold names of files and words of others, so it stands in no prompt."""
REFUSED: Mapping[type[RemoteError], str] = {
    TokenRefused: "⚠️ {host} doesn't accept the token of {login} any more, so I write there as myself. `/repo account` takes a "
    "new one.",
    RightMissing: "⚠️ The token of {login} may not do this at {host}, so I write there as myself. `/repo account` takes "
    "another one.",
    RepositoryGone: "⚠️ {host} doesn't show this repository to {login}, so I write there as myself. `/repo account` takes "
    "a token that has access.",
}
"""What is told, once, where the account of the person who asked cannot be used."""
_GONE = (RepositoryGone, TokenRefused, RightMissing)
"""What the host shows to the bot no more, the bot shows to nobody."""
_LOST = (*_GONE, NotAllowed)

log = logging.getLogger(__name__)


class _Attached(BaseModel):
    model_config = ConfigDict(frozen=True, extra="ignore")

    host: str = ""
    owner: str = ""
    name: str = ""
    branch: str = ""
    """``host`` is '' where none is wanted, whatever the channel has."""


@dataclass(frozen=True, slots=True)
class Named:
    """What a task's text names."""

    repository: str = ""
    branch: str = ""


def named_in(text: str) -> Named:
    """The repository and the branch that a task names: ``repo:owner/name branch:x``."""
    repository, branch = _NAMED.search(text), _BRANCH.search(text)
    return Named(repository[1] if repository else "", branch[1] if branch and repository else "")


class Repositories:
    """All of them, and what agents need of theirs."""

    def __init__(
        self, store: Store, publisher: Publisher, sandboxes: Sandboxes, tell: Callable[[OutboxItem], Awaitable[None]],
        changed: Callable[[str], None], allowed: RepositoryList, accounts: LinkedAccounts,
    ) -> None:  # fmt: skip
        self._store, self._sandboxes, self._tell = store, sandboxes, tell
        self.publisher = publisher
        self.rows = PullRows(store)
        self._changed, self._allowed = changed, allowed
        self.accounts = accounts
        self._origins: dict[str, Origin] = {}
        self._lines: dict[str, tuple[str, ...]] = {}
        self._public: set[str] = set()
        """Threads whose repository the host shows to everybody."""

    # --- for agents -------------------------------------------------------------------------------------------------

    def way_out(self, thread: str) -> WayOut | None:
        """Where the thread may publish; None where it has no repository, or none that could be fetched yet."""
        origin = self._origins.get(thread)
        if origin is None or thread not in self._sandboxes.mirrors:
            return None

        async def footer() -> str:
            return await self._footer(thread)

        def hand() -> AbstractAsyncContextManager[Hand | None]:
            return self._hand(thread, origin.remote.host)

        async def opened(event: PullRequestOpened) -> None:
            await self.rows.opened(event, thread, (await self._started(thread))[0].id)
            published = remote_at(event.host, event.repository)
            if published is not None and published != self._origins.get(thread, origin).remote:
                await self._moved(thread, Origin(published, origin.branch))
            self._changed(event.key)

        async def pulls() -> dict[int, Remote]:
            ours = self._origins.get(thread, origin).remote.key  # another number of the same is another repository's
            return {row.number: row.remote for row in await self.rows.of_thread(thread) if row.remote.key == ours}

        return WayOut(self.publisher, thread, origin, footer, opened, hand, pulls)

    @asynccontextmanager
    async def _hand(self, thread: str, host: str) -> AsyncGenerator[Hand | None]:
        """The account of who asked for what runs in a thread, where they linked one."""
        person = (await self._started(thread))[0].id
        linked = self.accounts.of(person, host)
        if linked is None:
            yield None
            return

        async def refused(why: RemoteError) -> None:
            text = REFUSED[type(why)].format(login=inline(linked.login), host=host)
            await self._tell(
                OutboxItem(key=f"{thread}.account.{linked.id}", thread=thread, execution="", sort="notice", text=text)
            )

        forge = self.publisher.forges.forge_with(self.publisher.forges.host(host), linked.token.get_secret_value())
        try:
            yield Hand(forge, refused)
        finally:
            await forge.close()

    async def remarks(self, thread: str) -> tuple[QuotedMessage, ...]:
        """What people wrote on the thread's pull requests since it published last: data, never an order."""
        return tuple(remark for row in await self.rows.of_thread(thread) for remark in row.unread)

    def lines(self, thread: str) -> tuple[str, ...]:
        """What the agent is told of its repository."""
        return self._lines.get(thread, ())

    def exposure(self, thread: str) -> Exposure:
        """What a task is exposed to by its repository, and where it publishes.

        What everybody may read, everybody may also propose changes of.  A private one is written by its own people alone;
        one of which the host said nothing counts as private.
        """
        origin = self._origins.get(thread)
        if origin is None:
            return UNEXPOSED
        remote, public = origin.remote, thread in self._public
        return Exposure(
            untrusted=(f"{remote}, where anybody may propose changes",) if public else (),
            private=() if public else (f"{remote}, which is private",),
            remote=f"{remote} at {remote.host}",
        )

    def workplace(self, thread: str) -> Workplace | None:
        """The thread's repository, as facts of it are kept; one of which the host said nothing counts as private."""
        origin = self._origins.get(thread)
        return Workplace(origin.remote.key, thread not in self._public) if origin is not None else None

    async def furnish(self, row: SessionRow, item: InboxItem | None, world: Callable[[], RealWorld]) -> None:
        """Make ready what a thread's next work needs; a task (``item``) finds the newest state checked out.

        Never fails: what could not be had is told to the person and to the agent.
        """
        try:
            await self._furnished(row, item, world)
        except (AgenticError, OSError) as error:
            log.warning("thread %s: its repository is not to be had: %s", row.thread, error)
            why = (error.strerror or type(error).__name__) if isinstance(error, OSError) else str(error)
            held = self._origins.get(row.thread)
            repository = str(held.remote) if held is not None else "the one of this thread"
            if held is not None and isinstance(error, _GONE):
                self.publisher.mirrors.of(held.remote).hide()
            if isinstance(error, _LOST):
                self._let_go(row.thread)
                self._unshow(await self.publisher.mirrors.leave(row.thread))
            self._lines[row.thread] = (NOT_HAD.format(repository=repository),)
            if item is not None:
                told = FAILED.format(repository=inline(repository) if held else "the repository", why=plain(why, 600))
                await self._say(item, "failed", told)

    async def _furnished(self, row: SessionRow, item: InboxItem | None, world: Callable[[], RealWorld]) -> None:
        origin = await self._for_task(row, item)
        if origin is None:
            self.forget(row.thread)
            return
        mirror = self.publisher.mirrors.of(origin.remote)
        self._origins[row.thread] = origin
        self._public.discard(row.thread)
        self._allowed.require(row.guild, origin.remote)
        if mirror.exists:
            self._sandboxes.mirrors[row.thread] = mirror.folder
        if item is not None:
            self._lines[row.thread] = await self._ready(row, item, origin, world)

    async def _ready(
        self, row: SessionRow, item: InboxItem, origin: Origin, world: Callable[[], RealWorld]
    ) -> tuple[str, ...]:
        fetching = asyncio.create_task(self.fetch(row.guild, origin.remote, row.thread), name=f"fetch {origin.remote}")
        try:
            done, _ = await asyncio.wait((fetching,), timeout=SOON)
            if not done:
                await self._say(item, "fetching", FETCHING.format(repository=inline(str(origin.remote))))
            hosted = await fetching
        finally:
            if not fetching.done():
                fetching.cancel()
                await asyncio.wait((fetching,))
        if hosted.remote != origin.remote:
            renamed = RENAMED.format(old=inline(str(origin.remote)), new=inline(str(hosted.remote)))
            await self._say(item, "renamed", renamed)
            origin = Origin(hosted.remote, origin.branch)
            await self._moved(row.thread, origin)
        if not hosted.private:
            self._public.add(row.thread)
        mirror = self.publisher.mirrors.of(hosted.remote)
        self._sandboxes.mirrors[row.thread] = mirror.folder
        web = f"{self.publisher.forges.host(hosted.remote.host).web}/{hosted.remote}"
        checked = await check_out(world(), mirror, web, origin.branch)
        for what, text in _special(hosted, checked) if checked is not None else ():
            await self._say(item, what, text.format(repository=inline(str(hosted.remote))))
        return _told(hosted, origin, web, checked)

    async def fetch(self, server: str, remote: Remote, thread: str = "") -> Hosted:
        """Bring the mirror of a repository up to date, for a server that may use it.  Raises ``RemoteError``."""
        hosted = await self._hosted(server, remote)
        await self.publisher.mirrors.fetched(hosted, thread=thread)
        if thread:
            self._unshow(await self.publisher.mirrors.leave(thread, but=hosted.remote))
        return hosted

    async def _hosted(self, server: str, remote: Remote) -> Hosted:
        """What the host says of it; one that was given another name is judged by that too."""
        self._allowed.require(server, remote)
        hosted = await self.publisher.forges.forge(remote).repository(remote)
        self._allowed.require(server, hosted.remote)
        return hosted

    async def _for_task(self, row: SessionRow, item: InboxItem | None) -> Origin | None:
        """The thread's repository; a task may name another one where its person may choose, and the thread keeps it."""
        attached = await self.of(row.thread, row.channel)
        if item is None:
            return attached
        wanted = await self._named(row.guild, item, attached)
        if wanted is not None and (wanted != attached or await self._read("thread", row.thread) is None):
            await self._put("thread", row.thread, wanted)
        return wanted

    async def _named(self, server: str, item: InboxItem, attached: Origin | None) -> Origin | None:
        """The repository that a task names, if its person may choose it; else the attached one."""
        named = Named() if item.unspoken else named_in(item.text)
        if not named.repository:
            return attached
        try:
            wanted = Origin(self.publisher.forges.read(named.repository), _branch(named.branch))
            self._allowed.require(server, wanted.remote)
        except RemoteError as error:
            await self._say(item, "unread", plain(str(error), 600))
            return attached
        same = attached is not None and wanted.remote == attached.remote
        if same or at_least(item.author.level, "operator"):
            return wanted
        used = inline(str(attached.remote)) if attached else "none"
        await self._say(item, "not-yours", NOT_YOURS.format(used=used))
        return attached

    # --- for people -------------------------------------------------------------------------------------------------

    async def of(self, thread: str, channel: str) -> Origin | None:
        """What is attached to a thread, else to its channel."""
        for scope, id in (("thread", thread), ("channel", channel)):
            found = await self._read(scope, id) if id else None
            if found is not None:
                return _origin(found)
        return None

    async def attach(self, server: str, scope: Scope, id: str, remote: Remote, branch: str) -> Hosted:
        """Attach a repository, under its present name.  Raises ``RemoteError`` where it cannot be read, or may not be."""
        hosted = await self._hosted(server, remote)
        await self._put(scope, id, Origin(hosted.remote, _branch(branch)))
        return hosted

    async def forked(self, thread: str, to: str) -> None:
        """A fork keeps the repository of the thread that it was made of."""
        if (own := await self._read("thread", thread)) is not None:
            await self._store.set_fact(_key("thread", to), own.model_dump_json())

    async def detach(self, scope: Scope, id: str) -> None:
        """Attach none; a thread then has none even where its channel has one."""
        await self._store.set_fact(_key(scope, id), _Attached().model_dump_json() if scope == "thread" else "")
        if scope == "thread":
            self._unshow(await self.publisher.mirrors.leave(id))

    async def _read(self, scope: str, id: str) -> _Attached | None:
        try:
            return _Attached.model_validate_json(await self._store.fact(_key(scope, id)) or "")
        except ValidationError:
            return None

    async def _put(self, scope: Scope, id: str, origin: Origin) -> None:
        remote = origin.remote
        kept = _Attached(host=remote.host, owner=remote.owner, name=remote.name, branch=origin.branch)
        await self._store.set_fact(_key(scope, id), kept.model_dump_json())

    async def _moved(self, thread: str, origin: Origin) -> None:
        """The thread's repository has another name now."""
        await self._put("thread", thread, origin)
        self._origins[thread] = origin

    # --- small parts ------------------------------------------------------------------------------------------------

    async def _say(self, item: InboxItem, what: str, text: str) -> None:
        notice = OutboxItem(
            key=f"{item.id}.repository.{what}", thread=item.thread, execution="", sort="notice", text=text
        )
        try:
            await self._tell(notice)
        except (AgenticError, OSError) as error:
            log.warning("thread %s: it cannot be told: %s", item.thread, error)

    async def _started(self, thread: str) -> tuple[Person, str]:
        """For whom the thread's open execution works, and the server."""
        session = await self._store.session(thread)
        guild = session.guild if session is not None else ""
        for execution in await self._store.open_executions(thread):
            async for envelope in self._store.read(execution.execution):
                if isinstance(envelope.event, Started) and not envelope.event.side:
                    return envelope.event.requester, guild
                break
        return Person(id="0", name="somebody"), guild

    async def _footer(self, thread: str) -> str:
        person, guild = await self._started(thread)
        name = _NOT_OF_A_NAME.sub("", person.name)[:40] or "somebody"
        link = f"https://discord.com/channels/{guild or '@me'}/{thread}"
        return f"---\n<sub>Made by Threadwright for {name}, in [this thread]({link}).</sub>"

    def forget(self, thread: str) -> None:
        """Let go of what a thread had."""
        self._let_go(thread)
        self._lines.pop(thread, None)

    async def delete(self, thread: str) -> None:
        """Delete what was kept of a thread that is no more."""
        self.forget(thread)
        await self.publisher.mirrors.forget_thread(thread)
        self._unshow(await self.publisher.mirrors.leave(thread))

    async def run(self, retention_days: int) -> None:
        """Delete mirrors that nobody needs, from time to time, until cancelled; logs are kept so many days, 0 for ever."""
        days = min(MIRROR_DAYS, retention_days or MIRROR_DAYS)
        while True:
            try:
                await self.sweep(time.time() - days * 86_400)
            except OSError as error:
                log.warning("mirrors that nobody needs stay for now: %s", error)
            await asyncio.sleep(SWEEP_SECONDS)

    async def sweep(self, before: float) -> None:
        """Delete mirrors of repositories that may not be used any more, or that no task used since ``before``."""
        hosts = {host.name for host in self.publisher.forges.hosts}
        running = [folder for thread, folder in self._sandboxes.mirrors.items() if self._sandboxes.existing(thread)]
        gone = await self.publisher.mirrors.sweep(
            before, lambda remote: remote.host in hosts and self._allowed.anywhere(remote), running
        )
        self._unshow(gone)
        if gone:
            log.info("%d copies of repositories that nobody needs are deleted", len(gone))

    def _unshow(self, gone: Collection[Path]) -> None:
        """Sandboxes are not shown what is gone."""
        for thread in [thread for thread, folder in self._sandboxes.mirrors.items() if folder in gone]:
            del self._sandboxes.mirrors[thread]

    def _let_go(self, thread: str) -> None:
        """Its sandboxes see no mirror, and it publishes nowhere, until it is furnished again."""
        self._origins.pop(thread, None)
        self._public.discard(thread)
        self._sandboxes.mirrors.pop(thread, None)


def _origin(attached: _Attached) -> Origin | None:
    return Origin(Remote(attached.host, attached.owner, attached.name), attached.branch) if attached.host else None


def _branch(written: str) -> str:
    if written and not BRANCH.fullmatch(written):
        raise RemoteError(f"{written[:60]!r} is no name of a branch.")
    return written


def _key(scope: str, id: str) -> str:
    return f"repository.{scope}.{id}"


def _special(hosted: Hosted, checked: Checked) -> Iterator[tuple[str, str]]:
    """What a person should know of a repository before work in it begins."""
    if checked.submodules:
        yield "submodules", SUBMODULES
    if checked.lfs:
        yield "lfs", LFS
    if not checked.commit:
        yield "empty", EMPTY
    if not hosted.may_push:
        yield "read-only", READ_ONLY


def _told(hosted: Hosted, origin: Origin, web: str, checked: Checked | None) -> tuple[str, ...]:
    """What the agent is told."""
    branch = origin.branch or hosted.default_branch
    branch = f"branch {branch}" if BRANCH.fullmatch(branch) else "its default branch"
    if checked is None:
        where = "the workspace is as you left it; `git fetch origin` brings what is new"
    elif checked.commit:
        where = f"{branch} is checked out in /workspace"
    else:
        where = (
            "it has no commit yet, so a person has to make the first one at the host before anything can be published"
        )
    lines = [
        f"Repository: {hosted.remote} ({web}), {where}. git reads a copy of it; nothing can be pushed with git. Commit your "
        "work with git, then publish it with the tool publish, which opens the pull request."
    ]
    if checked is not None and checked.submodules:
        lines.append("Its submodules are not there, and cannot be fetched: say so where the task needs one.")
    if checked is not None and checked.lfs:
        lines.append("Files in Git LFS are pointers here, without their content: do not change them.")
    if not hosted.may_push:
        lines.append("The bot may only read this repository, so nothing can be published to it: say so.")
    return tuple(lines)
