"""🛑 to the last thing that the stopped work did, for each kind of work; the bot is a process of its own.

stream      a model that streams for ever: until the endpoint sees the connection close
bubblewrap  a command that ignores SIGTERM and writes the time into a file without a pause: the last time it wrote
docker      the same in a container; the engine is started here where there is none
back_off    the provider is unavailable: until the stop stands in the thread, and no request came after it
question    a person is asked: until the stop stands in the thread

``said`` is when the person reads that it stopped, in every kind.
"""

from __future__ import annotations

import asyncio
import os
import subprocess
import tempfile
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median, quantiles
from time import monotonic, time

from agentic.models.scripted.captured_request import CapturedRequest
from agentic.models.scripted.endpoint import ScriptedEndpoint
from agentic.models.scripted.replies import Reply
from bench.bot_process import connected
from bench.figures import SMALL, Figure, size
from bot.local_discord import LocalGuild

STOPS = size("STOPS", 40, 2)
KINDS = ("stream", "bubblewrap", *(() if SMALL else ("docker",)), "back_off", "question")
SECONDS = 60.0
QUIET = 0.3
"""So long nothing may happen after a stop."""
TICKS = "trap '' TERM INT HUP; while :; do date +%s.%N >> tick; done"
P50, P99, WORST = 0.12, 1.0, 2.0


@dataclass
class Scene:
    """One bot with one kind of work."""

    kind: str
    guild: LocalGuild
    endpoint: ScriptedEndpoint
    home: Path
    thread: int = 0
    stops: int = 0
    asked: list[float] = field(default_factory=list[float])
    """When requests arrived, monotonic."""

    @property
    def tick(self) -> Path:
        """What the command writes into."""
        return self.home / "workspaces" / str(self.thread) / "tick"

    def bot_says(self, word: str) -> int:
        """How many messages of the bot in the thread hold a word."""
        if not any(thread.id == self.thread for thread in self.guild.threads()):
            return 0
        return sum(
            word in m.content and m.author_id == self.guild.bot_user_id for m in self.guild.messages(self.thread)
        )


async def figures() -> AsyncIterator[Figure]:
    """Four figures a kind."""
    for kind in KINDS:
        took, said = await stops_of(kind)
        note = f"{len(took)} stops"
        yield Figure(f"stop_{kind}_p50", median(took) * 1e3, "ms", "<=", P50 * 1e3, note)
        yield Figure(f"stop_{kind}_p99", quantiles(took, n=100)[98] * 1e3, "ms", "<=", P99 * 1e3, note)
        yield Figure(f"stop_{kind}_worst", max(took) * 1e3, "ms", "<=", WORST * 1e3, note)
        yield Figure(f"stop_{kind}_said_p50", median(said) * 1e3, "ms", note=note)


async def stops_of(kind: str) -> tuple[list[float], list[float]]:
    """Seconds to the last effect, and to the words in the thread, of each stop."""
    scene: Scene | None = None

    def script(request: CapturedRequest) -> Reply:
        assert scene is not None
        scene.asked.append(monotonic())
        return REPLIES[kind]()

    with tempfile.TemporaryDirectory(prefix=f"bench-stop-{kind}-") as folder, _Engine(kind, folder) as settings:
        async with ScriptedEndpoint.start(script) as endpoint, await LocalGuild.start() as guild:
            scene = Scene(kind, guild, endpoint, Path(folder))
            async with connected("ours", guild, endpoint, folder, **settings):
                pairs = [await _one(scene) for _ in range(STOPS)]
    return [took for took, _ in pairs], [said for _, said in pairs]


REPLIES: dict[str, Callable[[], Reply]] = {
    "stream": lambda: Reply("word " * 100_000, pace=0.01),
    "bubblewrap": lambda: Reply("", (("shell", {"command": TICKS, "timeout": 120}),)),
    "docker": lambda: Reply("", (("shell", {"command": TICKS, "timeout": 120}),)),
    "back_off": lambda: Reply.error(503, "overloaded"),
    "question": lambda: Reply("", (("ask_user", {"question": "Which one?"}),)),
}


async def _one(scene: Scene) -> tuple[float, float]:
    await _begun(scene)
    stopped_before = scene.bot_says("topped")
    began, began_at = monotonic(), time()
    await scene.guild.react(_newest_of_bot(scene), "🛑")
    await scene.guild.wait_for(lambda _: scene.bot_says("topped") > stopped_before, SECONDS)
    said = monotonic() - began
    await asyncio.sleep(QUIET)
    last = await LAST[scene.kind](scene, began, began_at)
    late = [at for at in scene.asked if at > began + said]
    assert not late, f"{scene.kind}: {len(late)} requests after the stop was said"
    scene.stops += 1
    return (said if last is None else max(last, 0.0)), said


async def _begun(scene: Scene) -> None:
    """Give the task and wait until the work to be stopped is going on."""
    scene.asked.clear()
    scene.endpoint.requests.clear()
    scene.endpoint.left_at.clear()
    asked_before = scene.bot_says("Which one?")
    scene.tick.unlink(missing_ok=True)
    text = f"Fix number {scene.stops} of the code"
    if scene.thread:
        await scene.guild.post(scene.thread, text)
    else:
        scene.thread = (await scene.guild.post(scene.guild.channel().id, f"{scene.guild.bot.mention} {text}")).id
    async with asyncio.timeout(SECONDS):
        while not _goes_on(scene, asked_before):
            await asyncio.sleep(0.01)
    await asyncio.sleep(0.3)


def _goes_on(scene: Scene, asked_before: int) -> bool:
    if scene.kind in ("bubblewrap", "docker"):
        return scene.tick.exists()
    if scene.kind == "question":
        return scene.bot_says("Which one?") > asked_before
    return bool(scene.asked) and bool(scene.bot_says(""))


def _newest_of_bot(scene: Scene) -> int:
    own = [m.id for m in scene.guild.messages(scene.thread) if m.author_id == scene.guild.bot_user_id and m.content]
    return max(own)


async def _stream_left(scene: Scene, began: float, _: float) -> float | None:
    return max(scene.endpoint.left_at.values()) - began


async def _last_tick(scene: Scene, _: float, began_at: float) -> float | None:
    last = scene.tick.read_text()
    await asyncio.sleep(QUIET)
    assert scene.tick.read_text() == last, "the command goes on after its stop was said"
    return float(last.split("\n")[-2]) - began_at


async def _nothing(*_: object) -> float | None:
    return None


LAST: dict[str, Callable[[Scene, float, float], Awaitable[float | None]]] = {
    "stream": _stream_left,
    "bubblewrap": _last_tick,
    "docker": _last_tick,
    "back_off": _nothing,
    "question": _nothing,
}


class _Engine:
    """The settings of a kind; for Docker an engine, ours where none is named."""

    def __init__(self, kind: str, folder: str) -> None:
        self._kind, self._own = kind, f"{folder}/engine"

    def __enter__(self) -> dict[str, str]:
        if self._kind != "docker":
            return {"THREADWRIGHT_SANDBOX": "bubblewrap"}
        host = os.environ.get("DOCKER_HOST", "")
        if not host:
            run = subprocess.run(
                ["deploy/sandbox/start-engine", self._own], stdout=subprocess.PIPE, text=True, check=True
            )
            host = run.stdout.strip()
        environment = {**os.environ, "DOCKER_HOST": host}
        subprocess.run(
            ["deploy/sandbox/make-image", "--if-missing"], env=environment, check=True, stdout=subprocess.DEVNULL
        )
        return {"THREADWRIGHT_SANDBOX": "docker", "DOCKER_HOST": host}

    def __exit__(self, *_: object) -> None:
        if self._kind == "docker" and not os.environ.get("DOCKER_HOST"):
            subprocess.run(
                ["deploy/sandbox/stop-engine", self._own, "--remove"], check=False, stdout=subprocess.DEVNULL
            )
