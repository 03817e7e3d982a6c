"""The real world of one thread: its workspace, and the sandbox through which alone it is touched.

It keeps nothing about what an agent knows (that is ``WorldModel``); it keeps the list of changes that it saw, so that
several agents over one world each learn what the others did.  The sandbox is made at the first call that needs one.

Edits of a text, applied in order; pure.
"""

from __future__ import annotations

import asyncio
import contextlib
import time
import weakref
from collections import deque
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from pathlib import Path
from typing import TypeVar

from agentic.core.events.execution_events import UNEXPOSED, Exposure, WorkspaceGuide
from agentic.ports.errors import (
    EditConflict,
    PathRefused,
    SandboxError,
    SandboxLost,
    SandboxUnavailable,
)
from agentic.ports.runtime import Perception
from agentic.ports.way_out import RefusedHost
from agentic.sandbox.aiignore import IgnoreFile
from agentic.sandbox.pool import Sandboxes
from agentic.sandbox.protocol.call_journal import Remembered
from agentic.sandbox.protocol.decode import decoding
from agentic.sandbox.protocol.results import (
    BackgroundState,
    Changes,
    Edit,
    ExecResult,
    FileChange,
    FileStat,
    FileText,
    GrepResult,
    Listing,
    OutputPage,
    PythonResult,
    Refusal,
    SeenChange,
    Unpacked,
)
from agentic.sandbox.sandbox import Sandbox
from agentic.workspace.background import Beside
from agentic.workspace.file_knowledge import SNAPSHOT_BYTES, WorldModel
from agentic.workspace.file_names import safe_name
from agentic.workspace.guide_files import read_guides


def applied(content: bytes, edits: Sequence[Edit]) -> bytes | Refusal:
    """The content with all of them, or which is the first that does not fit."""
    for number, edit in enumerate(edits, 1):
        old, new = edit.old.encode(), edit.new.encode()
        count = content.count(old) if old else 0
        if count == 0:
            return Refusal(f"Edit {number}: the text to replace does not stand in the file. Nothing was changed.")
        if count > 1 and not edit.every:
            return Refusal(
                f"Edit {number}: the text to replace stands there {count} times; give more of its surroundings. "
                "Nothing was changed."
            )
        content = content.replace(old, new)
    return content


T = TypeVar("T")

KEPT_CHANGES = 1000
A_PERSON = "a person"
"""Who changed what people change through the bot, as agents are told: no name, which would have to be erased with them."""
ATTACHMENTS = "attachments"
BINARY_SAMPLE = 8192


class RealWorld:
    """Commands and files of one thread.

    Raises ``SandboxUnavailable`` where no sandbox can be had, ``SandboxLost`` where it went away, ``PathRefused``,
    ``EditConflict`` and ``OutputGone``.  Paths are relative to the workspace, or absolute below ``/workspace``.
    ``by`` names the agent that acts (``WorldModel.agent``).
    """

    def __init__(self, sandboxes: Sandboxes, thread: str, workspace: Path) -> None:
        self.thread = thread
        self.workspace = workspace
        self._sandboxes = sandboxes
        self._ignore = IgnoreFile(workspace, sandboxes.state / "ignored" / f"{thread}.json")
        self._seen: deque[SeenChange] = deque(maxlen=KEPT_CHANGES)
        self._number, self._loss = 0, ""
        self._gaps = 0
        """How often changes may have gone unnoticed: the sandbox was made anew, or a scan found more than it tells."""
        self._agents: list[weakref.ref[WorldModel]] = []
        self._used: Sandbox | None = None
        self.handed = 0
        """How often a sandbox was handed to a call; what is asked of it from then on may have had its effect."""
        self._beside = Beside()
        self.changing = asyncio.Lock()
        """Held by a call that may change files, where several agents work here at a time."""
        self.restoring: int | None = None
        """Files that are restored after a call that has ended, 0 while that is found out; None where none are."""
        self.reached = UNEXPOSED
        """What commands have reached since several agents work here, of which each of them is told."""

    async def visible(self, paths: Sequence[str]) -> frozenset[str]:
        """Those of the paths that ``.aiignore`` does not hide."""
        return await asyncio.to_thread(self._ignore.visible, paths)

    async def hidden(self) -> tuple[str, ...]:
        """The paths that exist and that ``.aiignore`` hides; of a hidden folder only the folder itself.

        Raises ``PathRefused`` where they are too many to hide.
        """
        return await self._ignore.walk()

    async def guides(self) -> tuple[WorkspaceGuide, ...]:
        """What the workspace's authors wrote for agents, as it is quoted to them; needs no sandbox."""
        return await asyncio.to_thread(read_guides, self.workspace, self._ignore.visible)

    # --- commands ---------------------------------------------------------------------------------------------

    async def exec(
        self,
        command: str,
        *,
        timeout: float,
        cwd: str = ".",
        on_output: Callable[[str], None] | None = None,
        by: str = "",
        how: str = "",
        cap: int = 64 * 1024,
        key: str = "",
    ) -> ExecResult:
        """Run a shell command to its end; cancelling it kills it first, acknowledged by the sandbox.

        ``how`` is the command as others are told of it.
        """
        async with self._use(afresh=True) as sandbox:
            told = decoding(on_output)
            result = await sandbox.exec(command, timeout=timeout, cwd=cwd, cap=cap, on_output=told, key=key)
        self._saw(result.changes, by, how)
        self._beside.left = self._beside.left or bool(result.left_running)
        return result

    async def own(
        self,
        script: str,
        *,
        timeout: float,
        cwd: str = ".",
        by: str = "",
        stdin: bytes = b"",
        cap: int = 64 * 1024,
        scan: bool = True,
    ) -> ExecResult:
        """Run a script of the product's own, out of the agent's reach; without ``scan`` it only looks."""
        async with self._use(afresh=True) as sandbox:
            result = await sandbox.own(script, timeout=timeout, cwd=cwd, stdin=stdin, cap=cap, scan=scan)
        self._saw(result.changes, by)
        return result

    async def python(
        self,
        code: str,
        *,
        timeout: float,
        on_output: Callable[[str], None] | None = None,
        by: str = "",
        cap: int = 64 * 1024,
        key: str = "",
    ) -> PythonResult:
        """Run code in the thread's persistent interpreter."""
        async with self._use(afresh=True) as sandbox:
            self._beside.interpreter = True
            result = await sandbox.python(code, timeout=timeout, cap=cap, on_output=decoding(on_output), key=key)
        self._saw(result.changes, by, "python")
        return result

    async def reset_python(self) -> None:
        """Forget the interpreter's state."""
        async with self._use() as sandbox:
            await sandbox.reset_python()
            self._beside.interpreter = False

    async def start(self, command: str, *, cwd: str = ".", name: str = "", key: str = "") -> str:
        """Start a background command, called ``name`` to people; returns its id for ``poll`` and ``stop``."""
        async with self._use(afresh=True) as sandbox:
            return self._beside.began(await sandbox.start(command, cwd=cwd, key=key), name or command)

    async def around(
        self, act: Callable[[Sandbox], Awaitable[T]], *, by: str = "", scan: bool = True
    ) -> tuple[T, Changes]:
        """Do something with a process that lives in the sandbox, which stays meanwhile; and what it changed."""
        async with self._use(afresh=True) as sandbox:
            came = await act(sandbox)
            changes = await sandbox.scan() if scan else Changes()
        self._saw(changes, by)
        return came, changes

    async def poll(self, exec_id: str, offset: int = 0) -> BackgroundState:
        """A background command's state and its output from ``offset`` on."""
        async with self._use() as sandbox:
            return await sandbox.poll(exec_id, offset)

    async def stop(self, exec_id: str) -> int:
        """End a background command with all its processes; returns how many there were."""
        async with self._use() as sandbox:
            return await sandbox.kill(exec_id)

    async def read_output(self, ref: str, offset: int = 0, limit: int = 20_000, pattern: str = "") -> OutputPage:
        """A page of an output that was cut, or its lines that match ``pattern``."""
        async with self._use() as sandbox:
            return await sandbox.read_output(ref, offset, limit, pattern)

    @property
    def stirs(self) -> bool:
        """Whether something of the agents' may change files while no call runs."""
        return self._beside.left or self._beside.interpreter

    async def works(self) -> bool:
        """Whether a background command runs."""
        sandbox = self._sandboxes.existing(self.thread)
        return sandbox is not None and sandbox is self._used and bool(await self._beside.running(sandbox))

    def acted_on(self, after: int) -> tuple[frozenset[str], int]:
        """Files that agents changed by their calls since the change of this number, and the number of the last change."""
        return frozenset(seen.change.path for seen in self._seen if seen.number > after and seen.by), self._number

    async def beside(self) -> tuple[str, ...]:
        """What stands or runs in the sandbox beside the workspace, and goes with it, in words."""
        sandbox = self._sandboxes.existing(self.thread)
        return await self._beside.words(sandbox) if sandbox is not None and sandbox is self._used else ()

    # --- the network ------------------------------------------------------------------------------------------

    def lend(self, hosts: Sequence[str]) -> None:
        """What commands may reach beside what is chosen for the thread, until this is called again."""
        self._sandboxes.lend(self.thread, hosts)

    def refused(self) -> tuple[RefusedHost, ...]:
        """Hosts that commands were not let reach since this was asked last."""
        return self._sandboxes.refused(self.thread)

    async def exposure(self) -> Exposure:
        """What commands reached since this was asked last, and what they may reach as it is chosen now."""
        return await self._sandboxes.exposure(self.thread)

    # --- the diary --------------------------------------------------------------------------------------------

    @property
    def diary(self) -> str:
        """Where what is done now under a key is written down; '' for nowhere."""
        sandbox = self._sandboxes.existing(self.thread)
        return sandbox.diary if sandbox is not None else ""

    async def remembered(self, diary: str, key: str) -> Remembered:
        """What was written there of a key by a sandbox that is gone."""
        return await self._sandboxes.remembered(self.thread, diary, key)

    # --- files ------------------------------------------------------------------------------------------------

    async def read(self, path: str, offset: int = 0, limit: int | None = None) -> FileText:
        """Lines ``offset`` … (0 = the first) of a text file, with the hash of the whole file."""
        async with self._use(path) as sandbox:
            content, stat = await sandbox.read(path)
        await self._check(stat.path)
        if b"\0" in content[:BINARY_SAMPLE]:
            raise PathRefused(path, "it is binary; look at it with a command such as `file` or `xxd`")
        text = content.decode("utf-8", "replace").replace("\0", "�")
        lines = text.splitlines(keepends=True)
        end = None if limit is None else offset + limit
        lossy = text.encode() != content
        return FileText(stat.path, "".join(lines[offset:end]), stat.sha, stat.size, len(lines), offset, lossy)

    async def stat(self, path: str, *, sha: bool = False) -> FileStat | None:
        """What stands at a path, None if nothing does."""
        async with self._use(path) as sandbox:
            return await sandbox.stat(path, sha=sha)

    async def write(
        self, path: str, text: str, *, expected_sha: str | None, create: bool, by: str = "", key: str = ""
    ) -> FileChange:
        """Replace a file atomically.

        ``expected_sha``: what it must be now ('' = it must not exist, None = whatever is there), else ``EditConflict``.
        ``create`` False: it must exist.
        """
        async with self._use(path) as sandbox:
            change = await sandbox.write(
                path, text.encode("utf-8", "replace"), expected_sha=expected_sha, create=create, key=key
            )
        self._saw(Changes((change,)), by)
        return change

    async def edit(self, path: str, edits: Sequence[Edit], *, expected_sha: str, by: str = "") -> FileChange | Refusal:
        """Apply all edits in order, or none: a ``Refusal`` names the first that does not fit."""
        async with self._use(path) as sandbox:
            content, stat = await sandbox.read(path)
            if stat.sha != expected_sha:
                raise EditConflict(stat.path, stat.sha)
            edited = applied(content, edits)
            if isinstance(edited, Refusal):
                return edited
            change = await sandbox.write(path, edited, expected_sha=expected_sha, create=False)
        self._saw(Changes((change,)), by)
        return change

    async def delete(self, path: str, *, expected_sha: str | None = None, by: str = "") -> FileChange:
        """Delete a file."""
        async with self._use(path) as sandbox:
            change = await sandbox.delete(path, expected_sha=expected_sha)
        self._saw(Changes((change,)), by)
        return change

    async def list(self, path: str = ".") -> Listing:
        """The names in a folder."""
        async with self._use(path) as sandbox:
            return await sandbox.list(path)

    async def glob(self, pattern: str, path: str = ".", limit: int = 1000) -> Listing:
        """Paths that match, ``**`` for any folders."""
        async with self._use(path, afresh=True) as sandbox:
            return await sandbox.glob(pattern, path, limit)

    async def grep(
        self,
        pattern: str,
        path: str = ".",
        glob: str = "",
        *,
        ignore_case: bool = False,
        context: int = 0,
        limit: int = 200,
    ) -> GrepResult:
        """Lines that match a Python regular expression."""
        async with self._use(path, afresh=True) as sandbox:
            return await sandbox.grep(pattern, path, glob, ignore_case=ignore_case, context=context, limit=limit)

    async def put_file(self, name: str, content: bytes, *, folder: str = ATTACHMENTS, by: str = "") -> str:
        """Keep a file that a person sent under a safe, distinct base name; returns its path."""
        async with self._use() as sandbox:
            taken = {e.name for e in (await sandbox.list(folder)).entries} if await sandbox.stat(folder) else set[str]()
            path = f"{folder}/{safe_name(name, taken)}"
            change = await sandbox.write(path, content, expected_sha="", create=True)
        self._saw(Changes((change,)), by)
        return change.path

    async def get_file(self, path: str, cap: int) -> bytes:
        """A file's bytes; ``PathRefused`` if it has more than ``cap``."""
        async with self._use(path) as sandbox:
            content, stat = await sandbox.read(path, 0, cap)
        await self._check(stat.path)
        if stat.size > cap:
            raise PathRefused(stat.path, f"it has {stat.size} bytes, more than {cap}")
        return content

    async def extract(
        self,
        archive: str,
        target: str,
        *,
        max_bytes: int = 512 * 1024 * 1024,
        max_files: int = 20_000,
        max_ratio: float = 200.0,
        by: str = "",
    ) -> Unpacked:
        """Unpack a zip or tar archive inside the sandbox, within caps."""
        async with self._use(archive, target, afresh=True) as sandbox:
            unpacked = await sandbox.extract(
                archive, target, max_bytes=max_bytes, max_files=max_files, max_ratio=max_ratio
            )
            self._saw(await sandbox.scan(), by)
        return unpacked

    # --- what changed -----------------------------------------------------------------------------------------

    async def changes(self, after: int = 0) -> tuple[SeenChange, ...]:
        """Changes numbered above ``after``; scans first, where a sandbox exists.

        Raises ``SandboxLost`` once where the sandbox that was used before is gone and no call has said so.
        """
        self._tell_loss()
        await self._look()
        return tuple(seen for seen in self._seen if seen.number > after)

    async def _look(self) -> None:
        """Take in what changed since the last scan, where a sandbox exists."""
        sandbox = self._sandboxes.existing(self.thread)
        if sandbox is not None:
            found = await sandbox.scan()
            running = await self._beside.running(sandbox) if found.files and sandbox is self._used else ()
            self._saw(found, "", " or ".join(running or ()))

    async def changed_by(self, path: str) -> SeenChange | None:
        """The last change of a file, as far back as changes are kept; scans first."""
        await self._look()
        return next((seen for seen in reversed(self._seen) if seen.change.path == path), None)

    async def perceive(self, model: WorldModel) -> Perception:
        """What ``model``'s agent has to be told now: its stale files with short diffs, and recent changes by others."""
        gaps, changes = self._gaps, await self.changes(model.cursor)
        changes = (*changes, *await self._unnoticed(model, changes))
        texts = {path: await self._text_now(path) for path in model.wants_text(changes)}
        model.gaps = gaps
        return model.perceive(changes, texts, time.monotonic())

    async def _unnoticed(self, model: WorldModel, noticed: Sequence[SeenChange]) -> list[SeenChange]:
        """Files that the agent knows and that changed while nobody could notice; looked for once after each gap."""
        forgotten = len(noticed) < self._number - model.cursor
        if (model.gaps == self._gaps and not forgotten) or self._sandboxes.existing(self.thread) is None:
            return []
        told = {seen.change.path for seen in noticed}
        known = {path: sha for path, sha in model.accounted().items() if path not in told and ":" not in sha}
        found = [await self._changed_since(path, sha) for path, sha in known.items()]
        return [SeenChange(model.cursor, time.monotonic(), "", change) for change in found if change is not None]

    async def _changed_since(self, path: str, sha: str) -> FileChange | None:
        try:
            stat = await self.stat(path, sha=True)
        except (SandboxUnavailable, SandboxLost):
            raise
        except SandboxError:
            return None
        now = stat.sha if stat is not None else ""
        if now == sha or (stat is not None and not now):
            return None
        return FileChange(path=path, kind="modified" if now else "deleted", sha_before=sha, sha_after=now)

    async def _text_now(self, path: str) -> str:
        """A short file's text; '' where it is none, or is becoming something else: then its change is told without."""
        try:
            stat = await self.stat(path)
            if stat is None or stat.kind != "file" or stat.size > SNAPSHOT_BYTES:
                return ""
            return (await self.get_file(path, SNAPSHOT_BYTES)).decode("utf-8", "replace")
        except (SandboxUnavailable, SandboxLost):
            raise
        except SandboxError:
            return ""

    def new_model(self, agent: str = "") -> WorldModel:
        """An empty world model over this world, for a further agent; it is told of changes from now on."""
        model = WorldModel(agent)
        model.cursor, model.gaps = self._number, self._gaps
        self._agents.append(weakref.ref(model))
        return model

    def tidy(self) -> None:
        """Forget changes that nobody is to be told of any more: a further agent hears of what comes after it."""
        self._agents = [agent for agent in self._agents if agent() is not None]
        if not self._agents:
            self._seen.clear()

    # --- the end ----------------------------------------------------------------------------------------------

    async def cancel(self) -> int:
        """Kill all that runs, background commands and interpreters too; returns when the sandbox says it is done."""
        sandbox = self._sandboxes.existing(self.thread)
        return await sandbox.kill_all() if sandbox is not None else 0

    async def close(self) -> None:
        """End the thread's sandbox; the workspace stays."""
        self._used = None
        await self._sandboxes.end(self.thread)

    def _tell_loss(self) -> None:
        if self._used is not None and self._used.lost is not None:
            self._used, self._loss = None, self._used.lost
        if self._loss:
            loss, self._loss = self._loss, ""
            raise SandboxLost(loss)

    # --- small parts ------------------------------------------------------------------------------------------

    @contextlib.asynccontextmanager
    async def _use(self, *paths: str, afresh: bool = False) -> AsyncGenerator[Sandbox]:
        for path in paths:
            await self._check(path)
        async with self._sandboxes.use(self.thread, self.workspace, self._ignore, afresh=afresh) as sandbox:
            if self._used is not sandbox:
                self._loss = self._loss if self._used is None else self._used.lost or "it was replaced"
                self._used, self._beside = sandbox, Beside()
                self._gaps += 1
            self.handed += 1
            try:
                yield sandbox
            except SandboxLost:
                self._used = None  # the caller knows
                raise

    async def _check(self, path: str) -> None:
        await asyncio.to_thread(self._ignore.check, path)

    def _saw(self, changes: Changes, by: str, how: str = "") -> None:
        now = time.monotonic()
        self._gaps += bool(changes.more)
        for change in changes.files:
            self._number += 1
            self._seen.append(SeenChange(self._number, now, by, change, how))
