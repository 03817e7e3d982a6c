"""Requests that run something: commands, background commands, the interpreter; and the watch while they do."""

from __future__ import annotations

import os
from collections.abc import Callable

from .event_loop import Reactor
from .frames import Fault, Json, Request
from .limits import OUT_OF_MEMORY, TICK
from .processes.commands import Command
from .processes.interpreter import ID as PYTHON
from .processes.interpreter import Run
from .processes.piped import Pipes, last_words
from .processes.proc_table import members, table
from .session import Session

STREAMED = 256 * 1024
CROWDED = 1024 * 1024
"""Bytes waiting for the owner above which streamed output is left out; results are always sent."""
KEPT_ENDED = 100
KILLED = (-9, 137)
"""What a command comes to that the kernel killed, and a shell whose last command it killed."""

Send = Callable[[Request, "dict[str, Json]", bytes], None]


class Serving:
    """Starts and ends what runs, and answers when it is over."""

    def __init__(self, session: Session, reactor: Reactor, send: Send, waiting: Callable[[], int]) -> None:
        self._here = session
        self._reactor = reactor
        self._answer = send
        self._waiting = waiting
        """How many bytes wait for the owner."""
        self._watching = self._resting = False
        self._pipes: dict[str, Pipes] = {}
        """Of commands whose input and output are the owner's."""
        self._looking: dict[str, Callable[[], None]] = {}
        """What has ended and is not answered before it is known what changed; each can be answered without."""
        self.operations: dict[str, Callable[[Request], None]] = {
            "exec": self._exec,
            "start": self._start,
            "pipe": self._pipe,
            "feed": self._feed,
            "poll": self._poll,
            "kill": self._kill,
            "kill_all": self._kill_all,
            "python": self._python,
            "python_reset": self._python_reset,
        }

    def _send(self, request: Request, header: dict[str, Json], payload: bytes = b"") -> None:
        self._answer(request, header, payload)

    def _launch(
        self, request: Request, done: Callable[[Command], None], cap: int, pipes: Pipes | None = None
    ) -> Command:
        here = self._here
        command = request.optional_text("command")
        argv = request.texts("argv") if command is None else [here.shell, "-c", command]
        if not argv:
            raise Fault("failed", "there is no command to run")
        given = request.environment("env")
        env = given if request.flag("own") else {**here.environment, **given}
        started = here.commands.start(
            request.text("exec"),
            argv,
            self._folder(request.text("cwd", ".")),
            env,
            request.payload if pipes is None else pipes.theirs_in,
            cap,
            done,
            stdout=pipes.theirs_out if pipes is not None else None,
        )
        self._begin_watch()
        return started

    def _folder(self, path: str) -> str:
        here = self._here
        with here.workspace.open_folder(path) as (_, relative):
            return f"{here.workspace.root}/{relative}"

    def _exec(self, request: Request) -> None:
        try:
            command = self._launch(request, lambda ended: self._executed(request, ended), request.integer("cap", 65536))
        except Fault as fault:
            if fault.kind != "failed":
                raise
            self._send(request, {"exit": 126, "size": len(fault.message)}, fault.message.encode("utf-8", "replace"))
            return
        if request.flag("stream"):
            command.on_output = self._streaming(request)
        self._here.commands.limit_time(command, request.seconds("timeout", 120.0))

    def _executed(self, request: Request, command: Command) -> None:
        if not command.reason and command.status in KILLED and self._here.watch.ran_out_of_memory():
            command.reason = OUT_OF_MEMORY
        header: dict[str, Json] = {
            "exit": command.exit_code,
            "signal": command.signal,
            "truncated": command.collector.truncated,
            "output_ref": command.collector.saved_as,
            "size": command.collector.total,
            "duration": command.duration,
            "timed_out": command.timed_out,
            "killed": command.reason,
            "left_running": list[Json](command.left),
        }
        scan = request.flag("scan", True) and command.scans
        self._with_changes(request, command.id, header, command.collector.shown(), scan=scan)

    def _with_changes(self, request: Request, id: str, header: dict[str, Json], shown: bytes, *, scan: bool) -> None:
        """Answer, once it is known what changed; or at once, as soon as whoever asked gives it up."""
        if not scan:
            self._send(request, header, shown)
            return

        def told(changes: dict[str, Json]) -> None:
            self._looking.pop(id, None)
            self._send(request, {**header, **changes}, shown)

        call_off = self._here.changes(told)

        def at_once() -> None:
            if call_off():
                self._send(request, header, shown)

        self._looking[id] = at_once

    def _streaming(self, request: Request) -> Callable[[bytes], None]:
        sent = 0

        def pass_on(data: bytes) -> None:
            nonlocal sent
            if sent < STREAMED and self._waiting() < CROWDED:
                sent += len(data)
                self._send(request, {"event": "output"}, data)

        return pass_on

    def _start(self, request: Request) -> None:
        command = self._launch(request, self._background_ended, 0)
        self._send(request, {"exec": command.id, "pid": command.pid})

    def _pipe(self, request: Request) -> None:
        """A command whose output goes to the owner as it comes; the answer is its end."""
        id = request.text("exec")
        pipes = Pipes(self._reactor, lambda data: self._send(request, {"event": "output"}, data), self._waiting)

        def ended(command: Command) -> None:
            pipes.close()
            self._pipes.pop(id, None)
            header: dict[str, Json] = {"exit": command.exit_code, "signal": command.signal, "killed": command.reason}
            self._send(request, header, last_words(command.collector))

        try:
            self._launch(request, ended, request.integer("cap", 65536), pipes)
        except BaseException:
            pipes.close()
            raise
        finally:
            os.close(pipes.theirs_in)
            os.close(pipes.theirs_out)
        self._pipes[id] = pipes

    def _feed(self, request: Request) -> None:
        id = request.text("exec")
        pipes, command = self._pipes.get(id), self._here.commands.running.get(id)
        if pipes is not None and command is not None and not pipes.feed(request.payload):
            self._here.commands.kill(command, "it did not read what it was sent", lambda _: None)

    def _background_ended(self, command: Command) -> None:
        ended = self._here.commands.ended
        ended[command.id] = command
        while len(ended) > KEPT_ENDED:
            del ended[next(iter(ended))]

    def _poll(self, request: Request) -> None:
        commands = self._here.commands
        command = commands.running.get(request.text("exec")) or commands.ended.get(request.text("exec"))
        if command is None:
            raise Fault("missing", f"there is no background command {request.text('exec')!r}")
        offset = request.integer("offset")
        data = self._kept(command, offset, min(request.integer("limit", 65536), 1 << 20))
        header: dict[str, Json] = {
            "running": not command.finished,
            "exit": command.exit_code,
            "signal": command.signal,
            "killed": command.reason,
            "next": offset + len(data),
        }
        self._send(request, header, data)

    def _kept(self, command: Command, offset: int, limit: int) -> bytes:
        if not command.finished or not command.collector.total:
            return command.collector.kept(offset, limit)
        page = Request({"ref": command.collector.ref, "offset": offset, "limit": limit}, b"")
        return self._here.outputs.page(page)[1]

    def _kill(self, request: Request) -> None:
        commands = self._here.commands
        command = commands.running.get(request.text("exec"))
        scan = request.flag("scan", True)
        if not scan and (at_once := self._looking.pop(request.text("exec"), None)) is not None:
            at_once()
        if command is None:
            self._send(request, {"killed": 0})
            return
        command.scans = scan
        commands.kill(command, request.text("reason", "stopped"), lambda count: self._send(request, {"killed": count}))

    def _kill_all(self, request: Request) -> None:
        commands = self._here.commands
        self._here.jobs.end()
        open_ = len(commands.running)
        total = 0
        if not open_:
            self._send(request, {"killed": 0})

        def one_more(count: int) -> None:
            nonlocal open_, total
            open_, total = open_ - 1, total + count
            if not open_:
                self._send(request, {"killed": total})

        for command in list(commands.running.values()):
            commands.kill(command, request.text("reason", "stopped"), one_more)

    def _python(self, request: Request) -> None:
        here = self._here
        on_output = self._streaming(request) if request.flag("stream") else None
        here.interpreter.run(
            request.text("code"),
            request.seconds("timeout", 120.0),
            request.integer("cap", 65536),
            here.workspace.root,
            here.environment,
            on_output,
            lambda run: self._ran(request, run),
        )
        self._begin_watch()

    def _ran(self, request: Request, run: Run) -> None:
        header: dict[str, Json] = {
            "traceback": run.traceback,
            "figures": [*run.figures],
            "truncated": run.collector.truncated,
            "output_ref": run.collector.saved_as,
            "size": run.collector.total,
            "duration": run.duration,
            "timed_out": run.timed_out,
            "killed": run.killed,
            "restarted": run.restarted,
        }
        self._with_changes(request, PYTHON, header, run.collector.shown(), scan=run.scans)

    def _python_reset(self, request: Request) -> None:
        self._here.interpreter.reset(lambda count: self._send(request, {"killed": count}))

    def _begin_watch(self) -> None:
        if not self._watching:
            self._reactor.later(TICK, self._look)
        if not self._watching or self._resting:
            self._here.watch.begin()
        self._watching, self._resting = True, False

    def _look(self) -> None:
        here = self._here
        here.commands.forget_gone()
        if here.commands.running.keys() <= {PYTHON} and not here.interpreter.busy:
            self._resting = self._watching = here.watch.counts_what_is_left()
        else:
            here.watch.look(self._over)
        if self._watching:
            self._reactor.later(TICK, self._look)

    def _over(self, pid: int | None, reason: str) -> bool:
        """End the command that a process belongs to, or all of them; whether there was one."""
        found = False
        commands = self._here.commands
        processes = table(os.getpid()) if pid is not None else {}
        for command in list(commands.running.values()):
            if pid is None or pid in members(processes, command.pid, command.tag, command.strays):
                found = True
                commands.kill(command, reason, lambda _: None)
        return found
