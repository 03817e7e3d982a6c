"""What people do on the console's pages, with the rights and the words of the chat, each form once."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, replace
from datetime import datetime
from typing import TYPE_CHECKING

import discord

from agentic.core.events.execution_events import Asked, InboxItem, Person, Sort
from agentic.ports.errors import AgenticError
from bot.access.denials import ANSWERED, ENDED, NOT_OF_HERE
from bot.access.permissions import Speaker, limited
from bot.access.thread_access import OutOfReach, Stand
from bot.actions.rerun import GONE, NO_CHECKPOINT
from bot.app.console_link.sent_forms import SentForms
from bot.console.bot_channel import Deed, Done
from bot.history.checkpoint_list import Kept, checkpoints_of, found
from bot.inbound.events import ClickEvent, MessageEvent, Outcome, Reply, ShowCommand, ThreadView
from bot.inbound.intake import NOTED, RECEIPTS, ReplyPlace, not_kept
from bot.inbound.interpret_message import translate_message
from bot.inbound.interpret_reaction import commanded, translate_click
from bot.inbound.parse import scene_about, scene_of
from bot.inbound.unknown_commands import without_commands
from bot.rendering.discord_text import inline, plain, storable

if TYPE_CHECKING:
    from agentic.ports.runtime import SessionRow
    from bot.app.client import ThreadwrightBot

LONGEST = 4_000
"""Characters of what somebody writes, as in Discord."""
NO_TASK = "There is no such task, or you may not see it."
NO_WORDS = "Write something first."
TOO_LONG = f"That's too long (at most {LONGEST:,} characters)."
ASKS_NOW = "It has just asked something. Read the question, then send your answer."
IN_THE_CHAT = "Use `/{command}` in Discord for that."
ALREADY = "That was already sent."
TAKEN: dict[Sort, str] = {
    "guidance": "Got it, I'll use that in the next step.",
    "answer": "Got it, thanks.",
    "side": "On it. The answer comes in the thread.",
    "queue": "Queued. Starts when this task finishes.",
    "escalate": "🚀 Asked for a stronger model.",
}
WROTE = "{name} wrote on the console:\n>>> {text}"
NO_SUCH_TURN = "Nothing was saved at turn {turn} or before, so I can't fork there."


@dataclass(frozen=True, slots=True)
class _Hand:
    """Whoever acts, where, and what is going on there."""

    stand: Stand
    speaker: Speaker
    row: SessionRow
    scene: ThreadView
    id: str
    at: datetime

    def item(self, sort: Sort, text: str = "", target: str = "") -> InboxItem:
        """What lands in the inbox."""
        return InboxItem(
            id=self.id,
            thread=self.row.thread,
            sort=sort,
            author=self.speaker.person(),
            at=self.at,
            text=text,
            target=target,
        )


class ConsoleActs:
    """Does what a page asks for, in the name of whoever opened it."""

    def __init__(self, bot: ThreadwrightBot) -> None:
        self._bot = bot
        self._forms = SentForms()
        self._owner: Person | None = None

    async def owner(self) -> Person:
        """Whoever the application belongs to: as whom somebody acts who runs the bot. Raises what discord.py raises."""
        if self._owner is None:
            about = await self._bot.application_info()
            team = about.team.owner if about.team is not None else None
            owner = team or about.owner
            self._owner = Person(id=str(owner.id), name=owner.display_name, level="owner")
        return self._owner

    async def stand(self, person: str, row: SessionRow) -> Stand | None:
        """Somebody's present rights in a thread's server; None where they have none. Raises what discord.py raises."""
        try:
            guild = await self._bot.present_server(int(row.guild)) if row.guild else None
        except (discord.NotFound, discord.Forbidden, ValueError):
            return None
        if not person.isdecimal() or (row.guild and guild is None):
            return None
        return await self._bot.reach.stand_of(person, row, guild)

    async def act(self, deed: Deed, person: str, *, everything: bool) -> Done:
        """Do it, once for each form; ``everything``: it is the person who runs the bot.

        The inbox knows also of older forms than are remembered here that they were sent.
        """
        key = hashlib.sha256(f"{person} {deed.form} {deed.thread}".encode()).hexdigest()[:16]
        return await self._forms.once(key, lambda: self._done(deed, f"page-{key}", person, everything=everything))

    async def _done(self, deed: Deed, id: str, person: str, *, everything: bool) -> Done:
        try:
            hand = await self._hand(deed, id, person, everything=everything)
            if hand is None:
                return Done(NO_TASK, done=False)
            if deed.wish == "stop":
                await self._bot.coming.before_a_stop(deed.thread)
            if deed.wish not in ("say", "side"):
                return await self._deliver(await self._meant(deed, hand), hand)
            async with self._bot.lanes.lane(deed.thread):
                await self._bot.catching.close(deed.thread)
                hand = replace(hand, scene=await self._scene(deed, hand.stand, hand.row))
                return await self._deliver(self._said(deed, hand), hand)
        except OutOfReach as why:
            return Done(str(why), done=False)
        except AgenticError as error:
            return Done(not_kept(id, error), done=False)

    async def _hand(self, deed: Deed, id: str, person: str, *, everything: bool) -> _Hand | None:
        reach = self._bot.reach
        row = await self._bot.store.session(deed.thread)
        stand = await self.stand(person, row) if row is not None else None
        if row is None or (not everything and (stand is None or not await reach.may_read(stand, row))):
            return None
        if everything:
            owner = await self.owner()
            speaker = Speaker(owner.id, owner.name, "owner")
            stand = replace(stand, speaker=speaker) if stand is not None else await self._outside(speaker, row)
        else:
            assert stand is not None
            speaker = await reach.speaker(stand, row)
            speaker = replace(speaker, level=limited(speaker.level, writes=speaker.writes))
        scene = await self._scene(deed, stand, row)
        return _Hand(stand, speaker, row, scene, id, self._bot.discord_clock.now())

    async def _outside(self, speaker: Speaker, row: SessionRow) -> Stand:
        """The owner in a server that they are no member of."""
        guild = await self._bot.present_server(int(row.guild)) if row.guild else None
        return Stand(await self._bot.fetch_user(int(speaker.id)), speaker, guild, 0, openly=False)

    async def _scene(self, deed: Deed, stand: Stand, row: SessionRow) -> ThreadView:
        conversation = self._bot.conversation
        if deed.wish == "retry":
            scene = await scene_about(conversation, self._bot.store, row.thread, deed.execution)
        else:
            scene = await scene_of(conversation, row.thread, wholly=True)
        return replace(scene, bot_writes=await self._bot.reach.bot_writes(stand, row))

    def _said(self, deed: Deed, hand: _Hand) -> Outcome:
        """What words mean: the same as a message in the thread."""
        text, scene = storable(deed.text).strip(), hand.scene
        if not text or len(text) > LONGEST:
            return Reply(TOO_LONG if text else NO_WORDS)
        if scene.state in ("idle", "unknown") or deed.execution != scene.execution:
            return Reply(ENDED)
        if (
            deed.wish == "say" and deed.question != scene.question
        ):  # a “yes” counts for what they read, and nothing else
            return Reply(ANSWERED if deed.question else ASKS_NOW)
        said = MessageEvent(
            hand.id, deed.thread, deed.thread, f". btw {text}" if deed.wish == "side" else text, hand.at, hand.speaker,
            addressed=True, about=deed.thread,
        )  # fmt: skip
        outcome = translate_message(said, scene, self._bot.reader.house(hand.stand.guild))
        outcome = without_commands(outcome, self._bot.options.prefix, frozenset(self._bot.all_commands))
        if isinstance(outcome, ShowCommand):
            return Reply(IN_THE_CHAT.format(command=outcome.command))
        return outcome

    async def _meant(self, deed: Deed, hand: _Hand) -> Outcome:
        """What a button asks for: the same as a button in the thread, or a command."""
        scene = hand.scene
        if deed.wish == "choose":
            return _chosen(deed, hand)
        if deed.wish not in ("retry", "rewind", "fork") and deed.execution != scene.execution:
            return Reply(ENDED)
        assert deed.wish not in ("say", "side")
        text, target = "", ""
        if deed.wish == "retry":
            text, target = str(deed.turn) if deed.turn else "", f"{deed.execution}/result"
        outcome = commanded((deed.wish, ""), scene, hand.speaker, hand.item(deed.wish, text, target))
        if isinstance(outcome, InboxItem) and deed.wish in ("rewind", "fork"):
            kept = await self._kept(deed)
            return outcome.model_copy(update={"target": kept.id if kept else "", **await self._new_thread(deed, hand)})
        return outcome

    async def _new_thread(self, deed: Deed, hand: _Hand) -> dict[str, str]:
        """What only a fork says: where it is, and what is to be done there."""
        if deed.wish != "fork":
            return {}
        text = storable(deed.text).strip()
        if len(text) > LONGEST:
            raise OutOfReach(TOO_LONG)
        return {"text": text, "channel": await self._bot.reach.room_for_fork(hand.stand, hand.row)}

    async def _kept(self, deed: Deed) -> Kept | None:
        """The checkpoint that is named, or the last one of the task at a turn or before; None for the newest of the thread."""
        if not deed.checkpoint and not deed.turn:
            return None
        workshop = self._bot.backstage.workshop
        kept = await checkpoints_of(self._bot.store, workshop.snapshots if workshop else None, deed.thread)
        if deed.checkpoint:
            one = found(kept, deed.checkpoint)
            if one is None or not one.there:
                raise OutOfReach((GONE if one else NO_CHECKPOINT).format(named=inline(deed.checkpoint, 40)))
            return one
        before = [k for k in kept if k.execution == deed.execution and k.there and k.turn <= deed.turn]
        if not before:
            raise OutOfReach(NO_SUCH_TURN.format(turn=deed.turn))
        return before[0]

    async def _deliver(self, outcome: Outcome, hand: _Hand) -> Done:
        if isinstance(outcome, Reply):
            return Done(outcome.text, done=False)
        if not isinstance(outcome, InboxItem):
            return Done(NOT_OF_HERE, done=False)
        receipt = await self._bot.intake.deliver(outcome, hand.row.guild)
        if receipt.again:
            return Done(ALREADY, done=True)
        if receipt.accepted and outcome.text and outcome.sort in ("guidance", "side", "queue", "answer"):
            await self._show(outcome, hand)
        words = receipt.text or TAKEN.get(outcome.sort) or RECEIPTS.get(outcome.sort, NOTED)
        return Done(words, receipt.accepted)

    async def _show(self, item: InboxItem, hand: _Hand) -> None:
        """Say in the thread what somebody wrote: no message of theirs stands there. What a button chose shows by itself."""
        if item.target and item.text.isdecimal():
            return
        words = WROTE.format(name=plain(item.author.name, 60), text=item.text)
        await self._bot.intake.tell(words, f"{item.id}.said", ReplyPlace(hand.row.guild, hand.row.thread))


def _chosen(deed: Deed, hand: _Hand) -> Outcome:
    """An option of the open question, if it has such a one."""
    scene = hand.scene
    if scene.asked is None or not deed.question or scene.question != deed.question:
        return Reply(ANSWERED)
    if not 0 <= deed.number < len(_options(scene.asked, deed.part)):
        return Reply(NOT_OF_HERE)
    clicked = ClickEvent(
        hand.id, "", hand.row.thread, hand.at, hand.speaker, question=deed.question, number=deed.number, part=deed.part
    )
    return translate_click(clicked, scene)


def _options(asked: Asked, part: str) -> tuple[object, ...]:
    if not part:
        return () if asked.parts else asked.options
    return next((each.options for each in asked.parts if each.id == part), ())
