"""From the start of ``threadwright run`` to the first 👀 and the first answer, and its memory half a minute later.

A person stands at the local guild's page: as soon as the bot is online a message is posted, and what comes back is timed
from the start of the process.  The endpoint is in this process and answers at once.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import re
import signal
import sys
import tempfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from time import perf_counter

import aiohttp

from agentic.models.scripted.captured_request import CapturedRequest
from agentic.models.scripted.endpoint import ScriptedEndpoint
from agentic.models.scripted.replies import Reply
from bench.figures import Figure, size
from tests.e2e.person import entered

ROUNDS = size("ROUNDS", 3, 1)
MEMORY_AFTER = size("MEMORY_AFTER", 30.0, 1.0)
SECONDS = 60.0
ANSWER = "The answer is forty-two."
MODELS = {"anthropic": "anthropic/claude-sonnet-4-5", "litellm": "hosted_vllm/bench"}


@dataclass(frozen=True, slots=True)
class Start:
    """Seconds from the start of the process, and megabytes half a minute after the answer (0 where not waited for)."""

    eyes: float
    answer: float
    eyes_cpu: float
    answer_cpu: float
    memory_mb: float = 0.0


async def figures() -> AsyncIterator[Figure]:
    """By Anthropic's protocol with targets; through LiteLLM reported."""
    async with ScriptedEndpoint.start(_reply, capture_requests=False) as endpoint:
        for route, model in MODELS.items():
            starts = [await started(endpoint, model, waits=False) for _ in range(ROUNDS - 1)]
            starts.append(await started(endpoint, model, waits=True))
            note = f"{model}, median of {ROUNDS}, from the start of the interpreter"
            aimed = route == "anthropic"
            eyes, answer = median(start.eyes for start in starts), median(start.answer for start in starts)
            yield Figure(f"start_to_eyes_{route}", eyes, "s", "<=", 3.0 if aimed else None, note)
            yield Figure(f"start_to_eyes_cpu_{route}", median(start.eyes_cpu for start in starts), "s")
            yield Figure(f"start_to_answer_{route}", answer, "s", "<=", 4.0 if aimed else None, note)
            yield Figure(f"start_to_answer_cpu_{route}", median(start.answer_cpu for start in starts), "s")
            yield Figure(f"memory_after_30_s_{route}", starts[-1].memory_mb, "MB", note="resident")


async def started(endpoint: ScriptedEndpoint, model: str, *, waits: bool) -> Start:
    """One start with a fresh home."""
    with tempfile.TemporaryDirectory(prefix="bench-startup-") as home:
        began = perf_counter()
        async with running(endpoint, model, home) as (process, link), person(link) as me:
            channel, bot = await me.online()
            async with me.live() as live:
                await me.post(channel, f"<@{bot}> What is the answer?")
                eyes = await me.sees(live, "👀")
                eyes_cpu = cpu_seconds(process.pid)
                answer = await me.sees(live, ANSWER)
                answer_cpu = cpu_seconds(process.pid)
            memory = 0.0
            if waits:
                await asyncio.sleep(MEMORY_AFTER)
                memory = _resident_mb(process.pid)
            return Start(eyes - began, answer - began, eyes_cpu, answer_cpu, memory)


@asynccontextmanager
async def running(
    endpoint: ScriptedEndpoint, model: str, home: str, python: str = sys.executable
) -> AsyncIterator[tuple[asyncio.subprocess.Process, str]]:
    """``threadwright run`` with a local guild, and the link to its page; ``python`` says of which installation."""
    environment = {
        "PATH": os.environ["PATH"],
        "HOME": home,
        "THREADWRIGHT_HOME": home,
        "THREADWRIGHT_GUILD_PORT": "0",
        "THREADWRIGHT_TIER_2": model,
        "THREADWRIGHT_PRICES": f"{MODELS['litellm']}=0/0",
        "HOSTED_VLLM_API_BASE": f"{endpoint.url}/v1",
        "HOSTED_VLLM_API_KEY": "bench",
        **endpoint.environment(),
    }
    main = "import sys; from bot.cli.main import main; sys.exit(main(['run']))"
    said = Path(home) / "bench.log"
    log = said.open("wb")
    process = await asyncio.create_subprocess_exec(
        python, "-c", main, env=environment, cwd=home, stdout=log, stderr=log
    )
    try:
        yield process, await _link(said)
    finally:
        log.close()
        with contextlib.suppress(ProcessLookupError):
            process.send_signal(signal.SIGTERM)
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(15):
                await process.wait()
        if process.returncode is None:
            process.kill()
            await process.wait()


async def _link(said: Path) -> str:
    """The link that the process prints as soon as the bot is online."""
    async with asyncio.timeout(SECONDS):
        while (found := re.search(r"Open (\S+/#key=[\w-]+) ", said.read_text())) is None:
            await asyncio.sleep(0.01)
        return found[1]


class Person:
    """Somebody at the page."""

    def __init__(self, session: aiohttp.ClientSession, url: str) -> None:
        self._session = session
        self._url = url

    async def online(self) -> tuple[str, str]:
        """Wait until the bot is online; (a channel, the bot)."""
        async with asyncio.timeout(SECONDS):
            while True:
                state = await self._get("/ui/state")
                if state["online"]:
                    channel = next(one for one in state["channels"] if one["type"] == 0)
                    return str(channel["id"]), str(state["bot"]["id"])
                await asyncio.sleep(0.02)

    async def post(self, channel: str, text: str) -> str:
        """Say something; the message's id."""
        path = f"{self._url}/ui/channels/{channel}/messages"
        async with self._session.post(path, json={"content": text}) as response:
            response.raise_for_status()
            return str((await response.json())["id"])

    async def sees(self, live: aiohttp.ClientWebSocketResponse, sign: str) -> float:
        """When the sign was seen, as a reaction or in words."""
        async with asyncio.timeout(SECONDS):
            while sign not in str((await live.receive_json())["d"]):
                pass
            return perf_counter()

    @asynccontextmanager
    async def live(self) -> AsyncIterator[aiohttp.ClientWebSocketResponse]:
        """What happens in the guild, as it happens: asking again and again would weigh on what is measured."""
        async with self._session.ws_connect(f"{self._url}/ui/live") as live:
            await live.send_json({"session": self._session.headers["Authorization"].removeprefix("Bearer ")})
            yield live

    async def _get(self, path: str):
        async with self._session.get(f"{self._url}{path}") as response:
            response.raise_for_status()
            return await response.json()


@asynccontextmanager
async def person(link: str) -> AsyncIterator[Person]:
    """A person who opened the page by its link."""
    address, headers = await entered(link)
    async with aiohttp.ClientSession(headers=headers) as session:
        yield Person(session, address)


def _reply(request: CapturedRequest) -> Reply:
    return Reply("", (("finish", {"answer": ANSWER}),)) if "finish" in request.tools else Reply(ANSWER)


def _resident_mb(pid: int) -> float:
    status = Path(f"/proc/{pid}/status").read_text()
    match = re.search(r"VmRSS:\s+(\d+) kB", status)
    return int(match[1]) / 1024 if match else 0.0


def cpu_seconds(pid: int) -> float:
    """Processor time a process has used so far."""
    stat = Path(f"/proc/{pid}/stat").read_text()
    fields = stat[stat.rindex(")") + 2 :].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
