"""Storage of the guild's records: in memory, or in a folder that the next process reads again."""

from __future__ import annotations

import json
import logging
from collections.abc import Iterable, Sequence
from dataclasses import asdict
from datetime import datetime
from pathlib import Path
from typing import Protocol, TypeAlias, TypeVar, cast

import apsw
from pydantic import TypeAdapter

from bot.local_discord.model.records import Channel, Member, Message, Role

Record: TypeAlias = Member | Role | Channel | Message
R = TypeVar("R", Member, Role, Channel, Message)

FORMAT = 2
KINDS: dict[type[Record], str] = {Member: "member", Role: "role", Channel: "channel", Message: "message"}
_Values: TypeAlias = tuple[int | str | None, ...]
_TABLE = (
    "CREATE TABLE IF NOT EXISTS records"
    " (kind TEXT NOT NULL, id INTEGER NOT NULL, channel INTEGER, body TEXT NOT NULL, PRIMARY KEY (kind, id))"
)
_UNAVAILABLE = (apsw.FullError, apsw.IOError, apsw.BusyError, apsw.ReadOnlyError)

log = logging.getLogger(__name__)


class Store(Protocol):
    """Keeps records beyond the process, and the content of attachments.

    A text is a value that is no record, such as a fact about the guild or the hash of a page's key, by its kind and
    number.
    """

    def save(self, record: Record) -> None: ...
    def remove(self, record: Record) -> None: ...
    def save_text(self, kind: str, number: int, text: str) -> None: ...
    def remove_text(self, kind: str, number: int) -> None: ...
    def texts(self, kind: str) -> dict[int, str]: ...
    def save_file(self, attachment_id: int, content: bytes) -> None: ...
    def load_file(self, attachment_id: int) -> bytes | None: ...
    def close(self) -> None: ...


class MemoryStore:
    """A store of files alone; the records are only in the state."""

    def __init__(self) -> None:
        self._files: dict[int, bytes] = {}

    def save(self, record: Record) -> None: ...
    def remove(self, record: Record) -> None: ...
    def save_text(self, kind: str, number: int, text: str) -> None: ...
    def remove_text(self, kind: str, number: int) -> None: ...

    def texts(self, kind: str) -> dict[int, str]:
        return {}

    def save_file(self, attachment_id: int, content: bytes) -> None:
        self._files[attachment_id] = content

    def load_file(self, attachment_id: int) -> bytes | None:
        return self._files.get(attachment_id)

    def close(self) -> None:
        self._files.clear()


class _Database(Protocol):
    """The part of apsw that is used here, fully typed."""

    def execute(self, statements: str, bindings: Sequence[int | str | None] = (), /) -> Iterable[Sequence[object]]: ...
    def close(self) -> None: ...


class UnusableFolder(Exception):
    """The folder's guild is damaged, or from a newer version; says what to do."""


class FolderStore:
    """A store of records in SQLite, with attachments as files beside it."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        folder.chmod(0o700)  # it holds what opens the page
        self._folder, self._files = folder, folder / "attachments"
        self._files.mkdir(exist_ok=True)
        path = folder / "guild.sqlite3"
        self._db = cast(_Database, apsw.Connection(str(path)))
        path.chmod(0o600)  # before anything is in it; the files that SQLite makes beside it have the same mode
        self._waiting: dict[tuple[str, int], tuple[str, _Values]] = {}
        """By what it is about, the newest of each, in the order in which it is written."""
        self._told = False
        try:
            version = int(str(next(iter(self._db.execute("PRAGMA user_version")))[0]))
            if version > FORMAT:
                raise UnusableFolder(f"{path} was written by a newer version. Update, or move it away.")
            for statement in ("PRAGMA journal_mode=WAL", "PRAGMA synchronous=NORMAL", _TABLE):
                self._db.execute(statement)
            self._db.execute(f"PRAGMA user_version={FORMAT}")
        except apsw.Error as error:
            self._db.close()
            reason = f"{path} cannot be used ({error}). Move it away, and a new guild is founded."
            raise UnusableFolder(reason) from error
        except UnusableFolder:
            self._db.close()
            raise

    def save(self, record: Record) -> None:
        body = json.dumps(asdict(record), default=datetime.isoformat, separators=(",", ":"))
        self._save(KINDS[type(record)], record.id, record.channel_id if isinstance(record, Message) else None, body)

    def remove(self, record: Record) -> None:
        """Delete a record, and with a channel its messages."""
        self.remove_text(KINDS[type(record)], record.id)
        if isinstance(record, Channel):
            of_channel = "DELETE FROM records WHERE kind = 'message' AND channel = ?"
            self._write(("messages of", record.id), of_channel, (record.id,))

    def records(self, kind: type[R]) -> list[R]:
        """All records of a kind, by ascending id."""
        adapter = TypeAdapter(kind)
        try:
            return [adapter.validate_python(json.loads(body)) for body in self.texts(KINDS[kind]).values()]
        except ValueError as error:
            self._db.close()
            reason = f"A {KINDS[kind]} in {self._folder} cannot be read. Move it away, and a new guild is founded."
            raise UnusableFolder(reason) from error

    def save_text(self, kind: str, number: int, text: str) -> None:
        self._save(kind, number, None, text)

    def remove_text(self, kind: str, number: int) -> None:
        self._write((kind, number), "DELETE FROM records WHERE kind = ? AND id = ?", (kind, number))

    def texts(self, kind: str) -> dict[int, str]:
        """All texts of a kind, by ascending number."""
        rows = self._db.execute("SELECT id, body FROM records WHERE kind = ? ORDER BY id", (kind,))
        return {int(str(number)): str(body) for number, body in rows}

    def save_file(self, attachment_id: int, content: bytes) -> None:
        (self._files / str(attachment_id)).write_bytes(content)

    def load_file(self, attachment_id: int) -> bytes | None:
        path = self._files / str(attachment_id)
        return path.read_bytes() if path.exists() else None

    def close(self) -> None:
        """Close the database, after a last attempt at failed writes."""
        self._write_waiting()
        self._db.close()

    def _save(self, kind: str, number: int, channel: int | None, body: str) -> None:
        self._write((kind, number), "INSERT OR REPLACE INTO records VALUES (?, ?, ?, ?)", (kind, number, channel, body))

    def _write(self, about: tuple[str, int], statement: str, values: _Values) -> None:
        """Write after earlier failed writes; a write that fails stays in the state, and is retried with the next one.

        A bot that works must receive a 🛑 also while its disk is full, and its posts must not appear to have failed.
        """
        self._waiting.pop(about, None)
        self._waiting[about] = (statement, values)
        self._write_waiting()

    def _write_waiting(self) -> None:
        try:
            while self._waiting:
                about = next(iter(self._waiting))
                self._db.execute(*self._waiting[about])
                del self._waiting[about]
        except _UNAVAILABLE as error:
            if not self._told:
                log.error("what is said in the local guild is shown, and kept as soon as the disk takes it: %s", error)
            self._told = True
        else:
            self._told = False
