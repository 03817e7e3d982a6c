"""What the loop needs of the outside: protocols and the values that cross them.

Adapters in models/, world/, tools/ and stores/ implement these; only ``bot/app/app.py`` builds adapters.
Errors are those of ``agentic.ports.errors``; every call that waits on others has a time-out of its own.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

from pydantic import JsonValue

from agentic.core.events.execution_events import (
    UNEXPOSED,
    AllowancesEnded,
    AllowanceUsed,
    Attempt,
    Barred,
    Block,
    CommitCreated,
    Effect,
    Envelope,
    EquippedSkill,
    Expected,
    Exposure,
    FileChange,
    FileRef,
    Finding,
    Level,
    Noted,
    Outcome,
    PlanEntered,
    PullRequestOpened,
    Reported,
    StaleFile,
    StopReason,
    StrongerWanted,
    SubagentFinished,
    TodoChanged,
    ToolStarted,
    Usage,
    WakeRequested,
)
from agentic.core.state.conversation import *
from agentic.core.state.execution import CallReply
from agentic.ports.stores import *

# --- time -----------------------------------------------------------------------------------------------------


class Clock(Protocol):
    """Wall time for stamps, monotonic time for waiting."""

    def now(self) -> datetime:
        """The present, with time zone UTC."""
        ...

    def monotonic(self) -> float:
        """Seconds that never run backwards."""
        ...

    async def sleep(self, seconds: float) -> None:
        """Wait."""
        ...


# --- language models ------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Answer:
    """What a model answered."""

    blocks: tuple[Block, ...]
    stop: StopReason
    usage: Usage
    usd: float
    served_by: str
    estimated: bool = False
    """The provider did not say what was used; usage and price are our own count."""


@dataclass(frozen=True, slots=True)
class Used:
    """What a request has used that has no answer yet; ``usd`` is None where the provider has said nothing of it."""

    usage: Usage
    usd: float | None
    begun: bool = True
    """Part of an answer had come."""


class Meter:
    """What one request has used so far, for whoever ends it or sees its answer break off.

    The adapter gives it something to read as soon as it asks; until then it shows nothing.
    """

    def __init__(self) -> None:
        self._read: Callable[[], Used] | None = None

    def reads(self, read: Callable[[], Used]) -> None:
        """The provider is asked; ``read`` says at any time what was used until then."""
        self._read = read

    def used(self) -> Used | None:
        """None where the provider was not asked yet."""
        return self._read() if self._read is not None else None


class LanguageModel(Protocol):
    """Text in, text out, over any provider."""

    async def answer(
        self,
        model: str,
        prompt: Prompt,
        *,
        max_tokens: int,
        timeout: float,
        on_text: Callable[[str], None] | None = None,
        meter: Meter | None = None,
    ) -> Answer:
        """Ask ``model`` (a LiteLLM name) once; with ``on_text``, stream and pass each piece of text on.

        ``timeout`` seconds in all; a stream that stalls ends earlier.  Raises ``ModelError``.
        Cancelling it closes the connection; ``meter`` then shows what a stream had used.
        """
        ...

    def price(self, model: str, tokens_in: int, tokens_out: int) -> float | None:
        """US dollars at full price, known without importing LiteLLM; None where there is no price."""
        ...

    async def close(self) -> None:
        """Release connections."""
        ...


# --- tools and the world --------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Prepared:
    """A call that may run: validated arguments, and what the log records of them before it does."""

    arguments: dict[str, JsonValue]
    args_sha: str
    effect: Effect
    key: str = ""
    expectation: str = ""
    timeout: float = 120.0
    gate: str = ""
    """Why a person must approve it first, as the end of "It …"; '' where nobody must."""
    findings: tuple[Finding, ...] = ()
    """Each reason of it."""
    who_may: Level = "operator"
    """The least level that may approve it."""
    created: frozenset[str] = frozenset()
    """Files that the execution made itself, as in ``prepare``."""
    approved: bool = False
    """A person has approved it."""
    allowed: AllowanceUsed | None = None
    """A person has allowed it for the whole task: what it destroys beside this is put back."""
    shown: frozenset[str] | None = None
    """What it destroyed when it ran before, for whoever approved it (``Gated.losses``); None where nobody let it destroy."""
    unkept: bool = False
    """A person let the task's commands run although nothing that they destroy can be put back."""
    hosts: tuple[str, ...] = ()
    """What it would let commands reach."""
    lasting: bool = False
    """That is kept for later tasks, as a person chose."""
    reach: tuple[str, ...] = ()
    """What the task's commands may reach so far beside what is chosen for the thread."""
    state: str = ""
    """The state of what it touches that the approval is bound to."""
    attended: bool = True
    """Somebody can answer what it asks."""
    replies: tuple[CallReply, ...] = ()
    """What people answered to it so far; it goes on from there."""
    skills: tuple[EquippedSkill, ...] = ()
    """Those of its task."""


@dataclass(frozen=True, slots=True)
class Preview:
    """What a call would do outside, for whoever has to approve it."""

    shown: str = ""
    """All that would leave, as text."""
    state: str = ""
    """The state of what it would touch that this was made of; '' as ``Toolbox.state_of`` says."""
    gate: str = ""
    """Why a person must approve it besides, as the end of "It …"."""


@dataclass(frozen=True, slots=True)
class Refused:
    """A call that may not run, and what the model is told: an observation, not an error of ours."""

    text: str


CognitiveEvent = (
    Noted
    | Reported
    | StrongerWanted
    | TodoChanged
    | PlanEntered
    | WakeRequested
    | CommitCreated
    | PullRequestOpened
    | SubagentFinished
    | AllowancesEnded
)
"""What a tool may record beside its result."""


@dataclass(frozen=True, slots=True)
class QuestionPart:
    """One of several questions that are asked together."""

    text: str
    options: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Question:
    """A tool that asks the person: the loop records ``Asked`` and the answer becomes the call's result."""

    text: str
    options: tuple[str, ...] = ()
    parts: tuple[QuestionPart, ...] = ()
    """Several questions; then ``text`` introduces them and ``options`` is empty."""
    plan: bool = False
    """``text`` is a plan, which the person agrees to, changes or refuses."""
    recommended: int = 0
    """The place of the option that is recommended, from 1; 0 for the first."""
    approaches: bool = False
    """Which of several approaches is taken; the observation's ``output`` is shown with it, as a file."""
    resume: str = ""
    """What the call needs to go on with the answer; '' where the answer is its result."""


@dataclass(frozen=True, slots=True)
class FinishTool:
    """The ``finish`` tool: the agent says that it is done."""

    answer: str
    claims: tuple[tuple[str, str, int | None, str], ...] = ()
    """(text, command, exit code, file)."""
    files: tuple[str, ...] = ()
    success: bool = True


@dataclass(frozen=True, slots=True)
class PutBack:
    """What a call had done to people's files, as the end of "It …"; they stand again as they did before it."""

    destroyed: str
    state: str = ""
    """As ``Toolbox.state_of`` has it now."""
    left: str = ""
    """What could not be put back, in words."""
    shown: str = ""
    """A difference that whoever decides has to see."""
    publishes: bool = False
    """It would publish, and has not: nothing was done, and nothing has left this machine."""
    losses: tuple[str, ...] = ()
    """Each thing that it had destroyed, as a short hash with its content."""
    unkept: bool = False
    """It has not run, as nothing that it destroys could be put back."""


@dataclass(frozen=True, slots=True)
class Observation:
    """What a tool call came to; ``preview`` is what the model sees, cut to the tool's limits."""

    outcome: Outcome
    preview: str
    exit_code: int | None = None
    signal: int | None = None
    changes: tuple[FileChange, ...] = ()
    output: bytes | None = None
    """The whole output where it was cut and is small enough to keep (stored as a blob)."""
    output_ref: str = ""
    tests_passed: int | None = None
    tests_failed: int | None = None
    tests_skipped: int | None = None
    expected: Expected = ""
    attempts: tuple[Attempt, ...] = ()
    job: str = ""
    """The name of what goes on in the background."""
    error: str = ""
    barred: Barred = ""
    """Why it was kept off ``place``, where a rule did that."""
    place: str = ""
    refused_hosts: tuple[str, ...] = ()
    opened_hosts: tuple[str, ...] = ()
    files: tuple[FileRef, ...] = ()
    """Files that it brought into the workspace; the pictures among them are shown to the model."""
    exposure: Exposure = UNEXPOSED
    """What it exposed the execution to, beyond what its tool is declared as."""
    conflicts: tuple[StaleFile, ...] = ()
    """Files that were not written because somebody else had changed them before."""
    events: tuple[CognitiveEvent, ...] = ()
    question: Question | None = None
    completion: FinishTool | None = None
    put_back: PutBack | None = None
    """It is as if it had not run, but for ``changes``; a person is asked whether it may."""


@dataclass(frozen=True, slots=True)
class Perception:
    """What is different in the world since this agent last looked."""

    stale: tuple[StaleFile, ...] = ()
    changes: tuple[str, ...] = ()
    environment: str = ""
    exposure: Exposure = UNEXPOSED
    """What it is exposed to since then."""


@dataclass(frozen=True, slots=True)
class Saved:
    """What a checkpoint came to: its manifest, or the ``problem`` that leaves the work without one."""

    manifest: str = ""
    problem: str = ""
    not_kept: tuple[str, ...] = ()
    """What stands or runs beside the workspace and is not in it, in words."""


@dataclass(frozen=True, slots=True)
class Found:
    """Files that differ from what the log says of them, or the ``problem`` that kept them from being looked at."""

    changes: tuple[FileChange, ...] = ()
    problem: str = ""


@dataclass(frozen=True, slots=True)
class NotBegun:
    """A call that was meant to begin, and that its sandbox never heard of and never will."""


class Toolbox(Protocol):
    """The tools of one agent, bound to its world."""

    @property
    def specs(self) -> tuple[ToolSpec, ...]:
        """The tools, in a stable order."""
        ...

    @property
    def diary(self) -> str:
        """Where the sandbox writes down what becomes of an unkeyed call that begins now; '' for nowhere."""
        ...

    def prepare(
        self, tool: str, arguments: dict[str, JsonValue], created: frozenset[str] = frozenset()
    ) -> Prepared | Refused:
        """Validate a call, and say whether a person must approve it; pure, never raises for what a model wrote.

        ``created`` are files of the workspace that this execution made itself: they are its own to delete.
        """
        ...

    async def state_of(self, tool: str, arguments: dict[str, JsonValue]) -> str:
        """A cheap hash of what a gated call would touch, '' where there is nothing to look at.

        An approval counts only while it stays the same.  What an unkeyed call will run in is there when this returns,
        or its absence is told by the call.  Never raises ``AgenticError``; answers within seconds.
        """
        ...

    async def preview(self, tool: str, prepared: Prepared) -> Preview | Refused:
        """What a call would do outside; ``Refused`` says why it could not be done at all.  Never raises ``AgenticError``."""
        return Preview()

    async def checkpoint(self) -> Saved:
        """Save the workspace as it is; what fails is a ``problem``, not an error.

        Cancelling it leaves nothing half-saved behind.
        """
        ...

    async def inspect(self, manifest: str, since: tuple[FileChange, ...]) -> Found:
        """What in the workspace is neither as in this checkpoint nor as these later changes left it; never raises."""
        ...

    async def recall(self, intent: ToolStarted, created: frozenset[str] = frozenset()) -> Observation | NotBegun | None:
        """What became of an unkeyed call whose owner died, as its sandbox wrote it down; None where nobody knows.

        ``created`` as in ``prepare``: what the call destroyed of other files is put back.

        Never raises ``AgenticError``; answers within seconds.
        """
        ...

    async def run(self, tool: str, call: str, prepared: Prepared, on_output: Callable[[str], None]) -> Observation:
        """Run a prepared call.

        A tool's failure is an ``Observation``.  Raises ``CallNotBegun`` where there is no sandbox and nothing of the call
        was sent to any; ``SandboxLost`` where one went away that had got something of it: what that did is unknown.
        Cancelling it ends the effect first, acknowledged by the sandbox, and then raises ``CancelledError``; where what
        it had destroyed by then was put back, it answers that instead.  Cancelling it again ends that too: it changes no
        file any more and raises ``NotSettled``.
        """
        ...

    @property
    def restoring(self) -> int | None:
        """How many files are restored after a call that has ended, 0 while that is found out; None where none are."""
        return None

    async def perceive(self) -> Perception:
        """What changed in the world since the last call of this method; cheap when no sandbox exists.

        Never raises ``AgenticError``: what cannot be looked at now is told next time.
        """
        ...

    async def settle(self) -> None:
        """End every effect that still runs, background commands too; return when the sandbox says they ended."""
        ...


# --- those who only look --------------------------------------------------------------------------------------


class Sink(Protocol):
    """Gets each event after it is durable.  Sinks may see; only ``decide`` may steer."""

    def saw(self, envelope: Envelope) -> None:
        """Take note; must return at once and never raise."""
        ...

    def streamed(self, execution: str, text: str) -> None:
        """A piece of the model's text or a command's output, not durable."""
        ...
