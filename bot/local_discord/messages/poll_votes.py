"""Poll votes: add, remove, count, and end the poll.

https://discord.com/developers/docs/resources/poll
"""

from __future__ import annotations

from dataclasses import replace

from bot.local_discord.messages.channel_messages import Messages
from bot.local_discord.model.errors import ApiError, invalid, missing_permissions
from bot.local_discord.model.json_fields import JsonObject
from bot.local_discord.model.permission_flags import Permission
from bot.local_discord.model.records import Message, Poll
from bot.local_discord.model.state import GuildState


def _poll(message: Message) -> Poll:
    if message.poll is None:
        raise ApiError(400, 520006, "Cannot expire a non-poll message")
    return message.poll


def voters(message: Message, answer_id: int) -> tuple[int, ...]:
    """Return who chose an answer."""
    answers = _poll(message).answers
    if not 1 <= answer_id <= len(answers):
        raise invalid(("answer_id",), "BASE_TYPE_CHOICES", f"The poll has the answers 1 to {len(answers)}.")
    return answers[answer_id - 1].voters


def vote(state: GuildState, user_id: int, message: Message, answer_id: int) -> Message:
    """Add a person's vote; where only one counts, it replaces the earlier one; apps cannot vote."""
    state.require(user_id, state.channel(message.channel_id), Permission.VIEW_CHANNEL)
    if state.member(user_id).bot:
        raise ApiError(403, 520000, "Poll voting blocked")
    poll = _poll(message)
    if poll.ended or (poll.ends_at is not None and poll.ends_at <= state.clock.now()):
        raise ApiError(400, 520001, "Poll expired")
    if user_id in voters(message, answer_id):
        return message
    if not poll.multiple:
        for number in range(1, len(poll.answers) + 1):
            message = unvote(state, user_id, message, number)
    return _with_voters(state, message, answer_id, (*voters(message, answer_id), user_id), user_id, added=True)


def unvote(state: GuildState, user_id: int, message: Message, answer_id: int) -> Message:
    """Remove a person's vote for one answer."""
    present = voters(message, answer_id)
    if user_id not in present:
        return message
    left = tuple(u for u in present if u != user_id)
    return _with_voters(state, message, answer_id, left, user_id, added=False)


def _with_voters(
    state: GuildState, message: Message, answer_id: int, users: tuple[int, ...], user_id: int, *, added: bool
) -> Message:
    poll = _poll(message)
    answers = tuple(replace(a, voters=users) if n == answer_id else a for n, a in enumerate(poll.answers, 1))
    changed = state.put_message(replace(message, poll=replace(poll, answers=answers)))
    body: JsonObject = {
        "user_id": str(user_id),
        "message_id": str(message.id),
        "answer_id": answer_id,
        **state.place(message.channel_id),
    }
    name = "MESSAGE_POLL_VOTE_ADD" if added else "MESSAGE_POLL_VOTE_REMOVE"
    state.publish(name, body, channel_id=message.channel_id)
    return changed


def end(state: GuildState, messages: Messages, user_id: int, message: Message) -> Message:
    """End the poll, which only its author may do."""
    poll = _poll(message)
    if message.author_id != user_id:
        raise missing_permissions()
    changed = state.put_message(replace(message, poll=replace(poll, ended=True, ends_at=state.clock.now())))
    messages.tell_changed(changed)
    return changed
