"""What `setup` and `doctor` print at a terminal, as pictures: the real programs against the local Discord.

``UPDATE_IMAGES=1 pytest tests/e2e/test_terminal_pictures.py`` puts the pictures into ``docs/images``.
"""

from __future__ import annotations

import asyncio
import html
import os
import re
import sys
import tempfile
from collections.abc import AsyncIterator, Iterator, Mapping
from pathlib import Path

import pytest
from playwright.async_api import async_playwright

from bot.local_discord import LocalGuild
from tests.e2e.browsing import CHROMIUM, IMAGES
from tests.e2e.processes import environment
from tests.e2e.terminals import SECONDS, model_server, terminal
from tests.integration.local_discord.browsers import ARGUMENTS

pytestmark = [
    pytest.mark.chromium,
    pytest.mark.skipif(CHROMIUM is None, reason="no Chromium is installed"),
]
COLUMNS = 88
SIZE = (60, COLUMNS)
SHOWN_HOME = "~/.threadwright"
EACH_TIME = {
    r";\s+docker: no Docker engine answers at \S+": "",
    r"3\.1\d\.\d+": "3.12.3",
    r"\d+ GB free": "120 GB free",
    r"memory is (?:limited by its control group|checked twice a second)": "memory is limited by its control group",
}
KEY = "sk-ant-example"
LISTED = ("claude-haiku-4-5-20251001", "claude-sonnet-5", "claude-sonnet-4-6", "claude-opus-5", "claude-opus-4-8")
PAGE = """<!doctype html><meta charset="utf-8"><style>
body {{ margin: 0; background: #1a1b26; width: max-content }}
pre {{ margin: 0; padding: 18px 22px; color: #d5d9ea; font: 14px/1.45 "DejaVu Sans Mono", monospace; width: {}ch;
  white-space: pre-wrap; overflow-wrap: anywhere }}
b {{ color: #8db4ff; font-weight: 600 }}
i {{ color: #7fd88f; font-style: normal }} u {{ color: #f2c46d; text-decoration: none }}
</style><pre>{}</pre>"""


@pytest.fixture
async def guild() -> AsyncIterator[LocalGuild]:
    async with await LocalGuild.start() as guild:
        guild.grant_intents()
        yield guild


@pytest.fixture
async def provider() -> AsyncIterator[str]:
    """A provider's list of models, for one key."""
    async with model_server(LISTED, KEY) as address:
        yield address


@pytest.fixture
def home() -> Iterator[Path]:
    """A home whose path is always as long, so that lines break at the same places."""
    with tempfile.TemporaryDirectory(prefix="tw-", dir="/tmp") as folder:
        yield Path(folder)


def tidied(text: str, words: Mapping[str, str]) -> str:
    """Put what a reader will see in the place of what is only so on this machine, this time."""
    text = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", text).replace("\r", "")
    for here, there in words.items():
        text = text.replace(here, there)
    for pattern, there in EACH_TIME.items():
        text = re.sub(pattern, there, text)
    return "\n".join(line.rstrip() for line in text.strip("\n").split("\n"))


def coloured(text: str) -> str:
    """The text as HTML: headings, signs and what to do stand out."""
    lines: list[str] = []
    for line in html.escape(text, quote=False).split("\n"):
        heading = re.fullmatch(r"[A-Z][a-z]+", line) or line.startswith("$ ")
        line = re.sub(r"^(\s*)(✔)", r"\1<i>✔</i>", line)
        line = re.sub(r"^(\s*)([!?✘→])(?= )", r"\1<u>\2</u>", line)
        lines.append(f"<b>{line}</b>" if heading else line)
    return "\n".join(lines)


async def pictured(name: str, text: str, folder: Path) -> None:
    """A picture of a terminal with this text; kept with UPDATE_IMAGES=1."""
    path = (IMAGES if os.environ.get("UPDATE_IMAGES") else folder) / name
    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(executable_path=CHROMIUM, args=ARGUMENTS)
        page = await browser.new_page(device_scale_factor=1.15)
        await page.set_content(PAGE.format(COLUMNS, coloured(text)))
        await page.locator("pre").screenshot(path=path)
        await browser.close()
    assert 8_000 < path.stat().st_size < 400_000, path


async def test_setup_and_doctor_say_all_is_well_at_a_terminal(
    guild: LocalGuild, provider: str, home: Path, tmp_path: Path
) -> None:
    env = environment(
        home, {"ANTHROPIC_BASE_URL": provider}, THREADWRIGHT_DISCORD_API=guild.rest_base, THREADWRIGHT_SANDBOX="bubblewrap",
    )  # fmt: skip
    words = {
        f"Anthropic: {provider} answers and": "Anthropic: accepts this key and",
        f"{provider} answers and": "Anthropic accepts this key and", str(home): SHOWN_HOME,
        str(guild.bot_user_id): "1" * len(str(guild.bot_user_id)), "“Local server”": "“Your server”",
    }  # fmt: skip
    async with terminal(home, env, size=SIZE) as person:
        await person.answer("Token of your bot", guild.bot_token)
        await person.answer("Which provider?", "anthropic")
        await person.answer("Key of Anthropic", KEY)
        await person.answer("Which provider?")
        await person.answer("US dollars")
        await person.answer("Change more")
        await person.sees("docs/discord-setup.md\r\n")
        async with asyncio.timeout(SECONDS):
            assert await person.process.wait() == 0
        asked = tidied(person.shown, words)
    doctor = (sys.executable, "-m", "bot.cli.main", "doctor")
    async with terminal(home, env, *doctor, size=SIZE) as person:
        await person.sees("Ready. Start it: threadwright run\r\n")
        async with asyncio.timeout(SECONDS):
            assert await person.process.wait() == 0
        checked = tidied(person.shown, words)
    for text in (asked, checked):
        assert not re.search(f"{home}|{Path.home()}/|127.0.0.1|✘", text), text
        assert max(len(line) for line in text.split("\n") if "https://" not in line) <= COLUMNS
    assert "Key of Anthropic" in asked
    assert guild.bot_token not in asked
    assert KEY not in asked
    assert "✔ Anthropic accepts this key and lists 5 models" in asked
    assert re.search(r"✔ +tier 4 +anthropic/claude-opus-5", checked)
    await pictured("setup.png", f"$ threadwright setup\n{asked}", tmp_path)
    await pictured("doctor.png", f"$ threadwright doctor\n{checked}", tmp_path)
