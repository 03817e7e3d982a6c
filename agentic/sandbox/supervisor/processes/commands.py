"""Commands: started in a session of their own with a tag, drained always, and ended with all that they started."""

from __future__ import annotations

import contextlib
import fcntl
import os
import signal
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence

from ..event_loop import Reactor, Timer
from ..forked_jobs import Jobs
from ..frames import Fault
from . import proc_table
from .output import Collector, Outputs

READ = 1 << 18
PIPE = 1 << 18
LINGER = 0.06
"""Seconds that children of an ended command have to end too, before they are told as left running."""
CHECK = 0.01
GRACE_OVER_TIME = 0.4
"""Nobody waits for a command that ran out of time: it may tidy up."""
LAST_DRAIN = 4 * 1024 * 1024


class Command:
    """A command and what is known of it."""

    def __init__(self, id: str, tag: str, collector: Collector, done: Callable[[Command], None]) -> None:
        self.id = id
        self.tag = tag
        self.collector = collector
        self.done = done
        self.on_output: Callable[[bytes], None] | None = None
        self.pid = 0
        self.output: int | None = None
        self.started = time.monotonic()
        self.duration = 0.0
        self.status: int | None = None
        """As subprocess gives it: exit code, or minus the signal; None while the leader runs."""
        self.finished = False
        self.reason = ""
        self.scans = True
        """Whoever waits for its end hears of what changed, too."""
        self.timed_out = False
        self.left: list[str] = []
        self.strays: set[int] = set()
        """Children that it left behind and that carry no sign of it."""
        self.timer: Timer | None = None
        self.killing: list[Callable[[int], None]] = []
        self.child: subprocess.Popen[bytes] | None = None

    @property
    def exit_code(self) -> int | None:
        """The exit code, None after a signal."""
        return self.status if self.status is not None and self.status >= 0 else None

    @property
    def signal(self) -> int | None:
        """The signal that ended it."""
        return -self.status if self.status is not None and self.status < 0 else None


class Commands:
    """All commands of the sandbox."""

    def __init__(self, reactor: Reactor, jobs: Jobs, outputs: Outputs, token: str, namespaced: bool) -> None:
        self.grace = 0.06
        self.output_limit = 64 * 1024 * 1024
        self.running: dict[str, Command] = {}
        """Commands of which a process may be alive, those with only left-over children too."""
        self.ended: dict[str, Command] = {}
        """Background commands that ended, to be polled."""
        self._reactor = reactor
        self._jobs = jobs
        self._outputs = outputs
        self._token = token
        self._namespaced = namespaced
        self._own = os.getpid()
        self._count = 0

    def collector(self, cap: int) -> Collector:
        """A place for the output of a command that starts."""
        self._count += 1
        return Collector(self._outputs, f"{self._token[:8]}-{self._count}", cap)

    # --- start ------------------------------------------------------------------------------------------------

    def start(
        self,
        id: str,
        argv: Sequence[str],
        cwd: str,
        env: Mapping[str, str],
        stdin: bytes | int,
        cap: int,
        done: Callable[[Command], None],
        pass_fds: tuple[int, ...] = (),
        stdout: int | None = None,
    ) -> Command:
        """Start a command; ``done`` is called once, when it has ended.

        Its input is these bytes, or comes from this descriptor; with ``stdout`` only what it writes to its standard error
        is collected.  Descriptors are the caller's to close.
        """
        if id in self.running:
            raise Fault("failed", f"a command with the id {id} runs already")
        command = Command(id, f"{self._token}:{id}", self.collector(cap), done)
        reader, writer = os.pipe2(os.O_CLOEXEC)
        source = stdin if isinstance(stdin, int) else _as_input(stdin)
        try:
            with contextlib.suppress(OSError):
                fcntl.fcntl(writer, 1031, PIPE)  # F_SETPIPE_SZ: fewer wake-ups in a flood
            command.child = subprocess.Popen(
                argv,
                stdin=source,
                stdout=writer if stdout is None else stdout,
                stderr=writer,
                cwd=cwd,
                env={**env, proc_table.TAG: command.tag},
                start_new_session=True,
                pass_fds=pass_fds,
            )
        except (OSError, ValueError) as error:
            os.close(reader)
            raise Fault("failed", f"cannot start {argv[0]}: {error}") from None
        finally:
            os.close(writer)
            if source not in (stdin, subprocess.DEVNULL):
                os.close(source)
        command.pid = command.child.pid
        _first_to_be_killed(command.pid)
        os.set_blocking(reader, False)
        command.output = reader
        self.running[id] = command
        self._reactor.watch(reader, lambda: self._readable(command))
        return command

    def limit_time(self, command: Command, seconds: float) -> None:
        """Kill it if it still runs then."""
        command.timer = self._reactor.later(seconds, lambda: self._overdue(command, seconds))

    def _overdue(self, command: Command, seconds: float) -> None:
        command.timed_out = True
        self.kill(command, f"it ran longer than {seconds:g} s", lambda _: None, GRACE_OVER_TIME)

    # --- output and end ---------------------------------------------------------------------------------------

    def _readable(self, command: Command) -> None:
        if command.output is None:
            return
        try:
            data = os.read(command.output, READ)
        except BlockingIOError:
            return
        if not data:
            self._close_output(command)
            return
        self._take(command, data)

    def _take(self, command: Command, data: bytes) -> None:
        if command.collector.total > self.output_limit:
            return  # being killed for it: drained, and no longer kept
        if command.on_output is not None:
            command.on_output(data)
        command.collector.feed(data)
        if command.collector.total > self.output_limit:
            self.kill(command, f"it wrote more than {self.output_limit} bytes of output", lambda _: None)

    def drain(self, command: Command) -> None:
        """Take what stands in the pipe now."""
        taken = 0
        while command.output is not None and taken < LAST_DRAIN:
            try:
                data = os.read(command.output, READ)
            except BlockingIOError:
                return
            if not data:
                self._close_output(command)
                return
            taken += len(data)
            self._take(command, data)

    def _close_output(self, command: Command) -> None:
        if command.output is not None:
            self._reactor.forget(command.output)
            os.close(command.output)
            command.output = None

    def reap(self) -> None:
        """Collect every ended child: leaders of commands, and orphans that came to us."""
        by_pid = {command.pid: command for command in self.running.values() if command.status is None}
        while True:
            try:
                pid, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                return
            if pid == 0:
                return
            command = by_pid.get(pid)
            if command is not None:
                self._leader_ended(command, os.waitstatus_to_exitcode(status))

    def _leader_ended(self, command: Command, status: int) -> None:
        command.status = status
        command.duration = time.monotonic() - command.started
        if command.child is not None:
            command.child.returncode = status  # we reaped it; Popen must not try to
        self.drain(command)
        if command.killing:
            return  # the kill finishes it
        if not self._processes(command):
            self._finish(command)
        else:
            self._reactor.later(LINGER, lambda: self._after_linger(command))

    def _after_linger(self, command: Command) -> None:
        if command.finished or command.killing:
            return
        self.drain(command)
        table = proc_table.table(self._own)
        left = self._processes(command, table)
        command.strays = left - self._members(command, table)
        command.left = [f"{pid} {table[pid].name}" for pid in sorted(left)]
        self._finish(command)

    def forget_gone(self) -> None:
        """Commands that had ended and whose left-over children have ended too."""
        table = proc_table.table(self._own)
        for command in list(self.running.values()):
            if command.finished and not command.killing and not self._members(command, table):
                self._release(command)

    def _finish(self, command: Command) -> None:
        """The command ended; what it left running stays known, so that it can be killed."""
        command.finished = True
        if command.timer is not None:
            command.timer.cancel()
        if command.left:
            command.done(command)
            return
        self._close_output(command)
        self.running.pop(command.id, None)
        command.done(command)
        command.collector.close()

    def _release(self, command: Command) -> None:
        command.left = []
        self._close_output(command)
        command.collector.close()
        self.running.pop(command.id, None)

    # --- kill -------------------------------------------------------------------------------------------------

    def _members(self, command: Command, table: dict[int, proc_table.Process]) -> set[int]:
        return proc_table.members(table, command.pid, command.tag, command.strays)

    def _processes(self, command: Command, table: dict[int, proc_table.Process] | None = None) -> set[int]:
        """All that is the command's, and orphans that are nobody else's."""
        table = proc_table.table(self._own) if table is None else table
        known = {c.pid for c in self.running.values()} | self._jobs.pids
        known = known.union(*(c.strays for c in self.running.values()))
        tags = {c.tag for c in self.running.values()}
        return self._members(command, table) | proc_table.strays(table, self._own, known, tags)

    def kill(self, command: Command, reason: str, done: Callable[[int], None], grace: float | None = None) -> None:
        """End the command and everything it started; ``done`` gets how many processes there were, when none is left.

        ``grace``: seconds from SIGTERM to SIGKILL; a person who stops wants it short.
        """
        command.killing.append(done)
        if len(command.killing) > 1:
            return
        if not command.finished:
            command.reason = reason
        self._to_all(signal.SIGSTOP)  # a storm that goes on would leave us no time to look at it
        victims = self._processes(command)
        proc_table.send(victims, signal.SIGTERM)
        proc_table.send(victims, signal.SIGCONT)
        self._pursue(command, len(victims), time.monotonic() + (self.grace if grace is None else grace))

    def _pursue(self, command: Command, count: int, patience: float) -> None:
        if strikes := time.monotonic() >= patience:
            self._to_all(signal.SIGKILL)
        self.reap()
        victims = self._processes(command)
        if not victims and (command.status is not None):
            self._killed(command, count)
            return
        if strikes:
            self._strike(command, victims)
        self._reactor.later(CHECK, lambda: self._pursue(command, max(count, len(victims)), patience))

    def _to_all(self, number: signal.Signals) -> None:
        """Where all that runs is to end, signal it in one step for the kernel: nothing can fork its way out."""
        if self._namespaced and not self._jobs.pids and all(each.killing for each in self.running.values()):
            with contextlib.suppress(ProcessLookupError):
                os.kill(-1, number)

    def _strike(self, command: Command, victims: set[int]) -> None:
        proc_table.send(victims, signal.SIGSTOP)  # first hold still, so that none is born meanwhile
        proc_table.send(self._processes(command) | victims, signal.SIGKILL)

    def _killed(self, command: Command, count: int) -> None:
        if not command.finished:
            self.drain(command)
            self._finish(command)
        self._release(command)
        waiting, command.killing = command.killing, []
        for done in waiting:
            done(count)

    def kill_everything(self) -> None:
        """End all processes at once, without grace; for the end of the sandbox."""
        if self._namespaced:
            with contextlib.suppress(ProcessLookupError):
                os.kill(-1, signal.SIGKILL)
            return
        for _ in range(50):
            table = proc_table.table(self._own)
            if not table:
                return
            proc_table.send(table, signal.SIGSTOP)
            proc_table.send(table, signal.SIGKILL)
            self.reap()


def _as_input(data: bytes) -> int:
    if not data:
        return subprocess.DEVNULL
    descriptor = os.memfd_create("stdin", os.MFD_CLOEXEC)
    view = memoryview(data)
    while view:
        view = view[os.write(descriptor, view) :]
    os.lseek(descriptor, 0, os.SEEK_SET)
    return descriptor


def _first_to_be_killed(pid: int) -> None:
    """When memory runs out the kernel shall take a command, not the supervisor."""
    with contextlib.suppress(OSError):
        descriptor = os.open(f"/proc/{pid}/oom_score_adj", os.O_WRONLY | os.O_CLOEXEC)
        try:
            os.write(descriptor, b"900")
        finally:
            os.close(descriptor)
