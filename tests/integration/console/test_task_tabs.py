"""The tabs Metrics, Timeline, Terminal and Files in a real browser."""

from __future__ import annotations

import hashlib
import re

from playwright.async_api import Page, expect

from agentic.core.events.execution_events import (
    CheckpointSaved,
    Envelope,
    Event,
    FileChange,
    ToolFinished,
    WorkspaceRestored,
)
from agentic.runtime.effects import blob
from agentic.workspace.snapshots.snapshot_store import Snapshots
from bot.config.home import CHECKPOINTS
from tests.integration.console import logs
from tests.integration.console.grounds import IN_A_BROWSER, ConsoleGround, chromium, consoled, page, read_beside

__all__ = ["chromium", "consoled", "page", "read_beside"]

pytestmark = IN_A_BROWSER
TOKEN = "ghp_" + "a1B2" * 9


async def fits_a_phone(page: Page) -> bool:
    await page.set_viewport_size({"width": 390, "height": 800})
    fits = await page.evaluate("document.documentElement.scrollWidth <= 390")
    await page.set_viewport_size({"width": 1200, "height": 800})
    return bool(fits)


async def test_figures_and_times_are_found_by_turn_and_kept_up_to_date(consoled: ConsoleGround, page: Page) -> None:
    log = logs.events(110, ended=False)
    lease = await logs.written(consoled.store, "figures", log)
    times = await page.context.new_page()
    await times.goto(consoled.task("figures", "timeline"))
    await expect(times.locator("#times tr", has_text="tools")).to_contain_text("3 min 40 s")
    await expect(times.locator("tbody[id^=turn-]")).to_have_count(40)
    assert await fits_a_phone(times)

    await page.goto(f"{consoled.task('figures', 'metrics')}#turn-7")
    await expect(page.locator("#turn-7")).to_be_in_viewport()
    await expect(page.locator("p.found")).to_contain_text("Turn 7 cost $0.003: 2.2k tokens in, 180 out; it took 10 s.")
    await page.get_by_label("What did turn").fill("999")
    await page.get_by_role("button", name="Show").press("Enter")
    await expect(page.locator("p.found")).to_contain_text("There is no turn 999.")
    chart = page.get_by_role("img", name="Confidence by turn")
    await expect(chart).to_have_accessible_name("Confidence by turn shown from 60 (turn 20) to 79 (turn 19), last 70.")
    await expect(page.get_by_role("row", name="110", exact=False).last).to_contain_text("70 moderate")
    assert await fits_a_phone(page)

    await page.locator("#parts-109 summary").click()
    await expect(page.locator("#parts-109")).to_contain_text("not reported; 70 of 100 is assumed")
    new = logs.turn(111)
    await logs.added(consoled.store, "figures", lease, new, len(log))
    await expect(page.locator("#turn-111")).to_contain_text("$0.003")
    await expect(page.locator("#figures > p")).to_contain_text("for 111 turns")
    await expect(page.locator("#parts-109")).to_have_attribute("open", "")
    await expect(times.locator("#turn-111")).to_contain_text("shell")
    await times.close()


async def test_commands_appear_as_they_run_and_long_outputs_are_read_in_pieces(
    consoled: ConsoleGround, page: Page
) -> None:
    log = logs.events(1, ended=False)
    lease = await logs.written(consoled.store, "shell", log)
    await page.goto(consoled.task("shell", "terminal"))
    await expect(page.locator(".command pre")).to_contain_text("$ python -m pytest -q")
    ref, content = blob(b"\x1b[32m<img src=x onerror=alert(1)>\x1b[0m " + TOKEN.encode() + b"\n" + b"line\n" * 30_000)
    await consoled.store.put_blob(content)
    new = logs.turn(2, "cat big.log", "exit 0 after 0.1 s\nline")
    finished = new[3]
    assert isinstance(finished, ToolFinished)
    new[3] = finished.model_copy(update={"output": ref, "exit_code": 0})
    await logs.added(consoled.store, "shell", lease, new[:3], len(log))
    await expect(page.locator(".command").last).to_contain_text("running")
    await logs.added(consoled.store, "shell", lease, new[3:], len(log) + 3)
    await expect(page.locator(".command").last).to_contain_text("exit 0")
    await expect(page.locator(".command")).to_have_count(2)
    assert await fits_a_phone(page)
    await page.get_by_role("link", name="Whole output (150").press("Enter")
    await expect(page.locator("pre")).to_contain_text("<img src=x onerror=alert(1)> [redacted]\nline")
    assert TOKEN not in await page.content()
    first = await page.locator("pre").inner_text()
    await page.get_by_role("link", name="Last").press("Enter")
    await expect(page.get_by_text("Piece 3 of 3")).to_be_visible()
    assert 0 < len(await page.locator("pre").inner_text()) < len(first) < 70_000


async def test_files_are_compared_and_downloaded_and_what_is_hidden_or_lost_is_not(
    consoled: ConsoleGround, page: Page, read_beside: list[str]
) -> None:
    work = consoled.home / "workspaces" / logs.THREAD
    work.mkdir(parents=True)
    (work / ".aiignore").write_text("private.txt\nsince.txt\n")
    (work / "private.txt").write_text("hush")
    versions = [b"one = 1\n", b"one = 2\n", f"one = 2\n<script>alert(1)</script>\nkey = '{TOKEN}'\n".encode()]
    snapshots = Snapshots(consoled.home / CHECKPOINTS, home=consoled.home)
    (work / "docs").mkdir()
    (work / "docs" / "plain.txt").write_text("never changed")
    (work / "docs" / "since.txt").write_text("saved before it was hidden")
    for content in (versions[0], versions[2]):
        (work / "a.py").write_bytes(content)
        saved = await snapshots.save(logs.THREAD, work, ("private.txt",))
    sha = [hashlib.sha256(content).hexdigest() for content in versions]

    def changed(number: int, tool: str, arguments: dict[str, str], *changes: FileChange) -> list[Event]:
        log = logs.turn(number)
        begun, ended = log[2], log[3]
        log[2] = begun.model_copy(update={"tool": tool, "arguments": arguments})
        log[3] = ended.model_copy(update={"changes": changes})
        return log

    def change(path: str, before: str, after: str) -> FileChange:
        return FileChange(path=path, kind="modified", sha_before=before, sha_after=after)

    log = [
        logs.started(),
        *changed(1, "edit", {"path": "a.py", "old": "1", "new": "2"}, change("a.py", sha[0], sha[1])),
        *changed(2, "shell", {}, change("a.py", sha[1], sha[2]), change("b/lost.md", "1" * 64, "2" * 64),
                 change("private.txt", "3" * 64, "4" * 64), change("../../out.txt", "5" * 64, "6" * 64)),
        CheckpointSaved(manifest=saved.manifest, through_seq=11, why="turns", turn=2), *logs.end(),
    ]  # fmt: skip
    await logs.written(consoled.store, "files", log)
    undone = WorkspaceRestored(manifest="m", files=("b/lost.md",), by=logs.ANN)
    await consoled.store.append_outcome(
        "files", [Envelope(execution="files", seq=1, at=logs.BEGAN, fence=1, event=undone)]
    )
    await page.goto(consoled.task("files", "files"))
    await expect(page.get_by_text("2 files.")).to_be_visible()
    await expect(page.get_by_text("1 more file hidden by .aiignore.")).to_be_visible()
    await expect(page.get_by_text("out.txt")).to_have_count(0)
    assert await fits_a_phone(page)
    await expect(page.locator("li", has=page.get_by_text("put back since by Ann")).last).to_contain_text(
        "lost.md modified"
    )
    await page.get_by_role("link", name="All files of the workspace").press("Enter")
    await expect(page.get_by_text("As saved after turn 2: 4 files.")).to_be_visible()
    await expect(page.get_by_role("listitem").filter(has_text="a.py")).to_contain_text("modified")
    await expect(page.get_by_text("plain.txt")).to_be_hidden()  # its folder opens by keyboard
    await page.locator("summary", has_text="docs/").press("Enter")
    await expect(page.get_by_text("plain.txt")).to_be_visible()
    await expect(page.get_by_text(re.compile(r"private\.txt|since\.txt"))).to_have_count(0)
    await expect(page.get_by_text("1 file of these hidden by .aiignore.")).to_be_visible()
    assert await fits_a_phone(page)
    await page.goto(consoled.task("files", "files/tree?from=1"))
    await expect(page.get_by_role("navigation", name="Files")).to_contain_text("2–4 of 4")
    await page.get_by_role("link", name="Changed files").press("Enter")
    await page.get_by_role("link", name="Turn 1").press("Enter")
    await expect(page.locator(".file-diff")).to_contain_text("-one = 1\n+one = 2")  # that version is in no checkpoint
    await page.get_by_role("link", name="Turn 2").press("Enter")
    await expect(page.locator(".file-diff")).to_contain_text("+<script>alert(1)</script>\n+key = '[redacted]'")
    await expect(page.get_by_text("The versions before turn 2 and after turn 2 were not kept")).to_be_visible()
    await page.get_by_role("link", name="a.py").first.press("Enter")
    await expect(page.locator(".file-diff")).to_contain_text("-one = 1\n+one = 2")
    for link, content in (("as it was before the task", versions[0]), ("as it is now", versions[2])):
        async with page.expect_download() as coming:
            await page.get_by_role("link", name=link).press("Enter")
        download = await coming.value
        assert download.suggested_filename == "a.py"
        assert (await download.path()).read_bytes() == content
    address = consoled.task("files", "files/get")
    answer = await page.request.get(f"{address}?path=a.py&at=1")
    assert (await answer.body(), answer.headers["content-type"]) == (versions[1], "application/octet-stream")
    assert answer.headers["content-disposition"].startswith("attachment;")
    for path in ("private.txt", "../../out.txt", "b/lost.md", "/etc/passwd", ".aiignore"):
        refused = await page.request.get(address, params={"path": path, "at": "now"})
        assert (refused.status, "hush" in await refused.text()) == (404, False), path
    assert {content.decode() for content in versions} == {text for text in read_beside if text.startswith("one = ")}
