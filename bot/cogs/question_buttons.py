"""Buttons and lists: answers, votes, undo, offered branches.  They work as long as their message stands.

Nothing in a ``custom_id`` is believed: a press counts if the bot itself posted that message in this very thread, and
offered there what was pressed.  Discord is answered first, within its three seconds; whatever is slow comes afterwards.
"""

from __future__ import annotations

import asyncio
import logging
from collections import OrderedDict
from collections.abc import Hashable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

import discord
from discord.ext import commands

from agentic.core.events.execution_events import InboxItem, OutboxItem
from agentic.ports.errors import AgenticError, StoreError
from agentic.ports.runtime import OutboxRow
from bot.access.denials import ANSWERED, NOT_OF_HERE
from bot.access.permissions import Speaker
from bot.cogs.private_replies import quietly, tell
from bot.inbound.events import ClickEvent, Outcome, Reply, ThreadView
from bot.inbound.intake import not_kept, noted
from bot.inbound.interpret_reaction import translate_click
from bot.inbound.parse import scene_about, scene_of
from bot.messages.question_choices import standing_of
from bot.messages.question_text import decided_words
from bot.rendering.custom_ids import Press
from bot.rendering.discord_text import Steering

if TYPE_CHECKING:
    from bot.app.client import ThreadwrightBot

DOUBLE_SECONDS = 10.0
"""The same press again within this time is the same act."""

_STEERED: Mapping[Steering, tuple[str, ...]] = {
    "stop": ("progress", "question"),
    "pause": ("progress",),
    "resume": ("progress",),
    "revoke": ("progress",),
    "continue": ("answer",),
}
"""The kinds of messages that have each of these buttons."""
LOOKS, PAUSE = 20, 0.25
"""How often, and how many seconds apart, a thread is asked for a question that its log holds open."""

log = logging.getLogger(__name__)


class Recent:
    """What was done a moment ago, by whoever or wherever: the last of each, for ``DOUBLE_SECONDS``."""

    def __init__(self) -> None:
        self._last: OrderedDict[Hashable, tuple[Hashable, float]] = OrderedDict()

    def last(self, where: Hashable) -> Hashable:
        """What was done there, None where nothing was."""
        now = asyncio.get_running_loop().time()
        while self._last and next(iter(self._last.values()))[1] <= now:
            self._last.popitem(last=False)
        return self._last[where][0] if where in self._last else None

    def note(self, where: Hashable, act: Hashable) -> None:
        """It is done now."""
        self._last.pop(where, None)
        self._last[where] = (act, asyncio.get_running_loop().time() + DOUBLE_SECONDS)

    def drop(self, where: Hashable) -> None:
        """It was not done after all."""
        self._last.pop(where, None)


class QuestionButtons(commands.Cog):
    """Takes presses in."""

    def __init__(self, bot: ThreadwrightBot) -> None:
        self.bot = bot
        self._recent = Recent()

    @commands.Cog.listener()
    async def on_pressed(self, interaction: discord.Interaction, press: Press) -> None:
        """Acknowledge, then deliver what was pressed once; whoever may not is told privately."""
        await quietly(interaction.response.defer())
        hand = (interaction.message and interaction.message.id, interaction.user.id)
        if self._recent.last(hand) == press:
            return
        self._recent.note(hand, press)
        try:
            words, done = await self._take(interaction, press)
        except AgenticError as error:
            words, done = not_kept(str(interaction.id), error), False
        if (
            not done or press.undo or press.redo or press.again or press.offer
        ):  # these may be wanted again once what stood in their way is gone
            self._recent.drop(hand)
        if done and press.steer == "continue":
            await self.bot.backstage.button_used(press.key)
        if words:
            await tell(interaction, self.bot.desk.discreet_text(words))

    async def _take(self, interaction: discord.Interaction, press: Press) -> tuple[str, bool]:
        """What the person is told privately, and whether it was taken in."""
        if press.steer == "stop":
            await self.bot.coming.before_a_stop(str(interaction.channel_id))
        row = await self.bot.store.outbox_row(press.key)
        if row is None:
            about = press.undo or press.redo or press.again or press.key.partition(".")[0]
            return await self.bot.expiry.of_execution(about, str(interaction.channel_id)) or NOT_OF_HERE, False
        if not await self._belongs(interaction, press, row):
            return NOT_OF_HERE, False
        clicked = self._clicked(interaction, press, row.item, await self.bot.reader.presser(interaction))
        outcome = await self._meant(interaction, clicked, row.item)
        if isinstance(outcome, Reply):
            return await self._too_late(outcome, row.item), False
        return await self._deliver(interaction, outcome, row.item)

    async def _meant(self, interaction: discord.Interaction, clicked: ClickEvent, item: OutboxItem) -> Outcome:
        """What it asks for; in the moment after a start a thread may not yet know the question that it still asks."""
        for _ in range(LOOKS):
            outcome = translate_click(clicked, await self._scene(interaction, clicked))
            if outcome != Reply(ANSWERED) or not await self._is_open(item):
                return outcome
            await asyncio.sleep(PAUSE)
        return Reply(ANSWERED)

    async def _is_open(self, item: OutboxItem) -> bool:
        return (await standing_of(self.bot.store, item.execution, item.question)).way == "open"

    async def _deliver(self, interaction: discord.Interaction, outcome: Outcome, item: OutboxItem) -> tuple[str, bool]:
        if not isinstance(outcome, InboxItem):
            return "", False
        whole = outcome.target if outcome.sort == "answer" and "#" not in outcome.target else ""
        if whole and self._recent.last(whole):
            return await self._too_late(Reply(ANSWERED), item), False
        if whole:
            self._recent.note(whole, outcome.text)
        receipt = await self.bot.intake.deliver(outcome, str(interaction.guild_id or ""))
        if whole and not receipt.accepted:
            self._recent.drop(whole)
        return receipt.text or (noted(outcome, over=True) if receipt.accepted else ""), receipt.accepted

    async def _belongs(self, interaction: discord.Interaction, press: Press, row: OutboxRow) -> bool:
        """The bot posted it, in this thread of this guild, and what was pressed was offered there."""
        message, item, user = interaction.message, row.item, self.bot.user
        if (
            message is None
            or user is None
            or message.author.id != user.id
            or item.thread != str(interaction.channel_id)
        ):
            return False
        rolls = item.sort == "progress"  # it may be continued in a message that the row does not name
        if row.delivered and not rolls and str(message.id) not in row.delivered:
            return False
        session = await self.bot.store.session(item.thread)
        return session is not None and session.guild == str(interaction.guild_id or "") and _offered(press, item)

    async def _scene(self, interaction: discord.Interaction, clicked: ClickEvent) -> ThreadView:
        conversation = self.bot.conversation
        if clicked.target:
            scene = await scene_about(conversation, self.bot.store, clicked.thread, clicked.target)
        else:
            scene = await scene_of(conversation, clicked.thread, wholly=True)
        here = interaction.guild_id is None or interaction.app_permissions.send_messages_in_threads
        return replace(scene, bot_writes=here)

    async def _too_late(self, told: Reply, item: OutboxItem) -> str:
        """Why not; of a question that was decided also how."""
        if told.text != ANSWERED or not item.execution:
            return told.text
        try:
            standing = await standing_of(self.bot.store, item.execution, item.question)
        except StoreError as error:
            log.info("question %s cannot be read: %s", item.question, error)
            return told.text
        return told.text if standing.way == "open" else decided_words(item, standing)

    def _clicked(
        self, interaction: discord.Interaction, press: Press, item: OutboxItem, speaker: Speaker
    ) -> ClickEvent:
        judged = press.vote or press.undo or press.redo or press.again
        about = f"{press.redo or press.again or item.execution}/result" if judged else ""
        return ClickEvent(
            id=str(interaction.id),
            message=str(interaction.message.id) if interaction.message else "",
            thread=item.thread,
            at=interaction.created_at,
            speaker=speaker,
            question=press.question,
            number=press.number,
            part=item.parts[press.part - 1].id if press.part else "",
            vote=press.vote,
            target=about,
            steer=press.steer,
            execution=press.execution,
            undo=press.undo,
            redo=press.redo,
            again=press.again,
            offer=press.offer,
            verdict=press.verdict,
        )


def _offered(press: Press, item: OutboxItem) -> bool:
    """Whether an item's message offers what was pressed."""
    if press.vote or press.undo:
        return item.sort == "answer" and press.undo in ("", item.execution)
    if press.again:
        return press.again == (item.execution if item.sort == "answer" else item.again)
    if press.redo:
        return press.redo == (item.execution if item.sort == "answer" else item.redo)
    if press.steer:
        return item.sort in _STEERED[press.steer] and press.execution == item.execution
    if press.offer:
        return item.sort == "offer" and press.offer == item.question
    if item.sort != "question":
        return False
    if press.part > len(item.parts) or bool(press.part) != bool(item.parts):
        return False
    options = item.parts[press.part - 1].options if press.part else item.options
    return press.question == item.question and 0 <= press.number < len(options)


async def setup(bot: ThreadwrightBot) -> None:
    """Called by discord.py."""
    await bot.add_cog(QuestionButtons(bot))
