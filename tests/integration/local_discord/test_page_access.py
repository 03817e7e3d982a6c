"""Everyone can use the page: names, contrast in both colours, by keyboard alone, at a phone's width."""

from __future__ import annotations

import io
from typing import Literal

import discord
import pytest
from discord import ui
from playwright.async_api import Browser, Page, expect

from bot.local_discord import LocalGuild
from bot.local_discord.rest.cdn import png_square
from tests.integration.local_discord.access import faults
from tests.integration.local_discord.harness import Client
from tests.integration.local_discord.pages import ON_THE_PAGE, browser, chromium, client, guild, page

__all__ = ["browser", "chromium", "client", "guild", "page"]

pytestmark = ON_THE_PAGE

PHONE = {"width": 360, "height": 740}


async def everything(guild: LocalGuild, channel: discord.TextChannel) -> int:
    """One of each thing that the page can show; the id of the last message."""
    ana, here = guild.add_member("ana"), channel.id
    first = await guild.post(here, f"{guild.bot.mention} `code` <t:1700000000:R> https://example.com", author=ana)
    await guild.post(here, "a reply", reply_to=first.id)
    await guild.vote((await guild.ask_poll(here, "Ship?", ["Yes", "No"], author=ana)).id, 1)
    await guild.forward(first.id, here, author=ana)
    await guild.say_aloud(here, author=ana)
    await guild.post(here, stickers=["wave"], author=ana)
    await guild.react(first.id, "👀")
    frame = ui.Container[ui.LayoutView](
        ui.TextDisplay("It **adds up**."), ui.Separator(), ui.TextDisplay("-# tier 2 · `a.py`")
    )
    card = ui.LayoutView(timeout=None).add_item(frame)
    await channel.send(view=card.add_item(ui.ActionRow(ui.Button[ui.LayoutView](label="Undo", custom_id="undo"))))
    view = ui.View(timeout=None)
    for style in (1, 2, 3, 4):
        view.add_item(
            ui.Button[ui.View](label=f"Style {style}", style=discord.ButtonStyle(style), custom_id=f"b{style}")
        )
    view.add_item(ui.Button[ui.View](label="Off", disabled=True, custom_id="off"))
    embed = discord.Embed(title="Done", description="> All pass\n-# small", colour=0x2F6F6B)
    embed.add_field(name="Changed", value="`a.py`").set_footer(text="4 turns").set_author(name="author")
    file = discord.File(io.BytesIO(png_square(0x2F6F6B)), "dot.png", description="A dot")
    text = "# Title\n" + "||hidden|| **bold**\n```py\n" + "x = 1\n" * 40 + "```"
    sent = await channel.send(text, view=view, embed=embed, files=[file, discord.File(__file__, "a.py")])
    thread = await sent.create_thread(name="Work")
    await thread.send("unread")
    return sent.id


@pytest.mark.parametrize("scheme", ["light", "dark"])
async def test_everything_has_a_name_and_stands_out(
    page: Page, guild: LocalGuild, channel: discord.TextChannel, scheme: Literal["light", "dark"]
) -> None:
    await page.emulate_media(color_scheme=scheme, reduced_motion="reduce")
    last = await everything(guild, channel)
    await expect(page.locator(f"#message-{last} .thread-card")).to_be_visible()
    assert await faults(page) == []
    await page.locator(f"#message-{last}").focus()
    await page.keyboard.press("+")
    await expect(page.get_by_role("menu")).to_be_visible()
    assert await faults(page) == []
    await page.keyboard.press("Escape")
    await page.get_by_role("button", name="Keyboard help").click()
    assert await faults(page) == []


async def test_the_checks_find_what_is_wrong(page: Page) -> None:
    await page.evaluate(
        """() => { const add = (html) => document.querySelector('main').insertAdjacentHTML('beforeend', html);
        add('<button></button>'); add('<p id="faint">faint</p>');
        const faint = document.getElementById('faint').style; faint.color = '#aaa'; faint.background = '#fff';
        add('<img src="data:,">'); add('<b aria-controls="nothing">x</b>'); }"""
    )
    found = "\n".join(await faults(page))
    for rule in ("button-name", "image-alt", "aria-valid-attr-value", "color-contrast"):
        assert rule in found


async def test_the_keyboard_is_enough(page: Page, guild: LocalGuild, channel: discord.TextChannel) -> None:
    last = await everything(guild, channel)
    entry, log = page.get_by_label("Message", exact=True), page.get_by_role("log")
    await expect(page.locator(f"#message-{last} .thread-card")).to_be_visible()
    await log.focus()
    await page.keyboard.press("ArrowUp")
    await expect(page.locator(f"#message-{last}")).to_be_focused()
    outline = await page.locator(f"#message-{last}").evaluate("n => getComputedStyle(n).outlineStyle")
    assert outline == "solid", "what has the focus shows it"
    await page.keyboard.press("r")
    await expect(page.get_by_text("Replying to Threadwright")).to_be_visible()
    await expect(entry).to_be_focused()
    await page.keyboard.press("Escape")
    await expect(page.get_by_text("Replying to Threadwright")).to_be_hidden()
    await page.keyboard.press("Control+k")
    await expect(page.get_by_role("button", name="Channel general", exact=True)).to_be_focused()
    await page.keyboard.press("ArrowDown")
    await page.keyboard.press("Enter")
    await expect(page.get_by_role("heading", name="Work", exact=True)).to_be_visible()
    await expect(entry).to_be_focused()
    await entry.press("Control+/")
    await expect(page.get_by_role("dialog", name="Keyboard help")).to_be_visible()
    await page.keyboard.press("Escape")
    await expect(page.get_by_role("dialog", name="Keyboard help")).to_be_hidden()
    await page.get_by_role("log").focus()
    await page.keyboard.press("?")
    await expect(page.get_by_role("dialog", name="Keyboard help")).to_be_visible()


async def test_on_a_phone_the_side_is_a_drawer_and_nothing_is_cut_off(
    page: Page, guild: LocalGuild, channel: discord.TextChannel
) -> None:
    await page.set_viewport_size({"width": PHONE["width"], "height": PHONE["height"]})
    last = await everything(guild, channel)
    await expect(page.locator(f"#message-{last} .thread-card")).to_be_visible()
    assert await page.evaluate("document.documentElement.scrollWidth") <= PHONE["width"]
    wide = await page.locator(".message").evaluate_all("all => all.filter(n => n.scrollWidth > innerWidth).length")
    assert wide == 0
    burger, side = page.get_by_role("button", name="Show channels"), page.get_by_role("navigation")
    await expect(side).to_be_hidden()
    await expect(burger).to_have_attribute("aria-expanded", "false")
    await burger.click()
    await expect(side).to_be_visible()
    await expect(burger).to_have_attribute("aria-expanded", "true")
    await page.keyboard.press("Escape")
    await expect(side).to_be_hidden()
    await expect(burger).to_be_focused()
    await burger.click()
    await side.locator(".place-link.thread").click()
    await expect(page.get_by_role("heading", name="Work", exact=True)).to_be_visible()
    await expect(side).to_be_hidden()
    await expect(burger).to_have_attribute("aria-expanded", "false")


async def test_the_colours_follow_the_system_until_somebody_chooses(
    browser: Browser, page: Page, guild: LocalGuild
) -> None:
    paper = "getComputedStyle(document.body).backgroundColor"
    switch = page.get_by_role("button", name="Theme")
    await expect(switch).to_have_accessible_name("Theme: system")
    light = await page.evaluate(paper)
    await page.emulate_media(color_scheme="dark")
    dark = await page.evaluate(paper)
    assert light != dark
    await switch.click()
    await expect(switch).to_have_accessible_name("Theme: light")
    assert await page.evaluate(paper) == light
    await switch.click()
    await page.emulate_media(color_scheme="light")
    await page.reload()
    await expect(page.get_by_role("button", name="Theme: dark")).to_be_visible()
    assert await page.evaluate(paper) == dark


async def test_who_wants_no_motion_gets_none(page: Page, guild: LocalGuild) -> None:
    await page.emulate_media(reduced_motion="reduce")
    moving = await page.evaluate(
        """() => [...document.querySelectorAll('*')].filter((n) => getComputedStyle(n).animationName !== 'none'
            || getComputedStyle(n).transitionDuration.split(', ').some((one) => parseFloat(one) > 0)).length"""
    )
    assert moving == 0


async def test_new_messages_are_read_out_and_changed_ones_are_not(
    page: Page, guild: LocalGuild, client: Client, channel: discord.TextChannel
) -> None:
    log = page.get_by_role("log")
    await expect(log).to_have_attribute("aria-live", "polite")
    await expect(log).to_have_attribute("aria-busy", "false")
    sent = await channel.send("turn 1")
    shown = page.locator(f"#message-{sent.id}")
    await expect(shown).not_to_have_attribute("aria-live", "off")
    await sent.edit(content="turn 2")
    await expect(shown).to_contain_text("turn 2")
    await expect(shown).to_have_attribute("aria-live", "off")
