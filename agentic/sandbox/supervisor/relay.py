"""The way from a sandbox's own loopback to its door: bytes, unread, passed on by a thread of the supervisor's.

Programs that know a proxy know one by address and port, and the door is a Unix socket.  No command can end this thread, and
it is none of what commands have left running.  It holds so many connections and so many bytes of each at most.
"""

from __future__ import annotations

import contextlib
import selectors
import socket
import threading

MOST = 64
PIECE = 1 << 16


class _End:
    """One of a connection's two sockets, and what is on its way to it."""

    def __init__(self, socket_: socket.socket, *, is_door: bool) -> None:
        self.socket = socket_
        self.is_door = is_door
        self.waiting = b""
        self.ended = False
        """Nothing more comes from it."""
        self.other: _End = self


class Relay:
    """Listens on the loopback; each connection gets one to the door."""

    def __init__(self, door: str, port: int) -> None:
        self._door = door
        self._selector = selectors.DefaultSelector()
        self._listening = socket.create_server(("127.0.0.1", port), backlog=MOST)
        self.port: int = self._listening.getsockname()[1]
        self._listening.setblocking(False)
        self._selector.register(self._listening, selectors.EVENT_READ, None)
        self._open = 0

    def start(self) -> None:
        """Pass on from now on, until the process ends."""
        threading.Thread(target=self._run, name="relay", daemon=True).start()

    def _run(self) -> None:
        while True:
            for key, ready in self._selector.select():
                end: _End | None = key.data
                if end is None:
                    self._accept()
                elif end.socket.fileno() >= 0:  # else it was closed with its other end in this very round
                    self._move(end, ready)

    def _accept(self) -> None:
        with contextlib.suppress(OSError):
            client, _ = self._listening.accept()
            door = socket.socket(socket.AF_UNIX)
            try:
                for each in (client, door):
                    each.setblocking(False)
                door.connect(self._door)
            except OSError:
                client.close()
                door.close()
                return
            here, there = _End(client, is_door=False), _End(door, is_door=True)
            here.other, there.other = there, here
            self._open += 1
            for each in (here, there):
                self._selector.register(each.socket, selectors.EVENT_READ, each)
            if self._open == MOST:
                self._selector.unregister(self._listening)  # more wait in the kernel

    def _move(self, end: _End, ready: int) -> None:
        try:
            if ready & selectors.EVENT_WRITE:
                end.waiting = end.waiting[end.socket.send(end.waiting) :]
            if ready & selectors.EVENT_READ and not end.other.waiting:
                end.other.waiting = end.socket.recv(PIECE)
                end.ended = not end.other.waiting
            door = end if end.is_door else end.other
            if door.ended and not door.other.waiting:
                raise ConnectionResetError  # all is said; whether the client has more to say matters to nobody
            if door.other.ended and not door.waiting:
                door.socket.shutdown(socket.SHUT_WR)
            self._watch(end)
            self._watch(end.other)
        except BlockingIOError:
            return
        except OSError:
            self._close(end)

    def _watch(self, end: _End) -> None:
        """Be told of what can be done with it now; reading waits until what was read has gone."""
        wanted = 0 if end.ended or end.other.waiting else selectors.EVENT_READ
        wanted |= selectors.EVENT_WRITE if end.waiting else 0
        known = end.socket in self._selector.get_map()
        if wanted and known:
            self._selector.modify(end.socket, wanted, end)
        elif wanted:
            self._selector.register(end.socket, wanted, end)
        elif known:
            self._selector.unregister(end.socket)

    def _close(self, end: _End) -> None:
        for each in (end, end.other):
            with contextlib.suppress(KeyError, ValueError):
                self._selector.unregister(each.socket)
            each.socket.close()
        if self._open == MOST:
            self._selector.register(self._listening, selectors.EVENT_READ, None)
        self._open -= 1
