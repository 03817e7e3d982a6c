"""What an execution did, as the evaluator and the reflector read it: derived from its log, and nothing else.

Reading is a fold over both streams (the log, and the outcome after it).  What a model or a tool wrote stays mere text.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import Literal

from agentic.core.claims.proof import changed_since
from agentic.core.events.execution_events import (
    ChosenLesson,
    Claim,
    Complexity,
    Envelope,
    Event,
    FeedbackGiven,
    FileChange,
    Finished,
    InputReceived,
    Intervened,
    ModelAnswered,
    ModelFailed,
    ModelRequested,
    Outcome,
    Perceived,
    Person,
    Policy,
    PolicyChanged,
    Reason,
    Started,
    ToolFinished,
    ToolStarted,
    Triaged,
    TurnEnded,
    WithheldLesson,
    WorkspaceRestored,
)
from agentic.core.events.ids import call_id
from agentic.core.fold.exposure import ANSWERED
from agentic.core.state.execution import FINISH
from agentic.core.state.facts import Deeds, Ran
from agentic.core.state.tiers import chosen_for
from reflexion.evaluation.checks import (
    CheckRun,
    Verdict,
    named_checks,
    read_check,
)
from reflexion.evaluation.declared_tests import Seen, declared
from reflexion.evaluation.safety_violations import Breaches
from reflexion.evaluation.tool_arguments import asked_in, command_in, written_in
from reflexion.evaluation.untrusted_text import of_call, of_message
from reflexion.evaluation.verifier import Verified, verified_by

Vote = Literal["up", "down"]
ASK = "ask_user"
BROKEN: tuple[Outcome, ...] = ("failed", "refused", "unknown")
"""Outcomes that make a turn unclean; what a person denied or stopped is no failure of the agent."""


@dataclass(frozen=True, slots=True)
class Call:
    """One tool call with its result; ``asked`` is what it was to do, in one line."""

    turn: int
    tool: str
    asked: str
    outcome: Outcome
    exit_code: int | None
    preview: str
    error: str
    changes: tuple[FileChange, ...] = ()
    checks: bool = False
    """It ran a check of the work: what it came to is the verifier's to say."""
    wrote: str = ""
    """What it was to write into a file, and in place of what."""

    @property
    def failed(self) -> bool:
        """Read from the typed outcome and the exit code, never from words of the output."""
        return self.outcome in BROKEN or (self.outcome == "ok" and self.exit_code not in (None, 0))


@dataclass(frozen=True, slots=True)
class Trajectory:
    """A whole execution, ready to be judged."""

    execution: str
    thread: str
    task: str
    requester: Person
    role: str
    talk: bool
    tour: bool
    """No model was configured: nothing is judged or learned."""
    model: str
    """The model that was asked last for a turn."""
    models: tuple[str, ...]
    """All that were asked for a turn, in that order."""
    chosen_for: str
    """The model that its lessons were chosen for; whoever took over later was told the same ones."""
    tier: int
    turns_used: int
    turns_max: int
    usd: float
    usd_max: float
    tokens: int
    tokens_max: int
    calls: tuple[Call, ...]
    changed: tuple[str, ...]
    """Files whose content differs from before the execution."""
    changes_files: bool
    """False where the task is known to be of a kind that changes none."""
    checks: tuple[CheckRun, ...]
    verified: Verified
    """The check that the task, the repository or the agent's own runs give, and what it said."""
    repetition_nudges: int
    breaches: int
    """How often it tried again what it had been told that it may not do."""
    corrections: tuple[str, ...]
    """What people said was wrong, while it ran and afterwards."""
    overheard: tuple[str, ...]
    """Messages that stood before the task, whoever wrote them."""
    untrusted: tuple[str, ...]
    """Text it was given or read that nobody here vouches for, in words."""
    withdrawn: bool
    """A person took it back: undid it, cleaned up after it, or deleted the message with its task."""
    votes: tuple[tuple[str, Vote], ...]
    """The last vote of each person, by id."""
    lessons: tuple[ChosenLesson, ...]
    withheld: tuple[WithheldLesson, ...]
    """Lessons that fitted and were not shown."""
    told: bool
    """A model answered a prompt with them here, and none before in what this is a copy of."""
    trial_of: str
    """The first attempt at its task, '' where it is that itself."""
    attempt: int
    """Which attempt at its task it is."""
    provider_failed: bool
    """The last thing that happened before the end was a provider's failure."""
    finished: bool
    reason: Reason | None
    answer: str
    claims: tuple[Claim, ...]

    @property
    def verifier(self) -> Verdict:
        """What the last run of the check said."""
        return self.verified.verdict

    @property
    def failures(self) -> tuple[Call, ...]:
        """The calls that failed, in order."""
        return tuple(call for call in self.calls if call.failed)

    @property
    def empty(self) -> bool:
        """Nothing was done and nothing was said."""
        return not self.calls and (self.turns_used == 0 or not self.answer.strip())


def read_trajectory(log: Iterable[Envelope], outcome: Iterable[Envelope] = ()) -> Trajectory:
    """The trajectory of one execution; the log must begin with ``Started``."""
    reading: _Reading | None = None
    for envelope in log:
        if isinstance(envelope.event, Started):
            reading = _Reading(envelope.execution, envelope.event)
        elif reading is not None:
            reading.seq = envelope.seq
            reading.take(envelope.event)
    if reading is None:
        raise ValueError("a log begins with Started")
    for envelope in outcome:
        reading.take(envelope.event)
    return reading.done()


@dataclass(slots=True)
class _Reading:
    """The fold's accumulator."""

    execution: str
    started: Started
    complexity: Complexity = "medium"
    role: str = ""
    talk: bool = False
    changes_files: bool = True
    turn: int = 1
    turns_used: int = 0
    added_turns: int = 0
    added_usd: float = 0.0
    added_tokens: int = 0
    usd: float = 0.0
    tokens: int = 0
    models: list[str] = field(default_factory=list)
    tier: int = 0
    seq: int = 0
    told: int = 0
    requests: dict[str, ModelRequested] = field(default_factory=dict)
    intents: dict[str, tuple[int, ToolStarted]] = field(default_factory=dict)
    calls: list[Call] = field(default_factory=list)
    commands: list[tuple[int, Ran]] = field(default_factory=list)
    changes: list[FileChange] = field(default_factory=list)
    perceived: list[str] = field(default_factory=list)
    files: dict[str, tuple[str, str]] = field(default_factory=dict)
    nudges: int = 0
    breaches: Breaches = field(default_factory=Breaches)
    corrections: list[str] = field(default_factory=list)
    reasons: dict[str, str] = field(default_factory=dict)
    """What each person said was wrong after the end, as they said it last."""
    untrusted: list[str] = field(default_factory=list)
    withdrawn: bool = False
    votes: dict[str, Vote] = field(default_factory=dict)
    provider_failed: bool = False
    finishing: frozenset[str] = frozenset()
    """The calls of ``finish`` in the last answer."""
    finished: Finished | None = None

    def __post_init__(self) -> None:
        self.complexity, self.role = self.started.complexity, self.started.role
        self.untrusted.extend(of_message(self.started.files, self.started.quoted))
        self.untrusted.extend(self.started.exposure.untrusted)

    def take(self, event: Event) -> None:
        self.breaches.take(event, self.turn)
        match event:
            case Triaged():
                self.talk, self.complexity = event.talk, event.complexity
                self.role, self.changes_files = event.role or self.role, event.changes_files
            case Perceived():
                self.perceived.extend(event.changes)
                self.untrusted.extend(event.exposure.untrusted)
            case PolicyChanged():
                self.added_turns += event.add_turns
                self.added_usd += event.add_usd
                self.added_tokens += event.add_tokens
            case ModelRequested() | ModelAnswered() | ModelFailed():
                self._model(event)
            case ToolStarted():
                self.intents[event.call] = (self.turn, event)
            case ToolFinished():
                self._result(event)
            case TurnEnded():
                self.turns_used = max(self.turns_used, event.turn)
                self.turn = event.turn + 1
            case Intervened():
                self.nudges += event.rule.startswith("repetition")
            case InputReceived() | FeedbackGiven():
                self._person(event)
            case WorkspaceRestored():
                self.withdrawn = event.way in ("undo", "clean") or (self.withdrawn and event.way != "redo")
            case Finished():
                self.finished = event
            case _:
                pass

    def _model(self, event: ModelRequested | ModelAnswered | ModelFailed) -> None:
        if isinstance(event, ModelRequested):
            self.requests[event.request] = event
            if event.purpose == "turn":
                self.models.append(event.model)
                self.tier = event.tier
            return
        asked = self.requests.get(event.request)
        in_turn = asked is not None and asked.purpose == "turn"
        if in_turn:
            self.provider_failed = isinstance(event, ModelFailed)
        if isinstance(event, ModelFailed):
            return
        if asked is not None and in_turn:
            self.turns_used, self.turn = max(self.turns_used, asked.turn), max(self.turn, asked.turn)
            self.told = self.told or (0 if self.talk else self.seq)
        calls = event.calls
        finishing = (call_id(event.request, at) for at, block in enumerate(calls) if block.tool == FINISH)
        self.finishing = frozenset(finishing)
        self.usd += event.usd
        self.tokens += event.usage.total

    def _result(self, event: ToolFinished) -> None:
        if event.outcome == "refused" and event.call in self.finishing:
            return  # it is asked to finish again, which is neither work nor a failure
        turn, intent = self.intents.get(event.call, (self.turn, None))
        asked, tool, wrote, said = "", "", "", event.preview
        self.changes.extend(event.changes)
        if intent is not None:
            asked, tool = asked_in(intent.arguments), intent.tool
            # What the agent expected stands after the output; only the output is evidence.
            said = said.split(f"\nExpected: {intent.expectation}\n")[0] if intent.expectation else said
            wrote = written_in(intent.arguments)
            if command := command_in(intent.arguments):
                ran = Ran(command, event.exit_code, tests=_counts(event), changes=len(self.changes))
                self.commands.append((len(self.calls), ran))
        if tool != ASK:  # what came of it are a person's words
            self.untrusted.extend(of_call(asked, f"{event.preview}\n{event.error}"))
        self.untrusted.extend(event.exposure.untrusted)
        self.untrusted.extend(
            ANSWERED.format(tool=tool) for ref in self.started.tools if ref.untrusted and ref.name == tool
        )
        code, changes = event.exit_code, event.changes
        self.calls.append(Call(turn, tool, asked, event.outcome, code, said, event.error, changes, wrote=wrote))
        for change in event.changes:
            before = self.files.get(change.path, (change.sha_before, ""))[0]
            self.files[change.path] = (before, change.sha_after)

    def _checks(self, named: tuple[str, ...]) -> dict[int, CheckRun]:
        """The checks that ran, each with the place of its call."""
        found: dict[int, CheckRun] = {}
        deeds = Deeds(changes=tuple(self.changes))
        for at, ran in self.commands:
            call, counts = self.calls[at], ran.tests[:2] if ran.tests is not None else None
            happened = call.outcome in ("ok", "failed")
            check = read_check(ran.command, call.turn, ran.exit_code, counts, happened, named)
            if check is not None:
                found[at] = replace(check, stale=bool(changed_since(deeds, ran)))
        return found

    def _person(self, event: InputReceived | FeedbackGiven) -> None:
        if isinstance(event, InputReceived):
            self.untrusted.extend(of_message(event.files, event.quoted))
        if isinstance(event, FeedbackGiven):
            self._vote(event.by.id, event.vote)
            if event.vote != "down":
                self.reasons.pop(event.by.id, None)
            elif event.why:
                self.reasons[event.by.id] = event.why
        elif event.sort == "feedback":
            self._vote(event.author.id, event.text if event.text in ("up", "down", "none") else event.target)
        elif event.sort == "correction":
            self.corrections.append(event.text.strip() or "That was wrong.")
        elif event.sort == "deleted":
            self.withdrawn = True

    def _vote(self, person: str, vote: str) -> None:
        if vote == "up" or vote == "down":
            self.votes[person] = vote
        elif vote == "none":
            self.votes.pop(person, None)

    def done(self) -> Trajectory:
        started, finished = self.started, self.finished
        wanted = declared(
            [Seen(call.tool, call.asked, call.preview, call.changes) for call in self.calls], self.perceived
        )
        of_files = (command for each in wanted for command in each.commands)
        found = self._checks((*named_checks(started.task), *of_files))
        checks = tuple(found.values())
        return Trajectory(
            execution=self.execution, thread=started.thread, task=started.task, requester=started.requester,
            role=self.role, talk=self.talk, tour=started.policy.tour,
            model=next(reversed(self.models), ""), models=tuple(dict.fromkeys(self.models)),
            chosen_for=chosen_for(started.policy) or next(iter(self.models), ""),
            tier=self.tier or started.policy.starting_tier,
            turns_used=self.turns_used, turns_max=_turns(started.policy, self.complexity) + self.added_turns,
            usd=self.usd, usd_max=started.policy.max_usd + self.added_usd,
            tokens=self.tokens, tokens_max=started.policy.max_tokens + self.added_tokens,
            calls=tuple(replace(call, checks=at in found) for at, call in enumerate(self.calls)),
            changed=tuple(path for path, (before, after) in self.files.items() if before != after),
            changes_files=self.changes_files, checks=checks,
            verified=verified_by(started.task, wanted, checks),
            repetition_nudges=self.nudges, breaches=self.breaches.count,
            corrections=(*self.corrections, *self.reasons.values()), withdrawn=self.withdrawn,
            overheard=tuple(each.text for each in started.quoted),
            untrusted=tuple(dict.fromkeys(self.untrusted)), votes=tuple(self.votes.items()),
            lessons=started.lessons, withheld=started.withheld, told=self.told > (started.forked_from or ("", 0))[1],
            trial_of=started.trial_of, attempt=started.attempt,
            provider_failed=self.provider_failed,
            finished=finished is not None, reason=finished.reason if finished else None,
            answer=finished.answer if finished else "", claims=finished.claims if finished else (),
        )  # fmt: skip


def _turns(policy: Policy, complexity: Complexity) -> int:
    return {"simple": policy.turns_simple, "medium": policy.turns_medium, "complex": policy.turns_complex}[complexity]


def _counts(event: ToolFinished) -> tuple[int, int, int] | None:
    """Tests that passed, failed and were skipped, where the tool read them."""
    if event.tests_passed is None and event.tests_failed is None:
        return None
    return event.tests_passed or 0, event.tests_failed or 0, event.tests_skipped or 0
