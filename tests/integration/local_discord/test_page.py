"""The page in a real browser: a person writes, clicks, reacts and uploads, and sees answers live."""

from __future__ import annotations

import asyncio
from pathlib import Path

import discord
import pytest
from playwright.async_api import Page, Route, expect

from bot.local_discord import LocalGuild
from bot.local_discord.rest.cdn import png_square
from tests.integration.local_discord.harness import Client, logged_in
from tests.integration.local_discord.pages import ON_THE_PAGE, browser, chromium, client, guild, page

__all__ = ["browser", "chromium", "client", "guild", "page"]

pytestmark = ON_THE_PAGE


async def write(page: Page, text: str) -> None:
    await page.get_by_label("Message", exact=True).fill(text)
    await page.keyboard.press("Enter")


async def test_a_mention_is_written_and_the_answer_appears_live_in_a_new_thread(
    page: Page, guild: LocalGuild, client: Client
) -> None:
    await page.get_by_label("Message", exact=True).press_sequentially("@thr")
    await expect(page.get_by_role("option", name="Threadwright")).to_be_visible()
    await page.keyboard.press("Tab")
    await page.keyboard.type("fix the `tests`")
    await page.keyboard.press("Enter")
    message = await client.message()
    assert message.content == f"<@{guild.bot_user_id}> fix the `tests`"
    assert client.user in message.mentions
    thread = await message.create_thread(name="Fix the tests")
    async with thread.typing():
        await page.get_by_role("button", name="Thread Fix the tests", exact=True).click()
        await expect(page.get_by_text("Threadwright is typing")).to_be_visible()
    sent = await thread.send("**Working** on `it`")
    shown = page.locator(f"#message-{sent.id}")
    await expect(shown.locator("strong")).to_have_text("Working")
    await expect(shown.locator("code")).to_have_text("it")
    await sent.edit(content="Done")
    await expect(shown).to_contain_text("Done")
    await expect(shown).to_contain_text("(edited)")
    await write(page, "thanks")
    await guild.wait_for(lambda g: [m for m in g.messages(thread.id) if m.content == "thanks"] or None)
    await sent.delete()
    await expect(shown).to_have_count(0)


async def test_a_button_is_clicked_and_the_message_changes(
    page: Page, guild: LocalGuild, client: Client, channel: discord.TextChannel
) -> None:
    view = discord.ui.View(timeout=None)
    button = discord.ui.Button[discord.ui.View](label="Round half up", custom_id="up")

    async def chosen(interaction: discord.Interaction) -> None:
        await interaction.response.edit_message(content="half up it is", view=None)
        await interaction.followup.send("only for you", ephemeral=True)

    button.callback = chosen
    view.add_item(button)
    await channel.send("Which rounding?", view=view)
    await page.get_by_role("button", name="Round half up").click()
    await expect(page.get_by_text("half up it is")).to_be_visible()
    await expect(page.get_by_role("button", name="Round half up")).to_have_count(0)
    await expect(page.get_by_text("only for you")).to_be_visible()
    await page.get_by_role("button", name="Dismiss message").click()
    await expect(page.get_by_text("only for you")).to_have_count(0)


async def test_a_reaction_is_picked_by_keyboard_seen_by_the_bot_and_taken_back(
    page: Page, guild: LocalGuild, client: Client, channel: discord.TextChannel
) -> None:
    sent = await channel.send("working")
    shown = page.locator(f"#message-{sent.id}")
    await shown.hover()
    await shown.get_by_role("button", name="Add a reaction").press("Enter")
    await page.keyboard.press("Enter")
    [payload] = await client.hears("raw_reaction_add")
    assert isinstance(payload, discord.RawReactionActionEvent)
    assert (str(payload.emoji), payload.user_id) == ("🛑", guild.you.id)
    chip = shown.get_by_role("button", name="Stop, 1, yours")
    await expect(chip).to_have_attribute("aria-pressed", "true")
    await sent.add_reaction("🛑")
    await shown.get_by_role("button", name="Stop, 2, yours").click()
    await expect(shown.get_by_role("button", name="Stop, 1")).to_have_attribute("aria-pressed", "false")
    assert guild.messages(channel.id)[0].reactors("🛑") == (guild.bot_user_id,)


async def test_files_are_uploaded_and_shown(
    page: Page, guild: LocalGuild, client: Client, channel: discord.TextChannel, tmp_path: Path
) -> None:
    (tmp_path / "data.csv").write_text("a,b\n1,2\n")
    (tmp_path / "dot.png").write_bytes(png_square(0x2F6F6B))
    await page.locator("#files").set_input_files([tmp_path / "data.csv", tmp_path / "dot.png"])
    await expect(page.get_by_label("Files to send")).to_contain_text("data.csv")
    await write(page, "here")
    message = await client.message()
    assert [await a.read() for a in message.attachments] == [b"a,b\n1,2\n", png_square(0x2F6F6B)]
    await expect(page.get_by_role("link", name="Download data.csv, 8 B")).to_be_visible()
    width = await page.get_by_role("img", name="dot.png").evaluate("i => i.decode().then(() => i.naturalWidth)")
    assert width == 64


HOSTILE = [
    "<script>window.pwned = 1</script>",
    "<img src=x onerror='window.pwned = 1'>",
    "**<svg onload=window.pwned=1>**",
    "[click](javascript:window.pwned=1)",
    "[x](https://a.example/\"onmouseover=\"window.pwned=1)",
    "<javascript:window.pwned=1>",
    "```html\n</code></pre><script>window.pwned = 1</script>\n```",
    "||<iframe src=javascript:parent.pwned=1>|| `<b>` <@1\"onclick=1>",
    "# <style>*{display:none}</style>",
    "> - <a href=data:text/html,<script>1</script>>x</a>",
]  # fmt: skip


@pytest.mark.wall("xss")
async def test_hostile_text_stays_text(
    page: Page, guild: LocalGuild, client: Client, channel: discord.TextChannel
) -> None:
    for text in HOSTILE:
        await channel.send(text)
    script = "<img src=x onerror=window.pwned=1>"
    embed = discord.Embed(title=script, description=script, url="https://x.example/")
    embed.set_footer(text=script).set_author(name=script).add_field(name=script, value=script)
    await channel.send(embed=embed)
    guild.add_member(script)
    await guild.post(channel.id, script, author=script, files=[(f"{script}.svg", b"<svg onload='parent.pwned=1'/>")])
    await guild.create_thread(channel.id, script)
    await expect(page.locator(".message")).to_have_count(len(HOSTILE) + 2)
    for selector in ("script", "img", "iframe", "svg[onload]", "style", "[onclick]", "[onerror]", "[onmouseover]"):
        assert await page.locator(f".log {selector}, .side {selector}").count() == 0, selector
    links = await page.locator(".log a").evaluate_all("links => links.map(a => new URL(a.href).protocol)")
    assert set(links) <= {"https:", "http:"}
    assert await page.evaluate("window.pwned") is None
    await expect(page.get_by_text("<script>window.pwned = 1</script>", exact=True).first).to_be_visible()
    async with page.expect_download() as download:
        await page.locator(".chip").click()
    assert (await download.value).suggested_filename.endswith(".svg"), "a file is kept, never opened as a page"


async def test_markdown_is_shown_as_discord_shows_it(
    page: Page, guild: LocalGuild, client: Client, channel: discord.TextChannel
) -> None:
    sent = await channel.send(
        f"# Title\n**bold *both*** __under__ ~~gone~~ ||hidden|| snake_case_name\n> quoted\n1. one\n2. two\n   - deep\n"
        f"```py\nx = '**'\n```\n{guild.you.mention} <#{channel.id}> https://example.com/a_b_c. \\*not\\*"
    )
    text = page.locator(f"#message-{sent.id} .text")
    await expect(text.get_by_role("heading", name="Title")).to_be_visible()
    await expect(text.locator("strong em")).to_have_text("both")
    await expect(text.locator("u")).to_have_text("under")
    await expect(text.locator("s")).to_have_text("gone")
    await expect(text.locator("blockquote")).to_have_text("quoted")
    await expect(text.locator("ol > li")).to_have_count(2)
    await expect(text.locator("ol ul li")).to_have_text("deep")
    await expect(text.locator("pre code")).to_have_text("x = '**'")
    await expect(text.locator("span.mention")).to_have_text("@you")
    await expect(text.locator("button.mention")).to_have_text("#general")
    await expect(text.locator("a")).to_have_attribute("href", "https://example.com/a_b_c")
    await expect(text).to_contain_text("snake_case_name")
    await expect(text).to_contain_text("*not*")
    hidden = text.get_by_role("button", name="Spoiler")
    await hidden.press("Enter")
    await expect(text.locator(".spoiler")).to_have_class("spoiler open")


async def test_a_slash_command_is_offered_and_used(page: Page, guild: LocalGuild, client: Client) -> None:
    @client.tree.command(description="What runs here")
    async def status(interaction: discord.Interaction, detail: str) -> None:
        await interaction.response.send_message(f"idle ({detail})", ephemeral=True)

    typed = asyncio.Event()

    async def late(route: Route) -> None:
        await typed.wait()
        await route.continue_()

    await client.tree.sync()
    await page.route("**/ui/commands", late)
    await page.get_by_role("button", name="Channel general").click()
    await page.get_by_label("Message", exact=True).blur()
    await page.get_by_label("Message", exact=True).press_sequentially("/st")
    typed.set()
    await expect(page.get_by_role("option", name="/status")).to_be_visible()
    await page.keyboard.press("Enter")
    await page.keyboard.type("detail: all of it")
    await page.keyboard.press("Enter")
    await expect(page.get_by_text("idle (all of it)")).to_be_visible()


async def test_an_apps_command_is_used_on_a_message_by_keyboard_and_its_form_filled_in(
    page: Page, guild: LocalGuild, client: Client, channel: discord.TextChannel
) -> None:
    class Form(discord.ui.Modal, title="Ask"):
        what = discord.ui.TextInput[discord.ui.Modal](label="What should I do?", required=False)

        async def on_submit(self, interaction: discord.Interaction) -> None:
            await interaction.response.send_message(f"I do: {self.what.value}", ephemeral=True)

    asked: list[int] = []

    async def ask(interaction: discord.Interaction, message: discord.Message) -> None:
        asked.append(message.id)
        await interaction.response.send_modal(Form())

    sent = await channel.send("it fails")
    shown = page.locator(f"#message-{sent.id}")
    await shown.focus()
    await page.keyboard.press("a")
    await expect(page.get_by_role("alert")).to_have_text("No app has a command for messages here.")
    for name in ("Quote this", "Ask the bot"):
        client.tree.add_command(discord.app_commands.ContextMenu(name=name, callback=ask))
    await client.tree.sync()
    await page.keyboard.press("a")
    await expect(page.get_by_role("menu", name="Apps").get_by_role("menuitem")).to_have_count(2)
    await expect(page.get_by_role("menuitem", name="Quote this")).to_be_focused()
    await page.keyboard.press("ArrowDown")
    await expect(page.get_by_role("menuitem", name="Ask the bot")).to_be_focused()
    await page.keyboard.press("Enter")
    await page.get_by_label("What should I do?").fill("mend it")
    await page.get_by_role("button", name="Submit").click()
    await expect(page.get_by_text("I do: mend it")).to_be_visible()
    assert asked == [sent.id]


async def test_whether_the_bot_is_there_is_shown(page: Page, guild: LocalGuild) -> None:
    await expect(page.get_by_text("Threadwright is offline")).to_be_visible()
    async with logged_in(guild):
        await expect(page.get_by_text("Threadwright is online")).to_be_visible()
    await expect(page.get_by_text("Threadwright is offline")).to_be_visible()


async def test_whoever_reads_further_up_is_told_of_new_messages_and_not_moved(
    page: Page, guild: LocalGuild, channel: discord.TextChannel
) -> None:
    for n in range(60):
        await guild.post(channel.id, f"line {n}")
    log = page.get_by_role("log")
    await expect(page.get_by_text("line 59")).to_be_in_viewport()
    await log.evaluate("log => { log.scrollTop = log.scrollHeight / 2 }")
    before = await log.evaluate("log => log.scrollTop")
    await channel.send("the newest")
    await page.get_by_role("button", name="New messages").click()
    await expect(page.get_by_text("the newest")).to_be_in_viewport()
    assert await log.evaluate("log => log.scrollTop") > before
    await log.evaluate("log => { log.scrollTop = 0 }")
    await expect(page.get_by_text("line 0", exact=True)).to_be_in_viewport()


# What makes the log smaller, or what is in it longer, between a scrolling and the event that tells of it.
SHRINK = "document.querySelector('.composer').style.paddingTop = '300px'"
GROW = "log.lastElementChild.style.paddingBottom = '300px'"
UP = "log.scrollTop = 0"


@pytest.mark.parametrize(("meanwhile", "follows"), [(SHRINK, True), (GROW, True), (UP, False)])
async def test_whoever_reads_the_end_stays_there_whatever_changes_its_size(
    page: Page, guild: LocalGuild, channel: discord.TextChannel, meanwhile: str, follows: bool
) -> None:
    await guild.post(channel.id, "\n".join(f"line {n}" for n in range(60)))
    log, end, newest = page.get_by_role("log"), page.get_by_text("line 59"), page.get_by_text("the newest")
    await expect(end).to_be_in_viewport()
    await log.evaluate(
        """async (log) => {
        const told = () => new Promise((resolve) => log.addEventListener("scroll", () => setTimeout(resolve), { once: true }));
        log.scrollTop -= 1;
        await told();
        log.scrollTop = log.scrollHeight;
        MEANWHILE;
        await told();
    }""".replace("MEANWHILE", meanwhile)
    )
    await channel.send("the newest")
    await expect(newest).to_be_visible()
    if follows:
        await expect(newest).to_be_in_viewport()
    else:
        await expect(page.get_by_role("button", name="New messages")).to_be_visible()
        await expect(newest).not_to_be_in_viewport()
