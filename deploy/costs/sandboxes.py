"""What sandboxes cost by how they are run and by when tasks arrive: a simulation of a month, by a seed.

A task works in steps, and between two of them a person may be asked, who answers after minutes or hours.  What differs
between the ways is what is paid for while nobody works: a machine is paid for always; a MicroVM is paid for while it runs, and
its snapshot while it is suspended; a pod of Kubernetes' agent-sandbox needs a machine while it runs, and a cluster always.
"""

from __future__ import annotations

import heapq
import math
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from deploy.costs import prices

DAY, MONTH = 86_400.0, prices.HOURS * 3600.0
CPUS, MEMORY_GB, DISK_GB = 1.0, 2.0, 8.0
"""Of a sandbox."""
LONGEST_MICROVM = 8 * 3600.0
"""Seconds from its start to its end, the time that it is suspended included."""
IDLE_SECONDS = 900.0
"""So long a sandbox stays after its last command, as in the pool of sandboxes."""
PER_MACHINE = 3
"""Sandboxes of 1 GB in use on a t3.medium beside a gateway and a worker; the others wait for one of them."""


@dataclass(frozen=True, slots=True)
class Pattern:
    """When tasks arrive, and how they go."""

    name: str
    tasks: float
    """A day."""
    evenly: bool
    """Around the clock; else in eight hours of five days a week."""
    work_seconds: float = 240.0
    asked: float = 0.3
    """Which part of tasks asks a person once."""
    answer_seconds: float = 2 * 3600.0


PATTERNS = (
    Pattern("a hobby: 3 tasks a day", 3, evenly=True),
    Pattern("a team: 40 tasks in a working day", 40, evenly=False),
    Pattern("a company: 600 tasks in a working day", 600, evenly=False),
    Pattern("around the clock: 3,000 tasks a day", 3000, evenly=True),
)


@dataclass(frozen=True, slots=True)
class Use:
    """A stretch in which a sandbox is needed, and how long its task waited for a person before it, 0 for a first one."""

    start: float
    end: float
    waited: float = 0.0


def month_of(pattern: Pattern, seed: int) -> list[Use]:
    """The stretches of a month, by their starts."""
    chance = random.Random(seed)
    found: list[Use] = []
    day = 0.0
    while day < MONTH:
        weekend = int(day // DAY) % 7 >= 5
        if pattern.evenly or not weekend:
            start, length = (0.0, DAY) if pattern.evenly else (9 * 3600.0, 8 * 3600.0)
            for _ in range(_poisson(chance, pattern.tasks)):
                found += _task(chance, pattern, day + start + chance.random() * length)
        day += DAY
    return sorted(found, key=lambda use: use.start)


def _task(chance: random.Random, pattern: Pattern, at: float) -> list[Use]:
    work = chance.expovariate(1 / pattern.work_seconds)
    if chance.random() >= pattern.asked:
        return [Use(at, at + work)]
    waited = chance.expovariate(1 / pattern.answer_seconds)
    half = at + work / 2
    return [Use(at, half), Use(half + waited, half + waited + work / 2, waited)]


def _poisson(chance: random.Random, mean: float) -> int:
    """How many come where so many do on average; nearly normal where they are many."""
    if mean > 100:
        return max(0, round(chance.gauss(mean, math.sqrt(mean))))
    count, left = -1, 1.0
    while left > math.exp(-mean):
        left *= chance.random()
        count += 1
    return count


def most_at_once(uses: Sequence[Use], lingering: float) -> int:
    """How many sandboxes there are at the busiest moment."""
    ends: list[float] = []
    most = 0
    for use in uses:
        while ends and ends[0] <= use.start:
            heapq.heappop(ends)
        heapq.heappush(ends, use.end + lingering)
        most = max(most, len(ends))
    return most


def on_machines(uses: Sequence[Use]) -> float:
    """On the workers' own machines, as many as the busiest moment of the month needs, all month."""
    return _machines(uses) * prices.MACHINE_HOUR["t3.medium"] * prices.HOURS


def _machines(uses: Sequence[Use]) -> int:
    return max(1, math.ceil(most_at_once(uses, 60.0) / PER_MACHINE))


def in_microvms(uses: Sequence[Use]) -> float:
    """A MicroVM a task, suspended while a person is asked, within eight hours; the worker beside it is a small machine."""
    per_second = CPUS * prices.MICROVM_CPU_SECOND + MEMORY_GB * prices.MICROVM_GB_SECOND
    running = sum(use.end - use.start + 60.0 for use in uses) * per_second
    kept = sum(min(use.waited, LONGEST_MICROVM) for use in uses) / MONTH * (MEMORY_GB + DISK_GB)
    return running + kept * prices.MICROVM_SNAPSHOT_GB + prices.MACHINE_HOUR["t3.small"] * prices.HOURS


def in_fargate(uses: Sequence[Use]) -> float:
    """A Fargate task a sandbox, which cannot be suspended: it runs on while a person is asked, for the pool's time."""
    per_second = (CPUS * prices.FARGATE_CPU_HOUR + MEMORY_GB * prices.FARGATE_GB_HOUR + prices.ADDRESS_HOUR) / 3600
    running = sum(use.end - use.start + 60.0 + min(use.waited, IDLE_SECONDS) for use in uses)
    return running * per_second + prices.MACHINE_HOUR["t3.small"] * prices.HOURS


def in_kubernetes(uses: Sequence[Use]) -> float:
    """Pods of agent-sandbox, at no replica while a person is asked: the same machines, and a cluster."""
    return on_machines(uses) + prices.CLUSTER_HOUR * prices.HOURS


WAYS: tuple[tuple[str, Callable[[Sequence[Use]], float]], ...] = (
    ("EC2 machines", on_machines),
    ("Lambda MicroVMs", in_microvms),
    ("Fargate tasks", in_fargate),
    ("agent-sandbox on EKS", in_kubernetes),
)


def table(seed: int = 7) -> list[tuple[str, int, dict[str, float]]]:
    """For each pattern: its tasks, and the dollars a month of each way."""
    rows: list[tuple[str, int, dict[str, float]]] = []
    for pattern in PATTERNS:
        uses = month_of(pattern, seed)
        first = sum(not use.waited for use in uses)
        rows.append((pattern.name, first, {name: price(uses) for name, price in WAYS}))
    return rows
