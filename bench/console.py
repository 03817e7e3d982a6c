"""The console: how soon a task is on the page, how soon what happens to it follows, what watchers and many tabs cost, and
how a result of ten megabytes pages.

The console is a process of its own; this one writes the log, as a bot does, and reads the pages: with a client of its own, and
in Chromium where that is installed. Each first page is of a process that has read nothing yet.
"""

from __future__ import annotations

import asyncio
import contextlib
import importlib.util
import os
import re
import shutil
import signal
import sys
import tempfile
from collections.abc import AsyncGenerator, AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median, quantiles
from time import monotonic, time
from typing import Any, cast

import aiohttp

from agentic.core.events.execution_events import Envelope, ToolFinished
from agentic.ports.runtime import Lease, SessionRow, Store
from agentic.stores.factory import open_store
from bench.figures import Figure, size
from bench.startup import cpu_seconds
from bench.trajectory import THREAD, Trajectory, record
from bot.config.home import DATABASE

TURNS, MANY = size("TURNS", 300, 12), size("MANY", 5_000, 20)
PER_SECOND = 20
SECONDS = size("SECONDS", 20.0, 1.0)
VIEWERS = size("VIEWERS", 50, 3)
TIMES = size("TIMES", 5, 1)
TABS, SEEN = size("TABS", 200, 8), size("SEEN", 4, 2)
"""Tabs of one browser, and how many of them somebody looks at: each in a window, the others behind them."""
OPENED_AT_ONCE = 10
LARGE = size("LARGE", 10_000_000, 600_000)
"""Bytes of a tool's result."""
BEGUN = 20
"""Events that are there before somebody watches."""
LIVE = "live"
AT_MOST = aiohttp.ClientTimeout(total=None, connect=20.0, sock_read=60.0)
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
OBSERVE = """() => {
  window.came = {};
  new MutationObserver((changes) => {
    const now = Date.now();
    for (const change of changes) for (const node of change.addedNodes) {
      const of = node.nodeType === 1 && (node.matches(".line") ? node : node.querySelector(".line"));
      if (of) window.came[of.querySelector(".seq").textContent] ??= now;
    }
  }).observe(document.getElementById("lines"), {childList: true, subtree: true});
}"""
IN_THE_BACKGROUND = 'Object.defineProperty(document, "hidden", { get: () => !window.looked });'
"""What a browser says in a tab behind others; without windows it says that all are seen."""
LOOK = '() => { window.looked = true; document.dispatchEvent(new Event("visibilitychange")); }'
SIZES = """() => ({
  paint: performance.getEntriesByName("first-contentful-paint")[0]?.startTime ?? 0,
  bytes: [...performance.getEntriesByType("navigation"), ...performance.getEntriesByType("resource")]
    .reduce((sum, each) => sum + (each.transferSize || 0), 0),
})"""


@dataclass
class Appending:
    """A log that grows by an event at a time, with when each was durable."""

    store: Store
    lease: Lease
    events: Sequence[Envelope]
    execution: str = LIVE
    written: int = 0
    durable: dict[int, tuple[float, float]] = field(default_factory=dict[int, tuple[float, float]])
    """Monotonic time and the time of day, by sequence number."""

    async def write(self, count: int) -> None:
        """Write the next events at once."""
        new = self.events[self.written : self.written + count]
        events = [_moved(each, self.execution, self.lease.fence) for each in new]
        await self.store.append(self.execution, self.written, self.lease, events)
        self.written += len(events)
        self.durable[self.written] = (monotonic(), time())

    async def go_on(self, seconds: float) -> None:
        """Write so many events a second, one after the other, at times that do not wait for each other."""
        began = monotonic()
        for number in range(int(seconds * PER_SECOND)):
            await asyncio.sleep(began + number / PER_SECOND - monotonic())
            await self.write(1)


async def figures() -> AsyncIterator[Figure]:
    """First pages, then watchers."""
    longest = max(TURNS, BEGUN + int((2 * SECONDS) * PER_SECOND) // 4)
    trajectory = await record(longest)
    async with AsyncExitStack() as stack:
        home = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="bench-console-")))
        store = open_store(home / DATABASE)
        stack.push_async_callback(store.close)
        await store.save_session(SessionRow(THREAD, "1", "2"))
        lease = await store.acquire(THREAD, "bench", 36_000.0)
        assert lease is not None
        await _write(store, lease, "usual", trajectory, TURNS)
        async for figure in _first_pages(home):
            yield figure
        async for figure in _watched(home, Appending(store, lease, trajectory.envelopes)):
            yield figure
        async for figure in _tabs(home, Appending(store, lease, trajectory.envelopes, execution="tabs")):
            yield figure
        seq = await _write_large(store, lease, trajectory)
        async for figure in _large(home, seq):
            yield figure
        await _write(store, lease, "long", await record(MANY), MANY)
        async for figure in _long(home):
            yield figure


async def _first_pages(home: Path) -> AsyncIterator[Figure]:
    served, cpu = list[float](), list[float]()
    for _ in range(TIMES):
        async with _console(home) as (address, pid), aiohttp.ClientSession(timeout=AT_MOST) as client:
            used = cpu_seconds(pid)
            served.append((await _got(client, _page(address, "usual")))[0])
            cpu.append(cpu_seconds(pid) - used)
    note = f"{TURNS} turns, nothing read before; {median(cpu) * 1e3:.0f} ms of processor time"
    yield Figure("console_first_page_served", median(served) * 1e3, "ms", note=note)
    async with _chromium() as browser:
        if browser is None:
            return
        paints, again = list[float](), list[float]()
        transferred = 0.0
        for _ in range(TIMES):
            async with _console(home) as (address, _):
                for seen in (paints, again):
                    context = await browser.new_context()
                    page = await context.new_page()
                    await page.goto(_page(address, "usual"), wait_until="load")
                    measured = await _painted(page)
                    seen.append(float(measured["paint"]))
                    transferred = float(measured["bytes"])
                    await context.close()
    note = f"{TURNS} turns, neither console nor browser has seen them; median of {TIMES}"
    yield Figure("console_first_paint", median(paints), "ms", "<=", 300, note)
    note = "the same where somebody has looked at the task before, by a browser that has not"
    yield Figure("console_first_paint_again", median(again), "ms", "<=", 300, note)
    yield Figure("console_first_visit", transferred / 1e3, "kB", "<=", 300, "everything transferred")


async def _painted(page: Any) -> dict[str, float]:
    """What the browser says of a page, once it has painted something."""
    async with asyncio.timeout(30):
        while not (measured := cast("dict[str, float]", await page.evaluate(SIZES)))["paint"]:
            await asyncio.sleep(0.02)
    return measured


async def _watched(home: Path, log: Appending) -> AsyncIterator[Figure]:
    await log.write(BEGUN)
    async with (
        _console(home) as (address, pid),
        aiohttp.ClientSession(timeout=AT_MOST, connector=aiohttp.TCPConnector(limit=0)) as client,
        _chromium() as browser,
    ):
        page = None
        if browser is not None:
            page = await (await browser.new_context()).new_page()
            await page.goto(_page(address, LIVE, "logs"))
            await page.evaluate(OBSERVE)
        came: dict[int, float] = {}
        async with _watching(client, address, [came]):
            await log.go_on(SECONDS / 2)
            await _until(lambda: log.written in came)
        yield _late("console_event_to_client_p99", _latencies(log, came, 0), "to a client of its own")
        if page is not None:
            await asyncio.sleep(1.0)
            seen = cast("dict[str, float]", await page.evaluate("window.came"))
            late = [at - log.durable[int(seq)][1] * 1e3 for seq, at in seen.items() if int(seq) in log.durable]
            yield _late("console_event_to_page_p99", late, "in Chromium, as its document changes")
            await page.context.close()
        resting = _resident(pid)
        crowd: list[dict[int, float]] = [{} for _ in range(VIEWERS)]
        first = log.written
        async with _watching(client, address, crowd):
            await asyncio.sleep(1.0)
            began, used = monotonic(), cpu_seconds(pid)
            await log.go_on(SECONDS)
            used, took = cpu_seconds(pid) - used, monotonic() - began
            await _until(lambda: all(log.written in each for each in crowd))
            most = _resident(pid)
        yield Figure(
            "console_viewers_cpu", 100 * used / took, "%", "<=", 15,
            f"of a core, {VIEWERS} watch {PER_SECOND} events a second for {took:.0f} s",
        )  # fmt: skip
        late = [each for came in crowd for each in _latencies(log, came, first)]
        yield _late("console_event_to_viewers_p99", late, f"to {VIEWERS} at once")
        await asyncio.sleep(1.0)
        os.kill(pid, signal.SIGUSR1)
        await asyncio.sleep(1.0)
        note = f"{resting / 1e3:.1f} MB before they came, {most / 1e3:.1f} MB with them"
        yield Figure("console_memory_after_viewers", (_resident(pid) - resting) / 1e3, "MB", "<=", 4, note)


async def _tabs(home: Path, log: Appending) -> AsyncIterator[Figure]:
    """Many tabs of one browser, of which some are looked at: these follow the task."""
    await log.write(BEGUN)
    async with _console(home) as (address, pid), _chromium() as browser:
        if browser is None:
            return
        context = await browser.new_context()
        await context.add_init_script(IN_THE_BACKGROUND)
        await (await context.new_page()).goto(_page(address, log.execution, "logs"))  # what is loaded once
        resting = _resident(pid)
        used = cpu_seconds(pid)
        took: list[float] = []

        async def open_tab() -> Any:
            page = await context.new_page()
            began = monotonic()
            await page.goto(_page(address, log.execution, "logs"), wait_until="load")
            took.append(monotonic() - began)
            return page

        pages: list[Any] = []
        while len(pages) < TABS:
            pages += await asyncio.gather(*(open_tab() for _ in range(min(OPENED_AT_ONCE, TABS - len(pages)))))
        each = (cpu_seconds(pid) - used) / TABS
        note = (
            f"of {TABS} in one browser, {OPENED_AT_ONCE} opened at a time; median {median(took) * 1e3:.0f}; "
            f"the console took {each * 1e3:.0f} ms of processor time for each"
        )
        yield Figure("console_tab_slowest", max(took) * 1e3, "ms", note=note)
        seen = pages[:: max(TABS // SEEN, 1)][:SEEN]
        for page in seen:
            await page.evaluate(OBSERVE)
            await page.evaluate(LOOK)
        await asyncio.sleep(2.0)
        first = log.written
        await log.go_on(SECONDS / 4)
        await asyncio.sleep(2.0)
        late: list[float] = []
        for page in seen:
            came = cast("dict[str, float]", await page.evaluate("window.came"))
            wanted = {seq: at for seq, (_, at) in log.durable.items() if seq > first}
            late += [came[str(seq)] - at * 1e3 if str(seq) in came else float("inf") for seq, at in wanted.items()]
        yield _late("console_event_to_seen_tabs_p99", late, f"to {len(seen)} that are looked at, of {TABS}")
        most = _resident(pid)
        await context.close()
        await asyncio.sleep(1.0)
        os.kill(pid, signal.SIGUSR1)
        await asyncio.sleep(1.0)
        note = f"with {TABS} tabs {(most - resting) / 1e3:.1f} MB more than with one"
        yield Figure("console_memory_after_tabs", (_resident(pid) - resting) / 1e3, "MB", "<=", 4, note)


async def _write_large(store: Store, lease: Lease, trajectory: Trajectory) -> int:
    """A task with a result of so many bytes; the number of the event that has it."""
    line = "".join(f"{number:08} what a command printed, line by line\n" for number in range(1_000)).encode()
    content = (line * (LARGE // len(line) + 1))[:LARGE]
    ref = await store.put_blob(content)
    cut = trajectory.envelopes[:BEGUN]
    place = next(at for at, each in enumerate(cut) if isinstance(each.event, ToolFinished))
    event = cut[place].event.model_copy(update={"output": ref})
    changed = (*cut[:place], cut[place].model_copy(update={"event": event}), *cut[place + 1 :])
    await store.append("large", 0, lease, [_moved(each, "large", lease.fence) for each in changed])
    return place + 1


async def _large(home: Path, seq: int) -> AsyncIterator[Figure]:
    """The result page by page, to its end, and what others wait for meanwhile."""
    async with _console(home) as (address, pid), aiohttp.ClientSession(timeout=AT_MOST) as client:
        await _got(client, _page(address, "large"))
        resting = _resident(pid)
        link: str | None = _page(address, "large", f"terminal/{seq}")
        first_bytes, took, lengths = list[float](), list[float](), list[int]()
        others: list[float] = []
        reading = asyncio.Event()

        async def others_ask() -> None:
            while not reading.is_set():
                others.append((await _got(client, f"{address}/static/icon.svg"))[0])

        asking = asyncio.create_task(others_ask())
        while link is not None:
            began = monotonic()
            async with client.get(link) as answer:
                assert answer.status == 200
                text = await answer.content.readany()
                first_bytes.append(monotonic() - began)
                text += await answer.read()
            took.append(monotonic() - began)
            lengths.append(len(text))
            found = re.search(rb'href="([^"]+)" rel="next"', text)
            link = address + found[1].decode() if found else None
        reading.set()
        await asking
        note = f"of {LARGE / 1e6:g} MB, {len(took)} pages; the first, nothing of it read before"
        yield Figure("console_large_first_byte", first_bytes[0] * 1e3, "ms", "<=", 300, note)
        yield Figure("console_large_page", max(lengths) / 1e3, "kB", "<=", 300, "the largest, uncompressed")
        note = f"the median of {len(took)}, one after the other to the end; the slowest {max(took) * 1e3:.0f}"
        yield Figure("console_large_next_page", median(took) * 1e3, "ms", "<=", 300, note)
        note = f"the slowest of {len(others)} other answers meanwhile; median {median(others) * 1e3:.1f}"
        yield Figure("console_large_meanwhile", max(others) * 1e3, "ms", note=note)
        yield Figure("console_large_memory", (_resident(pid) - resting) / 1e3, "MB", note="more than before")


async def _long(home: Path) -> AsyncIterator[Figure]:
    async with _console(home) as (address, _), aiohttp.ClientSession(timeout=AT_MOST) as client:
        took, length = await _got(client, _page(address, "long"))
        yield Figure(
            "console_long_first_page",
            took * 1e3,
            "ms",
            note=f"{MANY} turns, nothing read before; {length / 1e3:.0f} kB",
        )
        took, _ = await _got(client, _page(address, "long"))
        yield Figure("console_long_page_again", took * 1e3, "ms", note="once read")
        others: list[float] = []
        asked = asyncio.create_task(_got(client, _page(address, "long", f"world?turn={MANY * 4 // 5}")))
        while not asked.done():
            others.append((await _got(client, f"{address}/static/icon.svg"))[0])
        took, length = await asked
        yield Figure("console_long_request", took * 1e3, "ms", note=f"of turn {MANY * 4 // 5}; {length / 1e3:.0f} kB")
        yield Figure(
            "console_meanwhile", max(others) * 1e3, "ms", note=f"the slowest of {len(others)} other answers meanwhile"
        )


def _late(name: str, late: Sequence[float], what: str) -> Figure:
    """The slowest of a hundred, in milliseconds."""
    worst = quantiles(late, n=100)[-1] if len(late) > 1 else max(late, default=float("inf"))
    note = (
        f"{what}; median {median(late):.0f}, {len(late)} events, {PER_SECOND} a second"
        if late
        else f"{what}; none came"
    )
    return Figure(name, worst, "ms", "<=", 200, note)


def _latencies(log: Appending, came: dict[int, float], after: int) -> list[float]:
    """For each event, when the first update came that has it."""
    updates = sorted(came.items())
    late: list[float] = []
    for seq, (durable, _) in log.durable.items():
        at = min((at for last, at in updates if last >= seq), default=None)
        if seq > after and seq > BEGUN and at is not None:
            late.append(max(at - durable, 0.0) * 1e3)
    return late


@asynccontextmanager
async def _watching(
    client: aiohttp.ClientSession, address: str, crowd: Sequence[dict[int, float]]
) -> AsyncGenerator[None]:
    """Watchers, each of which notes when the update came that ends with an event."""
    ready = [asyncio.Event() for _ in crowd]

    async def watch(came: dict[int, float], is_ready: asyncio.Event) -> None:
        async with client.get(_page(address, LIVE, "live?view=thoughts")) as answer:
            assert answer.status == 200
            is_ready.set()
            async for line in answer.content:
                if found := re.match(rb"id: (\d+)", line):
                    came.setdefault(int(found[1]), monotonic())

    tasks = [asyncio.create_task(watch(came, is_ready)) for came, is_ready in zip(crowd, ready, strict=True)]
    try:
        async with asyncio.timeout(30):
            for is_ready in ready:
                await is_ready.wait()
        yield
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


@asynccontextmanager
async def _console(home: Path) -> AsyncGenerator[tuple[str, int]]:
    """A console that has read nothing, its address and process."""
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "bench.console_process", str(home), stdout=asyncio.subprocess.PIPE,
        cwd=Path(__file__).parent.parent,
    )  # fmt: skip
    try:
        assert process.stdout is not None
        async with asyncio.timeout(60):
            address = (await process.stdout.readline()).decode().strip()
        yield address, process.pid
    finally:
        with contextlib.suppress(ProcessLookupError):
            process.terminate()
        try:
            async with asyncio.timeout(20):
                await process.wait()
        except TimeoutError:
            process.kill()
            await process.wait()


@asynccontextmanager
async def _chromium() -> AsyncGenerator[Any]:
    """A browser; None where none is installed."""
    if CHROMIUM is None or importlib.util.find_spec("playwright") is None:
        yield None
        return
    from playwright.async_api import async_playwright

    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox", "--disable-gpu"])
        yield browser
        await browser.close()


async def _write(store: Store, lease: Lease, execution: str, trajectory: Trajectory, turns: int) -> None:
    """A log of so many turns."""
    ends = (at for at, each in enumerate(trajectory.envelopes) if getattr(each.event, "turn", 0) > turns)
    cut = trajectory.envelopes[: next(ends, None)]
    for _, content in trajectory.blobs:
        await store.put_blob(content)
    for at in range(0, len(cut), 90):
        group = [_moved(each, execution, lease.fence) for each in cut[at : at + 90]]
        await store.append(execution, at, lease, group)


def _moved(envelope: Envelope, execution: str, fence: int) -> Envelope:
    return envelope.model_copy(update={"execution": execution, "fence": fence})


async def _got(client: aiohttp.ClientSession, address: str) -> tuple[float, int]:
    began = monotonic()
    async with client.get(address) as answer:
        content = await answer.read()
        assert answer.status == 200, content[:500]
    return monotonic() - began, len(content)


async def _until(reached: Any) -> None:
    async with asyncio.timeout(60):
        while not reached():
            await asyncio.sleep(0.01)


def _page(address: str, execution: str, tab: str = "") -> str:
    return f"{address}/t/{THREAD}/{execution}/{tab}".rstrip("/")


def _resident(pid: int) -> float:
    found = re.search(r"VmRSS:\s+(\d+) kB", Path(f"/proc/{pid}/status").read_text(encoding="ascii"))
    assert found is not None
    return float(found[1])
