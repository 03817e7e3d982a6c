"""The page's Markdown under random and hostile text: it never fails, never hangs, never makes markup."""

from __future__ import annotations

import pytest
from playwright.async_api import Browser

from bot.local_discord import LocalGuild
from tests.integration.local_discord.pages import ON_THE_PAGE, browser, chromium, guild, page

__all__ = ["browser", "chromium", "guild", "page"]

pytestmark = ON_THE_PAGE

RANDOM_TEXTS = """
async ([seed, count]) => {
    const { markdown } = await import("/page/markdown.js");
    const names = { mention: (kind, id) => document.createElement("span") };
    const parts = ["*", "**", "***", "_", "__", "~~", "||", "`", "``", "```", "```py\\n", "\\n", "> ", ">>> ", "# ",
        "- ", "  - ", "1. ", "-# ", "[", "](", "(", ")", "<", ">", "@", "<@1>", "<#1>", "<@&1>", "<t:1:R>",
        "<t:9999999999999>", "https://a.example/_b_", "javascript:alert(1)", "<img src=x onerror=1>", "</pre>", "\\\\",
        "a", " ", "\\u202e", "\\ud800", "👍"];
    const allowed = new Set(["DIV", "P", "STRONG", "EM", "U", "S", "CODE", "PRE", "SPAN", "A", "BR", "UL", "OL", "LI",
        "BLOCKQUOTE", "TIME", "BUTTON"]);
    let state = seed;
    const random = (n) => (state = (state * 1103515245 + 12345) % 2147483648) % n;
    for (let i = 0; i < count; i += 1) {
        const text = Array.from({ length: random(80) }, () => parts[random(parts.length)]).join("");
        const root = markdown(text, names);
        for (const node of root.querySelectorAll("*")) {
            if (!allowed.has(node.tagName)) return [text, node.tagName];
            for (const { name } of node.attributes) if (name.startsWith("on")) return [text, name];
            if (node.tagName === "A" && !/^https?:$/.test(new URL(node.href).protocol)) return [text, node.href];
        }
    }
    return null;
}
"""

LONG_TEXTS = """
async (parts) => {
    const { markdown } = await import("/page/markdown.js");
    const names = { mention: () => document.createElement("span") };
    return parts.map((part) => {
        const started = performance.now();
        markdown(part.repeat(Math.ceil(4000 / part.length)).slice(0, 4000), names);
        return [part, performance.now() - started];
    });
}
"""


@pytest.mark.wall("xss")
async def test_random_text_becomes_harmless_nodes_only(browser: Browser, guild: LocalGuild) -> None:
    page = await browser.new_page()
    await page.goto(guild.link())
    for seed in range(5):
        assert await page.evaluate(RANDOM_TEXTS, [seed, 400]) is None, f"seed {seed}"


@pytest.mark.wall("xss")
async def test_no_text_of_4000_characters_hangs_the_page(browser: Browser, guild: LocalGuild) -> None:
    page = await browser.new_page()
    await page.goto(guild.link())
    signs = ["*", "**", "***", "* ", "*a", "**a*", "_", "__", "_a", "~~", "~", "||", "|", "`", "``", "`a", "```", "```\n", "[",
             "[a](", "[a](https://a", "((", "<", "<@", "<t:1", "> ", ">>> ", "> > ", "# ", "- ", " - ", "1. ", "\\",
             "https://", "https://a/(",
             "@everyone", "\n", "a", "a*b_c~~d||e`"]  # fmt: skip
    for sign, milliseconds in await page.evaluate(LONG_TEXTS, signs):
        assert milliseconds < 2000, sign
