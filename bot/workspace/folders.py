"""The folders of this machine that are threads' workspaces."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

from agentic.core.events.ids import thread_of
from agentic.sandbox.folder_removal import remove_tree
from agentic.sandbox.hidden_files import adopt


class Workspaces:
    """One folder a thread below ``root``; with ``bound`` every thread works in that folder (`task --dir`)."""

    def __init__(self, root: Path, bound: Path | None = None) -> None:
        self._root = root
        self._bound = bound

    @property
    def shared(self) -> bool:
        """Whether every thread works in one folder."""
        return self._bound is not None

    def folder(self, thread: str) -> Path:
        """Return the thread's folder, created where it does not exist."""
        if self._bound is not None and thread_of(thread) == thread:
            return self._bound
        if not thread.isalnum():
            raise ValueError(f"{thread!r} cannot name a thread")
        folder = self._root / thread
        folder.mkdir(parents=True, exist_ok=True)
        return folder

    def has(self, thread: str) -> bool:
        """Whether the thread has a folder here; none is made."""
        return self._bound is not None or (thread.isalnum() and (self._root / thread).is_dir())

    def threads(self) -> list[str]:
        """Return the threads that have a folder here."""
        names = sorted(path.name for path in self._root.iterdir()) if self._root.is_dir() else []
        return [name for name in names if name.isalnum() and thread_of(name) == name]

    def copies(self, thread: str) -> list[str]:
        """Return the copies of a thread's workspace that there are, by name."""
        names = sorted(path.name for path in self._root.glob(f"{thread}w*")) if thread.isalnum() else []
        return [name for name in names if name != thread and thread_of(name) == thread]

    def forget(self, thread: str) -> None:
        """Delete the folder of a deleted thread; a folder that all threads share stays."""
        if (self._bound is None or thread_of(thread) != thread) and thread.isalnum():
            remove_tree(self._root / thread)


@contextmanager
def lent(folder: Path | None) -> Generator[None]:
    """Restore a folder's owner after a task: as root, the sandbox's user gets it for the duration."""
    owner = folder.stat() if folder is not None else None
    try:
        yield
    finally:
        if folder is not None and owner is not None:
            adopt(folder, owner.st_uid, owner.st_gid)
