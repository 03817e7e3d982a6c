"""Executions driven by the real rules through a drawn world: models, tools, people, crashes.

The driver does what the loop does, without time and I/O: it asks ``decide``, writes intents, and lets drawn things
happen while effects are in flight.  What it yields are valid logs, the only ones the properties speak of.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

from hypothesis import strategies as st

from agentic.core.actions import Action, Ask, Cancel, Finish, Record, Think, UseTools, Wait
from agentic.core.decide import decide
from agentic.core.events import (
    Asked,
    CallBlock,
    CancelRequested,
    DeadlinePassed,
    Event,
    ModelAnswered,
    ModelFailed,
    ModelRequested,
    OwnerChanged,
    Reported,
    TextBlock,
    ToolFinished,
    ToolStarted,
    Usage,
)
from agentic.core.identity import question_id
from agentic.core.values import FileChange
from tests.unit.core.building import TOOLS, Log

MOST_STEPS = 400
_TOOLS = ("look", "put", "shell", "ask_user", "finish", "no_such_tool")
_EFFECTS = {tool.name: tool.effect for tool in TOOLS}


@dataclass
class Drawn:
    """A finished simulation: its log, each action with the position it was decided at, and what it held."""

    log: Log
    actions: list[tuple[int, Action]] = field(default_factory=list)
    held: Counter[str] = field(default_factory=Counter)


def simulate(data: st.DataObject) -> Drawn:
    """Drive one execution to its end, or until nothing can happen any more."""
    return _World(data).run()


class _World:
    def __init__(self, data: st.DataObject) -> None:
        self._data = data
        self._log = Log(
            attended=self._chance(70),
            triaged=False,
            turns_medium=self._data.draw(st.integers(1, 6)),
            max_usd=0.02,
        )
        self._drawn = Drawn(self._log)
        self._stopped = False
        self._crashes = 0

    def run(self) -> Drawn:
        for _ in range(MOST_STEPS):
            if self._log.execution.finished is not None:
                return self._drawn
            action = decide(self._log.execution)
            self._drawn.actions.append((self._log.execution.seq, action))
            if not self._perform(action):
                return self._drawn
        message = "the execution does not end"
        raise AssertionError(message)

    def _perform(self, action: Action) -> bool:
        match action:
            case Record(events):
                self._log.add(*events)
            case Ask(asked):
                self._log.add(asked)
            case Think():
                self._think(action)
            case UseTools(calls):
                self._log.add(*(self._intent(call.id, call.block) for call in calls))
            case Cancel(refs):
                self._log.add(CancelRequested(refs=refs))
                self._cancelled(refs)
            case Wait():
                return self._happen(action)
            case Finish(finished):
                self._log.add(finished)
        return True

    def _think(self, action: Think) -> None:
        name = f"r{self._log.execution.seq + 1}"
        self._log.add(
            ModelRequested(
                request=name,
                turn=action.turn,
                attempt=action.attempt,
                tier=action.tier,
                model=action.model,
                reserved_usd=0.004,
            )
        )

    def _intent(self, call: str, block: CallBlock) -> ToolStarted:
        return ToolStarted(
            call=call,
            provider_id=block.provider_id,
            tool=block.tool,
            effect=_EFFECTS[block.tool],
            arguments=block.arguments,
            args_sha="sha",
        )

    def _cancelled(self, refs: tuple[str, ...]) -> None:
        """The sandbox acknowledges each kill, in any order, or the owner dies before it does."""
        if self._crashes < 2 and self._chance(10):
            self._crash()
            return
        for ref in self._data.draw(st.permutations(refs)):
            self._log.add(self._cancel(ref))

    def _cancel(self, ref: str) -> Event:
        request = self._log.execution.request
        if request is not None and request.id == ref:
            return ModelFailed(request=ref, failure="cancelled")
        return ToolFinished(call=ref, outcome="cancelled", preview="cancelled")

    # --- what may happen while the loop waits -------------------------------------------------------------------

    def _happen(self, action: Wait) -> bool:
        execution = self._log.execution
        in_flight = execution.request_in_flight is not None or bool(execution.calls_in_flight)
        if not self._stopped and self._chance(6):
            self._stopped = True
            self._drawn.held["stop in flight" if in_flight else "stop at rest"] += 1
            self._log.say("stop")
            return True
        if self._crashes < 2 and self._chance(8):
            self._crash()
            return True
        if self._chance(12):
            self._log.say("guidance", f"hint {execution.seq}")
            return True
        if execution.request_in_flight is not None:
            self._log.add(self._answered(execution.request_in_flight.id))
        elif execution.calls_in_flight:
            self._finish_one()
        elif execution.question is not None:
            self._log.say("answer", self._data.draw(st.sampled_from(["1", "stop", "try the other", "10"])))
        elif action.timers:
            self._log.add(DeadlinePassed(ref=action.timers[0].ref))
        else:
            return False
        return True

    def _crash(self) -> None:
        execution = self._log.execution
        self._crashes += 1
        begun = bool(execution.calls_in_flight)
        self._drawn.held["older fence"] += bool(begun or execution.request_in_flight)
        self._drawn.held["crash between intent and result"] += begun
        self._log.fence += 1
        self._log.add(OwnerChanged(worker=f"w{self._log.fence}"))

    def _answered(self, request: str) -> Event:
        if self._chance(10):
            failures = st.sampled_from(["unavailable", "rate_limited", "timed_out", "key_refused", "context_overflow"])
            return ModelFailed(request=request, failure=self._data.draw(failures))
        blocks: list[TextBlock | CallBlock] = []
        if self._chance(50):
            blocks.append(TextBlock(text="confidence: 40" if self._chance(30) else "I think."))
        for index in range(self._data.draw(st.integers(0, 4))):
            tool = self._data.draw(st.sampled_from(_TOOLS))
            problem = "malformed" if self._chance(5) else "cut_off" if self._chance(5) else ""
            blocks.append(CallBlock(provider_id=f"{request}-{index}", tool=tool, problem=problem))
        stop = self._data.draw(st.sampled_from(["end", "tool_use", "length", "filtered", "end", "tool_use"]))
        usd = self._data.draw(st.sampled_from([0.0, 0.001, 0.004]))
        return ModelAnswered(request=request, blocks=tuple(blocks), stop=stop, usage=Usage(output=50), usd=usd)

    def _finish_one(self) -> None:
        call = self._data.draw(st.sampled_from(self._log.execution.calls_in_flight))
        if call.block.tool == "ask_user":
            question = question_id("x1", self._log.execution.seq + 1)
            self._log.add(Asked(question=question, text="Which?", call=call.id))
            return
        if self._chance(15):
            self._log.add(Reported(status=self._data.draw(st.sampled_from(["progressing", "stuck"])), confidence=30))
        failed = call.block.tool != "finish" and self._chance(35)
        changes = (FileChange(path="a.py", kind="modified"),) if self._chance(20) else ()
        tests = (self._data.draw(st.integers(1, 4)), 1) if self._chance(20) else (None, None)
        self._log.add(
            ToolFinished(
                call=call.id,
                outcome="failed" if failed else "ok",
                preview="seen",
                error="it broke" if failed else "",
                changes=changes,
                tests_passed=tests[0],
                tests_failed=tests[1],
            )
        )

    def _chance(self, percent: int) -> bool:
        return self._data.draw(st.integers(1, 100)) <= percent
