"""The message box: nothing is cut or lost, and refusals say what to do."""

from __future__ import annotations

import re
from pathlib import Path

import discord
import pytest
from discord import app_commands
from playwright.async_api import Locator, Page, expect

from bot.local_discord import LocalGuild
from tests.integration.local_discord.harness import Client
from tests.integration.local_discord.pages import ON_THE_PAGE, browser, chromium, client, entry, focus, guild, page

__all__ = ["browser", "chromium", "client", "entry", "guild", "page"]

pytestmark = ON_THE_PAGE


async def test_a_text_that_is_too_long_is_counted_refused_and_kept_whole(
    page: Page, guild: LocalGuild, entry: Locator
) -> None:
    await entry.fill("x" * 1_700)
    await expect(page.locator("#counter")).to_be_hidden()
    await entry.fill("x" * 4_500)
    await expect(page.locator("#counter")).to_have_text("4,500 of 2,000 characters")
    await entry.press("Enter")
    await expect(page.get_by_role("alert")).to_contain_text(
        "a message takes 2,000. Your text is kept: shorten it, or attach it as"
    )
    await expect(entry).to_have_value("x" * 4_500)
    assert guild.messages(guild.channel().id) == []
    await entry.fill("short")
    await expect(page.get_by_role("alert")).to_be_hidden()


async def test_a_draft_stays_with_its_channel_and_outlives_a_reload(
    page: Page, guild: LocalGuild, entry: Locator
) -> None:
    await guild.create_thread(guild.channel().id, "Other")
    await entry.fill("half a thought")
    await page.get_by_role("button", name="Thread Other", exact=True).click()
    await expect(entry).to_have_value("")
    await page.get_by_role("button", name="Channel general", exact=True).click()
    await expect(entry).to_have_value("half a thought")
    await page.reload()
    await expect(entry).to_have_value("half a thought")
    await entry.press("Enter")
    await expect(page.locator(".message").get_by_text("half a thought")).to_be_visible()
    await expect(entry).to_have_value("")
    await page.reload()
    await expect(page.locator(".message").get_by_text("half a thought")).to_be_visible()
    await expect(entry).to_have_value("")


async def test_the_message_a_thread_began_with_takes_reactions(page: Page, guild: LocalGuild) -> None:
    posted = await guild.post(guild.channel().id, "the task")
    await guild.create_thread(posted.id, "Work")
    await page.get_by_role("button", name="Thread Work", exact=True).click()
    starter = page.get_by_label("Message that started this thread")
    await starter.hover()
    await starter.get_by_role("button", name="Add a reaction").press("Enter")
    await page.keyboard.press("Enter")
    await expect(starter.get_by_role("button", name="Stop, 1, yours")).to_be_visible()


async def test_the_preview_of_a_reply_to_a_long_message_shows_its_beginning(page: Page, guild: LocalGuild) -> None:
    long = await guild.post(guild.channel().id, "the beginning " + "and so on " * 30)
    await guild.post(guild.channel().id, "what?", reply_to=long.id)
    await page.set_viewport_size({"width": 600, "height": 700})
    line, link = page.locator(".reply"), page.locator(".reply .link")
    await expect(link).to_contain_text("the beginning")
    whole, shown = await line.bounding_box(), await link.bounding_box()
    assert whole is not None
    assert shown is not None
    assert shown["x"] + shown["width"] <= whole["x"] + whole["width"], (
        "what is wider than its line is not painted at all"
    )


async def test_a_slash_lists_ten_commands_first_in_the_apps_order_and_the_rest_on_demand(
    page: Page, guild: LocalGuild, client: Client, entry: Locator
) -> None:
    for number in range(12):

        @client.tree.command(name=f"act-{(7 * number) % 12}", description=f"Number {number}")
        async def act(interaction: discord.Interaction) -> None:
            await interaction.response.send_message("done")

    group = app_commands.Group(name="kept", description="What is kept")
    for name in ("list", "show"):

        @group.command(name=name, description=f"It can {name}")
        async def below(interaction: discord.Interaction) -> None:
            await interaction.response.send_message("done")

    client.tree.add_command(group)
    await client.tree.sync()
    await focus(page, entry)
    await entry.press_sequentially("/")
    options = page.locator("#suggest [role=option]")
    await expect(options).to_have_count(11)
    names = [str(await option.locator("b").text_content()) for option in await options.all()]
    assert names == [*(f"/act-{(7 * number) % 12}" for number in range(10)), "3 more"]
    await expect(options.last).to_contain_text("/kept")
    await page.keyboard.press("ArrowUp")
    await page.keyboard.press("Tab")
    await expect(options).to_have_count(13)
    await expect(options.nth(10)).to_have_attribute("aria-selected", "true")
    await page.get_by_role("option", name="/kept").click()
    await expect(entry).to_have_value("/kept ")
    await expect(options).to_have_count(2)
    await expect(options.first).to_contain_text("/kept list")
    await entry.fill("")
    await entry.press_sequentially("/act-1")
    await expect(options).to_have_count(3)


async def test_what_is_said_of_a_file_goes_with_the_file_and_stays_while_it_is_true(
    page: Page, guild: LocalGuild, entry: Locator, tmp_path: Path
) -> None:
    (tmp_path / "big.bin").write_bytes(bytes(12 * 1024 * 1024))
    (tmp_path / "small.txt").write_bytes(b"1")
    alert = page.get_by_role("alert")
    await page.locator("#files").set_input_files([tmp_path / "big.bin", tmp_path / "small.txt"])
    await entry.fill("here")
    await entry.press("Enter")
    await expect(alert).to_have_text("Not sent: big.bin has 12.0 MB, and a file may have 10 MB.")
    await entry.press_sequentially(" it is")
    await page.get_by_role("button", name="Do not send small.txt").click()
    await expect(page.get_by_label("Files to send")).not_to_contain_text("small.txt")
    await expect(alert).to_contain_text("big.bin has 12.0 MB")
    await page.get_by_role("button", name="Do not send big.bin").click()
    await expect(alert).to_be_hidden()
    await entry.press("Enter")
    await guild.wait_for(lambda g: any(m.content == "here it is" for m in g.messages(g.channel().id)))


async def test_what_went_wrong_before_is_not_said_of_what_is_sent_now(
    page: Page, guild: LocalGuild, entry: Locator
) -> None:
    alert = page.get_by_role("alert")
    await page.route("**/ui/channels/*/messages", lambda route: route.abort(), times=1)
    await entry.fill("are you there")
    await entry.press("Enter")
    await expect(alert).to_have_text("Not sent: The bot is not reachable; your text is kept.")
    await entry.press("Enter")
    await guild.wait_for(lambda g: any(m.content == "are you there" for m in g.messages(g.channel().id)))
    await expect(alert).to_be_hidden()


@pytest.mark.parametrize(
    ("content", "shown"),
    [
        ("> ## **What** I `found`", "What I found"),
        ("-# small print", "small print"),
        ("- ~~old~~ __new__ \\*kept\\*", "old new *kept*"),
        (f"**{'long ' * 40}**", f"{'long ' * 24}".strip()),
        ("the answer is ||42||", "the answer is (spoiler)"),
    ],
)
async def test_the_preview_of_a_reply_shows_words_without_marks(
    page: Page, guild: LocalGuild, content: str, shown: str
) -> None:
    posted = await guild.post(guild.channel().id, content)
    await guild.post(guild.channel().id, "what?", reply_to=posted.id)
    await expect(page.locator(".reply .link")).to_have_text(re.compile(rf"^\S+ {re.escape(shown)}\s*$"))
