"""Acting in the guild as a person would: posting, reacting, clicking, using commands."""

from __future__ import annotations

import mimetypes
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from bot.guild import direct, reactions, threads
from bot.guild.drafts import Draft, Revision, Upload
from bot.guild.errors import too_long
from bot.guild.records import Channel, Member, Message
from bot.guild.threads import ChannelChange, ThreadRequest
from bot.guild.wire import Json

if TYPE_CHECKING:
    from bot.guild.interactions import Interaction
    from bot.guild.messages import Messages
    from bot.guild.server import Server
    from bot.guild.state import GuildState

# Whoever acts: a member, an id or a name; None is the person at the page.
Person: TypeAlias = Member | int | str | None
File: TypeAlias = Path | tuple[str, bytes]


@dataclass(frozen=True, slots=True)
class Choice:
    """One of the values that the bot offers while somebody types."""

    name: str
    value: Json


# What Nitro allows; everyone else, and every app, has 2,000.
PERSON_CHARACTERS = 4_000


class Acting:
    """What people do in a guild; every act goes the way that a request would."""

    def __init__(self, state: GuildState, server: Server) -> None:
        self.state = state
        self._server = server

    @property
    def you(self) -> Member:
        """The person at the page, who owns the guild."""
        return self.state.member(self.state.identity.owner_id)

    def _person(self, who: Person) -> Member:
        if who is None:
            return self.you
        if isinstance(who, Member):
            return who
        if isinstance(who, int):
            return self.state.member(who)
        named = [m for m in self.state.members.values() if m.name == who]
        if not named:
            raise LookupError(f"Nobody here is called {who!r}; add_member({who!r}) first.")
        return named[0]

    async def open_dm(self, who: Person = None) -> Channel:
        """The direct messages between the bot and a person, who is the default author there."""
        return direct.opened(self.state, self._person(who).id)

    def _author(self, channel_id: int, who: Person) -> Member:
        channel = self.state.channels.get(channel_id)
        if who is None and channel is not None and channel.is_direct:
            return self.state.member(channel.recipient_ids[0])
        return self._person(who)

    async def post(
        self,
        channel_id: int,
        text: str,
        *,
        author: Person = None,
        files: Iterable[File] = (),
        reply_to: int | None = None,
        nonce: str | None = None,
    ) -> Message:
        """Posts a message (people may have 4,000 characters); `guild.bot.mention` is the mention of the bot."""
        if len(text) > PERSON_CHARACTERS:
            raise too_long(("content",), PERSON_CHARACTERS)
        draft = Draft(
            content=text.strip(),
            uploads=tuple(_upload(f) for f in files),
            reply_to=reply_to,
            nonce=nonce,
            enforce_nonce=nonce is not None,
        )
        return self._messages.create(self._author(channel_id, author).id, channel_id, draft)

    async def edit(self, message_id: int, text: str, *, author: Person = None) -> Message:
        """Edits a message as its author."""
        message = self.state.find_message(message_id)
        editor = message.author_id if author is None else self._person(author).id
        return self._messages.edit(editor, message.channel_id, message_id, Revision(content=text))

    async def delete(self, message_id: int, *, author: Person = None) -> None:
        """Deletes a message, by default as the person at the page."""
        message = self.state.find_message(message_id)
        self._messages.delete(self._author(message.channel_id, author).id, message.channel_id, message_id)

    async def react(self, message_id: int, emoji: str, *, author: Person = None) -> Message:
        """Reacts: "🛑", or "name:id" for a custom emoji."""
        message = self.state.find_message(message_id)
        return reactions.add(self.state, self._author(message.channel_id, author).id, message, emoji)

    async def unreact(self, message_id: int, emoji: str, *, author: Person = None) -> Message:
        """Takes a reaction back."""
        message = self.state.find_message(message_id)
        who = self._author(message.channel_id, author).id
        return reactions.remove(self.state, who, who, message, emoji)

    async def typing(self, channel_id: int, *, author: Person = None) -> None:
        """Types."""
        self._messages.typing(self._author(channel_id, author).id, channel_id)

    async def create_thread(self, where: int, name: str, *, author: Person = None, private: bool = False) -> Channel:
        """A thread from a message (its id), or alone in a channel (its id)."""
        who, ask = self._person(author).id, ThreadRequest(name, private=private)
        view = self._server.api.view
        if where in self.state.channels:
            return threads.standalone(self.state, view, who, self.state.channel(where), ask)
        return threads.from_message(self.state, view, who, self.state.find_message(where), ask)

    async def archive(self, thread_id: int, *, locked: bool | None = None, author: Person = None) -> Channel:
        """Archives a thread, and locks it if asked."""
        change = ChannelChange(archived=True, locked=locked)
        thread = self.state.channel(thread_id)
        return threads.change(self.state, self._person(author).id, thread, change)

    async def delete_channel(self, channel_id: int, *, author: Person = None) -> None:
        """Deletes a channel or thread."""
        threads.delete(self.state, self._person(author).id, self.state.channel(channel_id))

    async def click(self, message_id: int, custom_id: str, *, author: Person = None, values: Iterable[str] = ()) -> str:
        """Clicks a button or chooses in a select; the result is the interaction's id."""
        message = self.state.find_message(message_id)
        who = self._author(message.channel_id, author)
        return str(self._server.people.click(who, message, custom_id, [*values]).id)

    async def slash(
        self, channel_id: int, name: str, options: Mapping[str, Json] | None = None, *, author: Person = None
    ) -> str:
        """Uses a slash command ("lessons list" for a subcommand); the result is the interaction's id."""
        who = self._author(channel_id, author)
        return str(self._server.people.slash(who, channel_id, name, dict(options or {})).id)

    async def autocomplete(
        self,
        channel_id: int,
        name: str,
        option: str,
        typed: str = "",
        values: Mapping[str, Json] | None = None,
        *,
        author: Person = None,
    ) -> list[Choice]:
        """Types in an option of a slash command; what the bot offers, or TimeoutError after three seconds."""
        who = self._author(channel_id, author)
        one = self._server.people.complete(who, channel_id, name, option, typed, dict(values or {}))
        while one.answer is None:
            changed = self.state.feed.next_change()
            if one.failed:
                raise TimeoutError("The application did not respond.")
            await changed
        return [Choice(str(c["name"]), c["value"]) for c in one.choices]

    async def use_on(self, target: Member | Message, name: str, *, channel: int = 0, author: Person = None) -> str:
        """Uses a command of the menu of a message or a member (who needs `channel`); the interaction's id."""
        where = target.channel_id if isinstance(target, Message) else channel
        return str(self._server.people.use_on(self._author(where, author), where, name, target).id)

    async def submit(self, interaction_id: str, values: Mapping[str, Json]) -> str:
        """Fills in the form that the bot answered with."""
        one = self._server.api.interactions.find(int(interaction_id))
        return str(self._server.people.submit(one, dict(values)).id)

    def interaction(self, interaction_id: str) -> Interaction:
        """An interaction: `answer` is the callback type it got, or None."""
        return self._server.api.interactions.find(int(interaction_id))

    def expire_interaction(self, interaction_id: str) -> None:
        """Behaves as if its 3 seconds and its 15 minutes had passed."""
        self._server.api.interactions.expire(int(interaction_id))

    @property
    def _messages(self) -> Messages:
        return self._server.api.messages


def _upload(file: File) -> Upload:
    name, content = (file.name, file.read_bytes()) if isinstance(file, Path) else file
    guessed = mimetypes.guess_type(name)[0] or "application/octet-stream"
    return Upload(name, content, guessed)
