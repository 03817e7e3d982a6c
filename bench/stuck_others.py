"""The stuck rules of two other agents, as they were published, over the same trajectories.

OpenHands looks at the last 20 events since the last message: the same action with the same observation 4 times; the same
action with an error, a nudge at 3 and stuck at 4; 3 messages in a row; two pairs in turns, 6 long.  Hermes: the same failing
call warns at 2 and blocks at 5, the same failing tool 3 and 8, an identical read-only result 2 and 5, cycles of up to 4; a
successful change begins anew; pollers are exempt.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from agentic.core.events.execution_events import CallBlock, ModelAnswered, ToolFinished
from bench.trajectories.story import Trajectory

READS = frozenset(("read", "grep", "glob", "list", "read_output"))
OWN = frozenset(("note", "todo", "report", "finish"))
WINDOW = 20


@dataclass(frozen=True, slots=True)
class Pair:
    """A call with what came of it, compared as they are."""

    turn: int
    tool: str
    call: str
    result: str
    failed: bool
    changes: bool


def pairs(trajectory: Trajectory) -> Iterator[Pair]:
    """All calls that are not about the agent's own mind."""
    turn, calls = 0, dict[str, CallBlock]()
    for envelope in trajectory.envelopes:
        event = envelope.event
        if isinstance(event, ModelAnswered):
            turn += 1
            blocks = [block for block in event.blocks if isinstance(block, CallBlock)]
            calls |= {f"{event.request}.{index}": block for index, block in enumerate(blocks)}
        if isinstance(event, ToolFinished) and calls[event.call].tool not in OWN:
            block = calls[event.call]
            made = json.dumps([block.tool, block.arguments], sort_keys=True)
            failed = event.outcome != "ok"
            yield Pair(turn, block.tool, made, _without_duration(event.preview), failed, bool(event.changes))


def _without_duration(preview: str) -> str:
    head, _, rest = preview.partition("\n")
    return f"{head.partition(' after ')[0]}\n{rest}"


def openhands(trajectory: Trajectory) -> tuple[int, int]:
    """(first nudge, first stuck)."""
    seen: list[Pair] = []
    nudge = 0
    for pair in pairs(trajectory):
        seen = [*seen, pair][-WINDOW // 2 :]
        same = _last(seen, lambda one: (one.call, one.result))
        failing = _last(seen, lambda one: (one.call, one.failed)) if pair.failed else 0
        if failing == 3 and not nudge:
            nudge = pair.turn
        six = [(one.call, one.result) for one in seen[-6:]]
        alternates = len(six) == 6 and six[0] != six[1] and six[:2] == six[2:4] == six[4:]
        if same >= 4 or failing >= 4 or alternates:
            return nudge or pair.turn, pair.turn
    return nudge, 0


def hermes(trajectory: Trajectory) -> tuple[int, int]:
    """(first warning, first block)."""
    calls, tools, results = Counter[str](), Counter[str](), Counter[str]()
    seen: list[Pair] = []
    nudge = 0
    for pair in pairs(trajectory):
        if pair.tool == "job":
            continue
        if pair.changes and not pair.failed:
            calls, tools, results, seen = Counter(), Counter(), Counter(), []
            continue
        seen.append(pair)
        if pair.failed:
            calls[pair.call] += 1
            tools[pair.tool] += 1
        elif pair.tool in READS:
            results[f"{pair.call}\n{pair.result}"] += 1
        most = (max(counts.values(), default=0) for counts in (calls, tools, results))
        call, tool, result = most
        if (call >= 2 or tool >= 3 or result >= 2) and not nudge:
            nudge = pair.turn
        if call >= 5 or tool >= 8 or result >= 5 or _cycles(seen):
            return nudge or pair.turn, pair.turn
    return nudge, 0


def _last(seen: list[Pair], key: Callable[[Pair], object]) -> int:
    count = 0
    for pair in reversed(seen):
        if key(pair) != key(seen[-1]):
            break
        count += 1
    return count


def _cycles(seen: list[Pair]) -> bool:
    """Three rounds of two to four calls with the same results."""
    made = [(pair.call, pair.result) for pair in seen]
    for size in range(2, 5):
        ring = made[-size:]
        if len(made) >= 3 * size and len(set(ring)) > 1 and made[-3 * size :] == ring * 3:
            return True
    return False
