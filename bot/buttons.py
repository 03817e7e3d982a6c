"""Buttons that live as long as their message: everything they need stands in their ``custom_id``.

So does the key of the outbox item they belong to: past Discord's memory of nonces, that is how the outbox finds out
whether it had posted an answer or a question (``key_of``).  A click is only handed on, as the event ``choice`` or
``vote`` or ``halt``; the cog ``questions`` handles both.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Self

import discord
from discord import ButtonStyle, ui

from agentic.core.events import OutboxItem
from bot.render import one_line

if TYPE_CHECKING:
    from discord import Client, Interaction

_NAME = r"[A-Za-z0-9._-]{1,40}"
CHOICES_AT_MOST = 25


class Choice(
    ui.DynamicItem[ui.Button[Any]], template=rf"tw:ask:(?P<question>{_NAME}):(?P<number>\d+):(?P<key>{_NAME})"
):
    """One option of a question."""

    def __init__(self, question: str, number: int, key: str, button: ui.Button[Any]) -> None:
        super().__init__(button)
        self.question, self.number, self.key = question, number, key

    @classmethod
    def make(cls, item: OutboxItem, number: int) -> Self:
        """The button of the ``number``-th option, counted from 0."""
        option = item.options[number]
        button: ui.Button[Any] = ui.Button(
            label=one_line(option.label, 80) or str(number + 1),
            style=ButtonStyle.primary if number == 0 else ButtonStyle.secondary,
            custom_id=f"tw:ask:{item.question}:{number}:{item.key}",
        )
        return cls(item.question, number, item.key, button)

    @classmethod
    async def from_custom_id(cls, interaction: Interaction[Client], item: ui.Item[Any], match: re.Match[str]) -> Self:
        """A button that was clicked, perhaps one of an earlier process."""
        assert isinstance(item, ui.Button)
        return cls(match["question"], int(match["number"]), match["key"], item)

    async def callback(self, interaction: Interaction[Client]) -> None:
        """Hand the click on."""
        interaction.client.dispatch("choice", interaction, self.question, self.item.label or str(self.number + 1))


class Vote(ui.DynamicItem[ui.Button[Any]], template=rf"tw:vote:(?P<vote>up|down):(?P<key>{_NAME})"):
    """👍 or 👎 under a final answer."""

    def __init__(self, vote: str, key: str, button: ui.Button[Any]) -> None:
        super().__init__(button)
        self.vote, self.key = vote, key

    @classmethod
    def make(cls, vote: str, key: str) -> Self:
        """The button for one of the two votes."""
        button: ui.Button[Any] = ui.Button(emoji="👍" if vote == "up" else "👎", custom_id=f"tw:vote:{vote}:{key}")
        return cls(vote, key, button)

    @classmethod
    async def from_custom_id(cls, interaction: Interaction[Client], item: ui.Item[Any], match: re.Match[str]) -> Self:
        """A button that was clicked, perhaps one of an earlier process."""
        assert isinstance(item, ui.Button)
        return cls(match["vote"], match["key"], item)

    async def callback(self, interaction: Interaction[Client]) -> None:
        """Hand the click on."""
        interaction.client.dispatch("vote", interaction, self.vote, self.key)


class Halt(ui.DynamicItem[ui.Button[Any]], template=rf"tw:halt:(?P<key>{_NAME})"):
    """Stop the task, under a question that has no options to choose from."""

    def __init__(self, key: str, button: ui.Button[Any]) -> None:
        super().__init__(button)
        self.key = key

    @classmethod
    def make(cls, key: str) -> Self:
        """The button of one question."""
        return cls(key, ui.Button(label="Stop the task", style=ButtonStyle.secondary, custom_id=f"tw:halt:{key}"))

    @classmethod
    async def from_custom_id(cls, interaction: Interaction[Client], item: ui.Item[Any], match: re.Match[str]) -> Self:
        """A button that was clicked, perhaps one of an earlier process."""
        assert isinstance(item, ui.Button)
        return cls(match["key"], item)

    async def callback(self, interaction: Interaction[Client]) -> None:
        """Hand the click on."""
        interaction.client.dispatch("halt", interaction)


def buttons_of(item: OutboxItem) -> ui.View | None:
    """The buttons under an outbox item's last message, None where it has none.  Needs a running event loop."""
    if item.sort == "answer":
        made: list[Choice | Vote | Halt] = [Vote.make("up", item.key), Vote.make("down", item.key)]
    elif item.sort == "question":
        made = [Choice.make(item, number) for number in range(len(item.options[:CHOICES_AT_MOST]))]
        made = made or [Halt.make(item.key)]
    else:
        made = []
    if not made:
        return None
    view = ui.View(timeout=None)
    for button in made:
        view.add_item(button)
    return view


def closed_buttons_of(item: OutboxItem, chosen: str) -> ui.View | None:
    """The same buttons, disabled, the chosen one marked; their ids stay, since they tell what was posted."""
    view = buttons_of(item)
    if view is None:
        return None
    closed = ui.View(timeout=None)
    for child in view.children:
        if isinstance(child, Choice | Vote | Halt):
            style = ButtonStyle.success if chosen and child.item.label == chosen else ButtonStyle.secondary
            closed.add_item(ui.Button(label=child.item.label, style=style, custom_id=child.custom_id, disabled=True))
    closed.stop()
    return closed


def keys_of(message: discord.Message) -> set[str]:
    """Keys of outbox items that stand in a message's buttons."""
    keys: set[str] = set()
    for row in message.components:
        for component in getattr(row, "children", ()):
            custom_id = getattr(component, "custom_id", None) or ""
            if custom_id.startswith("tw:"):
                keys.add(custom_id.rpartition(":")[2])
    return keys
