"""Acting in the guild as a person would: reacting, clicking, using commands, opening threads."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from agentic.core.lazy_dataclass import dataclass
from bot.local_discord.driver.messages import Person, Saying
from bot.local_discord.messages import reactions
from bot.local_discord.model.json_fields import Json
from bot.local_discord.model.records import Channel, Member, Message
from bot.local_discord.threads import direct_messages, members, threads
from bot.local_discord.threads.threads import ChannelChange, ThreadRequest

if TYPE_CHECKING:
    from bot.local_discord.interactions.interactions import Interaction


@dataclass(frozen=True, slots=True)
class Choice:
    """One of the values that the bot offers while somebody types."""

    name: str
    value: Json


class Acting(Saying):
    """What people do in a guild; every act goes the way that a request would."""

    async def open_dm(self, who: Person = None) -> Channel:
        """The direct messages between the bot and a person, who is the default author there."""
        return direct_messages.opened(self.state, self._person(who).id)

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
        return await self.change_thread(thread_id, archived=True, locked=locked, author=author)

    async def change_thread(
        self,
        thread_id: int,
        *,
        name: str | None = None,
        archived: bool | None = None,
        locked: bool | None = None,
        author: Person = None,
    ) -> Channel:
        """Renames, archives or locks a thread, or undoes the latter two."""
        change = ChannelChange(name=name, archived=archived, locked=locked)
        thread, view = self.state.channel(thread_id), self._server.api.view
        return threads.change(self.state, view, self._person(author).id, thread, change)

    async def add_to_thread(self, thread_id: int, who: Person, *, author: Person = None) -> None:
        """Adds somebody to a thread, which is said there."""
        thread, view = self.state.channel(thread_id), self._server.api.view
        members.add(self.state, view, self._person(author).id, thread, self._person(who).id)

    async def remove_from_thread(self, thread_id: int, who: Person, *, author: Person = None) -> None:
        """Removes somebody from a thread, which is said there."""
        thread, view = self.state.channel(thread_id), self._server.api.view
        members.remove(self.state, view, self._person(author).id, thread, self._person(who).id)

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
        await self._server.api.interactions.settled(one)
        if one.answer is None:
            raise TimeoutError("The application did not respond.")
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
