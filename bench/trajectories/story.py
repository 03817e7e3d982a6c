"""An execution that never ran, told turn by turn and kept as the log that it would have left.

What the product itself derives (the normalised error, the number of tests) is derived by the product's own functions, so
that the rules see what they see in life.  All luck is drawn from the family's name, the label and the seed.
"""

from __future__ import annotations

import hashlib
import json
import random
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Literal

from pydantic import JsonValue

from agentic.core.events.execution_events import (
    CallBlock,
    Confidence,
    ConfidenceParts,
    Envelope,
    Event,
    FileChange,
    Frozen,
    ModelAnswered,
    ModelRequested,
    Outcome,
    Person,
    Started,
    TextBlock,
    ToolFinished,
    ToolRef,
    ToolStarted,
    Triaged,
    TurnEnded,
    Usage,
)
from agentic.core.events.ids import call_id, digest
from agentic.tools.toolbox import STANDARD

Label = Literal["stuck", "healthy"]
Split = Literal["tuning", "test"]

PARTS = ConfidenceParts(self_report=70, tool_ok=1, same_error=0, tests=0.5, progress=1, corrections=0)
NEUTRAL = Confidence(shown=70, heuristic=70, parts=PARTS)
"""These logs are not about confidence."""
TOOLS = tuple(ToolRef(name=t.name, effect=t.effect, permission=t.permission, cognitive=t.cognitive) for t in STANDARD)
BEGUN = datetime(2026, 3, 1, 9, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class Act:
    """A call and what came of it."""

    tool: str
    arguments: dict[str, JsonValue]
    outcome: Outcome = "ok"
    preview: str = ""
    exit_code: int | None = None
    error: str = ""
    changes: tuple[FileChange, ...] = ()
    tests: tuple[int, int] | None = None
    events: tuple[Event, ...] = ()
    seconds: float = 0.5


@dataclass(frozen=True, slots=True)
class Trajectory:
    """A log with its label; ``stuck_from`` is the first turn of what leads nowhere, 0 where it is healthy."""

    family: str
    label: Label
    seed: int
    stuck_from: int
    envelopes: tuple[Envelope, ...]


@dataclass
class Story:
    """What happens, in the making."""

    family: str
    label: Label
    seed: int
    rng: random.Random = field(init=False)
    stuck_from: int = 0
    turns: int = 0
    _files: dict[str, str] = field(default_factory=dict)
    _envelopes: list[Envelope] = field(default_factory=list)
    _now: datetime = BEGUN

    def __post_init__(self) -> None:
        self.rng = random.Random(f"{self.family}/{self.label}/{self.seed}")

    def begin(self, task: str) -> None:
        """The task that somebody wrote."""
        person = Person(id="7", name="Anna")
        self._add(Started(thread="100", task=task, requester=person, tools=TOOLS, inbox="100"))
        self._add(Triaged(talk=False))

    def turn(self, *acts: Act, text: str = "") -> None:
        """One answer of the model with its calls, each with its result."""
        if not self._envelopes:
            self.begin("Make it work.")
        self.turns += 1
        request = digest(self.family, self.label, self.seed, self.turns, length=8)
        self._add(ModelRequested(request=request, turn=self.turns, tier=2, model="small"))
        calls = [
            CallBlock(provider_id=f"p{self.turns}.{i}", tool=a.tool, arguments=a.arguments) for i, a in enumerate(acts)
        ]
        said = [TextBlock(text=text or self.words())] if text or self.rng.random() < 0.8 else []
        self._add(ModelAnswered(request=request, blocks=(*said, *calls), usage=Usage(input=900, output=80)))
        for index, act in enumerate(acts):
            self._act(call_id(request, index), f"p{self.turns}.{index}", act)
        self._add(TurnEnded(turn=self.turns, confidence=NEUTRAL))

    def leads_nowhere(self) -> None:
        """From the next turn on it is stuck."""
        self.stuck_from = self.turns + 1

    def writes(self, path: str, content: str) -> FileChange:
        """The file now holds something else; what it holds is told apart by name."""
        before = self._files.get(path, "")
        after = self._files[path] = hashlib.sha256(f"{path}\n{content}".encode()).hexdigest()
        return FileChange(path=path, kind="modified" if before else "added", sha_before=before, sha_after=after)

    def has(self, *paths: str) -> None:
        """Files that were there before."""
        for path in paths:
            self._files[path] = hashlib.sha256(f"{path}\nas it was".encode()).hexdigest()

    def words(self) -> str:
        """What the model says beside its calls."""
        return " ".join(self.rng.choice(said) for said in _SAID)

    def told(self) -> Trajectory:
        """The whole."""
        return Trajectory(self.family, self.label, self.seed, self.stuck_from, tuple(self._envelopes))

    def _act(self, call: str, provider: str, act: Act) -> None:
        effect = next((tool.effect for tool in TOOLS if tool.name == act.tool), "unkeyed")
        if act.outcome not in ("refused", "denied"):
            sha = digest(json.dumps(act.arguments, sort_keys=True), length=16)
            self._add(
                ToolStarted(
                    call=call, provider_id=provider, tool=act.tool, effect=effect, arguments=act.arguments, args_sha=sha
                )
            )
        for event in act.events:
            self._add(event)
        self._now += timedelta(seconds=act.seconds)
        passed, failed = act.tests or (None, None)
        self._add(
            ToolFinished(
                call=call,
                outcome=act.outcome,
                preview=act.preview,
                exit_code=act.exit_code,
                changes=act.changes,
                tests_passed=passed,
                tests_failed=failed,
                seconds=act.seconds,
                error=act.error,
            )
        )

    def _add(self, event: Event) -> None:
        self._now += timedelta(milliseconds=self.rng.randint(40, 4_000))
        number = len(self._envelopes) + 1
        self._envelopes.append(Envelope(execution="x1", seq=number, at=self._now, fence=1, event=event))


@dataclass(frozen=True, slots=True)
class Family:
    """A kind of work, of which there are stuck and healthy examples, or healthy ones only."""

    name: str
    tells: dict[Label, Callable[[Story], None]]

    def trajectory(self, label: Label, seed: int) -> Trajectory:
        """The example of this seed."""
        story = Story(self.name, label, seed)
        self.tells[label](story)
        return story.told()


def fingerprint(trajectory: Trajectory) -> str:
    """A hash of what the world and the model did; what the product derives from it is not in it."""
    told = [[trajectory.family, trajectory.label, trajectory.seed, trajectory.stuck_from]]
    told += [[e.event.kind, _pinned(e.event)] for e in trajectory.envelopes if e.event.kind in _PINNED]
    return hashlib.sha256(json.dumps(told, sort_keys=True).encode()).hexdigest()


def _pinned(event: Frozen) -> dict[str, JsonValue]:
    kept = event.model_dump(mode="json", exclude_defaults=True)
    return {name: value for name, value in kept.items() if name not in ("error", "tests_passed", "tests_failed")}


_PINNED = ("model_answered", "tool_started", "tool_finished", "noted", "todo_changed")
_SAID = (
    ("", "Hm.", "OK.", "Good.", "Right.", "I see."),
    (
        "Let me look at this again.",
        "I will try the next thing.",
        "Now I check what came of it.",
        "This should show where we are.",
        "One step further.",
        "I want to be sure about this.",
        "Another way might work.",
        "Next.",
    ),
)
