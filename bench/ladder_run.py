"""One simulated execution under the product's own rules: ``decide`` says what happens next, as it does in the loop."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

from pydantic import JsonValue

from agentic.core.events.execution_events import (
    Asked,
    CallBlock,
    CheckpointSaved,
    Envelope,
    Escalated,
    Event,
    FileChange,
    InputReceived,
    ModelAnswered,
    ModelRequested,
    Person,
    Policy,
    Reported,
    Started,
    TextBlock,
    ToolFinished,
    ToolRef,
    ToolStarted,
    Triaged,
    Usage,
)
from agentic.core.events.ids import digest
from agentic.core.events.values import Effect
from agentic.core.fold.fold import evolve
from agentic.core.rules.decide import decide
from agentic.core.state.actions import (
    Ask,
    Checkpoint,
    Consult,
    Finish,
    Record,
    Think,
    UseTools,
)
from agentic.core.state.execution import Call, Execution
from agentic.models.providers.prices import ModelFacts
from bench.ladder_mind import Deed, Mind
from bench.ladder_world import Task, between

TOOLS = (
    ToolRef(name="read_file", effect="read", permission="read"),
    ToolRef(name="edit_file", effect="keyed", permission="write"),
    ToolRef(name="shell", effect="unkeyed"),
    ToolRef(name="report", effect="unkeyed", permission="read", cognitive=True),
    ToolRef(name="finish", effect="unkeyed", permission="read", cognitive=True),
)
EFFECTS: dict[str, Effect] = {tool.name: tool.effect for tool in TOOLS}
PREFIX, COMPACTED_AT, COMPACTED_TO, SUMMARY = 3_000, 18_000, 7_000, 1_000
ANSWER = {2: 350, 3: 400, 4: 450}
ADVICE_IN, ADVICE_OUT = 4_000, 350
MOST_ACTIONS = 1_500
_YOU = Person(id="1", name="you")
_NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)
_TESTS = "pytest -q"


@dataclass(frozen=True, slots=True)
class Came:
    """What a run came to."""

    solved: bool
    usd: float
    turns: int
    tiers: tuple[int, ...]
    reason: str


@dataclass
class Run:
    """A task under a policy, to its end."""

    task: Task
    policy: Policy
    prices: Mapping[str, ModelFacts]
    execution: Execution = field(default_factory=lambda: Execution(id="x"))
    context: int = PREFIX
    cached: tuple[str, int] = ("", 0)
    """(model, tokens) of the prefix that the provider still holds."""
    deed: Deed | None = None
    evidence: int = 0

    def __post_init__(self) -> None:
        complexity = "complex" if self.task.difficulty == "hard" else "medium"
        self._add(Started(thread="1", task="Do it.", requester=_YOU, policy=self.policy, tools=TOOLS))
        self._add(Triaged(talk=False, complexity=complexity, changes_files=self.task.changes_files))
        self.mind = Mind(self.task, self.execution.tier)

    def to_the_end(self) -> Came:
        """Do what the rules say until they end it."""
        for _ in range(MOST_ACTIONS):
            action = decide(self.execution)
            match action:
                case Record(events):
                    self._add(*events)
                case Think():
                    self._think(action)
                case Consult():
                    self._consult(action)
                case UseTools(calls):
                    for call in calls:
                        self._use(call)
                case Checkpoint():
                    self._add(
                        CheckpointSaved(
                            manifest="m",
                            through_seq=self.execution.seq,
                            turn=self.execution.turn.number,
                            why=action.moment,
                        )
                    )
                case Finish(finished):
                    solved = self.mind.solved and finished.reason == "done"
                    return Came(
                        solved, self.execution.spent.usd, self.execution.turn.number, self._tiers, finished.reason
                    )
                case Ask(asked):
                    self._add(asked)
                    self._answered(asked)
                case _:
                    raise AssertionError(f"nobody is there for {action}")
        raise AssertionError("it does not end")

    _tiers: tuple[int, ...] = ()
    _extended: bool = False

    def _answered(self, asked: Asked) -> None:
        """The person gives ten more turns once; whatever else is asked ends it."""
        more = asked.what in ("", "turns") and asked.sort == "extension" and not self._extended
        self._extended = self._extended or more
        self._add(
            InputReceived(inbox="2", sort="answer", author=_YOU, text="10" if more else "stop", target=asked.question)
        )

    def _add(self, *events: Event) -> None:
        for event in events:
            seq = self.execution.seq + 1
            at = _NOON + timedelta(seconds=seq)
            nudges = self.execution.judged.evidence_nudges
            self.execution = evolve(self.execution, Envelope(execution="x", seq=seq, at=at, fence=1, event=event))
            if isinstance(event, Escalated):
                self.mind.takes_over(event.to_tier)
                self._tiers = (*self._tiers, event.to_tier)
            if self.execution.judged.evidence_nudges > nudges:
                self.mind.sent_back()

    def _think(self, action: Think) -> None:
        self._request(action)
        self.deed = deed = self.mind.turn()
        tool, arguments = self._call_of(deed)
        said = f"Turn {action.turn}." + (f"\nconfidence: {deed.confidence}" if deed.confidence is not None else "")
        blocks = (TextBlock(text=said), CallBlock(provider_id=f"p{action.turn}", tool=tool, arguments=arguments))
        usage = self._usage(action.model, ANSWER[action.tier])
        self._answer(blocks, usage, action.model)
        self.context += ANSWER[action.tier] + between(200, 2_000, "result", self.task.number, self.mind.turns)
        if self.context > COMPACTED_AT:
            summary = Usage(cache_read=self.cached[1], input=self.context - self.cached[1], output=SUMMARY)
            self._request(Consult("summary", action.turn, action.tier, action.model, SUMMARY, 60.0))
            self._answer((TextBlock(text="what was"),), summary, action.model)
            self.context, self.cached = COMPACTED_TO, (action.model, PREFIX)

    def _usage(self, model: str, answer: int) -> Usage:
        """What was sent before by the same model is read from its cache; all else is written to it."""
        held = self.cached[1] if self.cached[0] == model else 0
        self.cached = (model, self.context)
        return Usage(cache_read=held, cache_write=self.context - held, output=answer)

    def _consult(self, action: Consult) -> None:
        self._request(action)
        text = "Look at the cause." if action.purpose == "advice" else "what was"
        self._answer((TextBlock(text=text),), Usage(input=ADVICE_IN, output=ADVICE_OUT), action.model)
        if action.purpose == "advice":
            self.mind.advised_by(action.tier)

    def _request(self, action: Think | Consult) -> None:
        self._add(
            ModelRequested(
                request=f"r{self.execution.seq + 1}",
                turn=action.turn,
                purpose=action.purpose,
                tier=action.tier,
                model=action.model,
            )
        )

    def _answer(self, blocks: tuple[TextBlock | CallBlock, ...], usage: Usage, model: str) -> None:
        assert self.execution.request is not None
        usd = self.prices[model].usd(usage)
        self._add(ModelAnswered(request=self.execution.request.id, blocks=blocks, usage=usage, usd=usd))

    def _call_of(self, deed: Deed) -> tuple[str, dict[str, JsonValue]]:
        turn = self.mind.turns
        match deed.kind:
            case "look":
                return "read_file", {"path": f"src/{turn}.py"}
            case "edit":
                return "edit_file", {"path": f"src/{turn % 5}.py", "text": f"v{turn}"}
            case "test":
                return "shell", {"command": _TESTS}
            case "error":
                return "shell", {"command": f"make {deed.error if deed.error.startswith('wall') else turn}"}
            case "stuck":
                return "report", {"status": "stuck", "confidence": 25}
            case "done":
                claims: list[JsonValue] = (
                    [{"text": "tests pass", "command": _TESTS, "exit_code": 0}] if self.task.tested else []
                )
                return "finish", {"answer": "Done.", "claims": claims}
            case "give_up":
                return "finish", {"answer": "I could not do it.", "success": False}

    def _use(self, call: Call) -> None:
        deed = self.deed
        assert deed is not None
        effect = EFFECTS[call.block.tool]
        self._add(
            ToolStarted(
                call=call.id, provider_id=call.block.provider_id, tool=call.block.tool, effect=effect,
                arguments=call.block.arguments, args_sha=digest(str(call.block.arguments), length=8),
            )
        )  # fmt: skip
        if deed.kind == "stuck":
            self._add(Reported(status="stuck", confidence=25))
        turn = self.mind.turns
        change = FileChange(path=f"src/{turn % 5}.py", kind="modified", sha_before=f"{turn}b", sha_after=f"{turn}a")
        shell = deed.kind in ("test", "error")
        failed = bool(deed.error) or deed.failing > 0
        self._add(
            ToolFinished(
                call=call.id,
                outcome="failed" if failed else "ok",
                preview=f"{deed.kind} {deed.error or turn}",
                exit_code=(1 if failed else 0) if shell else None,
                changes=(change,) if deed.kind == "edit" else (),
                tests_passed=10 - deed.failing if deed.kind == "test" else None,
                tests_failed=deed.failing if deed.kind == "test" else None,
                error=deed.error or (f"{deed.failing} failed" if failed else ""),
            )
        )
