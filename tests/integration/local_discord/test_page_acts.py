"""What a person does to messages on the page: reply, edit, delete, start a thread, choose, fill in a form."""

from __future__ import annotations

import asyncio

import discord
from playwright.async_api import Locator, Page, expect

from bot.local_discord import LocalGuild
from tests.integration.local_discord.harness import Client
from tests.integration.local_discord.pages import ON_THE_PAGE, browser, chromium, client, entry, guild, page

__all__ = ["browser", "chromium", "client", "entry", "guild", "page"]

pytestmark = ON_THE_PAGE


async def tool(page: Page, message_id: int, name: str) -> None:
    """Uses one of the tools that show beside a message."""
    shown = page.locator(f"#message-{message_id}")
    await shown.hover()
    await shown.get_by_role("button", name=name).click()


async def test_own_messages_are_edited_by_the_arrow_key_and_deleted(
    page: Page, guild: LocalGuild, entry: Locator
) -> None:
    posted = await guild.post(guild.channel().id, f"{guild.bot.mention} frist")
    await expect(page.get_by_text("frist")).to_be_visible()
    await entry.press("ArrowUp")
    await expect(entry).to_have_value("@Threadwright frist")
    await entry.fill("@Threadwright first")
    await entry.press("Enter")
    await expect(page.locator(".edited")).to_be_visible()
    assert guild.messages(guild.channel().id)[0].content == f"{guild.bot.mention} first"
    await entry.press("ArrowUp")
    await entry.press("Escape")
    await expect(entry).to_have_value("")
    await tool(page, posted.id, "Delete message")
    await expect(page.locator(".message")).to_have_count(0)
    assert guild.messages(guild.channel().id) == []


async def test_a_reply_points_to_its_message(
    page: Page, guild: LocalGuild, client: Client, channel: discord.TextChannel, entry: Locator
) -> None:
    sent = await channel.send("Which one?")
    await tool(page, sent.id, "Reply")
    await expect(page.get_by_text("Replying to Threadwright")).to_be_visible()
    await entry.fill("The second.")
    await entry.press("Enter")
    await expect(page.get_by_role("button", name="Reply to Threadwright: go there")).to_be_visible()
    assert guild.messages(channel.id)[1].reply_to == sent.id
    await sent.delete()
    await page.reload()
    await expect(page.get_by_text("Original message was deleted")).to_be_visible()


async def test_a_thread_is_started_and_shows_the_message_it_began_with(
    page: Page, guild: LocalGuild, entry: Locator
) -> None:
    posted = await guild.post(guild.channel().id, "let us discuss this")
    await tool(page, posted.id, "Start a thread")
    await expect(page.get_by_role("heading", name="let us discuss this")).to_be_visible()
    starter = page.get_by_label("Message that started this thread")
    await expect(starter).to_contain_text("let us discuss this")
    await entry.fill("inside")
    await entry.press("Enter")
    await guild.wait_for(lambda g: len(g.messages(posted.id)) == 2 or None)
    await page.keyboard.press("Alt+ArrowUp")
    await expect(page.get_by_role("button", name="Open thread let us discuss this")).to_contain_text("1 message")


async def test_an_unread_thread_is_marked_until_it_is_opened(
    page: Page, guild: LocalGuild, client: Client, channel: discord.TextChannel
) -> None:
    thread = await channel.create_thread(name="news", type=discord.ChannelType.public_thread)
    await thread.send("unread")
    mark = page.get_by_role("button", name="Thread news, unread")
    await mark.click()
    await expect(page.get_by_text("unread", exact=True)).to_be_visible()
    await expect(mark).to_have_count(0)
    await thread.delete()
    await expect(page.get_by_role("heading", name="# general")).to_be_visible()


async def test_a_choice_is_made_and_a_form_filled_in(
    page: Page, guild: LocalGuild, client: Client, channel: discord.TextChannel
) -> None:
    class Why(discord.ui.Modal, title="Why this one?"):
        reason = discord.ui.TextInput[discord.ui.Modal](label="Reason", custom_id="reason")

        async def on_submit(self, interaction: discord.Interaction) -> None:
            await interaction.response.send_message(f"because {self.reason.value}")

    view = discord.ui.View(timeout=None)
    select = discord.ui.Select[discord.ui.View](custom_id="pick", placeholder="Pick a tier")
    select.add_option(label="Fast", value="2")
    select.add_option(label="Premium", value="4")

    async def picked(interaction: discord.Interaction) -> None:
        assert select.values == ["4"]
        await interaction.response.send_modal(Why())

    select.callback = picked
    view.add_item(select)
    await channel.send("?", view=view)
    await page.get_by_label("Pick a tier").select_option("Premium")
    await page.get_by_label("Reason").fill("it is hard")
    await page.get_by_role("button", name="Submit").click()
    await expect(page.get_by_text("because it is hard")).to_be_visible()


async def test_a_click_that_the_bot_does_not_answer_is_said(
    page: Page, guild: LocalGuild, client: Client, channel: discord.TextChannel
) -> None:
    view = discord.ui.View(timeout=None)
    view.add_item(discord.ui.Button[discord.ui.View](label="Nobody listens", custom_id="void"))
    sent = await channel.send("?", view=view)
    client._connection._view_store.remove_view(view)
    await page.get_by_role("button", name="Nobody listens").click()
    await expect(page.get_by_role("alert")).to_contain_text("The application did not respond")
    assert guild.messages(channel.id)[0].id == sent.id


async def test_nothing_that_happens_while_the_page_opens_is_lost_or_shown_twice(page: Page, guild: LocalGuild) -> None:
    channel = guild.channel().id

    opening, said = asyncio.Queue[object](), list[str]()

    async def talk() -> None:
        """Say a line whenever the page asks for something, and some when it has all."""
        while await opening.get() is not None:
            if len(said) < 40:  # so many are shown at once
                said.append(f"line {len(said)}")
                await guild.post(channel, said[-1])

    page.on("request", opening.put_nowait)
    talking = asyncio.create_task(talk())
    for _ in range(3):
        await page.reload()
        await expect(page.get_by_text("Connected")).to_be_visible()
        opening.put_nowait(page)
    opening.put_nowait(None)
    await talking
    assert len(said) > 6
    await expect(page.get_by_text(said[-1], exact=True)).to_be_visible()
    assert await page.locator(".message .text").all_text_contents() == said
