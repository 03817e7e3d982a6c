"""The state of an execution: what its events say, and nothing else.

The state is nested so that an event replaces only the small part it concerns.  ``evolve`` (fold.py) is the only
function that makes a new state; the rules (decide.py) only read it.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime

from agentic.core.events.execution_events import (
    UNEXPOSED,
    Act,
    AllowanceUsed,
    Asked,
    BudgetRefused,
    CallBlock,
    CheckpointSaved,
    CommitCreated,
    Compacted,
    Confidence,
    Decided,
    Exposure,
    FileChange,
    Finished,
    Gated,
    InputReceived,
    ModelFailed,
    Perceived,
    Person,
    Policy,
    PullRequestOpened,
    Purpose,
    Quarantined,
    Reported,
    Started,
    StopReason,
    Todo,
    ToolFinished,
    ToolStarted,
    Triaged,
)
from agentic.core.state.conversation import Message, Picture
from agentic.core.state.counters import (
    Climb,
    Consulted,
    DayRaise,
    Repeats,
    Watches,
)
from agentic.core.state.facts import Deeds
from agentic.core.state.work_log import Chronicle

_NO_REPEATS, _NO_CLIMB, _NOTHING_YET, _NOT_WATCHED = Repeats(), Climb(), Chronicle(), Watches()
_NO_DEEDS = Deeds()
FINISH = "finish"
"""The tool by which the agent says that it is done."""


@dataclass(frozen=True)
class CallReply:
    """What a person answered to a call that asked and goes on with the answer."""

    resume: str
    """What the call left with its question."""
    choice: str
    """The id of an option, or 'text'."""
    text: str
    answers: dict[str, str] = field(default_factory=dict[str, str])
    """To the parts of the question, by the part's id."""


@dataclass(frozen=True)
class Allowance:
    """What a person lets the whole task do without asking again."""

    question: str
    """The question at which they chose it."""
    by: Person
    acts: tuple[Act, ...]
    used: int = 0
    """How many calls went on under it."""


@dataclass(frozen=True)
class Call:
    """A tool call of the current turn: what was asked for, its intent, its result."""

    id: str
    block: CallBlock
    intent: ToolStarted | None = None
    fence: int = 0
    """The fence under which the intent was written; the call is in flight while that is the current one."""
    asked: str = ""
    """The question it put to a person."""
    gated: Gated | None = None
    """Why a person must approve it, for which arguments and which state of the world."""
    approval: str = ""
    """The question by which a person approved it, until it is begun or its owner dies."""
    allowed: AllowanceUsed | None = None
    """What a person let the whole task do covers it, until it is gated anew or its owner dies."""
    asks: bool = False
    """It went on under an allowance once, and came back: a person decides."""
    lasting: bool = False
    """What it opens stays so for later tasks, as a person chose."""
    denied: str = ""
    """How it was denied, in words for the model."""
    replies: tuple[CallReply, ...] = ()
    """What people answered to it so far, in order."""
    watched: tuple[str, ...] = ()
    """Watchers that have looked at it."""
    objection: str = ""
    """Why watchers object to it, as the end of "It …"."""
    result: ToolFinished | None = None

    @property
    def held_back(self) -> bool:
        """It may not begin: a person must approve it and has not."""
        return self.gated is not None and not self.approval and self.allowed is None


@dataclass(frozen=True)
class Turn:
    """The latest model answer and the results of its calls."""

    number: int = 0
    text: str = ""
    stop: StopReason = "end"
    calls: tuple[Call, ...] = ()
    answered: bool = False
    ended: bool = True
    failed_calls: int = 0
    changed: bool = False
    intervened: tuple[str, ...] = ()
    """Rules that already spoke in this turn."""
    longest: int = 0
    """Characters of each result that the next request carries; 0 for all of them."""


@dataclass(frozen=True)
class Request:
    """A model request without an answer yet."""

    id: str
    seq: int
    fence: int
    turn: int
    tier: int
    model: str
    reserved_usd: float
    purpose: Purpose = "turn"


@dataclass(frozen=True)
class Failure:
    """Model requests that failed since the last answer."""

    count: int = 0
    last: ModelFailed | None = None
    at: datetime | None = None
    waited: bool = False
    """The back-off after the last failure is over."""
    compacted: bool = False
    """The history was made shorter since, because the request was too long."""
    model: str = ""
    """The model that was asked last."""


@dataclass(frozen=True)
class Spent:
    """What was used up; ``waiting`` are seconds in which people were asked or held it, which no cap counts."""

    tokens: int = 0
    usd: float = 0.0
    waiting: float = 0.0
    minutes_passed: bool = False


@dataclass(frozen=True)
class Caps:
    """What people added to the policy's caps."""

    turns: int = 0
    tokens: int = 0
    usd: float = 0.0
    minutes: float = 0.0
    days: tuple[DayRaise, ...] = ()


@dataclass(frozen=True)
class SignCounts:
    """What the rules and the confidence count.  ``*_since`` count from the last escalation."""

    reported: Reported | None = None
    reported_this_turn: bool = False
    stuck_since: bool = False
    errors_since: tuple[tuple[str, str, int], ...] = ()
    """(tool, normalised error, how often)."""
    calls: int = 0
    calls_ok: int = 0
    recent: tuple[tuple[int, int], ...] = ()
    """(succeeded, all) calls of each of the last three turns."""
    tests: tuple[int, int] | None = None
    """(passed, failed) of the last test run."""
    turns_unchanged: int = 0
    turns_changed: int = 0
    turns_unreported: int = 0
    corrections: int = 0
    votes: tuple[tuple[str, str], ...] = ()
    """(person, 'up' or 'down'): the votes that stand, given while it runs."""
    empty_answers: int = 0
    textual_answers: int = 0
    truncated_answers: int = 0
    evidence_nudges: int = 0
    nudges: tuple[tuple[str, int], ...] = ()
    """(rule, turn) of each time one of them spoke."""
    escalated_at_turn: int = 0
    repeats: Repeats = _NO_REPEATS
    climb: Climb = _NO_CLIMB

    @property
    def same_error(self) -> int:
        """How often the most frequent error came since the last escalation."""
        return max((count for _, _, count in self.errors_since), default=0)


@dataclass(frozen=True)
class Mind:
    """What the agent itself keeps, and what it perceives now."""

    todo: tuple[Todo, ...] = ()
    planning: bool = False
    """It makes a plan, and changes nothing before a person has agreed to one."""
    plan: str = ""
    """The plan that a person agreed to."""
    notes: tuple[str, ...] = ()
    perceived: Perceived | None = None
    guided: tuple[str, ...] = ()
    """What people said while it worked, as the model was told it."""
    compacted: Compacted | None = None
    chronicle: Chronicle = _NOTHING_YET
    """What was done in the turns that stand no more in the history."""
    offers: tuple[CommitCreated, ...] = ()
    """Branches that were offered to be merged."""
    pulls: tuple[PullRequestOpened, ...] = ()
    """What was published, in its order; a pull request may stand there more than once."""


@dataclass(frozen=True)
class Extent:
    """How long things are: characters as counted here, and tokens as the provider counted the same request."""

    history: int = 0
    rest: int = 0
    """Characters of system text, tools and tail of the last request."""
    asked: int = 0
    """Characters of the last request in all, until it has its answer."""
    characters: int = 0
    tokens: int = 0
    """Of the last request that was answered."""


@dataclass(frozen=True)
class Told:
    """What the next request must carry: texts for the model, in order."""

    texts: tuple[str, ...] = ()
    unseen: tuple[str, ...] = ()
    """What people said meanwhile, quoted as it is named where no request carries it."""
    put_back: bool = False
    """That the workspace was put back and it goes on from here is among them."""
    pictures: tuple[Picture, ...] = ()
    """What people attached to what they said."""


@dataclass(frozen=True)
class Execution:
    """One task, from ``Started`` to ``Finished``."""

    id: str = ""
    seq: int = 0
    fence: int = 0
    at: datetime | None = None
    started: Started | None = None
    started_at: datetime | None = None
    rules: int = 0
    """Version of the rules that decide now; 0 where the log does not say."""
    triage: Triaged | None = None
    tier: int = 0
    request: Request | None = None
    consulted: Consulted | None = None
    """What a request beside the turns came to, until a rule has made something of it."""
    watches: Watches = _NOT_WATCHED
    failure: Failure = Failure()
    unknown: frozenset[str] = frozenset()
    """Models that their provider does not know: none of them is asked, unless a person has it tried again."""
    turn: Turn = Turn()
    title: str = ""
    """What a model offered as the thread's title, from its first answer that has one."""
    history: tuple[Message, ...] = ()
    extent: Extent = Extent()
    told: Told = Told()
    question: Asked | None = None
    partial: dict[str, str] = field(default_factory=dict[str, str])
    """Answers to parts of the open question, by the part's id."""
    answer: InputReceived | None = None
    """A person's answer to the open question, not yet decided on."""
    expired: bool = False
    """The time for deciding the open question is over."""
    decided: Decided | None = None
    """What was decided on the last question, until a rule has acted on it; the question is ``decided_on``."""
    decided_on: Asked | None = None
    stopping: InputReceived | None = None
    dropped: tuple[str, ...] = ()
    """Queued tasks that the next stop drops."""
    withdrawn: InputReceived | None = None
    """The message with the task was deleted before anything had been done."""
    paused: InputReceived | None = None
    """Who holds it; nothing new begins until it is resumed."""
    resting_since: datetime | None = None
    """Since when a person is asked or holds it; no cap counts that time."""
    checkpoint: CheckpointSaved | None = None
    """The workspace as it was before the first change; with a ``problem`` where it could not be saved."""
    saved: CheckpointSaved | None = None
    """The newest checkpoint."""
    touched: bool = False
    """Something that may change the world was begun since the newest checkpoint."""
    unsaved: tuple[FileChange, ...] = ()
    """What results say of files since the newest copy of the workspace."""
    suspect: bool = False
    """An owner ended when something might have been changing files: they are to be looked at."""
    exposure: Exposure = UNEXPOSED
    """What of the rule of two holds so far, and why."""
    opened_hosts: tuple[str, ...] = ()
    """What people have let its commands reach, beside what is chosen for the thread."""
    allowances: tuple[Allowance, ...] = ()
    """What people have let it do again without a question."""
    beside: tuple[str, ...] = ()
    """What lives in the sandbox beside the workspace and goes with its owner, in words."""
    crashes: int = 0
    """Owners that ended in the middle of it without a word, since a person last said something."""
    handed_over: bool = False
    """Its owner ended in order, and nobody has taken it up since."""
    quarantined: Quarantined | None = None
    """It ended its process too often: left alone until a person says something."""
    cancelled: frozenset[str] = frozenset()
    spent: Spent = Spent()
    caps: Caps = Caps()
    refused: BudgetRefused | None = None
    """A request did not fit into a cap that executions share."""
    judged: SignCounts = SignCounts()
    deeds: Deeds = _NO_DEEDS
    mind: Mind = Mind()
    confidence: Confidence | None = None
    finished: Finished | None = None

    @property
    def policy(self) -> Policy:
        """The policy recorded in ``Started``; the default before it."""
        return self.started.policy if self.started else _DEFAULT

    @property
    def thread(self) -> str:
        """The thread it belongs to."""
        return self.started.thread if self.started else ""

    @property
    def task(self) -> str:
        """What the person asked for."""
        return self.started.task if self.started else ""

    @property
    def requester(self) -> Person:
        """Who asked for it."""
        return self.started.requester if self.started else _NOBODY

    @property
    def talk(self) -> bool:
        """It is answered without tools."""
        return self.triage is not None and self.triage.talk

    @property
    def side(self) -> bool:
        """It answers a side question beside the execution that is its parent."""
        return self.started is not None and self.started.side

    @property
    def child(self) -> bool:
        """It does a part of the work of its parent."""
        return self.started is not None and self.started.child

    @property
    def attended(self) -> bool:
        """Somebody can answer a question or approve a call."""
        return self.policy.attended and not self.side

    @property
    def turn_limit(self) -> int:
        """Turns it may take, with what people added."""
        policy = self.policy
        complexity = self.triage.complexity if self.triage else "medium"
        base = {"simple": policy.turns_simple, "medium": policy.turns_medium, "complex": policy.turns_complex}
        return base[complexity] + self.caps.turns

    @property
    def todo(self) -> tuple[Todo, ...]:
        """The agent's to-do list."""
        return self.mind.todo

    @property
    def open_calls(self) -> tuple[Call, ...]:
        """Calls of the current turn without a result, in the order in which they run: as given, ``finish`` last."""
        left = [call for call in self.turn.calls if call.result is None]
        if len(left) > 1:
            left.sort(key=_is_finish)
        return tuple(left)

    @property
    def calls_in_flight(self) -> tuple[Call, ...]:
        """Open calls whose intent this owner wrote and which wait for no person."""
        return tuple(
            call for call in self.open_calls if call.intent is not None and call.fence == self.fence and not call.asked
        )

    @property
    def request_in_flight(self) -> Request | None:
        """The model request that this owner wrote and that has no answer yet."""
        return self.request if self.request is not None and self.request.fence == self.fence else None


def _is_finish(call: Call) -> bool:
    return call.block.tool == FINISH


_DEFAULT = Policy()
_NOBODY = Person(id="", name="nobody", level="viewer")
