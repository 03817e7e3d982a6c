"""The supervisor itself: takes requests, answers them, and ends everything when its owner is gone."""

from __future__ import annotations

import contextlib
import os
import platform
import select
import time
from collections.abc import Callable
from typing import NoReturn

from .call_journal import Diary
from .event_loop import Reactor
from .exec_requests import Serving
from .files import archives, search
from .frames import (
    Fault,
    FrameReader,
    FrameWriter,
    Json,
    Request,
)
from .limits import guard_this_process
from .processes import interpreter_main
from .session import Session

VERSION = 1
PATIENCE = 15.0
"""Seconds to wait for the first request."""
SEARCH_SECONDS = 20.0
EXTRACT_SECONDS = 100.0

Answer = Callable[[Request], "tuple[dict[str, Json], bytes]"]


class Supervisor:
    """Requests in, answers out."""

    def __init__(self, diary: Diary) -> None:
        self._diary = diary
        os.set_blocking(0, False)
        os.set_blocking(1, False)
        self._reader = FrameReader(0)
        self._writer = FrameWriter(1)
        self._reactor = Reactor(self._reap)
        self._reactor.watch(0, self._readable)
        self._session: Session | None = None
        self._serving: Serving | None = None
        self._quick: dict[str, Answer] = {}
        self._heard = time.monotonic()

    def run(self) -> None:
        """Serve until the owner is gone."""
        self._reactor.later(PATIENCE, lambda: self._end("no hello") if self._session is None else None)
        self._reactor.run()

    # --- the owner --------------------------------------------------------------------------------------------

    def _readable(self) -> None:
        try:
            requests = self._reader.read()
        except ValueError:
            self._end("bad frame")
        if requests is None:
            self._end("the owner closed the pipe")
        self._heard = time.monotonic()
        for request in requests:
            if request.text("op") != "beat":
                self._handle(request)

    def _check_owner(self, heartbeat: float) -> None:
        if time.monotonic() - self._heard > heartbeat and not select.select([0], [], [], 0)[0]:
            self._end("the owner's heartbeat stopped")
        self._reactor.later(heartbeat / 6, lambda: self._check_owner(heartbeat))

    def _end(self, _reason: str) -> NoReturn:
        """Kill everything and leave; where we are PID 1 the kernel ends what might be left."""
        if self._session is not None:
            self._session.commands.kill_everything()
        os._exit(3)

    def _send(self, request: Request, header: dict[str, Json], payload: bytes = b"") -> None:
        if (key := request.text("key")) and "event" not in header:
            self._diary.ended(key, header, payload)
        if request.id:
            self._put({"id": request.id, **header}, payload)

    def _put(self, header: dict[str, Json], payload: bytes) -> None:
        try:
            self._writer.send(header, payload)
        except OSError:
            self._end("the owner no longer reads")
        if self._writer.waiting:
            self._reactor.watch_writable(1, self._writable)

    def _writable(self) -> None:
        try:
            if self._writer.flush():
                self._reactor.forget(1)
        except OSError:
            self._end("the owner no longer reads")

    # --- requests ---------------------------------------------------------------------------------------------

    def _handle(self, request: Request) -> None:
        operation = request.text("op")
        try:
            if key := request.text("key"):
                self._diary.began(key)
            self._answer(operation, request)
        except Fault as fault:
            self._send(request, fault.header())
        except OSError as error:
            self._send(request, Fault("failed", f"{operation}: {error.strerror or error}").header())
        except ValueError as error:
            # a name that no file can have, such as one with half of a surrogate pair
            self._send(request, Fault("refused", str(error), request.text("path")).header())

    def _answer(self, operation: str, request: Request) -> None:
        if operation == "hello":
            self._hello(request)
            return
        if self._session is None or self._serving is None:
            raise Fault("failed", "say hello first")
        if operation in self._serving.operations:
            self._serving.operations[operation](request)
        elif operation == "scan":
            self._session.changes(lambda told: self._send(request, told))
        elif operation in ("glob", "grep", "extract") or (operation == "read_output" and request.text("pattern")):
            self._in_a_job(self._session, operation, request)
        elif operation in self._quick:
            header, payload = self._quick[operation](request)
            self._send(request, header, payload)
        else:
            raise Fault("failed", f"there is no operation {operation!r}")

    def _hello(self, request: Request) -> None:
        if request.integer("version") != VERSION or self._session is not None:
            self._send(request, {"version": VERSION})
            return
        here = self._session = Session(request, self._reactor)
        self._serving = Serving(here, self._reactor, self._send, lambda: self._writer.waiting)
        self._quick = {
            "read": here.files.read,
            "write": here.files.write,
            "delete": here.files.delete,
            "mkdir": here.files.mkdir,
            "stat": here.files.stat,
            "list": here.files.list,
            "read_output": here.outputs.page,
            "masks": here.set_masks,
        }
        self._heard = time.monotonic()
        told: dict[str, Json] = {"version": VERSION, "python": platform.python_version(), "uid": os.getuid()}
        told["diary"] = self._diary.id
        self._send(request, told)
        self._check_owner(here.heartbeat)

    def _in_a_job(self, here: Session, operation: str, request: Request) -> None:
        if operation == "read_output":
            descriptor = here.outputs.open(request.text("ref"))
            try:
                here.jobs.run(
                    lambda: search.output_lines(descriptor, request), SEARCH_SECONDS, self._answering(request)
                )
            finally:
                os.close(descriptor)
            return
        work = {"glob": search.glob, "grep": search.grep, "extract": archives.extract}[operation]
        seconds = EXTRACT_SECONDS if operation == "extract" else SEARCH_SECONDS
        here.jobs.run(lambda: work(here.workspace, request), seconds, self._answering(request))

    def _answering(self, request: Request) -> Callable[[dict[str, Json], bytes], None]:
        return lambda header, payload: self._send(request, header, payload)

    def _reap(self) -> None:
        if self._session is not None:
            self._session.commands.reap()


def main(arguments: list[str]) -> None:
    """Be the supervisor, or the console that it starts."""
    if arguments[:1] == ["--console"]:
        interpreter_main.main(int(arguments[1]), int(arguments[2]))
        return
    diary = arguments[1] if arguments[:1] == ["--diary"] else ""
    guard_this_process(int(diary) if diary.isdecimal() else 2)
    with contextlib.suppress(KeyboardInterrupt):
        Supervisor(Diary(diary)).run()
