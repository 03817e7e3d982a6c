"""Brings the index of a workspace up to date: only what changed is read, and only what has other content is cut again."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from agentic.code_index.index_file import IndexFile, KnownFile
from agentic.code_index.syntax_reader import SyntaxReader
from agentic.code_index.workspace_files import BINARY, FileContent, FileWalk, LeftOut, ListedFile

FILES_AT_ONCE = 200
"""So many are kept with one transaction."""


@dataclass(slots=True)
class UpdateReport:
    """What came of it: how many files can be searched, how many had to be read, how many wait for the next time."""

    left_out: LeftOut
    files: int = 0
    read: int = 0
    cut: int = 0
    waiting: int = 0


class IndexUpdate:
    """One update; ``is_off`` says that nobody wants it any more, ``seconds`` how long files are taken in."""

    def __init__(self, index: IndexFile, reader: SyntaxReader, is_off: Callable[[], bool], seconds: float) -> None:
        self._index = index
        self._reader = reader
        self._is_off = is_off
        self._until = time.monotonic() + seconds
        self._open = 0
        """Files in the transaction that is open."""

    def run(self, workspace: Path, hidden: Collection[str]) -> UpdateReport:
        """Look at all files, and take in what is new; raises ``StoreError`` and ``OSError``."""
        walk, known = FileWalk(hidden, self._is_off), self._index.known()
        done, gone = UpdateReport(walk.left_out), dict(known)
        with closing(walk.files(str(workspace))) as files:
            for file in files:
                before = gone.pop(file.path, None)
                self._take(file, before, done)
                if self._is_off():
                    break
        if not self._is_off():
            for before in gone.values():
                self._begin()
                self._index.drop(before)
        self._commit()
        if done.cut or gone:
            self._index.tidy()
        return done

    def _take(self, file: ListedFile, before: KnownFile | None, done: UpdateReport) -> None:
        if before is not None and before.stamp and before.stamp == file.stamp:
            self._count(file.path, before.is_binary, done)
            return
        if time.monotonic() > self._until:
            done.waiting += 1
            return
        done.read += 1
        content = file.read()
        if content is None:
            if before is not None:
                self._begin()
                self._index.drop(before)
            return
        self._begin()
        if before is not None and before.sha == content.sha:
            if before.stamp != content.stamp:
                self._index.touch(before, content.stamp)
        else:
            self._put(file.path, content, before)
            done.cut += 1
        self._count(file.path, content.is_binary, done)

    def _put(self, path: str, content: FileContent, before: KnownFile | None) -> None:
        if before is not None:
            self._index.drop(before)
        if content.is_binary:
            self._index.put(path, content.stamp, content.sha, None, ())
            return
        chunks = self._reader.chunks(path, content.data)
        self._index.put(path, content.stamp, content.sha, content.data.decode("utf-8", "replace"), chunks)

    def _count(self, path: str, is_binary: bool, done: UpdateReport) -> None:
        if is_binary:
            done.left_out.add(BINARY, path)
        else:
            done.files += 1

    def _begin(self) -> None:
        if self._open >= FILES_AT_ONCE:
            self._commit()
        if not self._open:
            self._index.begin()
        self._open += 1

    def _commit(self) -> None:
        if self._open:
            self._index.commit()
            self._open = 0
