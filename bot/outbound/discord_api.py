"""What the bot does in Discord, each act once and in its turn: post, edit, react, open a thread, look back.

A post carries a nonce made from what it says, so that a repetition is the same message for Discord.  What Discord
refuses becomes ``Held`` (keep it and try later), ``Gone`` (the message to edit is no more) or ``Unfit`` (the content
is not what Discord takes).

Whether a person may read back what was said in a place: the bot tells nobody what Discord keeps from them.
"""

from __future__ import annotations

import asyncio
import io
import json
import logging
from collections.abc import Awaitable, Callable, Collection
from dataclasses import dataclass
from functools import partial
from typing import TypeAlias, TypeVar, cast

import aiohttp
import discord
from discord.utils import MISSING

from agentic.core.events.execution_events import FileRef, InboxItem, OutboxItem
from agentic.core.events.ids import digest
from agentic.ports.errors import AgenticError
from agentic.ports.failpoints import reach
from agentic.workspace.file_names import safe_name
from bot.messages.question_text import Standing
from bot.outbound.discord_places import place_of
from bot.outbound.duplicate_detection import SeenMessage
from bot.outbound.request_queue import Crowded, Sender, Urgency
from bot.rendering.answer_card import card_of, fits, with_buttons
from bot.rendering.buttons import buttons_of, closed_buttons_of, keys_of
from bot.rendering.discord_text import (
    LIMIT,
    Attached,
    Rendered,
    Steering,
    cut,
    named,
    one_line,
)
from bot.rendering.secrets import Discretion


async def may_look_back(client: discord.Client, channel: int, person: int) -> bool:
    """By their rights now; a person is asked for only where not everyone may."""
    place, parent = await place_of(client, channel)
    if isinstance(place, discord.DMChannel):
        return True
    if not isinstance(parent, discord.abc.GuildChannel):
        return False
    kept_back = any(overwrite.read_message_history is False for overwrite in parent.overwrites.values())
    if not kept_back and parent.permissions_for(parent.guild.default_role).read_message_history:
        return True
    try:
        member = await parent.guild.fetch_member(person)
    except discord.NotFound:
        return False
    return parent.permissions_for(member).read_message_history


T = TypeVar("T")
Act: TypeAlias = Callable[[], Awaitable[T]]

PLAIN_TITLE = "A task"
"""For a thread whose title Discord did not take (word filters)."""
TAGS_OF_A_POST = 5
"""Discord takes no more."""
LOOK_BACK = 200
"""Messages of a thread that are read back at most for an item whose fate is unknown."""
READ_SECONDS = 15.0
"""How long a message whose attachments are needed is waited for."""
REPEATED_SECONDS = 120.0
"""So long after it was first sent a post may be sent again with its nonce, which Discord remembers for a few minutes."""
_POSTED = (discord.MessageType.default, discord.MessageType.reply)
_UNKNOWN_CHANNEL, _UNKNOWN_MESSAGE, _UNKNOWN_EMOJI = 10003, 10008, 10014
ARCHIVED = 50083
"""The code of what was refused because the thread is archived."""
_THREAD_EXISTS, _TOO_OLD = 160004, 30046
NO_RIGHT = 50013
"""The code of what was refused because the bot lacks a right, which may be the one to attach files."""
_REASONS = {
    _UNKNOWN_CHANNEL: ("the thread is gone", 600.0),
    50001: ("the bot can't see it; let it view the channel", 60.0),
    NO_RIGHT: ("the bot can't write there; grant it “Send Messages in Threads” and “Attach Files”", 60.0),
    160005: ("the thread is locked; unlock it", 120.0),
    50024: ("threads cannot be opened there", 600.0),
    160006: ("the server has its maximum of active threads; archive some", 120.0),
}
REFUSALS = frozenset((*_REASONS, ARCHIVED))
"""Codes of what Discord refuses until people change something."""

log = logging.getLogger(__name__)


class Held(Exception):
    """Cannot be done now; ``reason`` says what to do, ``seconds`` when to try again.

    ``perhaps_unfit``: it may be because of what is sent, and not because of Discord or the place.
    """

    def __init__(self, reason: str, seconds: float, code: int = 0, *, perhaps_unfit: bool = False) -> None:
        super().__init__(reason)
        self.reason, self.seconds, self.code, self.perhaps_unfit = reason, seconds, code, perhaps_unfit


class Gone(Exception):
    """The message is no more, or is too old to be edited again."""


class Unfit(Exception):
    """Discord does not take this content; ``words`` say why to people, and hold nothing of it."""

    def __init__(self, detail: str, words: str = "Discord does not take it") -> None:
        super().__init__(detail)
        self.words = words


def nonce_of(key: str, part: int = 0, generation: int = 0) -> str:
    """The nonce of one part of a visible effect: 24 characters, the same whenever it is made."""
    return digest("nonce", key, part, generation, length=24)


@dataclass(frozen=True, slots=True)
class Post:
    """One message to post; ``item`` lends it its buttons."""

    channel: str
    content: str
    nonce: str
    silent: bool = True
    files: tuple[Attached, ...] = ()
    item: OutboxItem | None = None
    reply_to: str = ""
    undo: bool = False
    """Its buttons include one that puts back what was changed."""
    again: str = ""
    """They include one that tries the task again."""
    votes: bool = True
    """They include 👍 and 👎, where it is an answer."""
    steer: tuple[Steering, ...] = ()
    """They include those that stop, pause, resume or continue the task."""
    wake: str = ""
    """They include one that keeps the agent from going on by itself later."""
    pings: str = ""
    """The mention of the person or role that is called, '' for nobody."""
    card: tuple[str, ...] = ()
    """The blocks of the card that it is shown as, instead of ``content``."""


class DiscordApi:
    """Acts in Discord through one client and one sender."""

    def __init__(self, client: discord.Client, sender: Sender, discretion: Discretion | None = None) -> None:
        self._client = client
        self._sender = sender
        self._discretion = discretion or Discretion()
        self._opening: dict[str, asyncio.Task[None]] = {}
        self.connected = True
        """The gateway tells what there is; else Discord is asked."""

    async def post(self, post: Post, urgency: Urgency = Urgency.MESSAGE) -> str:
        """Post a message and return its id; unarchives the thread where it must.

        Raises ``Held``, ``Unfit``, and ``Gone`` where it was posted under this nonce before, and deleted since.
        """
        opening = self._opening.get(post.channel)
        if opening is not None:
            await asyncio.wait((opening,))
        try:
            return await self._judged(urgency, lambda: self._create(post), post.channel, "post", REPEATED_SECONDS)
        except Held as held:
            if held.code != ARCHIVED:
                raise
        await self._unarchive(post.channel)
        return await self._judged(urgency, lambda: self._create(post), post.channel, "post", REPEATED_SECONDS)

    async def _create(self, post: Post) -> str:
        reach("discord.post.before")
        channel = self._channel(post.channel)
        view = _buttons(post) or MISSING
        content = self.shown(post.content)
        files = [self.discreet_file(file) for file in post.files]
        called = _called(post.pings)
        if post.card:
            blocks = [self._discretion.text(block) for block in post.card]
            if not fits(blocks):
                raise Unfit("a card that grew when its secrets were hidden")
            send = partial(
                channel.send, view=card_of(blocks, view or None), nonce=post.nonce, silent=post.silent,
                mention_author=False, allowed_mentions=called,
            )  # fmt: skip
            message = await (send(reference=_reference(post)) if post.reply_to else send())
        elif post.reply_to:
            message = await channel.send(
                content, nonce=post.nonce, silent=post.silent, suppress_embeds=True, files=files, view=view,
                reference=_reference(post), mention_author=False, allowed_mentions=called,
            )  # fmt: skip
        else:
            message = await channel.send(
                content, nonce=post.nonce, silent=post.silent, suppress_embeds=True, files=files, view=view,
                allowed_mentions=called,
            )  # fmt: skip
        reach("discord.post.after")
        return str(message.id)

    async def edit(
        self, channel: str, message: str, content: Callable[[], str],
        view: discord.ui.View | None = MISSING,
    ) -> str:  # fmt: skip
        """Replace a message's text by what is to be shown when the edit's turn has come, and return that.

        ``view`` holds its buttons, None for none; without it they stay as they are.  Raises ``Gone`` and ``Held``.
        """
        target = self._channel(channel).get_partial_message(int(message))

        async def newest() -> str:
            text = content()
            reach("discord.edit.before")
            await target.edit(content=self.shown(text), view=view)
            reach("discord.edit.after")
            return text

        return await self._judged(Urgency.EDIT, newest, channel, "edit")

    async def read(self, channel: str, message: str) -> str:
        """A message's text as it stands.  Raises ``Gone`` and ``Held``."""
        target = self._channel(channel).get_partial_message(int(message))

        async def look() -> str:
            return (await target.fetch()).content

        return await self._judged(Urgency.EDIT, look, channel, "read")

    def discreet(self, embed: discord.Embed) -> discord.Embed:
        """An embed without secrets, for what commands answer."""
        return discord.Embed.from_dict(cast("dict[str, object]", self._discretion.everywhere(embed.to_dict())))

    def discreet_text(self, text: str) -> str:
        """A text without secrets, for the same."""
        return self._discretion.text(text)

    def discreet_file(self, file: Attached) -> discord.File:
        """A file without secrets, in its name and in its text."""
        content = self._discretion.content(file.content, made=file.made)
        return discord.File(io.BytesIO(content), safe_name(self._discretion.text(file.name)))

    def shown(self, text: str) -> str:
        """A text as it is posted.  What replaces a secret may be longer than it was."""
        return cut(self._discretion.text(text), LIMIT)

    async def show_question(self, item: OutboxItem, message: str, content: str | None, standing: Standing) -> None:
        """Bring a question's last message up to date; closed, its buttons are greyed out.  Raises ``Gone`` and ``Held``.

        ``content`` is None where only the buttons change.
        """
        target = self._channel(item.thread).get_partial_message(int(message))
        arrange = buttons_of if standing.way == "open" else closed_buttons_of
        text = MISSING if content is None else self.shown(content)

        async def show() -> None:
            await target.edit(content=text, view=arrange(item, standing.answers))

        await self._judged(Urgency.EDIT, show, item.thread, "edit")

    async def show_buttons(
        self, item: OutboxItem, message: str, below: Rendered, *, perhaps_card: bool = False
    ) -> None:
        """Replace the buttons of an answer's last message.  Raises ``Gone`` and ``Held``.

        Of a card the buttons are a part, so the whole of it is sent again; ``perhaps_card``: it may be one.
        """
        target = self._channel(item.thread).get_partial_message(int(message))

        async def show() -> None:
            view = buttons_of(
                item,
                undo=below.undo,
                redo=below.redo,
                again=below.again,
                votes=below.votes,
                steer=below.steer,
                wake=below.wake,
            )
            stands = await target.fetch() if perhaps_card else None
            if stands is not None and stands.flags.components_v2:
                await target.edit(view=with_buttons(discord.ui.LayoutView.from_message(stands, timeout=None), view))
            else:
                await target.edit(view=view)

        await self._judged(Urgency.EDIT, show, item.thread, "edit")

    async def react(self, channel: str, message: str, emoji: str, urgency: Urgency = Urgency.RESULT) -> bool:
        """Add a reaction and return whether it is there; where that is not possible it is left out, and said in the log."""
        target = self._channel(channel).get_partial_message(int(message))
        try:
            reach("discord.reaction.before")
            await self._judged(urgency, lambda: target.add_reaction(emoji), channel, "react")
            reach("discord.reaction.after")
        except (Held, Gone, Unfit) as error:
            log.warning("no %s on message %s: %s", emoji, message, error)
            return False
        return True

    def is_post(self, thread: str) -> bool:
        """Whether it is a post in a forum, as far as is known without asking Discord; True where nothing is known so."""
        place = self._client.get_channel(int(thread))
        if place is None and not self.connected:
            return True
        return isinstance(place, discord.Thread) and isinstance(place.parent, discord.ForumChannel)

    async def tag(self, thread: str, name: str, instead_of: Collection[str]) -> bool:
        """Have a post bear the tag of this name instead of these, where its forum has it; else it is said in the log.

        False where it is no post after all.
        """
        place = self._client.get_channel(int(thread))
        forum = place.parent if isinstance(place, discord.Thread) else None
        if place is None and not self.connected:
            try:
                place, forum = await self._judged(Urgency.EDIT, lambda: place_of(self._client, int(thread)))
            except (Held, Gone, Unfit) as error:
                log.info("whether %s is a post cannot be asked now: %s", thread, error)
                return True
        if not isinstance(place, discord.Thread) or not isinstance(forum, discord.ForumChannel):
            return False
        wanted = [tag for tag in forum.available_tags if tag.name.casefold() == name][:1]
        kept = [tag for tag in place.applied_tags if tag.name.casefold() not in instead_of]
        tags = [*kept[: TAGS_OF_A_POST - len(wanted)], *wanted]
        if {tag.id for tag in tags} == {tag.id for tag in place.applied_tags} or (forum.flags.require_tag and not tags):
            return True
        try:
            await self._judged(Urgency.EDIT, lambda: place.edit(applied_tags=tags), thread, "thread")
        except (Held, Gone, Unfit) as error:
            log.warning("post %s does not bear the tag %r: %s", thread, name, error)
        return True

    async def unreact(self, channel: str, message: str, emoji: str) -> None:
        """Take a reaction of the bot's own back; one that is not there is left alone, as one that cannot be."""
        target = self._channel(channel).get_partial_message(int(message))
        try:
            await self._judged(Urgency.EDIT, partial(self._take_back, target, emoji), channel, "react")
        except (Held, Gone, Unfit) as error:
            log.info("%s stays on message %s: %s", emoji, message, error)

    async def _take_back(self, target: discord.PartialMessage, emoji: str) -> None:
        own = cast("discord.ClientUser", self._client.user)
        try:
            await target.remove_reaction(emoji, own)
        except discord.NotFound as error:
            if error.code != _UNKNOWN_EMOJI:
                raise

    async def open_thread(self, channel: str, message: str, title: str) -> None:
        """Have a thread made from a message, also if it exists already or is just being made.  Raises ``Held``."""
        task = self._opening.get(message)
        if task is None:
            task = asyncio.create_task(self._open(channel, message, title), name=f"open thread {message}")
            self._opening[message] = task
            task.add_done_callback(lambda _: self._opening.pop(message, None))
        await asyncio.shield(task)

    async def _open(self, channel: str, message: str, title: str) -> None:
        parent = self._client.get_channel(int(channel))
        if parent is None and not self.connected:
            parent = await self._judged(Urgency.RESULT, lambda: self._client.fetch_channel(int(channel)))
        if not isinstance(parent, discord.TextChannel):
            raise Held(*_REASONS[50024], 50024)
        target = parent.get_partial_message(int(message))
        try:
            try:
                name = self._name(title) or PLAIN_TITLE
                reach("discord.thread.before")
                await self._judged(Urgency.RESULT, lambda: target.create_thread(name=name), channel, "thread")
                reach("discord.thread.after")
            except Unfit:
                await self._judged(Urgency.RESULT, lambda: target.create_thread(name=PLAIN_TITLE), channel, "thread")
        except Held as held:
            if held.code != _THREAD_EXISTS:
                raise
        except Unfit as unfit:
            raise Held(f"Discord makes no thread of it ({unfit})", 600.0) from unfit
        except Gone as gone:
            raise Held("the message with the task was deleted before its thread was made", 600.0) from gone

    async def rename(self, thread: str, title: str, given: Collection[str]) -> bool:
        """Rename a thread of the bot's own that has one of these names; returns whether it has the new one now.

        Raises ``Held``, ``Gone`` and ``Unfit``.
        """
        name = self._name(title)

        async def anew() -> bool:
            place = await self._client.fetch_channel(int(thread))
            if not isinstance(place, discord.Thread) or not self._bears(place, [*given, name]):
                return False
            if place.name != name:
                await place.edit(name=name)
            return True

        return await self._judged(Urgency.EDIT, anew)

    def may_bear(self, thread: str, given: Collection[str]) -> bool:
        """Whether a thread is the bot's own and has one of these names, as far as is known without asking Discord."""
        place = self._client.get_channel(int(thread))
        return not isinstance(place, discord.Thread) or self._bears(place, given)

    def _bears(self, place: discord.Thread, given: Collection[str]) -> bool:
        own = self._client.user is not None and place.owner_id == self._client.user.id
        return own and place.name in {*given, *map(self._name, given)}

    def _name(self, title: str) -> str:
        """A title as a thread's name."""
        return one_line(self._discretion.text(title), 100)

    async def unrecorded(self, channel: str, known: Callable[[str], Awaitable[bool]]) -> list[SeenMessage]:
        """The bot's messages in a channel below the last one that is ``known``, oldest first.  Raises ``Held``."""
        target = self._channel(channel)

        async def look() -> list[SeenMessage]:
            found: list[SeenMessage] = []
            async for message in target.history(limit=LOOK_BACK):
                if not self.own(message) or message.type not in _POSTED:
                    continue
                if await known(str(message.id)):
                    break
                found.append(_seen(message))
            return found[::-1]

        return await self._judged(Urgency.MESSAGE, look, channel, "look")

    def _channel(self, channel: str) -> discord.TextChannel | discord.Thread | discord.PartialMessageable:
        """The channel as it is known, or by its id alone: threads that were archived are not kept."""
        known = self._client.get_channel(int(channel))
        if isinstance(known, discord.TextChannel | discord.Thread):
            return known
        return self._client.get_partial_messageable(int(channel))

    async def look(
        self, channel: str, look: Callable[[discord.abc.Messageable], Awaitable[T]], urgency: Urgency = Urgency.MESSAGE
    ) -> T:
        """Read something of a channel.  Raises ``Held``, ``Gone`` and ``Unfit``."""
        target = self._channel(channel)
        return await self._judged(urgency, lambda: look(target))

    async def answers(self, channel: str) -> bool:
        """Whether Discord answers for this channel now."""

        async def newest() -> None:
            async for _ in self._channel(channel).history(limit=1):
                return

        try:
            await self._judged(Urgency.MESSAGE, newest, channel, "look")
        except (Held, Gone, Unfit):
            return False
        return True

    async def may_look_back(self, channel: str, person: str) -> bool:
        """Whether a person may read back what was said in a channel.  Raises ``Held``, ``Gone`` and ``Unfit``."""
        return await self._judged(Urgency.MESSAGE, lambda: may_look_back(self._client, int(channel), int(person)))

    def own(self, message: discord.Message) -> bool:
        """Whether the bot itself wrote it."""
        return self._client.user is not None and message.author.id == self._client.user.id

    async def _unarchive(self, channel: str) -> None:
        async def unarchive() -> None:
            thread = await self._client.fetch_channel(int(channel))
            if isinstance(thread, discord.Thread):
                await thread.edit(archived=False)

        await self._judged(Urgency.MESSAGE, unarchive)

    async def _judged(
        self, urgency: Urgency, act: Act[T], channel: str = "", route: str = "", within: float | None = None
    ) -> T:
        if self._client.user is None:
            raise Held("the bot is not connected to Discord yet", 2.0)
        try:
            return await self._sender.send(urgency, act, lane=channel, route=route, within=within)
        except Crowded as crowded:
            raise Held("too much waits to be sent already", 5.0) from crowded
        except discord.HTTPException as error:
            raise _judgement(error) from error
        except (discord.RateLimited, aiohttp.ClientError, OSError, json.JSONDecodeError) as error:
            why = f"Discord cannot be reached ({error or type(error).__name__})"
            raise Held(why, 15.0, perhaps_unfit=not isinstance(error, discord.RateLimited)) from error
        except AgenticError:
            raise
        except (
            Exception
        ) as error:  # of the libraries or of ours, with what was to be sent: it would come again and again
            if self._client.is_closed():
                raise Held("the bot is leaving Discord", 15.0) from error
            log.exception("a request could not be made")
            raise Unfit(str(error), f"a fault in Threadwright ({type(error).__name__})") from error


def _reference(post: Post) -> discord.MessageReference:
    """A reply, which becomes a plain message if what it answers is gone."""
    message, channel = int(post.reply_to), int(post.channel)
    return discord.MessageReference(message_id=message, channel_id=channel, fail_if_not_exists=False)


def _called(mention: str) -> discord.AllowedMentions:
    """Whom a message notifies: the one that is mentioned on purpose, and nobody whom a model or a file names."""
    place = [discord.Object(int(mention.strip("<@&>")))] if mention else []
    role = mention.startswith("<@&")
    return discord.AllowedMentions(
        everyone=False, users=[] if role else place, roles=place if role else [], replied_user=False
    )


def _seen(message: discord.Message) -> SeenMessage:
    reference = message.reference
    answered = str(reference.message_id) if reference is not None and reference.message_id else ""
    keys = frozenset(keys_of(message))
    return SeenMessage(str(message.id), message.content, keys, answered, len(message.attachments))


def _judgement(error: discord.HTTPException) -> Held | Gone | Unfit:
    if error.code in (_UNKNOWN_MESSAGE, _TOO_OLD):
        return Gone()
    if error.code in (ARCHIVED, _THREAD_EXISTS):
        return Held("the thread is archived" if error.code == ARCHIVED else "it exists", 60.0, error.code)
    if error.code in _REASONS:
        return Held(*_REASONS[error.code], error.code)
    if error.status == 413:
        return Unfit(str(error), "it is too large for Discord")
    if error.status == 400:
        return Unfit(str(error))
    return Held(f"Discord refused it ({error})", 60.0, error.code, perhaps_unfit=error.status not in (401, 429))


def _buttons(post: Post) -> discord.ui.View | None:
    """What belongs under the message; None where nothing does."""
    if post.item is None:
        return None
    return buttons_of(post.item, undo=post.undo, again=post.again, votes=post.votes, steer=post.steer, wake=post.wake)


class AttachmentUrls:
    """The present address of an attachment: Discord's file addresses run out after a day, messages do not."""

    def __init__(self, desk: DiscordApi) -> None:
        self._desk = desk

    async def __call__(self, item: InboxItem, file: FileRef) -> str:
        """The address of a file of the message that the item came from, '' where it cannot be read."""
        message = item.message or item.id
        if not message.isdecimal():
            return ""
        try:
            async with asyncio.timeout(READ_SECONDS):
                found = await self._desk.look(item.channel or item.thread, partial(_attachments, message=int(message)))
        except (Held, Gone, Unfit, TimeoutError) as error:
            log.info("message %s cannot be read again: %s", message, error or "it is gone")
            return ""
        alike = [address for name, size, address in found if name == file.name and size == file.size]
        return next((address for address in alike if address != file.path), alike[0] if alike else "")


async def _attachments(channel: discord.abc.Messageable, message: int) -> list[tuple[str, int, str]]:
    """(name, size, address) of what is attached to a message."""
    found = await channel.fetch_message(message)
    return [(named(one.filename, "file"), one.size, one.url) for one in found.attachments]
