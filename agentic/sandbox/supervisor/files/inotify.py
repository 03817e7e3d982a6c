"""Which folders were touched since we last asked, by inotify; so that a scan reads those and no others."""

from __future__ import annotations

import ctypes
import os
import struct

EVENT = struct.Struct("iIII")
ONLYDIR, DONT_FOLLOW, OVERFLOW, IGNORED = 0x01000000, 0x02000000, 0x4000, 0x8000
CHANGES = 0x2 | 0x4 | 0x8 | 0x40 | 0x80 | 0x100 | 0x200 | 0x400 | 0x800
"""MODIFY, ATTRIB, CLOSE_WRITE, MOVED_FROM, MOVED_TO, CREATE, DELETE, DELETE_SELF, MOVE_SELF."""


class Notify:
    """Watches folders; ``touched`` names those with events, or None where events were lost or cannot be had."""

    def __init__(self) -> None:
        self._libc = ctypes.CDLL(None, use_errno=True)
        self._fd: int = self._libc.inotify_init1(os.O_NONBLOCK | os.O_CLOEXEC)
        self._folders: dict[int, str] = {}
        self._watches: dict[str, int] = {}
        self.reliable = self._fd >= 0

    def add(self, folder: str, descriptor: int) -> None:
        """Watch an open folder under this name; a folder that was renamed keeps its watch and gets the new name."""
        if not self.reliable:
            return
        path = f"/proc/self/fd/{descriptor}/.".encode()
        watch: int = self._libc.inotify_add_watch(self._fd, path, CHANGES | ONLYDIR)
        if watch < 0:
            self.reliable = False  # out of watches: every scan reads everything from now on
            return
        self._folders[watch] = folder
        self._watches[folder] = watch

    def drop(self, folder: str) -> None:
        """The folder is gone from this name."""
        watch = self._watches.pop(folder, None)
        if watch is not None and self._folders.get(watch) == folder:
            del self._folders[watch]
            self._libc.inotify_rm_watch(self._fd, watch)

    def touched(self) -> set[str] | None:
        """The folders with events since the last call."""
        if not self.reliable:
            return None
        found: set[str] = set()
        whole = True
        while data := self._read():
            at = 0
            while at < len(data):
                watch, mask, _, length = EVENT.unpack_from(data, at)
                at += EVENT.size + length
                if mask & OVERFLOW:
                    whole = False
                elif mask & IGNORED:
                    self._forget(watch)
                elif watch in self._folders:
                    found.add(self._folders[watch])
        return found if whole else None

    def _forget(self, watch: int) -> None:
        folder = self._folders.pop(watch, None)
        if folder is not None and self._watches.get(folder) == watch:
            del self._watches[folder]

    def _read(self) -> bytes:
        try:
            return os.read(self._fd, 1 << 16)
        except BlockingIOError:
            return b""
