"""Each thread's workspace with its sandbox, its tools, and the files that people send."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable
from dataclasses import asdict, dataclass, field
from functools import partial
from typing import TYPE_CHECKING

from agentic.code_index.code_search import CodeSearch
from agentic.core.events.execution_events import (
    EquippedSkill,
    Exposure,
    FileChange,
    FileRef,
    InboxItem,
    OutboxItem,
    Person,
    QuotedMessage,
    WorkspaceGuide,
)
from agentic.core.fold.exposure import merged
from agentic.ports.children import Children
from agentic.ports.errors import AgenticError, PathRefused, StoreUnavailable
from agentic.ports.runtime import Found, Saved, SessionRow
from agentic.runtime.shutdown import heard
from agentic.sandbox.pool import Choice, Sandboxes
from agentic.tools.approaches.approaches import APPROACHES_TOOL
from agentic.tools.commit import COMMIT_TOOL, repositories_in
from agentic.tools.files.codebase_search import codebase_search_tool
from agentic.tools.files.notebook_edit import NOTEBOOK_EDIT_TOOL, is_notebook, notebooks_in
from agentic.tools.finish import FINISH_TOOL
from agentic.tools.foreign.skill import SkillCopy, skill_tool
from agentic.tools.memory.fact_memory import FactMemory
from agentic.tools.memory.recall import recall_tool
from agentic.tools.memory.remember import remember_tool
from agentic.tools.network import NETWORK_TOOL
from agentic.tools.publish import COMMENT_TOOL, PUBLISH_TOOL
from agentic.tools.subagent import SUBAGENT_TOOL
from agentic.tools.toolbox import (
    OF_CHILDREN,
    STANDARD,
    ChildToolbox,
    InspectWorkspace,
    People,
    SaveWorkspace,
    StandardToolbox,
    WorldSource,
)
from agentic.tools.wake import Alarm, wake_tool
from agentic.workspace.picture_header import facts_of
from agentic.workspace.snapshots.snapshot_store import SnapshotLost, Snapshots
from agentic.workspace.snapshots.undo_plan import unexplained
from agentic.workspace.workspace import A_PERSON, RealWorld
from bot.workspace import browse
from bot.workspace.browse import Files
from bot.workspace.folders import Workspaces
from bot.workspace.own_workspaces import CopiedWorkspaces
from bot.workspace.repositories import Repositories
from bot.workspace.web_tools import WebTools
from reflexion.lessons.fact import Workplace

if TYPE_CHECKING:
    from agentic.mcp_client.servers import McpServers
    from agentic.tools.base.tool import AnyTool

MB = 1024 * 1024
FILE_BYTES = 25 * MB
MESSAGE_BYTES = 50 * MB
FILES = 20
NO_SANDBOX = "none, so no commands run; `threadwright doctor` says why"
PLACE_SECONDS = 0.3
"""Seconds that a start waits for the name of its sandbox."""

TRYING_SECONDS = 5.0
AGAIN_SECONDS = 30.0
"""Seconds between two trials that nobody waits for."""

EARLIER_FILES = (
    "⚠ The newest copy of this thread's files can't be read any more, so I continue with the one before. Its last changes are "
    "missing: please check. `/checkpoints` lists the copies there are."
)

log = logging.getLogger(__name__)

Download = Callable[[str, int], Awaitable[bytes]]
"""Downloads an address, at most so many bytes; raises ``AttachmentGone`` or ``OSError``."""
Afresh = Callable[[InboxItem, FileRef], Awaitable[str]]
"""Returns the present address of a message's file, '' where there is none: addresses expire after a day."""


ThreadAlarms = Callable[[str, str, int, str], Awaitable[Alarm | str]]
"""Keeps a wake-up of a thread for a call, in so many minutes, with the reason."""


class AttachmentGone(Exception):
    """A person's file cannot be downloaded; ``expired`` where perhaps only its address has expired."""

    def __init__(self, reason: str, *, expired: bool = False) -> None:
        super().__init__(reason)
        self.expired = expired


HOST = "host, .aiignore is not enforced"
"""The warning of the host backend: nothing can be mounted over hidden files, so a command that sets out to can read
them.
"""


@dataclass(frozen=True, slots=True)
class _Trial:
    """A trial of the sandbox, when it began, and what came of the one before."""

    task: asyncio.Task[Choice]
    begun: float
    before: Choice | None

    @property
    def known(self) -> Choice | None:
        """What came of it, or of the one before as long as it runs."""
        if not self.task.done():
            return self.before
        error = asyncio.CancelledError() if self.task.cancelled() else self.task.exception()
        return self.task.result() if error is None else Choice(None, str(error))


@dataclass(slots=True)
class Workshop:
    """Makes and keeps the workspaces of threads, so that what one execution changed is known in the next."""

    sandboxes: Sandboxes
    workspaces: Workspaces
    download: Download
    afresh: Afresh | None = None
    snapshots: Snapshots | None = None
    """The store of snapshots from before each execution."""
    offers: bool = True
    """Whether somebody can still decide about an offered branch when its task has ended."""
    keep: Callable[[str, tuple[str, ...]], Awaitable[str]] | None = None
    """Adds hosts to what is chosen for a thread."""
    may_still: Callable[[str, Person], Awaitable[bool]] | None = None
    """Whether somebody who allowed something for a whole task of a thread could allow it now."""
    alarms: ThreadAlarms | None = None
    """Keeps wake-ups that agents ask for; without it they cannot."""
    masks: bool = True
    """Whether agents see secrets of known form as placeholders."""
    repositories: Repositories | None = None
    """The repositories of threads; None where there are none."""
    code_search: CodeSearch | None = None
    """Searches the code of workspaces; None where that is turned off."""
    memory: Callable[[str], FactMemory] | None = None
    """What the agents of a thread may remember; without it they cannot."""
    mcp: McpServers | None = None
    """The MCP servers of the owner's file; None where there is no such file."""
    web: WebTools | None = None
    """The web, where it is open for a thread."""
    tell: Callable[[OutboxItem], Awaitable[None]] | None = None
    """Tells the people of a thread what happened to its files."""
    _notebooks: set[str] = field(default_factory=set[str])
    """Threads to which a notebook was sent."""
    read_skill: Callable[[str, EquippedSkill], Awaitable[SkillCopy]] | None = None
    """Reads a skill for a thread; without it there are none."""
    _worlds: dict[str, RealWorld] = field(default_factory=dict[str, RealWorld])
    _trying: _Trial | None = None

    def world(self, thread: str) -> RealWorld:
        """Return the thread's workspace; its sandbox is started when something runs in it."""
        if thread not in self._worlds:
            self._worlds[thread] = RealWorld(self.sandboxes, thread, self.workspaces.folder(thread))
        return self._worlds[thread]

    async def files(self, thread: str) -> Files:
        """Return the thread's workspace, or, where that stands on another machine, the last snapshot that was shared of it.

        Raises ``SnapshotLost`` and ``StoreUnavailable``.
        """
        here = await asyncio.to_thread(self.workspaces.has, thread)
        seen = await self.snapshots.elsewhere(thread, here=here) if self.snapshots is not None else None
        return seen if seen is not None else self._passing(thread)

    def _passing(self, thread: str) -> RealWorld:
        """The thread's workspace to look into; what only looks leaves none behind."""
        return self._worlds.get(thread) or RealWorld(self.sandboxes, thread, self.workspaces.folder(thread))

    async def choice(self) -> Choice:
        """Return which sandbox is used and why; trying one out goes on even if the caller is cancelled.

        Where there was none it is tried again, since somebody may have mended that.
        """
        return await asyncio.shield(self._trial())

    def _trial(self) -> asyncio.Task[Choice]:
        """Return the trial that runs or that found a sandbox; one that has begun where there was none."""
        before = self._trying.known if self._trying is not None else None
        if self._trying is None or (self._trying.task.done() and before is not None and before.rung is None):
            task = asyncio.create_task(self.sandboxes.choice(), name="trying the sandbox")
            task.add_done_callback(heard)
            self._trying = _Trial(task, time.monotonic(), before)
        return self._trying.task

    def tried(self) -> Choice | None:
        """Return which sandbox is used, None while that is not known; without a rung where it could not be tried.

        Whoever asks and is told of none has it tried again, at most once in ``AGAIN_SECONDS``.
        """
        if self._trying is None:
            return None
        if self.sandboxes.chosen is not None:
            return self.sandboxes.chosen  # a command may have got one since
        known = self._trying.known
        if known is not None and known.rung is None and time.monotonic() >= self._trying.begun + AGAIN_SECONDS:
            self._trial()
        return known

    def said(self) -> str:
        """Say which sandbox commands run in, '' while that is being tried out."""
        if (choice := self.tried()) is None:
            return ""
        return choice.rung.said if choice.rung is not None else NO_SANDBOX

    def left(self) -> tuple[str, ...]:
        """Describe what an earlier process left in sandboxes and nobody can end."""
        return self.sandboxes.left

    async def place(self) -> str:
        """Say where commands run; '' while that is still being tried out."""
        if self._trying is None:
            return ""  # who is quick to write something does not wait for it
        try:
            async with asyncio.timeout(PLACE_SECONDS):
                choice = await self.choice()
        except (TimeoutError, AgenticError):
            return ""
        if choice.rung is None:
            return ""
        return HOST if choice.name == "host" else choice.name

    async def close(self) -> None:
        """Wait until the trial of a sandbox has ended it."""
        if self._trying is not None:
            await asyncio.wait((self._trying.task,), timeout=TRYING_SECONDS)

    async def end_servers(self) -> None:
        """End the connections to MCP servers."""
        if self.mcp is not None:
            await self.mcp.close()

    async def end_sandbox(self, thread: str) -> None:
        """End what lives beside the workspace (an interpreter, background commands, /tmp); the files stay."""
        if self.mcp is not None:
            await self.mcp.end(thread)
        if thread in self._worlds:
            await self._worlds[thread].close()

    def tidy(self) -> None:
        """Drop the lists of changed files of threads in which no agent works."""
        for world in self._worlds.values():
            world.tidy()

    async def forget(self, thread: str) -> None:
        """End the sandbox of a deleted thread, and delete its workspace and snapshots."""
        world = self._worlds.pop(thread, None)
        if self.mcp is not None:
            await self.mcp.end(thread)
        if world is not None:
            await world.close()
        await self.sandboxes.forget(thread)
        if self.repositories is not None:
            await self.repositories.delete(thread)
        await self._sweep(thread)
        await asyncio.to_thread(self.workspaces.forget, thread)
        if self.snapshots is not None:
            for each in (thread, *await self.snapshots.of_copies(thread)):
                await self.snapshots.forget(each)
        if self.code_search is not None:
            await self.code_search.forget(thread)
        if self.web is not None:
            self.web.forget(thread)
        self._notebooks.discard(thread)

    def child_toolbox(self, thread: str, name: str, reader: bool = False, place: str = "") -> ChildToolbox:
        """Return the tools of a child in the thread's workspace, or in a copy of its own, called ``name`` to the agents
        beside it.
        """
        place = place or thread
        world, save, inspect = self._ways(place)
        reading = self.web.tools(place, acts=False) if self.web is not None else ()
        tools = (FINISH_TOOL,) if reader else (*OF_CHILDREN, *self._skills(place), *reading)
        return ChildToolbox(world, tools, name, save=save, inspect=inspect, masks=self.masks, snapshots=self.snapshots)

    def copies(self, thread: str) -> CopiedWorkspaces | None:
        """Return the copies of the thread's workspace for children; None where no snapshots are kept."""
        return CopiedWorkspaces(self, self.snapshots, thread) if self.snapshots is not None else None

    def lend_mirror(self, thread: str, place: str) -> None:
        """Show a copy of the thread's workspace the mirror that its repository's objects lie in."""
        if (mirror := self.sandboxes.mirrors.get(thread)) is not None:
            self.sandboxes.mirrors[place] = mirror

    async def drop_copy(self, place: str) -> None:
        """End the sandbox of a copy of a workspace and delete its files; its snapshots stay."""
        world = self._worlds.pop(place, None)
        if world is not None:
            await world.close()
        await self.sandboxes.forget(place)
        self.sandboxes.mirrors.pop(place, None)
        await asyncio.to_thread(self.workspaces.forget, place)

    def _ways(self, thread: str) -> tuple[WorldSource, SaveWorkspace, InspectWorkspace]:
        async def world() -> RealWorld:
            return self.world(thread)

        async def save() -> Saved:
            return await self.save(thread)

        async def inspect(manifest: str, since: tuple[FileChange, ...]) -> Found:
            return await self.inspect(thread, manifest, since)

        return world, save, inspect

    def toolbox(self, thread: str, children: Children | None = None) -> StandardToolbox:
        """Return the tools of a new agent in the thread's workspace; ``children`` do parts of its work."""
        world, save, inspect = self._ways(thread)

        async def keep(hosts: tuple[str, ...]) -> str:
            return await self.keep(thread, hosts) if self.keep is not None else ""

        async def may_still(person: Person) -> bool:
            return self.may_still is None or await self.may_still(thread, person)

        way_out = self.repositories.way_out(thread) if self.repositories is not None else None
        network = (NETWORK_TOOL,) if self.sandboxes.has_doors else ()
        commits = (COMMIT_TOOL,) if self.offers and repositories_in(self.workspaces.folder(thread)) else ()
        outward = (PUBLISH_TOOL, COMMENT_TOOL) if way_out is not None else commits

        searching = (codebase_search_tool(self.code_search),) if self.code_search is not None else ()
        woken = (wake_tool(partial(self.alarms, thread)),) if self.alarms is not None else ()

        reading = self.web.tools(thread) if self.web is not None else ()
        told = thread in self._notebooks or notebooks_in(self.workspaces.folder(thread))
        notebooks = (NOTEBOOK_EDIT_TOOL,) if told else ()
        memory = self.memory(thread) if self.memory is not None else None
        remembers = (remember_tool(memory), recall_tool(memory)) if memory is not None else ()
        own = (
            *STANDARD,
            *notebooks,
            SUBAGENT_TOOL,
            APPROACHES_TOOL,
            *searching,
            *self._skills(thread),
            *reading,
            *network,
            *woken,
            *remembers,
            *outward,
        )
        return StandardToolbox(
            world, (*own, *self._of_servers(thread)), save=save, inspect=inspect, masks=self.masks,
            snapshots=self.snapshots, people=People(keep, may_still), way_out=way_out, children=children,
        )  # fmt: skip

    def _skills(self, thread: str) -> tuple[AnyTool, ...]:
        """Return the tool that reads skills; a task that has none is not offered it."""
        return (skill_tool(partial(self.read_skill, thread)),) if self.read_skill is not None else ()

    def _of_servers(self, thread: str) -> tuple[AnyTool, ...]:
        """Return the tools of MCP servers."""
        if self.mcp is None:
            return ()
        from agentic.tools.foreign.server_offer import server_tools  # with the SDK, which only they need

        return server_tools(self.mcp, thread)

    async def furnish(self, row: SessionRow, item: InboxItem | None) -> None:
        """Make the thread's files ready for a task (``item``), or for work that goes on.

        The first task after a server was added waits, not for long, until its tools are known.  Raises
        ``StoreUnavailable`` where the files of another machine cannot be fetched.
        """
        await self._take_over(row.thread)
        if item is not None:
            await self._sweep(row.thread)
        if self.mcp is not None:
            await self.mcp.ready()
        if self.web is not None:
            await self.web.look(row.thread)
        if item is not None and any(is_notebook(file.name) for file in item.files):
            self._notebooks.add(row.thread)
        if self.repositories is not None and not self.workspaces.shared:
            await self.repositories.furnish(row, item, partial(self.world, row.thread))

    async def _take_over(self, thread: str) -> None:
        """Bring the workspace to where another machine left it, if one did.  What it had not saved the agent is told."""
        if self.snapshots is None or self.workspaces.shared:
            return
        try:
            restored = await self.snapshots.take_over(thread, self.workspaces.folder(thread))
        except (SnapshotLost, OSError) as lost:
            raise StoreUnavailable(f"The files of this thread cannot be brought here: {lost}") from lost
        if restored is not None:
            log.info("thread %s: %s files came from another machine", thread, len(restored.files))
            if restored.left:
                log.warning("thread %s: left as they were here: %s", thread, restored.left)
            if restored.lost and self.tell is not None:
                key = f"{thread}.files.{restored.lost}"
                await self.tell(OutboxItem(key=key, thread=thread, execution="", sort="notice", text=EARLIER_FILES))

    async def _sweep(self, thread: str) -> None:
        """Delete copies of the workspace that an earlier task left: nothing works in them any more."""
        for place in await asyncio.to_thread(self.workspaces.copies, thread):
            try:
                await self.drop_copy(place)
            except (AgenticError, OSError) as error:
                log.warning("the copy %s stays for now: %s", place, error)

    async def remarks(self, thread: str) -> tuple[QuotedMessage, ...]:
        """Return what people wrote at the host on the thread's pull requests."""
        return await self.repositories.remarks(thread) if self.repositories is not None else ()

    async def exposure(self, thread: str) -> Exposure:
        """Return what the thread's network and repository expose a task to."""
        network = await self.sandboxes.exposure(thread)
        return merged(network, self.repositories.exposure(thread)) if self.repositories is not None else network

    async def guides(self, thread: str) -> tuple[WorkspaceGuide, ...]:
        """Return what the authors of the thread's workspace wrote for agents."""
        return await self._passing(thread).guides()

    def workplace(self, thread: str) -> Workplace | None:
        """Return the thread's repository, as facts of it are kept."""
        return self.repositories.workplace(thread) if self.repositories is not None else None

    def about_repository(self, thread: str) -> tuple[str, ...]:
        """Say to the agent what its repository is."""
        return self.repositories.lines(thread) if self.repositories is not None else ()

    async def save(self, thread: str) -> Saved:
        """Save a snapshot of the thread's workspace without what .aiignore hides; needs no sandbox."""
        if self.snapshots is None:
            return Saved(problem="this bot keeps no copies of workspaces")
        world = self.world(thread)
        try:
            hidden = await world.hidden()
        except PathRefused as refused:
            return Saved(problem=refused.reason)
        except OSError as error:
            return Saved(problem=f"what .aiignore hides could not be noted ({error.strerror or type(error).__name__})")
        return await self.snapshots.save(thread, world.workspace, hidden)

    async def inspect(self, thread: str, manifest: str, since: tuple[FileChange, ...]) -> Found:
        """Return the files that differ from this snapshot and from these later changes."""
        saved = await self.save(thread)
        if self.snapshots is None or saved.problem:
            return Found(problem=saved.problem)
        try:
            before = await self.snapshots.load(thread, manifest)
            now = await self.snapshots.load(thread, saved.manifest)
        except SnapshotLost as lost:
            return Found(problem=str(lost))
        return Found(unexplained(before, now, since))

    async def shown_file(self, thread: str, path: str, cap: int) -> bytes | None:
        """Return a file that the agent shows to people, at most ``cap`` bytes; None where it may not be read."""
        try:
            return await self.world(thread).get_file(path, cap)
        except PathRefused as refused:
            log.info("thread %s: %s", thread, refused)
            return None

    async def sent_file(self, thread: str, path: str, cap: int) -> bytes | None:
        """Return a file that is sent to people, wherever the thread's files stand; None where it may not be read."""
        try:
            return (await browse.fetch(await self.files(thread), path, cap))[1]
        except PathRefused as refused:
            log.info("thread %s: %s", thread, refused)
            return None

    async def receive(self, item: InboxItem) -> tuple[FileRef, ...]:
        """Put a person's files into the workspace, within bounds; each that was left out has a reason."""
        received: list[FileRef] = []
        room = MESSAGE_BYTES
        for number, file in enumerate(item.files):
            reason = _too_much(number, file.size, room)
            taken = _left_out(file, reason) if reason else await self._take(item, file, room)
            room -= 0 if taken.skipped else taken.size
            received.append(taken)
        return tuple(received)

    async def _take(self, item: InboxItem, file: FileRef, room: int) -> FileRef:
        if file.skipped or not file.path:
            return _left_out(file, file.skipped or "it has no address")
        try:
            content = await self._fetched(item, file, min(FILE_BYTES, room))
            path = await self.world(item.thread).put_file(file.name, content, by=A_PERSON)
        except (AttachmentGone, AgenticError, OSError, TimeoutError) as error:
            log.warning("attachment %s was not taken: %s", file.name, error)
            return _left_out(file, str(error) or type(error).__name__)
        facts = await asyncio.to_thread(facts_of, content)
        return file.model_copy(update={"path": path, "size": len(content), **(asdict(facts) if facts else {})})

    async def _fetched(self, item: InboxItem, file: FileRef, most: int) -> bytes:
        """Download a file; where its address has expired, from its message's present one."""
        try:
            return await self.download(file.path, most)
        except AttachmentGone as gone:
            address = await self.afresh(item, file) if gone.expired and self.afresh is not None else ""
            if not address:
                raise
        return await self.download(address, most)


def _left_out(file: FileRef, reason: str) -> FileRef:
    return file.model_copy(update={"path": "", "skipped": reason})


def _too_much(number: int, size: int, room: int) -> str:
    if number >= FILES:
        return f"at most {FILES} files are taken from a message"
    if size > FILE_BYTES:
        return f"it has {size // MB} MB; at most {FILE_BYTES // MB} MB are taken"
    if size > room:
        return f"the message's files have more than {MESSAGE_BYTES // MB} MB together"
    return ""
