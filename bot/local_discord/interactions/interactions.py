"""Interactions: a click, a command or a form, and the one answer that each may get.

The first answer must come within 3 seconds, the token works for 15 minutes.
https://discord.com/developers/docs/interactions/receiving-and-responding
"""

from __future__ import annotations

import asyncio
import secrets
from dataclasses import dataclass
from enum import IntEnum

from bot.local_discord.messages import limits
from bot.local_discord.messages.channel_messages import Messages, Origin
from bot.local_discord.messages.message_params import Draft, Revision
from bot.local_discord.model.errors import ApiError, unknown
from bot.local_discord.model.json_fields import JsonObject, is_snowflake
from bot.local_discord.model.records import InteractionSource, Message, MessageFlag, MessageType
from bot.local_discord.model.state import GuildState
from bot.local_discord.payloads import guild_payloads
from bot.local_discord.payloads.message_payload import MessageView

ANSWER_SECONDS = 3.0
TOKEN_SECONDS = 15 * 60.0


class Kind(IntEnum):
    """What a person did."""

    COMMAND = 2
    COMPONENT = 3
    AUTOCOMPLETE = 4
    MODAL = 5


class Answer(IntEnum):
    """https://discord.com/developers/docs/interactions/receiving-and-responding#interaction-response-object"""

    MESSAGE = 4
    DEFERRED_MESSAGE = 5
    DEFERRED_UPDATE = 6
    UPDATE = 7
    CHOICES = 8
    MODAL = 9


@dataclass(slots=True)
class Interaction:
    """A person's action that waits for the bot's answer."""

    id: int
    token: str
    kind: Kind
    user_id: int
    channel_id: int
    started: float
    name: str | None = None
    message_id: int | None = None
    answer: Answer | None = None
    original_id: int | None = None
    modal: JsonObject | None = None
    choices: tuple[JsonObject, ...] = ()
    failed: bool = False

    @property
    def source(self) -> InteractionSource:
        """Return the description that messages answering it carry."""
        return InteractionSource(self.id, int(self.kind), self.user_id, self.name, self.message_id)


class Interactions:
    """All interactions of this process; buttons outlive it, interactions do not."""

    def __init__(self, state: GuildState, view: MessageView, messages: Messages) -> None:
        self._state = state
        self.view = view
        self._messages = messages
        self._by_id: dict[int, Interaction] = {}
        self._by_token: dict[str, Interaction] = {}
        self._deadlines: dict[int, asyncio.TimerHandle] = {}

    # -- what people do -----------------------------------------------------------------------

    def begin(
        self, kind: Kind, user_id: int, channel_id: int, data: JsonObject, message: Message | None = None
    ) -> Interaction:
        """Send an interaction to the bot, and start the three seconds."""
        name = str(data["name"]) if kind in (Kind.COMMAND, Kind.AUTOCOMPLETE) else None
        one = Interaction(
            self._state.ids.next(),
            secrets.token_urlsafe(48),
            kind,
            user_id,
            channel_id,
            self._state.clock.monotonic(),
            name=name,
            message_id=message.id if message else None,
        )
        self._forget_old()
        self._by_id[one.id] = self._by_token[one.token] = one
        loop = asyncio.get_running_loop()
        self._deadlines[one.id] = loop.call_later(ANSWER_SECONDS, self._unanswered, one)
        body = self._payload(one, data)
        if message is not None:
            body["message"] = self.view.payload(message)
        bot = self._state.identity.bot_id
        self._state.publish("INTERACTION_CREATE", body, channel_id=channel_id, only_for=bot)
        return one

    def _forget_old(self) -> None:
        horizon = self._state.clock.monotonic() - 2 * TOKEN_SECONDS
        for old in [i for i in self._by_id.values() if i.started < horizon]:
            del self._by_id[old.id], self._by_token[old.token]

    def find(self, interaction_id: int) -> Interaction:
        """Return an interaction by its id, or raise 10062."""
        if interaction_id not in self._by_id:
            raise unknown("Interaction")
        return self._by_id[interaction_id]

    def expire(self, interaction_id: int) -> None:
        """Behave as if all its time had passed."""
        self.find(interaction_id).started -= TOKEN_SECONDS

    async def settled(self, one: Interaction) -> None:
        """Wait until an interaction was answered, or can no longer be."""
        while one.answer is None and not one.failed:
            await self._state.feed.next_change()

    def close(self) -> None:
        """Stop all clocks."""
        for deadline in self._deadlines.values():
            deadline.cancel()

    # -- what the bot answers -----------------------------------------------------------------

    def to_answer(self, interaction_id: int, token: str) -> Interaction:
        """Return the interaction, if it may still get its first answer."""
        one = self._by_id.get(interaction_id)
        if one is None or one.token != token:
            raise unknown("Interaction")
        if one.answer is not None:
            raise ApiError(400, 40060, "Interaction has already been acknowledged.")
        if self._state.clock.monotonic() - one.started > ANSWER_SECONDS:
            raise unknown("Interaction")
        return one

    def to_follow_up(self, token: str) -> Interaction:
        """Return the interaction whose token is used as a webhook."""
        one = self._by_token.get(token)
        if one is None or one.answer is None:
            raise unknown("Webhook")
        if self._state.clock.monotonic() - one.started > TOKEN_SECONDS:
            raise ApiError(401, 50027, "Invalid Webhook Token")
        return one

    def answer_message(self, one: Interaction, draft: Draft, *, loading: bool = False) -> Message:
        """Answer with a message, or defer it."""
        message = self._post(one, draft, loading=loading)
        self._acknowledge(one, Answer.DEFERRED_MESSAGE if loading else Answer.MESSAGE)
        one.original_id = message.id
        return message

    def answer_update(self, one: Interaction, revision: Revision | None) -> Message | None:
        """Answer a click by changing its message, now or later."""
        if one.message_id is None:
            raise ApiError(400, 50035, "Invalid Form Body")
        self._acknowledge(one, Answer.DEFERRED_UPDATE if revision is None else Answer.UPDATE)
        one.original_id = one.message_id
        if revision is None:
            return None
        return self.edit(one, one.message_id, revision)

    def answer_modal(self, one: Interaction, modal: JsonObject) -> None:
        """Answer with a form."""
        self._acknowledge(one, Answer.MODAL)
        one.modal = modal
        body: JsonObject = {"id": str(one.id), "data": modal}
        self._state.publish("INTERACTION_MODAL_CREATE", body, only_for=one.user_id)

    def answer_choices(self, one: Interaction, choices: tuple[JsonObject, ...]) -> None:
        """Answer an autocompletion with choices."""
        one.choices = choices
        self._acknowledge(one, Answer.CHOICES)

    def follow_up(self, one: Interaction, draft: Draft) -> Message:
        """Post a further message; the first one after a deferral fills the deferred one."""
        original = self._original(one)
        if original is not None and original.flags & MessageFlag.LOADING:
            revision = Revision(
                content=draft.content,
                embeds=draft.embeds,
                components=draft.components,
                uploads=draft.uploads,
                allowed=draft.allowed,
            )
            return self.edit(one, original.id, revision)
        return self._post(one, draft)

    def edit(self, one: Interaction, message_id: int, revision: Revision) -> Message:
        """Change a message that answers this interaction."""
        me = self._state.identity.bot_id
        return self._messages.edit(me, one.channel_id, message_id, revision, via_interaction=True)

    def delete(self, one: Interaction, message_id: int) -> None:
        """Delete a message that answers this interaction."""
        me = self._state.identity.bot_id
        self._messages.delete(me, one.channel_id, message_id, via_interaction=True)

    def message_of(self, one: Interaction, which: str) -> Message:
        """Return the message that "@original" or an id stands for; only answers of this interaction."""
        if which == "@original":
            found = self._original(one)
        else:
            found = self._state.message(one.channel_id, int(which)) if is_snowflake(which) else None
            answers = found is not None and found.source is not None and found.source.id == one.id
            found = found if answers or which == str(one.original_id) else None
        if found is None:
            raise unknown("Message")
        return found

    def _original(self, one: Interaction) -> Message | None:
        return self._state.messages.get(one.channel_id, {}).get(one.original_id or 0)

    def _post(self, one: Interaction, draft: Draft, *, loading: bool = False) -> Message:
        hidden = bool(draft.flags & MessageFlag.EPHEMERAL)
        kind = MessageType.DEFAULT
        if one.kind is Kind.COMMAND and one.original_id is None:
            kind = MessageType.CHAT_INPUT_COMMAND
        flags = draft.flags & ~MessageFlag.EPHEMERAL | (MessageFlag.LOADING if loading else 0)
        draft = Draft(
            content=draft.content,
            embeds=draft.embeds,
            components=draft.components,
            uploads=draft.uploads,
            flags=int(flags),
            allowed=draft.allowed,
        )
        origin = Origin(type=kind, source=one.source, visible_to=one.user_id if hidden else None, unchecked=True)
        return self._messages.create(self._state.identity.bot_id, one.channel_id, draft, origin)

    # -- telling ------------------------------------------------------------------------------

    def _acknowledge(self, one: Interaction, answer: Answer) -> None:
        one.answer = answer
        self._deadlines.pop(one.id).cancel()
        body: JsonObject = {"id": str(one.id), "answer": int(answer)}
        self._state.publish("INTERACTION_SUCCESS", body, only_for=one.user_id)

    def _unanswered(self, one: Interaction) -> None:
        self._deadlines.pop(one.id, None)
        one.failed = True
        if one.kind is Kind.AUTOCOMPLETE:  # there is just nothing to choose from
            self._state.feed.changed()
            return
        body: JsonObject = {"id": str(one.id), "reason": "The application did not respond"}
        self._state.publish("INTERACTION_FAILURE", body, only_for=one.user_id)

    def _payload(self, one: Interaction, data: JsonObject) -> JsonObject:
        """https://discord.com/developers/docs/interactions/receiving-and-responding#interaction-object"""
        state = self._state
        channel = state.channel(one.channel_id)
        rights: JsonObject = {"permissions": str(int(state.rights(one.user_id, channel)))}
        body: JsonObject = {
            "id": str(one.id),
            "application_id": str(state.identity.application_id),
            "type": int(one.kind),
            "data": data,
            "channel": guild_payloads.channel(state, channel) | rights,
            "channel_id": str(one.channel_id),
            "token": one.token,
            "version": 1,
            "app_permissions": str(int(state.rights(state.identity.bot_id, channel))),
            "locale": "en-US",
            "entitlements": [],
            "authorizing_integration_owners": {"0": "0" if channel.is_direct else str(state.identity.guild_id)},
            "context": 1 if channel.is_direct else 0,
            "attachment_size_limit": limits.FILE_BYTES,
        }
        person = state.member(one.user_id)
        if channel.is_direct:
            body["user"] = guild_payloads.user(person)
            return body
        guild_id = str(state.identity.guild_id)
        here: JsonObject = {"id": guild_id, "locale": "en-US", "features": []}
        in_guild: JsonObject = {"guild": here, "guild_id": guild_id, "guild_locale": "en-US"}
        body["member"] = guild_payloads.member(person) | rights
        return body | in_guild
