"""Everybody can use each page: no findings of axe in both colours, nothing to scroll sideways at a phone's width."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest
import pytest_asyncio
from axe_playwright_python.async_playwright import Axe
from playwright.async_api import Browser, Page, expect

from agentic.core.events.execution_events import (
    Asked,
    CallBlock,
    CheckpointSaved,
    FileChange,
    Intervened,
    ModelAnswered,
    Option,
    ToolFinished,
)
from agentic.core.events.ids import call_id
from agentic.stores.factory import open_store
from agentic.workspace.snapshots.snapshot_store import Snapshots
from bot.config.home import CHECKPOINTS, DATABASE, LESSONS
from reflexion.lessons.lesson import reflection_id
from reflexion.stores.factory import open_lessons
from tests.integration.console import logs
from tests.integration.console.doors import LESSON, TOKEN, Door, open_door
from tests.integration.console.grounds import IN_A_BROWSER, chromium
from tests.integration.console.overall import reflection

__all__ = ["chromium"]

pytestmark = IN_A_BROWSER

TASK, LEFT = f"/t/{logs.THREAD}/looked-at", reflection_id("looked-at")
LONG = "a_word_that_never_ends_" * 20
CHANGED = f"src/{LONG}.py"
FILE = f"{TASK}/files/of?path={CHANGED}"
PATHS = (
    "/sign-in",
    "/",
    "/none",
    "/search?q=word",
    "/compare",
    "/compare/looked-at/x1-known",
    "/lessons",
    "/judgement",
    "/health",
    TASK,
    f"{TASK}/identity",
    f"{TASK}/world?turn=2",
    f"{TASK}/logs",
    f"{TASK}/metrics",
    f"{TASK}/files",
    f"{TASK}/terminal",
    f"{TASK}/timeline",
    f"{TASK}/at",
    f"{TASK}/why/5",
    f"{TASK}/event/5",
    f"{TASK}/world?turn=3&against=2",
    f"{TASK}/world/8/m3.0",
    f"{TASK}/reasoning/2",
    f"{TASK}/terminal/11",
    f"{TASK}/files?all=1",
    f"{TASK}/files/tree",
    FILE,
    f"{TASK}/at/file?path={CHANGED}",
    f"/lessons/{LESSON}",
    f"/lessons/{LEFT}?thread={logs.THREAD}",
)
"""Every page that a person can open; each further one goes here."""
PHONE = {"width": 390, "height": 844}
OPENED = """() => {
    for (const one of document.querySelectorAll("details:not(.reasoning)")) one.open = true;
    document.styleSheets[0].insertRule("* { content-visibility: visible !important }");
}"""
"""All that folds is open, and what is below the screen is laid out too."""
FOUND = """async (rules) => {
    const { violations } = await axe.run({ resultTypes: ["violations"], preload: false, ...rules });
    return violations.flatMap((one) => one.nodes.map((node) => `${one.id}: ${node.html.slice(0, 200)}`));
}"""


def _everything(manifest: str = "") -> list[object]:
    """A task with whatever has a look of its own."""
    option = Option(id="1", label="Yes", description=LONG)
    change = FileChange(kind="modified", path=CHANGED, sha_before="a" * 64, sha_after="b" * 64)
    log: list[object] = [logs.started(f"Fix {LONG}"), logs.triaged()]
    for number, outcome in enumerate(("ok", "failed", "denied"), 1):
        log += logs.turn(number, command=f"echo {LONG}", text=f"{LONG} {number}")
        log[-2] = ToolFinished.model_validate(
            {
                "call": call_id(f"r{number}", 0),
                "outcome": outcome,
                "preview": LONG,
                "exit_code": 1,
                "changes": (change,),
            }
        )
    call = CallBlock(provider_id="p", tool="shell", arguments={"command": "sleep 60"})
    return [
        *log,
        logs.guidance(LONG),
        Intervened(rule="repeated", text=f"You repeat yourself: {LONG}"),
        ModelAnswered(request="r9", blocks=(call,), stop="tool_use"),
        CheckpointSaved(manifest=manifest, through_seq=17, turn=3, why="question"),
        Asked(question="q1", text=f"Shall I? {LONG}", options=(option,), who_may="owner"),
    ]


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def looked(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Door]:
    """A console with a token and sign-in by Discord, opened by the user of this machine."""
    home = tmp_path_factory.mktemp("home")
    settings = {"console_token": TOKEN, "DISCORD_CLIENT_ID": "1", "DISCORD_CLIENT_SECRET": "x" * 32}
    async with open_door(home, **settings) as door:
        store = open_store(home / DATABASE)
        work = home / "workspaces" / logs.THREAD
        for name in (f"src/{'deep' * 30}/{LONG[:200]}.py", "README.md"):
            (work / name).parent.mkdir(parents=True, exist_ok=True)
            (work / name).write_text("one = 1\n")
        saved = await Snapshots(home / CHECKPOINTS, home=home).save(logs.THREAD, work)
        await logs.written(store, "looked-at", _everything(saved.manifest))  # type: ignore[arg-type]
        lessons = open_lessons(home / LESSONS)
        left = reflection(LEFT, logs.BEGAN)
        await lessons.keep_reflection(
            left.model_copy(update={"thread": logs.THREAD, "guild": logs.GUILD, "execution": "looked-at"})
        )
        await lessons.close()
        yield door
        await store.close()


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def tab(chromium: Browser) -> AsyncIterator[Page]:
    """One page for all, so that axe's cost is only that of what is looked at."""
    one = await chromium.new_page(reduced_motion="reduce")
    one.set_default_timeout(40_000)
    yield one
    await one.close()


@pytest.mark.parametrize("path", PATHS)
async def test_a_page_has_names_contrast_and_room(looked: Door, tab: Page, path: str) -> None:
    answer = await tab.goto(f"http://{looked.name}{path}")
    assert answer is not None
    assert answer.status == (404 if path == "/none" else 200)
    await _looks_well(tab)


async def test_what_came_of_a_form_has_names_contrast_and_room(looked: Door, tab: Page) -> None:
    """The page that one sees where no script runs."""
    await tab.goto(f"http://{looked.name}{TASK}")
    await tab.evaluate(
        """() => {
            const form = document.getElementById("act-box"), said = document.createElement("input");
            form.append(Object.assign(said, { type: "hidden", name: "do", value: "say" }));
            HTMLFormElement.prototype.submit.call(form);
        }"""
    )
    await expect(tab.get_by_role("heading", level=1)).to_have_text("Not done")
    await _looks_well(tab)


async def _looks_well(tab: Page) -> None:
    await tab.set_viewport_size({"width": 1200, "height": 900})
    await tab.emulate_media(color_scheme="light")
    await tab.evaluate(OPENED)
    await tab.evaluate(Axe().axe_script)
    assert await tab.evaluate(FOUND, {}) == []
    await tab.emulate_media(color_scheme="dark")
    assert await tab.evaluate(FOUND, {"runOnly": ["color-contrast"]}) == []
    await tab.set_viewport_size({"width": PHONE["width"], "height": PHONE["height"]})
    assert await tab.evaluate("document.documentElement.scrollWidth") <= PHONE["width"]
    cut = await tab.evaluate(
        """() => [...document.querySelectorAll("main *")].filter((one) => one.getBoundingClientRect().right > innerWidth + 1
            && !one.closest("[tabindex='0']")).map((one) => one.outerHTML.slice(0, 120))"""
    )
    assert cut == [], "what is wider than the screen is in something that scrolls by keyboard"
