"""The side of the page: direct messages, what is unread, and where the bot works or waits."""

from __future__ import annotations

import re

import discord
from discord import ui
from playwright.async_api import Page, Route, expect

from bot.local_discord import LocalGuild
from bot.local_discord.model.permission_flags import Permission
from tests.integration.local_discord.harness import Client, logged_in
from tests.integration.local_discord.pages import ON_THE_PAGE, browser, chromium, client, guild, page

__all__ = ["browser", "chromium", "client", "guild", "page"]

pytestmark = ON_THE_PAGE


def buttons(*custom_ids: str) -> ui.View:
    """A view with such buttons."""
    view = ui.View(timeout=None)
    for custom_id in custom_ids:
        view.add_item(ui.Button[ui.View](label=custom_id, custom_id=custom_id))
    return view


async def test_the_bot_is_written_to_directly_and_answers(page: Page, guild: LocalGuild, client: Client) -> None:
    await page.get_by_role("button", name="Write to Threadwright").click()
    await expect(page.get_by_role("heading", name="Threadwright", exact=True)).to_be_visible()
    await expect(page.get_by_text("no mention is needed")).to_be_visible()
    await page.get_by_label("Message", exact=True).fill("in private")
    await page.keyboard.press("Enter")
    heard = await client.message()
    assert heard.guild is None
    await heard.reply("so be it")
    await expect(page.get_by_text("so be it")).to_be_visible()
    await expect(page.locator(".tools").first.get_by_role("button", name="Start a thread")).to_have_count(0)


async def test_a_direct_message_of_the_bot_appears_at_the_side(page: Page, guild: LocalGuild, client: Client) -> None:
    await (await client.fetch_user(guild.you.id)).send("your report is ready")
    mark = page.get_by_role("button", name="Direct messages with Threadwright, unread")
    await mark.click()
    await expect(page.get_by_text("your report is ready")).to_be_visible()
    await expect(mark).to_have_count(0)
    ana = guild.add_member("ana")
    await guild.post((await guild.open_dm(ana)).id, "not for your eyes")
    await guild.post(guild.channel().id, "for all", author=ana)
    await expect(page.get_by_role("button", name="Channel general, unread")).to_be_visible()
    await expect(page.get_by_role("button", name="Direct messages")).to_have_count(1)


async def test_what_came_while_the_page_was_closed_is_unread(page: Page, guild: LocalGuild) -> None:
    other = guild.add_channel("other")
    await page.get_by_role("button", name="Channel other").click()
    await page.get_by_role("button", name="Channel general").click()
    await expect(page.get_by_role("heading", name="# general")).to_be_visible()
    await page.goto("about:blank")
    ana = guild.add_member("ana")
    await guild.post(other.id, "news", author=ana)
    await page.goto(guild.link())
    await page.get_by_role("button", name="Channel other, unread").click()
    await expect(page.get_by_text("news")).to_be_visible()
    await page.reload()
    await expect(page.get_by_role("button", name="Channel other", exact=True)).to_be_visible()


async def test_a_thread_says_whether_the_bot_works_asks_or_offers(page: Page, guild: LocalGuild) -> None:
    async with logged_in(guild) as client:
        channel = client.get_channel(guild.channel().id)
        assert isinstance(channel, discord.TextChannel)
        thread = await channel.create_thread(name="Work", type=discord.ChannelType.public_thread)
        card = await thread.send("turn 1", view=buttons("tw:run:stop:e:k", "tw:run:pause:e:k"))
        await expect(page.get_by_role("button", name="Thread Work, at work")).to_be_visible()
        question = await thread.send("Which?", view=buttons("tw:ask:q:0:k", "tw:ask:q:1:k"))
        await expect(page.get_by_role("button", name="Thread Work, waits for your answer")).to_be_visible()
        await page.reload()
        await expect(page.get_by_role("button", name="Thread Work, waits for your answer")).to_be_visible()
        await question.edit(view=None)
        await expect(page.get_by_role("button", name="Thread Work, at work")).to_be_visible()
        await card.edit(content="done", view=buttons("tw:undo:e:k"))
        await expect(page.get_by_role("button", name="Thread Work, at work")).to_have_count(0)
        await thread.send("A branch", view=buttons("tw:offer:merge:o:k"))
        await expect(page.get_by_role("button", name="Thread Work, offers a branch")).to_be_visible()
    await expect(page.get_by_text("Threadwright is offline")).to_be_visible()
    await expect(page.get_by_role("button", name="offers a branch")).to_have_count(0)


async def test_what_the_system_says_is_shown_plainly(page: Page, guild: LocalGuild) -> None:
    ana = guild.add_member("ana")
    thread = await guild.create_thread(guild.channel().id, "talk")
    await page.get_by_role("button", name="Thread talk", exact=True).click()
    await guild.change_thread(thread.id, name="more talk")
    await expect(page.get_by_text("you renamed the thread: more talk")).to_be_visible()
    await expect(page.get_by_role("heading", name="more talk")).to_be_visible()
    await guild.add_to_thread(thread.id, ana)
    await expect(page.get_by_text("you added ana to the thread")).to_be_visible()
    await guild.archive(thread.id, locked=True)
    await expect(page.get_by_text("Thread in #general · archived · locked")).to_be_visible()


async def test_a_message_that_comes_while_a_channel_is_loaded_counts_once(page: Page, guild: LocalGuild) -> None:
    posted = await guild.post(guild.channel().id, "topic")
    await guild.create_thread(posted.id, "talk")
    await expect(page.locator(".thread-card")).to_contain_text("0 messages")
    await page.get_by_role("button", name="Thread talk", exact=True).click()
    await expect(page.get_by_role("heading", name="talk", exact=True)).to_be_visible()
    await page.route("**/ui/channels/*/messages", lambda route: _posting(guild, posted.id, route))
    await page.get_by_role("button", name="Channel general", exact=True).click()
    await expect(page.locator(".thread-card")).to_contain_text("1 message ›")
    await guild.post(posted.id, "second")
    await expect(page.locator(".thread-card")).to_contain_text("2 messages ›")


async def _posting(guild: LocalGuild, thread: int, route: Route) -> None:
    """Lets the page load, but only after somebody has written: the event comes while it waits for the answer."""
    await guild.post(thread, "inside")
    await route.continue_()


async def test_several_people_are_tried_from_one_page(
    page: Page, guild: LocalGuild, client: Client, channel: discord.TextChannel
) -> None:
    ana = guild.add_member("ana")
    kept = guild.add_channel("kept")
    guild.deny(kept.id, Permission.VIEW_CHANNEL, member=ana)
    await guild.post(channel.id, "mine")
    await page.reload()
    person = page.get_by_label("Act as")
    await expect(person.locator("option")).to_have_text(["you (owner)", "ana"])
    await expect(page.get_by_role("button", name="Channel kept")).to_be_visible()
    await person.select_option("ana")
    await expect(page.get_by_role("button", name="Channel kept")).to_have_count(0)
    await expect(page.get_by_text("mine")).to_be_visible()
    await expect(page.get_by_role("button", name="Edit message")).to_have_count(0)
    await page.get_by_label("Message", exact=True).fill("hers")
    await page.keyboard.press("Enter")
    await expect(page.locator(".message").filter(has_text="hers")).to_have_attribute("aria-label", re.compile("^ana,"))
    await guild.wait_for(lambda g: [m for m in g.messages(channel.id) if (m.content, m.author_id) == ("hers", ana.id)])
    await guild.post(kept.id, "not for ana")
    await guild.post(channel.id, "for all")
    await expect(page.get_by_text("for all")).to_be_visible()
    await expect(page.get_by_role("button", name="Channel kept")).to_have_count(0)
    await page.reload()
    await expect(person).to_have_value(str(ana.id))
    await person.select_option("you (owner)")
    await expect(page.get_by_role("button", name="Channel kept, unread")).to_be_visible()


async def test_a_forum_lists_its_posts_and_the_box_opens_a_new_one(
    page: Page, guild: LocalGuild, client: Client
) -> None:
    forum = guild.add_forum("help", ("Bug", "Done"))
    await page.get_by_role("button", name="Forum help").click()
    await page.get_by_label("Message", exact=True).fill("The cart rounds twice\nLook at cart.py.")
    await page.keyboard.press("Enter")
    await expect(page.get_by_role("heading", name="The cart rounds twice")).to_be_visible()
    await expect(page.get_by_text("Look at cart.py.")).to_be_visible()
    heard = await client.message()
    assert isinstance(heard.channel, discord.Thread)
    assert (heard.id, heard.channel.name, heard.channel.parent_id) == (
        heard.channel.id,
        "The cart rounds twice",
        forum.id,
    )
    parent = heard.channel.parent
    assert isinstance(parent, discord.ForumChannel)
    await heard.channel.edit(applied_tags=list(parent.available_tags)[1:])
    await expect(page.get_by_text("Post in #help · Done")).to_be_visible()
