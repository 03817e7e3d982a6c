"""Where the guild's records live: in memory, or in a folder that the next process reads again.

How records are written to disk and read back.

Written out field by field: a generic converter would cost more at start-up than the server does.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Iterable, Sequence
from dataclasses import asdict
from datetime import datetime
from pathlib import Path
from typing import Protocol, cast

from bot.local_discord.model.json_fields import Fields, decode
from bot.local_discord.model.records import (
    Attachment,
    Channel,
    ChannelType,
    InteractionSource,
    Member,
    Message,
    MessageType,
    Overwrite,
    Pings,
    Poll,
    PollAnswer,
    Reaction,
    Role,
)


def written(record: Member | Role | Channel | Message) -> str:
    """The record as JSON."""
    return json.dumps(asdict(record), default=_moment, separators=(",", ":"))


def _moment(value: object) -> str:
    if isinstance(value, datetime):
        return value.isoformat()
    raise TypeError(f"{type(value).__name__} has no place in a record")


def read_member(raw: str) -> Member:
    """The member that was written."""
    fields = Fields.of(decode(raw))
    return Member(_id(fields, "id"), _text(fields, "name"), fields.flag("bot") or False, _ids(fields, "roles"))


def read_role(raw: str) -> Role:
    """The role that was written."""
    fields = Fields.of(decode(raw))
    return Role(
        id=_id(fields, "id"),
        name=_text(fields, "name"),
        permissions=_id(fields, "permissions"),
        position=_id(fields, "position"),
        color=_id(fields, "color"),
        mentionable=fields.flag("mentionable") or False,
    )


def read_channel(raw: str) -> Channel:
    """The channel that was written."""
    fields = Fields.of(decode(raw))
    return Channel(
        id=_id(fields, "id"),
        name=_text(fields, "name"),
        type=ChannelType(_id(fields, "type")),
        position=_id(fields, "position"),
        topic=fields.text("topic"),
        overwrites=tuple(_overwrite(o) for o in fields.objects("overwrites") or []),
        last_message_id=fields.integer("last_message_id"),
        parent_id=fields.integer("parent_id"),
        owner_id=fields.integer("owner_id"),
        archived=fields.flag("archived") or False,
        locked=fields.flag("locked") or False,
        archive_changed_at=_time(fields, "archive_changed_at"),
        auto_archive_minutes=_id(fields, "auto_archive_minutes"),
        member_ids=_ids(fields, "member_ids"),
        message_count=_id(fields, "message_count"),
        recipient_ids=_ids(fields, "recipient_ids"),
    )


def read_message(raw: str) -> Message:
    """The message that was written."""
    return _message(Fields.of(decode(raw)))


def _message(fields: Fields) -> Message:
    nonce = fields.data.get("nonce")
    made = _time(fields, "created_at")
    if made is None:
        raise ValueError("A stored message lacks its time; the guild's folder is damaged. Move it away.")
    return Message(
        id=_id(fields, "id"),
        channel_id=_id(fields, "channel_id"),
        author_id=_id(fields, "author_id"),
        content=_text(fields, "content"),
        created_at=made,
        type=MessageType(_id(fields, "type")),
        edited_at=_time(fields, "edited_at"),
        embeds=tuple(e.data for e in fields.objects("embeds") or []),
        components=tuple(c.data for c in fields.objects("components") or []),
        attachments=tuple(_attachment(a) for a in fields.objects("attachments") or []),
        reactions=tuple(Reaction(_text(r, "emoji"), _ids(r, "user_ids")) for r in fields.objects("reactions") or []),
        reply_to=fields.integer("reply_to"),
        nonce=nonce if isinstance(nonce, (str, int)) else None,
        flags=_id(fields, "flags"),
        pings=_pings(fields.object("pings")),
        ever_pinged=_pings(fields.object("ever_pinged")),
        thread_id=fields.integer("thread_id"),
        source=_source(fields.object("source")),
        poll=_poll(fields.object("poll")),
        forwarded=_message(Fields.of(forwarded)) if (forwarded := fields.data.get("forwarded")) else None,
        stickers=tuple(str(s) for s in fields.array("stickers") or []),
        webhook=fields.text("webhook"),
    )


def _id(fields: Fields, name: str) -> int:
    return fields.integer(name) or 0


def _text(fields: Fields, name: str) -> str:
    return fields.text(name) or ""


def _ids(fields: Fields, name: str) -> tuple[int, ...]:
    return tuple(i for i in fields.array(name) or [] if isinstance(i, int))


def _time(fields: Fields, name: str) -> datetime | None:
    text = fields.text(name)
    return datetime.fromisoformat(text) if text else None


def _overwrite(fields: Fields) -> Overwrite:
    is_member = fields.flag("is_member") or False
    return Overwrite(_id(fields, "target_id"), is_member, _id(fields, "allow"), _id(fields, "deny"))


def _attachment(fields: Fields) -> Attachment:
    name, kind = _text(fields, "filename"), _text(fields, "content_type")
    seconds = fields.data.get("duration_secs")
    length = float(seconds) if isinstance(seconds, (int, float)) else None
    size, text, waveform = _id(fields, "size"), fields.text("description"), fields.text("waveform")
    return Attachment(_id(fields, "id"), name, size, kind, text, length, waveform)


def _poll(fields: Fields | None) -> Poll | None:
    if fields is None:
        return None
    answers = (
        PollAnswer(_text(a, "text"), a.text("emoji"), _ids(a, "voters")) for a in fields.objects("answers") or []
    )
    multiple, ended = fields.flag("multiple") or False, fields.flag("ended") or False
    return Poll(
        _text(fields, "question"), tuple(answers), _id(fields, "hours"), multiple, ended, _time(fields, "ends_at")
    )


def _pings(fields: Fields | None) -> Pings:
    if fields is None:
        return Pings()
    return Pings(fields.flag("everyone") or False, _ids(fields, "users"), _ids(fields, "roles"))


def _source(fields: Fields | None) -> InteractionSource | None:
    if fields is None:
        return None
    which, name = _id(fields, "type"), fields.text("name")
    return InteractionSource(_id(fields, "id"), which, _id(fields, "user_id"), name, fields.integer("message_id"))


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
