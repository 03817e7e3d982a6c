"""An answer as one card: its blocks in a frame, its buttons below (Discord's components of version 2).

Discord refuses a message whose components are too many or too long without saying which, so both are counted first. Such a
message has no content and no embeds, and cannot be turned into one that has.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import discord
from discord import ui

from bot.rendering.buttons import IN_A_ROW
from bot.rendering.discord_text import clean, length

COMPONENTS, CHARACTERS = 40, 4_000
"""Of one message in all."""


def card_fact(thread: str) -> str:
    """The name of the fact that answers of a thread were posted as cards: its messages are looked at before an edit."""
    return f"cards: {thread}"


def fits(blocks: Sequence[str], buttons: int = 10) -> bool:
    """Whether blocks of text, with lines between them and this many buttons, are few and short enough for a card."""
    rows = -(-buttons // IN_A_ROW)
    components = 1 + 2 * len(blocks) - 1 + rows + buttons
    return bool(blocks) and all(blocks) and components <= COMPONENTS and sum(map(length, blocks)) <= CHARACTERS


def carded(sections: Sequence[str]) -> tuple[str, ...]:
    """Return sections as the blocks of a card, cleaned as any text that is posted; none where they don't fit into one."""
    blocks = tuple(cleaned for section in sections if (cleaned := clean(section).strip()))
    return blocks if fits(blocks) else ()


def card_of(blocks: Sequence[str], below: ui.View | None) -> ui.LayoutView:
    """Return the card; the buttons of ``below`` stand under its frame. Needs a running event loop."""
    layout = ui.LayoutView(timeout=None)
    frame: ui.Container[Any] = ui.Container()
    for number, block in enumerate(blocks):
        if number:
            frame.add_item(ui.Separator(spacing=discord.SeparatorSpacing.small))
        frame.add_item(ui.TextDisplay(block))
    layout.add_item(frame)
    return with_buttons(layout, below)


def with_buttons(layout: ui.LayoutView, below: ui.View | None) -> ui.LayoutView:
    """Return the card with these buttons instead of those that it has."""
    for item in [each for each in layout.children if isinstance(each, ui.ActionRow)]:
        layout.remove_item(item)
    controls = list(below.children) if below is not None else []
    for first in range(0, len(controls), IN_A_ROW):
        row: ui.ActionRow[Any] = ui.ActionRow()
        for control in controls[first : first + IN_A_ROW]:
            row.add_item(control)
        layout.add_item(row)
    return layout


def words_of(message: discord.Message) -> str:
    """Return the text of a message's card, '' where it has none."""
    return "\n\n".join(_texts(message.components))


def _texts(components: Sequence[discord.Component]) -> Iterator[str]:
    for one in components:
        if isinstance(one, discord.TextDisplay):
            yield one.content
        yield from _texts(getattr(one, "children", ()))
