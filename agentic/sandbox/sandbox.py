"""One sandbox as its owner holds it: requests to the resident supervisor, and its end.

The supervisor is PID 1 inside.  It ends everything when the heartbeat stops, so a frozen or dead owner has no effects
(``heartbeat``).
A kill is done when the supervisor says that no process of the command is left.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Callable, Coroutine, Mapping, Sequence

from pydantic import JsonValue

from agentic.ports.errors import SandboxError
from agentic.sandbox import internal_commands
from agentic.sandbox.file_operations import ANSWER_SECONDS, FileOperations
from agentic.sandbox.limits import PROXY_ENVIRONMENT, PROXY_PORT, Limits, Place
from agentic.sandbox.protocol.channel import Channel, Reply, Transport
from agentic.sandbox.protocol.decode import changes_of, exec_result, python_result
from agentic.sandbox.protocol.heartbeat import Heartbeat
from agentic.sandbox.protocol.results import (
    BackgroundState,
    Changes,
    ExecResult,
    PipeEnd,
    PythonResult,
)

PROTOCOL = 1
KILL_SECONDS, STOP_SECONDS = 5.0, 1.0
"""So long the end of a command may take to be confirmed, and where somebody stops it; then its sandbox is ended."""
PIPE_WORDS = 4_096
HEARTBEAT_ENDS = 1.5
"""After so many times its heartbeat's limit a supervisor that hears nothing has ended everything; it looks six times in it."""

log = logging.getLogger(__name__)


class Pipe:
    """A command that runs inside, whose input and output are ours; ``ended`` says how it ended, or raises ``SandboxLost``."""

    def __init__(self, sandbox: Sandbox, exec_id: str, ended: asyncio.Task[PipeEnd]) -> None:
        self.ended = ended
        self._sandbox = sandbox
        self._exec_id = exec_id

    def feed(self, data: bytes) -> None:
        """Give it bytes; what it does not read in time ends it.  Raises ``SandboxLost``."""
        self._sandbox.feed(self._exec_id, data)

    async def kill(self) -> None:
        """End it with everything that it started; returns when nothing of it is left, or its sandbox is gone."""
        if not self.ended.done():
            with contextlib.suppress(SandboxError):
                await self._sandbox.kill(self._exec_id, scan=False)
        await asyncio.wait((self.ended,), timeout=KILL_SECONDS)
        self.ended.cancel()


class Sandbox(FileOperations):
    """A thread's running sandbox.  Build it with a rung (``bubblewrap``, ``docker``, ``host``) and end it with ``close``."""

    def __init__(self, transport: Transport, place: Place, limits: Limits, thread: str, heartbeat: Heartbeat) -> None:
        super().__init__(Channel(transport))
        self.place = place
        self.limits = limits
        self.masks: tuple[str, ...] = ()
        self.python_version = ""
        self.diary = ""
        """What it writes down under keys, '' where it does not."""
        self._transport = transport
        self._thread, self._heartbeat = thread, heartbeat
        self._closing: asyncio.Task[str] | None = None
        self._count = 0

    @property
    def lost(self) -> str | None:
        """Why the sandbox is gone, None while it is there."""
        return self._channel.lost

    async def hello(self) -> None:
        """Agree on the protocol, hand over limits and places, start the heartbeat."""
        limits, place = self.limits, self.place
        reply = await self._channel.request(
            {
                "op": "hello",
                "version": PROTOCOL,
                "workspace": place.workspace,
                "home": place.home,
                "namespaced": place.namespaced,
                "environment": {**(PROXY_ENVIRONMENT if place.door else {}), **place.environment},
                "commands": place.commands,
                "door": place.door,
                "door_port": PROXY_PORT,
                "heartbeat": limits.heartbeat,
                "grace": limits.grace,
                "limits": {
                    "memory": limits.memory,
                    "processes": limits.processes if place.counts_processes else 0,
                    "open_files": limits.open_files,
                    "file_size": limits.file_size,
                    "workspace": limits.workspace,
                    "inodes": limits.inodes,
                    "output": limits.output,
                },
            },
            timeout=ANSWER_SECONDS,
        )
        if reply.number("version") != PROTOCOL:
            raise SandboxError(
                "the supervisor in the sandbox is of another version; remove the old sandbox and start again"
            )
        self.python_version = reply.text("python")
        self.diary = reply.text("diary")
        self._heartbeat.add(self._thread, self._transport.outlet, limits.heartbeat)

    # --- commands ---------------------------------------------------------------------------------------------

    async def exec(
        self,
        command: str | Sequence[str],
        *,
        timeout: float,
        cwd: str = ".",
        env: Mapping[str, str] | None = None,
        stdin: bytes = b"",
        cap: int = 64 * 1024,
        exec_id: str | None = None,
        on_output: Callable[[bytes], None] | None = None,
        scan: bool = True,
        key: str = "",
    ) -> ExecResult:
        """Run a command (a string goes through the shell) and wait for its end, at most ``timeout`` seconds.

        Under a ``key`` that it begins and what it comes to is written into the diary.

        ``cap`` bytes of output are returned, half of them from the head and half from the tail.
        Cancelling the call kills the command first, acknowledged, and then raises ``CancelledError``.
        """
        number = exec_id or self._new_id()
        header = self._exec_header(command, number, cwd, env, cap) | {
            "op": "exec",
            "timeout": timeout,
            "stream": on_output is not None,
            "scan": scan,
            "key": key,
        }
        reply = await self._killed_when_cancelled(
            number, self._channel.request(header, stdin, timeout=timeout + ANSWER_SECONDS, on_output=on_output)
        )
        return exec_result(reply, number)

    async def own(
        self,
        script: str,
        *,
        timeout: float,
        cwd: str = ".",
        stdin: bytes = b"",
        cap: int = 64 * 1024,
        scan: bool = True,
    ) -> ExecResult:
        """Run a script of the product's own: with nothing of the environment, the home or the settings of the agent."""
        number = self._new_id()
        header = self._exec_header(internal_commands.argv(script), number, cwd, internal_commands.ENVIRONMENT, cap) | {
            "op": "exec", "timeout": timeout, "scan": scan, "own": True,
        }  # fmt: skip
        reply = await self._killed_when_cancelled(
            number, self._channel.request(header, stdin, timeout=timeout + ANSWER_SECONDS)
        )
        return exec_result(reply, number)

    async def start(
        self,
        command: str | Sequence[str],
        *,
        cwd: str = ".",
        env: Mapping[str, str] | None = None,
        exec_id: str | None = None,
        key: str = "",
    ) -> str:
        """Start a command in the background; returns its id for ``poll`` and ``kill``."""
        number = exec_id or self._new_id()
        await self._ask(self._exec_header(command, number, cwd, env, 0) | {"op": "start", "key": key})
        return number

    def pipe(
        self,
        argv: Sequence[str],
        on_output: Callable[[bytes], None],
        *,
        cwd: str = ".",
        env: Mapping[str, str] | None = None,
    ) -> Pipe:
        """Start a command whose input and output are ours, until it ends or is killed.  Raises ``SandboxLost``."""
        number = self._new_id()
        header = self._exec_header(argv, number, cwd, env, PIPE_WORDS) | {"op": "pipe"}
        asked = self._channel.lasting(header, on_output)

        async def end() -> PipeEnd:
            reply = await asked
            return PipeEnd(reply.optional("exit"), reply.optional("signal"), reply.text("killed"), reply.payload)

        return Pipe(self, number, asyncio.create_task(end(), name=f"{self._thread} pipe {number}"))

    def feed(self, exec_id: str, data: bytes) -> None:
        """Give bytes to a command that was started by ``pipe``."""
        self._channel.tell({"op": "feed", "exec": exec_id}, data)

    async def poll(self, exec_id: str, offset: int = 0, limit: int = 64 * 1024) -> BackgroundState:
        """The state of a background command and its output from ``offset`` on."""
        reply = await self._ask({"op": "poll", "exec": exec_id, "offset": offset, "limit": limit})
        return BackgroundState(
            exec_id=exec_id,
            running=reply.flag("running"),
            exit_code=reply.optional("exit"),
            signal=reply.optional("signal"),
            output=reply.payload,
            next_offset=reply.number("next"),
            killed_reason=reply.text("killed"),
        )

    async def kill(
        self, exec_id: str, reason: str = "stopped", *, scan: bool = True, seconds: float = KILL_SECONDS
    ) -> int:
        """End a command and everything it started; returns when no process of it is left, with how many there were.

        Without ``scan`` its own answer does not wait for what it changed; the next scan tells that.
        """
        header: dict[str, JsonValue] = {"op": "kill", "exec": exec_id, "reason": reason, "scan": scan}
        reply = await self._channel.request(header, timeout=seconds)
        return reply.number("killed")

    async def kill_all(self, reason: str = "stopped") -> int:
        """End every process in the sandbox but the supervisor, interpreters and background commands too."""
        reply = await self._channel.request({"op": "kill_all", "reason": reason}, timeout=KILL_SECONDS)
        return reply.number("killed")

    async def python(
        self,
        code: str,
        *,
        timeout: float,
        cap: int = 64 * 1024,
        on_output: Callable[[bytes], None] | None = None,
        key: str = "",
    ) -> PythonResult:
        """Run code in the persistent interpreter; a last expression is shown.  State stays between calls."""
        header: dict[str, JsonValue] = {
            "op": "python",
            "code": code,
            "timeout": timeout,
            "cap": cap,
            "stream": on_output is not None,
            "key": key,
        }
        reply = await self._killed_when_cancelled(
            "python", self._channel.request(header, timeout=timeout + ANSWER_SECONDS, on_output=on_output)
        )
        return python_result(reply)

    async def reset_python(self) -> None:
        """Forget the interpreter's state."""
        await self._ask({"op": "python_reset"})

    # --- what changed -------------------------------------------------------------------------------------------

    async def scan(self) -> Changes:
        """Files that changed since the last scan (each command scans at its end)."""
        return changes_of(await self._ask({"op": "scan"}))

    async def set_masks(self, paths: Sequence[str]) -> None:
        """The paths that file operations refuse from now on (and what lies below them)."""
        await self._ask({"op": "masks", "paths": list(paths)})
        self.masks = tuple(paths)

    # --- the end ----------------------------------------------------------------------------------------------

    async def close(self, reason: str = "it was closed") -> str:
        """End every process and the sandbox itself; safe to call twice.  Returns what is known of how it ended.

        Never raises for what fails meanwhile: it is called where something is told already (a loss, a stop), and nothing
        may take the place of that.  When it returns no process is left.
        """
        if self._closing is None:
            self._closing = asyncio.create_task(self._close(reason), name="sandbox-close")
        return await asyncio.shield(self._closing)

    async def _close(self, reason: str) -> str:
        self._channel.fail(reason)
        self._heartbeat.remove(self._transport.outlet)
        await self._channel.close()
        try:
            return await self._transport.close()
        except Exception as trouble:  # whatever it is: see ``close``
            log.warning("a sandbox could not be ended from outside: %s", trouble, exc_info=trouble)
            await asyncio.sleep(self.limits.heartbeat * HEARTBEAT_ENDS)
            return f"it could not be removed: {trouble}"

    # --- small parts ------------------------------------------------------------------------------------------

    def _new_id(self) -> str:
        self._count += 1
        return f"x{self._count}"

    def _exec_header(
        self, command: str | Sequence[str], number: str, cwd: str, env: Mapping[str, str] | None, cap: int
    ) -> dict[str, JsonValue]:
        what: dict[str, JsonValue] = {"command": command} if isinstance(command, str) else {"argv": list(command)}
        return {"exec": number, "cwd": cwd, "env": dict(env or {}), "cap": cap, **what}

    async def _killed_when_cancelled(self, number: str, request: Coroutine[None, None, Reply]) -> Reply:
        task = asyncio.ensure_future(request)
        try:
            return await asyncio.shield(task)
        except asyncio.CancelledError:
            if not task.done():
                await self._kill_and_wait(number, task)
            raise

    async def _kill_and_wait(self, number: str, task: asyncio.Future[Reply]) -> None:
        try:
            await self.kill(number, scan=False, seconds=STOP_SECONDS)
            await asyncio.wait((task,), timeout=STOP_SECONDS)
        except SandboxError as error:
            # the kill could not be confirmed: end the whole sandbox, which the kernel does confirm
            self._channel.fail(str(error))
            await self.close()
        finally:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)
