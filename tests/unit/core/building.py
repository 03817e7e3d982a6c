"""Logs for tests of the core, built event by event."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from pydantic import JsonValue

from agentic.core.events.execution_events import (
    CallBlock,
    CheckpointSaved,
    Envelope,
    Event,
    InputReceived,
    ModelAnswered,
    ModelFailed,
    ModelRequested,
    Person,
    Policy,
    Sort,
    Started,
    StopReason,
    TextBlock,
    Tier,
    ToolFinished,
    ToolRef,
    ToolStarted,
    Triaged,
    Usage,
    Watcher,
    WorkspaceFound,
)
from agentic.core.events.values import (
    Attempt,
    FailureClass,
    FileChange,
    Outcome,
)
from agentic.core.fold.fold import evolve
from agentic.core.rules.triage import triage
from agentic.core.state.execution import Execution
from agentic.core.state.tiers import model_of

YOU = Person(id="7", name="you")
GUEST = Person(id="9", name="guest", level="viewer")
BOSS = Person(id="8", name="boss", level="operator")
BEGUN = datetime(2026, 1, 1, tzinfo=UTC)
TOOLS = (
    ToolRef(name="look", effect="read"),
    ToolRef(name="put", effect="keyed"),
    ToolRef(name="shell", effect="unkeyed"),
    ToolRef(name="wipe", effect="unkeyed"),
    ToolRef(name="swap", effect="keyed"),
    ToolRef(name="ask_user", effect="unkeyed", cognitive=True, asks=True),
    ToolRef(name="finish", effect="unkeyed", cognitive=True),
    ToolRef(name="python", effect="unkeyed"),
)
TIERS = (Tier(number=2, models=("small-a", "small-b")), Tier(number=4, models=("large",)))
Said = str | tuple[str, dict[str, JsonValue]] | CallBlock


class Log:
    """A log in the making, with the state it folds to."""

    def __init__(
        self,
        task: str = "Fix the test.",
        *,
        triaged: bool = True,
        talk: bool = False,
        saved: bool = True,
        side: bool = False,
        tools: tuple[str, ...] = (),
        watchers: tuple[Watcher, ...] = (),
        **policy: object,
    ) -> None:
        self.envelopes: list[Envelope] = []
        self.execution = Execution(id="x1")
        self.fence = 1
        self.now = BEGUN
        values = {"tiers": TIERS, **policy}
        started = Started(
            thread="100",
            task=task,
            requester=YOU,
            policy=Policy.model_validate(values),
            tools=(*TOOLS, *(ToolRef(name=name, effect="keyed", cognitive=True) for name in tools)),
            inbox="100",
            side=side,
            watchers=watchers,
        )
        self.add(started)
        if triaged:
            self.add(Triaged(talk=talk) if saved or talk else triage(started))  # as the rules have it
        if saved and triaged:
            self.add(CheckpointSaved(manifest="m0", through_seq=2))

    def add(self, *events: Event) -> Execution:
        """Append events under the present fence, a second apart."""
        for event in events:
            self.now += timedelta(seconds=1)
            envelope = Envelope(execution="x1", seq=self.execution.seq + 1, at=self.now, fence=self.fence, event=event)
            self.envelopes.append(envelope)
            self.execution = evolve(self.execution, envelope)
        return self.execution

    def request(self, *, usd: float = 0.01) -> str:
        """A request for the next turn."""
        turn = self.execution.turn
        name = f"r{self.execution.seq + 1}"
        number = turn.number + 1 if turn.ended else turn.number
        model = model_of(self.execution)
        self.add(ModelRequested(request=name, turn=number, tier=self.execution.tier, model=model, reserved_usd=usd))
        return name

    def answer(self, *said: Said, stop: StopReason = "end", tokens: int = 10, usd: float = 0.001) -> Execution:
        """A request and its answer: texts and calls."""
        request = self.request()
        blocks = [block_of(index, part) for index, part in enumerate(said)]
        answered = ModelAnswered(request=request, blocks=tuple(blocks), stop=stop, usage=Usage(output=tokens), usd=usd)
        return self.add(answered)

    def fail(self, failure: FailureClass, retry_after: float | None = None) -> Execution:
        """A request that fails."""
        request = self.request()
        return self.add(ModelFailed(request=request, failure=failure, message="it says", retry_after=retry_after))

    def start(self, index: int = 0) -> str:
        """The intent of a call of the current turn; its id."""
        call = self.execution.turn.calls[index]
        effect = next((tool.effect for tool in TOOLS if tool.name == call.block.tool), "unkeyed")
        self.add(
            ToolStarted(
                call=call.id,
                provider_id=call.block.provider_id,
                tool=call.block.tool,
                effect=effect,
                arguments=call.block.arguments,
                args_sha="sha",
            )
        )
        return call.id

    def finish(
        self,
        index: int = 0,
        outcome: Outcome = "ok",
        *,
        error: str = "",
        exit_code: int | None = None,
        changes: tuple[FileChange, ...] = (),
        tests: tuple[int, int] | None = None,
        attempts: tuple[Attempt, ...] = (),
        job: str = "",
    ) -> Execution:
        """The result of a call of the current turn."""
        call = self.execution.turn.calls[index]
        return self.add(
            ToolFinished(
                call=call.id,
                outcome=outcome,
                preview=f"{call.block.tool}: {outcome}",
                error=error,
                exit_code=exit_code,
                changes=changes,
                tests_passed=tests[0] if tests else None,
                tests_failed=tests[1] if tests else None,
                attempts=attempts,
                job=job,
            )
        )

    def use(self, index: int = 0, outcome: Outcome = "ok", **more: object) -> Execution:
        """Intent and result of a call."""
        self.start(index)
        return self.finish(index, outcome, **more)  # pyright: ignore[reportArgumentType]

    def say(
        self, sort: Sort, text: str = "", target: str = "", by: Person = YOU, message: str | None = None
    ) -> Execution:
        """Something a person did."""
        name = f"in{self.execution.seq + 1}"
        about = name if message is None else message
        return self.add(InputReceived(inbox=name, sort=sort, author=by, text=text, target=target, message=about))

    def settle(self, *, saving: bool = True) -> Execution:
        """Let the rules record what follows until an effect, a question or the end is due; checkpoints are saved."""
        from agentic.core.rules.decide import decide
        from agentic.core.state.actions import (
            Ask,
            Checkpoint,
            Inspect,
            Record,
        )

        for _ in range(50):
            match decide(self.execution):
                case Record(events):
                    self.add(*events)
                case Ask(asked):
                    self.add(asked)
                case Checkpoint() as due if saving:
                    through, turn = self.execution.seq, self.execution.turn.number
                    self.add(CheckpointSaved(manifest="m", through_seq=through, turn=turn, why=due.moment))
                case Inspect() if saving:
                    self.add(WorkspaceFound())
                case _:
                    return self.execution
        message = "the rules record without end"
        raise AssertionError(message)


def block_of(index: int, said: Said) -> TextBlock | CallBlock:
    """A text or a call as a block."""
    if isinstance(said, str):
        return TextBlock(text=said)
    if isinstance(said, CallBlock):
        return said
    return CallBlock(provider_id=f"p{index}", tool=said[0], arguments=said[1])
