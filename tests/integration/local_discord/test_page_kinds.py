"""What the page makes of each kind of message, and of commands while they are typed."""

from __future__ import annotations

import datetime
import io
import re

import discord
from discord import app_commands, ui
from playwright.async_api import Browser, Locator, Page, expect

from bot.local_discord import LocalGuild
from bot.local_discord.rest.cdn import png_square
from tests.integration.local_discord.harness import Client
from tests.integration.local_discord.pages import ON_THE_PAGE, browser, chromium, client, entry, focus, guild, page
from tests.waiting import eventually

__all__ = ["browser", "chromium", "client", "entry", "guild", "page"]

pytestmark = ON_THE_PAGE


async def test_a_poll_is_voted_on(page: Page, guild: LocalGuild) -> None:
    ana = guild.add_member("ana")
    asked = await guild.ask_poll(guild.channel().id, "Ship on Friday?", ["Yes", "No"], author=ana)
    poll = page.get_by_label("Poll: Ship on Friday?")
    await poll.get_by_role("button", name="Yes").click()
    await expect(poll.get_by_role("button", name="Yes")).to_have_attribute("aria-pressed", "true")
    await guild.vote(asked.id, 2, author=ana)
    await expect(poll).to_contain_text("2 votes")
    await expect(poll.get_by_role("button", name="No")).to_contain_text("1 · 50 %")
    await poll.get_by_role("button", name="Yes").click()
    await expect(poll).to_contain_text("1 vote ·")
    await guild.end_poll(asked.id)
    await expect(poll).to_contain_text("ended")
    await expect(poll.get_by_role("button", name="No")).to_be_disabled()


async def test_a_forward_leads_to_its_original_also_far_up(page: Page, guild: LocalGuild) -> None:
    other = guild.add_channel("other")
    said = await guild.post(other.id, "the original")
    for n in range(120):
        await guild.post(other.id, f"line {n}")
    await guild.forward(said.id, guild.channel().id)
    await page.get_by_role("button", name="Go to the original in other").click()
    await expect(page.get_by_role("heading", name="# other")).to_be_visible()
    await expect(page.locator(f"#message-{said.id}")).to_be_in_viewport()
    await expect(page.locator(f"#message-{said.id}")).to_be_focused()
    await page.get_by_role("button", name="New messages").click()
    await expect(page.get_by_text("line 119")).to_be_in_viewport()


async def test_voice_and_stickers_say_what_they_are(page: Page, guild: LocalGuild) -> None:
    spoken = await guild.say_aloud(guild.channel().id, seconds=65)
    await guild.post(guild.channel().id, stickers=["wave"])
    await guild.post(guild.channel().id, "what?", reply_to=spoken.id)
    await expect(page.get_by_label("Voice message, 65 seconds")).to_be_visible()
    await expect(page.locator(".voice-length")).to_have_text("1:05")
    await expect(page.get_by_role("img", name="Sticker wave")).to_be_visible()
    await expect(page.locator(".reply")).to_contain_text("a voice message")


async def test_relative_times_go_on(page: Page, channel: discord.TextChannel) -> None:
    soon = int(datetime.datetime.now(datetime.UTC).timestamp()) + 3_600
    sent = await channel.send(f"expires <t:{soon}:R>, asked <t:{soon}:t>")
    stamp = page.locator(f"#message-{sent.id} time.live")
    await expect(stamp).to_have_text(re.compile("in (60|59) minutes|in 1 hour"))
    await stamp.evaluate("n => { n.dateTime = new Date(Date.now() - 7.2e6).toISOString() }")
    await expect(stamp).to_have_text("2 hours ago")


async def test_pictures_are_looked_at_one_after_the_other(page: Page, channel: discord.TextChannel) -> None:
    files = [discord.File(io.BytesIO(png_square(0x2F6F6B * n % 0xFFFFFF)), f"{n}.png") for n in (1, 2)]
    await channel.send(files=files)
    await page.get_by_role("button", name="Look at 1.png").click()
    shown = page.get_by_role("dialog", name="Picture")
    await expect(shown).to_contain_text("1.png · ")
    await page.keyboard.press("ArrowRight")
    await expect(shown).to_contain_text("2 of 2")
    width = await shown.get_by_role("img").evaluate("i => i.decode().then(() => i.naturalWidth)")
    assert width == 64
    await page.keyboard.press("Escape")
    await expect(shown).to_be_hidden()
    await expect(page.get_by_role("button", name="Look at 1.png")).to_be_focused()


async def test_long_code_is_folded_and_copied(page: Page, channel: discord.TextChannel) -> None:
    await page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    code = "\n".join(f"line {n}" for n in range(60))
    await channel.send(f"```py\n{code}\n```")
    block = page.get_by_role("region", name="Code in py")
    folded = (await block.bounding_box() or {"height": 0})["height"]
    await page.get_by_role("button", name="Show all 60 lines").click()
    await expect(page.get_by_role("button", name="Show less")).to_be_visible()
    assert (await block.bounding_box() or {"height": 0})["height"] > 2 * folded
    await block.hover()
    copy = page.get_by_role("button", name="Copy code")
    watch = "said = []; new MutationObserver(() => said.push(node.textContent)).observe(node, {childList: true})"
    await copy.evaluate(f"node => {{ window.{watch} }}")  # it is said for a moment only
    await copy.click()
    await eventually(lambda: page.evaluate("said[0] === 'Copied'"))
    assert await page.evaluate("navigator.clipboard.readText()") == code


async def test_a_diff_marks_what_was_added_and_removed(page: Page, channel: discord.TextChannel) -> None:
    await channel.send("```diff\n--- a.py\n+++ a.py\n-old\n+new\n same\n```")
    block = page.get_by_role("region", name="Code in diff")
    await expect(block.locator(".added")).to_have_text(["+new"])
    await expect(block.locator(".removed")).to_have_text(["-old"])
    assert await block.locator("code").text_content() == "--- a.py\n+++ a.py\n-old\n+new\n same"


async def test_a_command_is_completed_option_by_option(
    page: Page, guild: LocalGuild, client: Client, entry: Locator
) -> None:
    lessons = app_commands.Group(name="lessons", description="What was learnt")
    titles = {"keep tests small": 7, "read before you write": 8}

    @lessons.command(description="One of them")
    @app_commands.choices(how=[app_commands.Choice(name="in full", value="long")])
    async def show(interaction: discord.Interaction, number: int, how: str = "short") -> None:
        await interaction.response.send_message(f"lesson {number}, {how}")

    @show.autocomplete("number")
    async def offer(interaction: discord.Interaction, part: str) -> list[app_commands.Choice[int]]:
        return [app_commands.Choice(name=name, value=n) for name, n in titles.items() if part in name]

    client.tree.add_command(lessons)
    await client.tree.sync()
    await focus(page, entry)
    await entry.press_sequentially("/les")
    await expect(page.get_by_role("option", name="/lessons show")).to_be_visible()
    await page.keyboard.press("Tab")
    await expect(page.get_by_role("option", name="number")).to_contain_text("required")
    await page.keyboard.press("Enter")
    await expect(page.locator("#suggest [role=option]")).to_have_count(2)
    await page.keyboard.type("read")
    await expect(page.locator("#suggest [role=option]")).to_have_count(1)
    await page.keyboard.press("Tab")
    await expect(entry).to_have_value("/lessons show number:8 ")
    await expect(page.get_by_role("option", name="how")).to_be_visible()
    await page.keyboard.press("Tab")
    await page.get_by_role("option", name="in full").click()
    await page.keyboard.press("Enter")
    await expect(page.get_by_text("lesson 8, long")).to_be_visible()


async def test_what_a_command_lacks_or_does_not_take_is_said_and_the_text_kept(
    page: Page, guild: LocalGuild, client: Client, entry: Locator
) -> None:
    @client.tree.command(description="Counts")
    async def count(interaction: discord.Interaction, to: app_commands.Range[int, 1, 5]) -> None:
        await interaction.response.send_message(f"up to {to}")

    await client.tree.sync()
    await focus(page, entry)
    await entry.fill("/count")
    await page.keyboard.press("Escape")
    await page.keyboard.press("Enter")
    await expect(page.get_by_role("alert")).to_have_text("Not sent: /count needs to:")
    await entry.fill("/count to:9")
    await page.keyboard.press("Enter")
    await expect(page.get_by_role("alert")).to_have_text("Not sent: to: Value should be less than or equal to 5.")
    await expect(entry).to_have_value("/count to:9")
    await entry.fill("/count to:4")
    await page.keyboard.press("Enter")
    await expect(page.get_by_text("up to 4")).to_be_visible()


async def test_half_a_command_and_one_that_is_none_are_not_sent_as_a_message(
    page: Page, guild: LocalGuild, client: Client, entry: Locator
) -> None:
    group = app_commands.Group(name="settings", description="Settings")
    for name in ("show", "set", "reset"):

        @group.command(name=name, description=name)
        async def act(interaction: discord.Interaction) -> None:
            await interaction.response.send_message("done")

    client.tree.add_command(group)
    await client.tree.sync()
    await focus(page, entry)
    for written, refusal in (
        ("/settings", "choose show, set or reset"), ("/settings now", "choose show, set or reset"),
        ("/foo bar", "there is no command /foo"),
    ):  # fmt: skip
        await entry.fill(written)
        await page.keyboard.press("Escape")
        await page.keyboard.press("Enter")
        await expect(page.get_by_role("alert")).to_have_text(f"Not sent: {refusal}")
        await expect(entry).to_have_value(written)
    await entry.fill("/etc/hosts is a path")
    await page.keyboard.press("Enter")
    await expect(page.locator(".message").get_by_text("/etc/hosts is a path")).to_be_visible()
    assert [message.content for message in guild.messages(guild.channel().id)] == ["/etc/hosts is a path"]


async def test_a_long_private_reply_is_shown_from_its_beginning_also_to_whoever_scrolled_up(
    page: Page, guild: LocalGuild, client: Client, entry: Locator
) -> None:
    @client.tree.command(description="Tells much")
    async def much(interaction: discord.Interaction) -> None:
        await interaction.response.defer(ephemeral=True)
        await interaction.followup.send("\n".join(f"line {number}" for number in range(90)), ephemeral=True)

    await client.tree.sync()
    for number in range(30):
        await guild.post(guild.channel().id, f"message {number}\nof two lines")
    await expect(page.get_by_text("message 29")).to_be_visible()
    await page.locator("#log").evaluate("log => { log.scrollTop = 0; }")
    await focus(page, entry)
    await entry.fill("/much")
    await page.keyboard.press("Escape")
    await page.keyboard.press("Enter")
    reply = page.locator(".message.private")
    await expect(reply).to_contain_text("line 89")
    await expect(reply.locator(".byline")).to_be_in_viewport()
    await expect(reply.locator(".tools")).to_have_count(0)


async def test_an_answer_after_a_message_with_buttons_has_a_header_of_its_own_and_all_times_one_form(
    page: Page, client: Client, guild: LocalGuild
) -> None:
    channel = client.get_channel(guild.channel().id)
    assert isinstance(channel, discord.TextChannel)
    view = ui.View(timeout=None)
    view.add_item(ui.Button[ui.View](label="Yes", custom_id="yes"))
    await channel.send("may I?", view=view)
    await channel.send("here it is")
    await channel.send("and more")
    await expect(page.locator(".message", has_text="here it is").locator(".byline")).to_have_count(1)
    more = page.locator(".message", has_text="and more")
    await expect(more.locator(".byline")).to_have_count(0)
    shown = await page.locator(".message time").all_text_contents()
    assert len({"M" in time for time in shown}) == 1, shown


async def test_the_message_a_thread_began_with_shows_its_reactions_at_once(
    page: Page, client: Client, guild: LocalGuild
) -> None:
    posted = await guild.post(guild.channel().id, "please look")
    channel = client.get_channel(guild.channel().id)
    assert isinstance(channel, discord.TextChannel)
    message = await channel.fetch_message(posted.id)
    thread = await message.create_thread(name="Looking")
    await message.add_reaction("✅")
    await page.reload()
    await page.get_by_role("button", name="Thread Looking", exact=True).click()
    await expect(page.locator(".starter .reaction .count")).to_have_text("1")
    assert thread.name == "Looking"


async def test_several_are_chosen_and_a_disabled_list_is_not(
    page: Page, guild: LocalGuild, client: Client, channel: discord.TextChannel
) -> None:
    view = ui.View(timeout=None)
    options = [discord.SelectOption(label=name) for name in ("red", "green", "blue")]
    select = ui.Select[ui.View](custom_id="pick", placeholder="Colours to keep", options=options, max_values=2)

    async def picked(interaction: discord.Interaction) -> None:
        await interaction.response.send_message(f"kept {' and '.join(sorted(select.values))}")

    select.callback = picked
    view.add_item(select)
    view.add_item(ui.Select[ui.View](custom_id="off", placeholder="Closed", options=options, disabled=True))
    await channel.send("?", view=view)
    await expect(page.get_by_label("Closed")).to_be_disabled()
    await page.get_by_label("Colours to keep", exact=True).select_option(["red", "blue"])
    await page.get_by_role("button", name="Choose in Colours to keep").click()
    await expect(page.get_by_text("kept blue and red")).to_be_visible()


async def test_a_form_that_is_refused_stays_open_with_what_was_written(
    page: Page, client: Client, channel: discord.TextChannel
) -> None:
    class Why(ui.Modal, title="Why?"):
        reason = ui.TextInput[ui.Modal](label="Reason", custom_id="reason", min_length=5)

        async def on_submit(self, interaction: discord.Interaction) -> None:
            await interaction.response.send_message(f"because {self.reason.value}")

    class Ask(ui.View):
        @ui.button(label="Why", custom_id="why")
        async def why(self, interaction: discord.Interaction, button: ui.Button[Ask]) -> None:
            await interaction.response.send_modal(Why())

    await channel.send("?", view=Ask(timeout=None))
    await page.get_by_role("button", name="Why", exact=True).click()
    form = page.get_by_role("dialog", name="Why?")
    await form.get_by_label("Reason").fill("so")
    await form.evaluate("d => { d.querySelector('form').noValidate = true }")
    await form.get_by_role("button", name="Submit").click()
    await expect(form.get_by_role("alert")).to_have_text("reason: Must be 5 or more in length.")
    await expect(form.get_by_label("Reason")).to_have_value("so")
    await form.get_by_label("Reason").fill("it is so")
    await form.get_by_role("button", name="Submit").click()
    await expect(page.get_by_text("because it is so")).to_be_visible()
    await expect(form).to_be_hidden()


async def test_files_are_dropped_anywhere_and_pasted(page: Page, entry: Locator) -> None:
    make = "() => { const d = new DataTransfer(); d.items.add(new File(['a,b'], NAME, {type: 'text/csv'})); return d }"
    for name, event in (("dropped.csv", "drop"), ("pasted.csv", "paste")):
        data = await page.evaluate_handle(make.replace("NAME", f"'{name}'"))
        if event == "drop":
            await page.locator(".log").dispatch_event("dragover", {"dataTransfer": data})
            await expect(page.get_by_text("Drop to attach")).to_be_visible()
            await page.locator(".log").dispatch_event("drop", {"dataTransfer": data})
            await expect(page.get_by_text("Drop to attach")).to_be_hidden()
        else:
            paste = "(n, d) => n.dispatchEvent(new ClipboardEvent('paste', { clipboardData: d, bubbles: true }))"
            await entry.evaluate(paste, data)
        await expect(page.get_by_label("Files to send")).to_contain_text(name)
    await entry.press("Enter")
    await expect(page.get_by_role("link", name="Download dropped.csv")).to_be_visible()
    await expect(page.get_by_role("link", name="Download pasted.csv")).to_be_visible()


async def test_a_lost_connection_is_said_and_mended(page: Page, guild: LocalGuild, entry: Locator) -> None:
    await entry.fill("half a thought")
    await guild._server._page.close()
    await expect(page.get_by_text("Connected", exact=True)).to_be_visible()
    await page.context.set_offline(True)
    await guild._server._page.close()
    await expect(page.get_by_text("The connection is lost")).to_be_visible()
    await expect(page.get_by_text("Reconnecting…")).to_be_visible()
    await page.context.set_offline(False)
    await expect(page.get_by_text("The connection is lost")).to_be_hidden()
    await expect(entry).to_have_value("half a thought")


async def test_on_a_phone_one_message_shows_its_tools_until_one_is_used(browser: Browser, guild: LocalGuild) -> None:
    for number in range(3):
        await guild.post(guild.channel().id, f"message {number}")
    page = await (
        await browser.new_context(viewport={"width": 390, "height": 800}, has_touch=True, is_mobile=True)
    ).new_page()
    await page.goto(guild.link())
    await page.get_by_text("message 1").tap()
    tools = page.locator(".tools")
    await expect(tools.nth(1)).to_have_css("opacity", "1")
    await expect(tools.nth(0)).to_have_css("opacity", "0")
    await tools.nth(1).get_by_role("button", name="Reply").tap()
    await expect(tools.nth(1)).to_have_css("opacity", "0")
    await expect(page.get_by_label("Message", exact=True)).to_have_attribute("placeholder", "@Threadwright + your task")
    await expect(page.locator("#help-button")).to_be_hidden()
