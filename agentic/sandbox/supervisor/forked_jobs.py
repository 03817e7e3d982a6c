"""Work that may take long, in a forked child with a deadline, so that the loop always answers a kill."""

from __future__ import annotations

import json
import os
import signal
import struct
from collections.abc import Callable

from .event_loop import Reactor, Timer
from .frames import Fault, Json

LENGTH = struct.Struct("!I")
READ = 1 << 18

Work = Callable[[], "tuple[dict[str, Json], bytes]"]
Done = Callable[["dict[str, Json]", bytes], None]


class _Job:
    def __init__(self, pid: int, descriptor: int, done: Done) -> None:
        self.pid = pid
        self.descriptor = descriptor
        self.done = done
        self.data = bytearray()
        self.deadline: Timer | None = None
        self.reason = "it was ended"


class Jobs:
    """The forked children that run now."""

    def __init__(self, reactor: Reactor) -> None:
        self._reactor = reactor
        self._running: dict[int, _Job] = {}

    @property
    def pids(self) -> set[int]:
        """Process ids of the children."""
        return set(self._running)

    def run(self, work: Work, seconds: float, done: Done) -> None:
        """Do ``work`` in a child and call ``done`` with its answer, or with an error after so many seconds."""
        reader, writer = os.pipe2(os.O_CLOEXEC)
        pid = os.fork()
        if pid == 0:
            _be_child(work, writer)
        os.close(writer)
        os.set_blocking(reader, False)
        job = self._running[pid] = _Job(pid, reader, done)
        job.deadline = self._reactor.later(seconds, lambda: self._overdue(job, seconds))
        self._reactor.watch(reader, lambda: self._read(job))

    def end(self) -> None:
        """End them all; each request is answered with an error."""
        for pid in self._running:
            os.kill(pid, signal.SIGKILL)

    def _overdue(self, job: _Job, seconds: float) -> None:
        job.reason = f"it took more than {seconds:.0f} s; narrow it down"
        os.kill(job.pid, signal.SIGKILL)

    def _read(self, job: _Job) -> None:
        try:
            chunk = os.read(job.descriptor, READ)
        except BlockingIOError:
            return
        if chunk:
            job.data += chunk
            return
        self._reactor.forget(job.descriptor)
        os.close(job.descriptor)
        if job.deadline is not None:
            job.deadline.cancel()
        del self._running[job.pid]
        header, payload = _unpacked(job)
        job.done(header, payload)


def _unpacked(job: _Job) -> tuple[dict[str, Json], bytes]:
    if len(job.data) < LENGTH.size:
        return Fault("failed", job.reason).header(), b""
    (size,) = LENGTH.unpack_from(job.data)
    header: dict[str, Json] = json.loads(bytes(job.data[LENGTH.size : LENGTH.size + size]))
    return header, bytes(job.data[LENGTH.size + size :])


def _be_child(work: Work, writer: int) -> None:
    signal.set_wakeup_fd(-1)
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    code = 1
    try:
        try:
            header, payload = work()
        except Fault as fault:
            header, payload = fault.header(), b""
        except (OSError, ValueError, RecursionError, MemoryError) as error:
            header, payload = Fault("failed", f"{type(error).__name__}: {error}").header(), b""
        head = json.dumps(header).encode()
        view = memoryview(LENGTH.pack(len(head)) + head + payload)
        while view:
            view = view[os.write(writer, view) :]
        code = 0
    finally:
        os._exit(code)
