"""Where the guild's records live: in memory, or in a folder that the next process reads again."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Protocol, cast

from bot.guild.records import Channel, Member, Message, Role
from bot.guild.stored import written

FORMAT = 2
_Values = tuple[int | str | None, ...]
_TABLE = (
    "CREATE TABLE IF NOT EXISTS records"
    " (kind TEXT NOT NULL, id INTEGER NOT NULL, channel INTEGER, body TEXT NOT NULL, PRIMARY KEY (kind, id))"
)


log = logging.getLogger(__name__)


class _Database(Protocol):
    """The part of apsw that is used here, with its types in full."""

    def execute(self, statements: str, bindings: Sequence[int | str | None] = (), /) -> Iterable[Sequence[object]]: ...
    def close(self) -> None: ...


class UnusableFolder(Exception):
    """The folder's guild is damaged, or from a newer version; says what to do."""


class MemoryKeeper:
    """Keeps only the files; the records themselves are in the state."""

    def __init__(self) -> None:
        self._files: dict[int, bytes] = {}

    def save_fact(self, number: int, body: str) -> None:
        """Nothing to do."""

    def save_member(self, member: Member) -> None:
        """Nothing to do."""

    def save_role(self, role: Role) -> None:
        """Nothing to do."""

    def save_channel(self, channel: Channel) -> None:
        """Nothing to do."""

    def save_message(self, message: Message) -> None:
        """Nothing to do."""

    def save_access(self, kind: str, number: int, body: str) -> None:
        """Nothing to do."""

    def load_access(self, kind: str) -> list[tuple[int, str]]:
        """Nothing was kept."""
        return []

    def remove_access(self, kind: str, number: int) -> None:
        """Nothing to do."""

    def remove_role(self, role_id: int) -> None:
        """Nothing to do."""

    def remove_channel(self, channel_id: int) -> None:
        """Nothing to do."""

    def remove_message(self, message_id: int) -> None:
        """Nothing to do."""

    def save_file(self, attachment_id: int, content: bytes) -> None:
        """Keeps the content of an attachment."""
        self._files[attachment_id] = content

    def load_file(self, attachment_id: int) -> bytes | None:
        """The content of an attachment."""
        return self._files.get(attachment_id)

    def close(self) -> None:
        """Forgets everything."""
        self._files.clear()


class FolderKeeper:
    """Keeps records in SQLite and attachments as files beside it."""

    def __init__(self, folder: Path) -> None:
        import apsw  # only where state is kept: it costs start-up time

        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        folder.chmod(0o700)  # it holds what opens the page
        self._files = folder / "attachments"
        self._files.mkdir(exist_ok=True)
        path = folder / "guild.sqlite3"
        self._db = cast(_Database, apsw.Connection(str(path)))
        path.chmod(0o600)  # before anything is in it; the files that SQLite makes beside it have the same mode
        self._unavailable = (apsw.FullError, apsw.IOError, apsw.BusyError, apsw.ReadOnlyError)
        self._waiting: dict[tuple[str, int], tuple[str, _Values]] = {}
        """By what it is about, the newest of each, in the order in which it is written."""
        self._told = False
        try:
            version = int(str(next(iter(self._db.execute("PRAGMA user_version")))[0]))
            if version > FORMAT:
                raise UnusableFolder(f"{path} was written by a newer version. Update, or move it away.")
            self._db.execute("PRAGMA journal_mode=WAL")
            self._db.execute("PRAGMA synchronous=NORMAL")
            self._db.execute(_TABLE)
            self._db.execute(f"PRAGMA user_version={FORMAT}")
        except apsw.Error as error:
            self._db.close()
            reason = f"{path} cannot be used ({error}). Move it away, and a new guild is founded."
            raise UnusableFolder(reason) from error
        except UnusableFolder:
            self._db.close()
            raise

    def _save(self, kind: str, number: int, channel: int | None, body: str) -> None:
        self._write((kind, number), "INSERT OR REPLACE INTO records VALUES (?, ?, ?, ?)", (kind, number, channel, body))

    def _remove(self, kind: str, number: int) -> None:
        self._write((kind, number), "DELETE FROM records WHERE kind = ? AND id = ?", (kind, number))

    def _write(self, about: tuple[str, int], statement: str, values: _Values) -> None:
        """Write it, after what waits; what cannot be written now is in the state, and waits here for the next write.

        A bot that works must hear a 🛑 also while its disk is full, and must not be told that it said nothing.
        """
        self._waiting.pop(about, None)
        self._waiting[about] = (statement, values)
        self._catch_up()

    def _catch_up(self) -> None:
        try:
            while self._waiting:
                about = next(iter(self._waiting))
                self._db.execute(*self._waiting[about])
                del self._waiting[about]
        except self._unavailable as error:
            if not self._told:
                log.error("what is said in the local guild is shown, and kept as soon as the disk takes it: %s", error)
            self._told = True
        else:
            self._told = False

    def load(self, kind: str) -> list[str]:
        """All records of a kind, by ascending id."""
        rows = self._db.execute("SELECT body FROM records WHERE kind = ? ORDER BY id", (kind,))
        return [str(row[0]) for row in rows]

    def save_fact(self, number: int, body: str) -> None:
        """Keeps one of the guild's own facts (its ids and token)."""
        self._save("fact", number, None, body)

    def save_access(self, kind: str, number: int, body: str) -> None:
        """Keeps the hash of what opens the page."""
        self._save(kind, number, None, body)

    def load_access(self, kind: str) -> list[tuple[int, str]]:
        """What opens the page, by number."""
        rows = self._db.execute("SELECT id, body FROM records WHERE kind = ? ORDER BY id", (kind,))
        return [(int(str(number)), str(body)) for number, body in rows]

    def remove_access(self, kind: str, number: int) -> None:
        """Forgets a key or a session."""
        self._remove(kind, number)

    def save_member(self, member: Member) -> None:
        """Keeps a member."""
        self._save("member", member.id, None, written(member))

    def save_role(self, role: Role) -> None:
        """Keeps a role."""
        self._save("role", role.id, None, written(role))

    def save_channel(self, channel: Channel) -> None:
        """Keeps a channel."""
        self._save("channel", channel.id, None, written(channel))

    def save_message(self, message: Message) -> None:
        """Keeps a message. A thread's starter shares no id with its thread's record: kinds differ."""
        body = written(message)
        self._save("message", message.id, message.channel_id, body)

    def remove_role(self, role_id: int) -> None:
        """Forgets a role."""
        self._remove("role", role_id)

    def remove_channel(self, channel_id: int) -> None:
        """Forgets a channel and its messages."""
        self._remove("channel", channel_id)
        of_channel = "DELETE FROM records WHERE kind = 'message' AND channel = ?"
        self._write(("messages of", channel_id), of_channel, (channel_id,))

    def remove_message(self, message_id: int) -> None:
        """Forgets a message."""
        self._remove("message", message_id)

    def save_file(self, attachment_id: int, content: bytes) -> None:
        """Keeps the content of an attachment."""
        (self._files / str(attachment_id)).write_bytes(content)

    def load_file(self, attachment_id: int) -> bytes | None:
        """The content of an attachment."""
        path = self._files / str(attachment_id)
        return path.read_bytes() if path.exists() else None

    def close(self) -> None:
        """Closes the database; a last try to write what waits."""
        self._catch_up()
        self._db.close()
