"""What everything in one simulated world shares: its seed, the faults that struck, and the story of what happened."""

from __future__ import annotations

import asyncio
from collections import Counter
from dataclasses import dataclass, field
from random import Random
from typing import TYPE_CHECKING

from tests.chaos.simulated.virtual import Machine, VirtualLoop, now

if TYPE_CHECKING:
    from tests.chaos.simulated.processes import Process

CANARY = "xoxb-7719-canary-4411-of-the-simulation"
"""A secret of the process; it must never be read in Discord."""

SEAMS = {
    "store_answer_lost": 0.0012,
    "rest_limited": 0.006,
    "rest_503": 0.008,
    "rest_reset": 0.008,
    "rest_answer_lost": 0.010,
    "rest_slow": 0.010,
    "rest_hangs": 0.003,
    "content_refused": 0.008,
    "gateway_twice": 0.05,
    "model_unavailable": 0.006,
    "model_limited": 0.006,
    "model_stalls": 0.006,
    "model_key_refused": 0.005,
    "model_quota": 0.007,
    "model_overflow": 0.005,
    "model_filtered": 0.007,
    "model_bad_request": 0.005,
    "sandbox_late": 0.03,
    "checkpoint_fails": 0.02,
    "checkpoint_slow": 0.02,
}
"""How probable each fault is each time it could strike."""


@dataclass(eq=False)
class Town:
    """One world; ``without`` names the safeguard that is switched off, '' for none."""

    seed: int
    number: int
    loop: VirtualLoop
    without: str = ""
    calm: bool = False
    """No fault strikes any more."""
    faults: Counter[str] = field(default_factory=Counter)
    story: list[tuple[float, str]] = field(default_factory=list)
    disturbed: list[tuple[float, float]] = field(default_factory=list)
    """Times in which nobody can obey: nobody lives, the store is down."""
    processes: list[Process] = field(default_factory=list)
    handled: set[str] = field(default_factory=set)
    """Messages of people that a process came to an end with."""
    keeper: asyncio.Task[None] | None = None
    """Whoever starts the bot again."""
    crash_in: int = 0
    """Crossings of a port until the process that makes the last of them dies there; 0 for never."""
    crash_where: str = ""
    """Only crossings whose words hold this are counted."""

    def __post_init__(self) -> None:
        self.machine = Machine(self.loop)
        self._streams: dict[str, Random] = {}

    def dice(self, name: str) -> Random:
        """A stream of chance of its own, the same for the same seed."""
        if name not in self._streams:
            self._streams[name] = Random(f"{self.seed}/{self.number}/{name}")
        return self._streams[name]

    def strikes(self, fault: str, likelier: float = 1.0) -> bool:
        """Whether a fault strikes here and now."""
        if self.calm or self.dice(fault).random() >= SEAMS[fault] * likelier:
            return False
        self.faults[fault] += 1
        return True

    def refuses(self, nonce: str) -> bool:
        """Whether Discord does not take what is posted under this nonce: then it never does."""
        refused = Random(f"{self.seed}/{self.number}/refused/{nonce}").random() < SEAMS["content_refused"]
        self.faults["content_refused"] += refused
        return refused

    def tell(self, text: str) -> None:
        """Add to the story."""
        self.story.append((self.loop.time(), text))

    def happened(self, fault: str, text: str) -> None:
        """A fault that was planned came about."""
        self.faults[fault] += 1
        self.tell(f"FAULT {fault}: {text}")

    def disturb(self, seconds: float, since: float | None = None) -> None:
        """From now on, for so long, nobody can be expected to obey."""
        begun = now() if since is None else since
        self.disturbed.append((begun, begun + seconds))

    def undisturbed_since(self, begun: float, until: float) -> float:
        """The end of the last disturbance that touched the time between the two, else ``begun``."""
        ends = [end for start, end in self.disturbed if start <= until and end >= begun]
        return max(begun, *(min(end, until + 1e-9) for end in ends)) if ends else begun

    @property
    def alive(self) -> list[Process]:
        """Processes that live, frozen ones too."""
        return [process for process in self.processes if not process.life.dead]

    def log(self) -> str:
        """The story in plain words."""
        return "\n".join(f"  {at:9.3f} s  {text}" for at, text in self.story)


async def nap(dice: Random, least: float, most: float) -> None:
    """Some time passes."""
    await asyncio.sleep(dice.uniform(least, most))
