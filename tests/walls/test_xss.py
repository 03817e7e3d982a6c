"""What people, bots and files are called, and what they say, is text on the page wherever it is shown."""

from __future__ import annotations

from collections import Counter
from datetime import timedelta

import discord
import pytest
from playwright.async_api import Page, expect

from bot.local_discord import LocalGuild
from tests.integration.local_discord.harness import Client
from tests.integration.local_discord.pages import ON_THE_PAGE, browser, chromium, client, guild, page

from .tally import Wall

__all__ = ["browser", "chromium", "client", "guild", "page"]

pytestmark = ON_THE_PAGE

FORMS = (
    "<script>hit({})</script>",
    "<ScRiPt>hit({})</sCrIpT>",
    "</p><script>hit({})</script>",
    "<img src=x onerror=hit({})>",
    "<img/src=x/onerror=hit({})>",
    "<img src=x onerror=hit({})//",
    "<svg onload=hit({})>",
    "<svg/onload=hit({})>",
    "<body onload=hit({})>",
    "<input autofocus onfocus=hit({})>",
    "<details open ontoggle=hit({})>",
    "<video><source onerror=hit({})>",
    "<audio src=x onerror=hit({})>",
    "<iframe srcdoc='<script>parent.hit({})</script>'>",
    "<iframe src=javascript:parent.hit({})>",
    "<object data=javascript:hit({})>",
    "<embed src=javascript:hit({})>",
    "<math><mtext><script>hit({})</script>",
    "<style>@import'javascript:hit({})'</style>",
    "<style onload=hit({})></style>",
    "<link rel=stylesheet href=x onerror=hit({})>",
    "<meta http-equiv=refresh content=0;url=javascript:hit({})>",
    "<base href=//evil.test/{}/>",
    "<form action=javascript:hit({})><button>x",
    '"onmouseover=hit({}) autofocus onfocus=hit({}) x="',
    "'onfocus='hit({})'autofocus='",
    "`onfocus=hit({}) autofocus`",
    "[x](javascript:hit({}))",
    "[x](JaVaScRiPt:hit({}))",
    "[x](java\tscript:hit({}))",
    "[x](data:text/html,<script>parent.hit({})</script>)",
    "[x](vbscript:hit({}))",
    "<javascript:hit({})>",
    '[x](https://a.test/"onfocus="hit({}))',
    '![x](x"onerror="hit({}))',
    "```html\n</code></pre><script>hit({})</script>\n```",
    "`</code><img src=x onerror=hit({})>`",
    "||<svg onload=hit({})>||",
    "> <img src=x onerror=hit({})>",
    "# <svg onload=hit({})>",
    "&lt;script&gt;hit({})&lt;/script&gt;",
    "&#60;script&#62;hit({})&#60;/script&#62;",
    "\\x3cscript\\x3ehit({})\\x3c/script\\x3e",
    "{{{{constructor.constructor('hit({})')()}}}}",
    "${{hit({})}}",
    "<template><script>hit({})</script></template>",
    "<noscript><p title='</noscript><img src=x onerror=hit({})>'>",
    "<a href=javascript:hit({})>x</a>",
    "<x onclick=hit({})>x</x>",
    "<!--><script>hit({})</script>-->",
    "<![CDATA[<script>hit({})</script>]]>",
    "<\x00script>hit({})</script>",
    "\uff1cscript\uff1ehit({})\uff1c/script\uff1e",
    '<@1"onfocus=hit({}) autofocus>',
    "<#1'onfocus=hit({})>",
    '<t:1:R"onfocus=hit({})>',
    '<:x"onerror=hit({}):123456789012345678>',
    "<a:b onerror=hit({}):123456789012345678>",
)
"""``hit`` is called with the number of the place and form, where it runs."""
PLACES = (
    "message", "embed title", "embed text", "embed author", "embed footer", "field name", "field value", "file name", "button",
    "choice", "person's name", "person's message", "thread", "channel", "role", "poll",
)  # fmt: skip
LOOK = """() => {
    const log = document.querySelector(".log");
    for (let i = 0; i < 40; i += 1) log.scrollTop = log.scrollHeight * i / 40;
    for (const node of document.querySelectorAll(".log *, .side *"))
        for (const kind of ["focus", "mouseover", "toggle"]) node.dispatchEvent(new Event(kind));
}"""
"""Scroll through all of it, and let everything be pointed at."""
FOREIGN_NODES = """() => {
    const found = [];
    const bad = ["script", "iframe", "object", "embed", "base", "meta[http-equiv]", "link[onerror]", "form[action]",
        "svg[onload]", "math", "style", "template"];
    for (const node of document.body.querySelectorAll(bad.join())) found.push(node.outerHTML.slice(0, 150));
    for (const node of document.querySelectorAll("*")) for (const { name, value } of node.attributes) {
        if (name.startsWith("on")) found.push(`${name}=${value}`);
        const leads = ["href", "src", "action", "formaction", "data"].includes(name);
        if (leads && /^\\s*(javascript|vbscript|data:text)/i.test(value))
            found.push(`${name}=${value}`);
    }
    return found;
}"""


def form(number: int, place: str, most: int = 4_000) -> str:
    """A form that says where it ran; one that has no room there is as it is, cut."""
    return (
        FORMS[number]
        .replace("{}", str(1_000 * PLACES.index(place) + number))
        .replace("{{", "{")
        .replace("}}", "}")[:most]
    )


def _on_one_line(name: str) -> str:
    return "".join(letter if letter.isprintable() else " " for letter in name) + ".html"


@pytest.mark.wall("xss")
async def test_no_form_runs_wherever_foreign_text_is_shown(
    page: Page, guild: LocalGuild, client: Client, wall: Wall
) -> None:
    await page.evaluate("window.hits = []; window.hit = (n) => window.hits.push(n)")
    channel = client.get_channel(guild.channel().id)
    assert isinstance(channel, discord.TextChannel)
    for number in range(len(FORMS)):
        embed = discord.Embed(title=form(number, "embed title", 256), description=form(number, "embed text"))
        embed.set_author(name=form(number, "embed author", 256)).set_footer(text=form(number, "embed footer"))
        embed.add_field(name=form(number, "field name", 256), value=form(number, "field value", 1024))
        view = discord.ui.View(timeout=None)
        view.add_item(discord.ui.Button(label=form(number, "button", 80), custom_id=f"b{number}"))
        options = [discord.SelectOption(label=form(number, "choice", 100), description=form(number, "choice", 100))]
        view.add_item(
            discord.ui.Select(options=options, placeholder=form(number, "choice", 150), custom_id=f"s{number}")
        )
        await channel.send(form(number, "message"), embed=embed, view=view)
        name = form(number, "person's name", 32)
        guild.add_member(name, [guild.add_role(form(number, "role", 100)).id])
        file = (_on_one_line(form(number, "file name", 120)), b"<script>parent.hit(1)</script>")
        await guild.post(channel.id, form(number, "person's message"), author=name, files=[file])
        await guild.create_thread(channel.id, form(number, "thread", 100))
        guild.add_channel(form(number, "channel", 100))
    poll = discord.Poll(form(0, "poll", 300), duration=timedelta(hours=1))
    for number in range(10):
        poll.add_answer(text=form(number, "poll", 55))
    await channel.send(poll=poll)
    await expect(page.locator(".log")).to_contain_text(form(len(FORMS) - 1, "person's message")[:20])
    hits = Counter(await page.evaluate("window.hits"))  # as it comes in, and as it is when somebody opens the page
    await page.reload()
    await page.evaluate("window.hits = []; window.hit = (n) => window.hits.push(n)")
    await expect(page.locator(".log")).to_contain_text(form(len(FORMS) - 1, "person's message")[:20])
    await page.get_by_label("Message", exact=True).press_sequentially("@<")  # names that are proposed are shown, too
    await page.evaluate(LOOK)
    hits.update(await page.evaluate("window.hits"))
    nodes = await page.evaluate(FOREIGN_NODES)
    for place in PLACES:
        for number in range(len(FORMS) if place != "poll" else 10):
            wall.held(f"{FORMS[number]!a} as {place}", not hits[1_000 * PLACES.index(place) + number])
    wall.held("nodes and attributes of others", not nodes, str(nodes[:5]))
