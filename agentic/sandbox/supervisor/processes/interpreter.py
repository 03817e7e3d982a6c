"""The persistent interpreter, as the supervisor sees it: a command with a line to it for code and one for results."""

from __future__ import annotations

import json
import os
import signal
import sys
import time
from collections.abc import Callable
from typing import Any

from ..event_loop import Reactor, Timer
from ..frames import Fault
from .commands import Command, Commands
from .output import Collector

ID = "python"
INTERRUPT_SECONDS = 1.0
MOST_FIGURES, PATH_CHARACTERS = 6, 200


class Run:
    """One piece of code and what came of it."""

    def __init__(self, collector: Collector, done: Callable[[Run], None]) -> None:
        self.collector = collector
        self.done = done
        self.started = time.monotonic()
        self.duration = 0.0
        self.traceback = ""
        self.figures: list[str] = []
        self.killed = ""
        self.scans = True
        self.timed_out = False
        self.restarted = False
        self.timer: Timer | None = None


class Interpreter:
    """At most one process, started at first use; one piece of code at a time."""

    def __init__(self, reactor: Reactor, commands: Commands, program: str) -> None:
        self._reactor = reactor
        self._commands = commands
        self._program = program
        self._command: Command | None = None
        self._run: Run | None = None
        self._to = self._from = -1
        self._answer = bytearray()
        self._unsent = b""
        self._lost_state = False

    @property
    def busy(self) -> bool:
        """Code runs now."""
        return self._run is not None

    def run(
        self,
        code: str,
        seconds: float,
        cap: int,
        cwd: str,
        env: dict[str, str],
        on_output: Callable[[bytes], None] | None,
        done: Callable[[Run], None],
    ) -> None:
        """Run code, at most so many seconds; then it is interrupted, and killed if that does not help."""
        if self._run is not None:
            raise Fault("failed", "the interpreter is busy; wait for the call that runs")
        if self._command is None:
            self._start(cwd, env)
        command = self._command
        assert command is not None
        run = self._run = Run(self._commands.collector(cap), done)
        run.restarted, self._lost_state = self._lost_state, False
        command.collector, command.on_output = run.collector, on_output
        run.timer = self._reactor.later(seconds, lambda: self._overdue(run, seconds))
        self._unsent = json.dumps(code).encode() + b"\n"
        self._send()

    def _send(self) -> None:
        """Pass the code on as the process takes it; one that does not read must not hold us up."""
        try:
            self._unsent = self._unsent[os.write(self._to, self._unsent) :]
        except BlockingIOError:
            pass
        except OSError:
            self._unsent = b""  # it is ending; its end completes the run
        if self._unsent:
            self._reactor.watch_writable(self._to, self._send)
        else:
            self._reactor.forget(self._to)

    def reset(self, done: Callable[[int], None]) -> None:
        """End the process; the next code starts afresh."""
        if self._command is None:
            done(0)
        else:
            self._commands.kill(self._command, "the interpreter was reset", done)

    def _start(self, cwd: str, env: dict[str, str]) -> None:
        request_fd, self._to = os.pipe2(os.O_CLOEXEC)
        self._from, answer_fd = os.pipe2(os.O_CLOEXEC)
        argv = [sys.executable, "-u", self._program, "--console", str(request_fd), str(answer_fd)]
        try:
            self._command = self._commands.start(ID, argv, cwd, env, b"", 0, self._ended, (request_fd, answer_fd))
        finally:
            os.close(request_fd)
            os.close(answer_fd)
        os.set_blocking(self._from, False)
        os.set_blocking(self._to, False)
        self._answer.clear()
        self._reactor.watch(self._from, self._answered)

    def _answered(self) -> None:
        try:
            data = os.read(self._from, 1 << 16)
        except BlockingIOError:
            return
        if not data:
            self._reactor.forget(self._from)
            return
        self._answer += data
        line, newline, _ = bytes(self._answer).partition(b"\n")
        if newline and self._run is not None and self._command is not None:
            self._answer.clear()
            self._commands.drain(self._command)
            self._run.traceback, self._run.figures = _read(line)
            self._complete()

    def _overdue(self, run: Run, seconds: float) -> None:
        command = self._command
        if self._run is not run or command is None:
            return
        run.timed_out = True
        run.killed = f"it ran longer than {seconds:g} s"
        os.killpg(command.pid, signal.SIGINT)
        run.timer = self._reactor.later(INTERRUPT_SECONDS, lambda: self._give_up(run))

    def _give_up(self, run: Run) -> None:
        if self._run is run and self._command is not None:
            self._commands.kill(self._command, run.killed, lambda _: None)

    def _ended(self, command: Command) -> None:
        """The process is gone, by a kill, by a crash or because the code left it."""
        for descriptor in (self._from, self._to):
            self._reactor.forget(descriptor)
            os.close(descriptor)
        self._command = None
        self._lost_state = True
        if self._run is not None:
            self._run.killed = self._run.killed or command.reason
            self._run.scans = command.scans
            how = f"signal {command.signal}" if command.signal else f"exit code {command.exit_code}"
            self._run.traceback = f"the interpreter ended ({how}); what it knew is lost"
            self._run.restarted = True
            self._lost_state = False
            self._complete()

    def _complete(self) -> None:
        run, self._run = self._run, None
        assert run is not None
        if run.timer is not None:
            run.timer.cancel()
        run.duration = time.monotonic() - run.started
        run.done(run)
        run.collector.close()


def _read(line: bytes) -> tuple[str, list[str]]:
    """The traceback and the figures of an answer, which the code may have written itself."""
    try:
        value: Any = json.loads(line)
        error, paths = value
        if not isinstance(error, str):
            raise TypeError
        return error, [str(path)[:PATH_CHARACTERS] for path in paths][:MOST_FIGURES]
    except (ValueError, TypeError):
        return "the interpreter answered nonsense", []
