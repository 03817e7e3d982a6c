"""Post in the guild as a person would, or as a webhook does: text, files, polls, voice, forwards."""

from __future__ import annotations

import base64
import mimetypes
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import TypeAlias

from bot.local_discord.driver.guild_driver import GuildDriver, Person
from bot.local_discord.messages import poll_votes, webhooks
from bot.local_discord.messages.channel_messages import Origin
from bot.local_discord.messages.message_params import Draft, Revision, Upload
from bot.local_discord.model.errors import too_long
from bot.local_discord.model.json_fields import Fields, Json
from bot.local_discord.model.records import Message, MessageFlag, Webhook
from bot.local_discord.payloads.poll_payload import parse_poll
from bot.local_discord.threads import threads

File: TypeAlias = Path | tuple[str, bytes] | Upload

# What Nitro allows; everyone else, and every app, has 2,000.
PERSON_CHARACTERS = 4_000


class MessageDriver(GuildDriver):
    """A person's messages; each takes the same way as a client's request."""

    async def post(
        self,
        channel_id: int,
        text: str = "",
        *,
        author: Person = None,
        files: Iterable[File] = (),
        reply_to: int | None = None,
        nonce: str | None = None,
        stickers: Iterable[str] = (),
    ) -> Message:
        """Post a message (people may have 4,000 characters); `guild.bot.mention` is the mention of the bot."""
        if len(text) > PERSON_CHARACTERS:
            raise too_long(("content",), PERSON_CHARACTERS)
        draft = Draft(
            content=text.strip(),
            uploads=tuple(_upload(f) for f in files),
            reply_to=reply_to,
            nonce=nonce,
            enforce_nonce=nonce is not None,
            stickers=tuple(stickers),
        )
        return self._said(channel_id, draft, author)

    async def open_post(
        self, forum_id: int, title: str, text: str = "", *, author: Person = None, files: Iterable[File] = (),
        tags: Iterable[str] = (),
    ) -> Message:  # fmt: skip
        """Open a post in a forum; returns its first message, which has the id of the post's thread."""
        forum, who = self.state.channel(forum_id), self._person(author).id
        ids = tuple(tag.id for tag in forum.tags if tag.name in set(tags))
        draft = Draft(content=text.strip(), uploads=tuple(_upload(f) for f in files))
        made = threads.post(
            self.state, who, forum, threads.ThreadRequest(title),
            lambda id: self._api.messages.create(who, id, draft, Origin(id=id)), ids,
        )  # fmt: skip
        return self.state.message(made.id, made.id)

    async def forward(self, message_id: int, channel_id: int, *, author: Person = None) -> Message:
        """Forward a message into a channel, as it is now."""
        original = self.state.find_message(message_id)
        return self._said(channel_id, Draft(forward_of=(original.channel_id, original.id)), author)

    async def ask_poll(
        self, channel_id: int, question: str, answers: Iterable[str], *, multiple: bool = False, author: Person = None
    ) -> Message:
        """Post a poll that runs for a day."""
        listed: list[Json] = [{"poll_media": {"text": a}} for a in answers]
        fields = Fields({"question": {"text": question}, "answers": listed, "allow_multiselect": multiple}, ("poll",))
        return self._said(channel_id, Draft(poll=parse_poll(fields)), author)

    async def vote(self, message_id: int, answer_id: int, *, author: Person = None) -> Message:
        """Vote for an answer of a poll; answers count from 1."""
        message = self.state.find_message(message_id)
        return poll_votes.vote(self.state, self._author(message.channel_id, author).id, message, answer_id)

    async def end_poll(self, message_id: int, *, author: Person = None) -> Message:
        """End a poll, as its author."""
        message = self.state.find_message(message_id)
        who = message.author_id if author is None else self._person(author).id
        return poll_votes.end(self.state, self._api.messages, who, message)

    async def say_aloud(
        self, channel_id: int, sound: bytes = b"OggS", seconds: float = 1.5, *, author: Person = None
    ) -> Message:
        """Post a voice message with the content of an Ogg file."""
        waveform = base64.b64encode(bytes(range(0, 256, 16))).decode()
        upload = Upload("voice-message.ogg", sound, "audio/ogg", duration_secs=seconds, waveform=waveform)
        return self._said(channel_id, Draft(uploads=(upload,), flags=int(MessageFlag.IS_VOICE_MESSAGE)), author)

    async def add_webhook(self, channel_id: int, name: str) -> Webhook:
        """Create a webhook in a channel."""
        return webhooks.created(self.state, self.state.channel(channel_id), name)

    async def post_as(self, webhook: Webhook, text: str, *, thread_id: int | None = None, name: str = "") -> Message:
        """Post through a webhook, which is nobody's account."""
        draft = Draft(content=text)
        return webhooks.executed(self._api.messages, replace(webhook, name=name or webhook.name), draft, thread_id)

    async def edit(self, message_id: int, text: str, *, author: Person = None) -> Message:
        """Edit a message as its author."""
        message = self.state.find_message(message_id)
        editor = message.author_id if author is None else self._person(author).id
        return self._api.messages.edit(editor, message.channel_id, message_id, Revision(content=text))

    async def delete(self, message_id: int, *, author: Person = None) -> None:
        """Delete a message, by default as the person at the page."""
        message = self.state.find_message(message_id)
        who = self._author(message.channel_id, author).id
        hidden = message.visible_to == who
        self._api.messages.delete(who, message.channel_id, message_id, via_interaction=hidden)

    def _said(self, channel_id: int, draft: Draft, author: Person) -> Message:
        return self._api.messages.create(self._author(channel_id, author).id, channel_id, draft)


def _upload(file: File) -> Upload:
    if isinstance(file, Upload):
        return file
    name, content = (file.name, file.read_bytes()) if isinstance(file, Path) else file
    guessed = mimetypes.guess_type(name)[0] or "application/octet-stream"
    return Upload(name, content, guessed)
