"""Polls: parse a request for one, and write one as the API does.

https://discord.com/developers/docs/resources/poll
"""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta

from bot.local_discord.model.errors import invalid, out_of_range
from bot.local_discord.model.json_fields import Fields, Json, JsonObject
from bot.local_discord.model.records import Poll, PollAnswer
from bot.local_discord.model.snowflakes import iso
from bot.local_discord.payloads import guild_payloads

QUESTION, ANSWER, ANSWERS = 300, 55, 10
LONGEST_HOURS = 32 * 24


def parse_poll(fields: Fields | None) -> Poll | None:
    """Read the poll in a request, within its bounds."""
    if fields is None:
        return None
    question = _text(fields, "question", QUESTION)
    answers = fields.objects("answers")
    if not answers or len(answers) > ANSWERS:
        raise out_of_range(fields.at("answers"), 1, ANSWERS)
    hours = int(fields.number("duration") or 24)
    if not 1 <= hours <= LONGEST_HOURS:
        raise invalid(fields.at("duration"), "NUMBER_TYPE_MAX", f"Must be between 1 and {LONGEST_HOURS} hours.")
    multiple = fields.flag("allow_multiselect") or False
    return Poll(question, tuple(_answer(a) for a in answers), hours, multiple)


def opened(poll: Poll | None, now: datetime) -> Poll | None:
    """Return the poll as it is posted, running from now on."""
    return poll and replace(poll, ends_at=now + timedelta(hours=poll.hours))


def _answer(fields: Fields) -> PollAnswer:
    text = _text(fields, "poll_media", ANSWER)
    media = fields.object("poll_media")
    found = media.object("emoji") if media else None
    name, number = (found.text("name"), found.text("id")) if found else (None, None)
    return PollAnswer(text, f"{name or 'emoji'}:{number}" if number else name)


def _text(fields: Fields, name: str, longest: int) -> str:
    media = fields.object(name) or Fields({}, fields.at(name))
    return media.stripped("text").sized("text", 1, longest)


def payload(poll: Poll, viewer: int) -> JsonObject:
    """https://discord.com/developers/docs/resources/poll#poll-object"""
    counts: list[Json] = [
        {"id": n, "count": len(a.voters), "me_voted": viewer in a.voters}
        for n, a in enumerate(poll.answers, 1)
        if a.voters
    ]
    return {
        "question": {"text": poll.question},
        "answers": [{"answer_id": n, "poll_media": _media(a)} for n, a in enumerate(poll.answers, 1)],
        "expiry": iso(poll.ends_at) if poll.ends_at else None,
        "allow_multiselect": poll.multiple,
        "layout_type": 1,
        "results": {"is_finalized": poll.ended, "answer_counts": counts},
    }


def _media(answer: PollAnswer) -> JsonObject:
    body: JsonObject = {"text": answer.text}
    if answer.emoji:
        body["emoji"] = guild_payloads.emoji(answer.emoji)
    return body
