"""What a person does on the page while tasks change it: presses land, and what is selected stays selected."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from itertools import count

import discord
from discord import ui
from playwright.async_api import Locator, Page, expect

from tests.integration.local_discord.harness import Client
from tests.integration.local_discord.pages import ON_THE_PAGE, browser, chromium, client, guild, page

__all__ = ["browser", "chromium", "client", "guild", "page"]

pytestmark = ON_THE_PAGE

PRESSES, EDITS = 40, 10
NAMES = ("First", "Second", "Third")


class Presses(ui.View):
    """The buttons of a card."""

    def __init__(self) -> None:
        super().__init__(timeout=None)
        self.pauses = asyncio.Queue[int]()

    @ui.button(label="Stop")
    async def stop_task(self, interaction: discord.Interaction, _: ui.Button[ui.View]) -> None:
        await interaction.response.defer()

    @ui.button(label="Pause")
    async def pause_task(self, interaction: discord.Interaction, _: ui.Button[ui.View]) -> None:
        self.pauses.put_nowait(interaction.id)
        await interaction.response.defer()


async def press(page: Page, button: Locator) -> None:
    """Press a button as a hand does: for two frames, and without looking whether it is still there."""
    box = await button.bounding_box()
    assert box is not None
    await page.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    await page.mouse.down()
    await page.evaluate("new Promise(shown => requestAnimationFrame(() => requestAnimationFrame(shown)))")
    await page.mouse.up()


def card(turn: int) -> str:
    """The text of a card after so many edits: it grows by a line each, and its first line changes."""
    steps = "\n".join(f"`step {n}` read a file" for n in range(turn % 12))
    return f"**Working** · turn {turn} · {turn} s\n{steps}\n-# last line"


@asynccontextmanager
async def at_work(*cards: discord.Message) -> AsyncIterator[None]:
    """Edit the cards one after the other, as fast as the guild lets it, until the block ends."""

    async def edits() -> None:
        for turn in count():
            for one in cards:
                await one.edit(content=card(turn))

    task = asyncio.create_task(edits())
    try:
        yield
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


async def test_every_press_lands_while_three_tasks_change_the_page(
    page: Page, client: Client, channel: discord.TextChannel
) -> None:
    view = Presses()
    threads = [await channel.create_thread(name=name, type=discord.ChannelType.public_thread) for name in NAMES]
    for thread in threads:
        await thread.send("line\n" * 60)  # a thread in use: its newest message stands at the bottom
    cards = [await thread.send(card(0), view=view) for thread in threads]
    landed = 0
    async with at_work(*cards):
        for n in range(PRESSES // 2):
            await press(page, page.locator(".place-link.thread").filter(has_text=NAMES[n % 3]))
            shown = page.locator(f"#message-{cards[n % 3].id}")
            await expect(shown).to_be_visible()
            landed += 1
            await press(page, shown.get_by_role("button", name="Pause"))
            await asyncio.wait_for(view.pauses.get(), 60)
            landed += 1
    assert landed == PRESSES


async def test_what_is_selected_in_a_card_stays_selected_while_it_changes(
    page: Page, client: Client, channel: discord.TextChannel
) -> None:
    thread = await channel.create_thread(name="Work", type=discord.ChannelType.public_thread)
    sent = await thread.send(card(1))
    await page.locator(".place-link.thread").click()
    shown = page.locator(f"#message-{sent.id}")
    await shown.locator("code").first.dblclick()
    selected = "window.getSelection().toString()"
    assert (await page.evaluate(selected)).strip() == "step"
    for turn in range(2, 2 + EDITS):
        await sent.edit(content=card(turn))
        await expect(shown).to_contain_text(f"turn {turn} ")
        assert (await page.evaluate(selected)).strip() == "step"


async def test_a_spoiler_and_a_long_block_stay_open_while_the_rest_changes(
    page: Page, client: Client, channel: discord.TextChannel
) -> None:
    block = "\n".join(f"line {n}" for n in range(60))
    sent = await channel.send(f"0 ||hidden||\n```\n{block}\n```")
    shown = page.locator(f"#message-{sent.id}")
    await shown.get_by_role("button", name="Show all").click()
    await shown.locator(".spoiler").click()
    await sent.edit(content=f"1 ||hidden||\n```\n{block}\n```")
    await expect(shown).to_contain_text("1 hidden")
    await expect(shown.get_by_role("button", name="Show less")).to_be_visible()
    await expect(shown.locator(".spoiler.open")).to_be_visible()
    await sent.edit(content="2 ||other||")
    await expect(shown.locator(".spoiler")).not_to_contain_class("open")
