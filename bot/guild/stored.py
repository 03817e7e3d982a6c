"""How records are written to disk and read back.

Written out field by field: a generic converter would cost more at start-up than the server does.
"""

from __future__ import annotations

import json
from dataclasses import asdict
from datetime import datetime

from bot.guild.records import (
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
from bot.guild.wire import Fields, decode


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
