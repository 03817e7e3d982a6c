"""Executions driven by the real rules through a drawn world: models, tools, people, crashes.

The driver does what the loop does, without time and I/O: it asks ``decide``, writes intents, and lets drawn things
happen while effects are in flight.  What it yields are valid logs, the only ones the properties speak of.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

from hypothesis import strategies as st

from agentic.core.events.execution_events import (
    Asked,
    BudgetRefused,
    CallBlock,
    CancelRequested,
    CheckpointSaved,
    CommitCreated,
    DeadlinePassed,
    Event,
    FileChange,
    Gated,
    HandedOver,
    ModelAnswered,
    ModelFailed,
    ModelRequested,
    Option,
    OwnerChanged,
    Part,
    Reported,
    TextBlock,
    ToolFinished,
    ToolStarted,
    Usage,
    Watcher,
    WorkspaceFound,
)
from agentic.core.events.ids import question_id
from agentic.core.fold.ownership import cut_off
from agentic.core.fold.people import ALLOW, MACHINE
from agentic.core.rules.approvals import covers
from agentic.core.rules.decide import decide
from agentic.core.state.actions import (
    Action,
    Ask,
    Cancel,
    Checkpoint,
    Consult,
    Finish,
    Inspect,
    Record,
    Think,
    Timer,
    UseTools,
    Wait,
)
from agentic.core.state.execution import Call
from tests.unit.core.building import BOSS, GUEST, TOOLS, YOU, Log

MOST_STEPS = 400
_TOOLS = ("look", "put", "shell", "wipe", "swap", "ask_user", "finish", "no_such_tool")
GATED = ("wipe", "swap")
WATCHERS = (
    Watcher(name="drift", every=2, instruction="Does it do what was asked for?"),
    Watcher(name="acts", when="before action", may="veto", tools=("sh*", "swap"), instruction="Does it destroy?"),
    Watcher(name="strict", when="before action", may="veto", tools=("put",), if_it_fails="ask"),
)
_VERDICTS = (
    '{"verdict": "fine"}',
    '{"verdict": "veto", "calls": [1], "why": "deletes"}',
    '{"verdict": "note", "why": "off"}',
    "?",
)
_PARTS = (
    Part(id="1", text="Which?", options=(Option(id="1", label="a"), Option(id="2", label="b"))),
    Part(id="2", text="When?"),
)
_WORDS = (
    "1", "stop", "try the other", "10", "allow once", "allow once", "yes", "1: a, 2: now", "no", "$0.01",
    "1k tokens", "20 minutes",
)  # fmt: skip
_EFFECTS = {tool.name: tool.effect for tool in TOOLS}


@dataclass
class Drawn:
    """A finished simulation: its log, each action with the position it was decided at, and what it held."""

    log: Log
    actions: list[tuple[int, Action]] = field(default_factory=list)
    held: Counter[str] = field(default_factory=Counter)
    looked: dict[int, str] = field(default_factory=dict)
    """What a gated call would have touched when its intent was written, by the intent's position."""
    recalled: set[str] = field(default_factory=set)
    """Calls whose sandbox knew after a crash what they had come to."""


def simulate(data: st.DataObject) -> Drawn:
    """Drive one execution to its end, or until nothing can happen any more."""
    return _World(data).run()


class _World:
    def __init__(self, data: st.DataObject) -> None:
        self._data = data
        self._log = Log(
            attended=self._chance(70),
            triaged=False,
            side=self._chance(8),
            turns_medium=self._data.draw(st.integers(1, 6)),
            max_usd=0.02,
            max_tokens=self._data.draw(st.sampled_from([60, 60, 100_000])),
            watchers=self._data.draw(st.sampled_from([(), (), WATCHERS, WATCHERS[:1], WATCHERS[1:]])),
        )
        self._drawn = Drawn(self._log)
        self._stopped = False
        self._crashes = 0
        self._state = "s0"

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
            case Think() | Consult():
                self._think(action)
            case UseTools(calls):
                for call in calls:
                    self._begin(call)
            case Checkpoint():
                self._save(action)
            case Inspect(timers):
                self._inspect(timers)
            case Cancel(refs, reason):
                self._log.add(CancelRequested(refs=refs, reason=reason))
                self._cancelled(refs)
            case Wait():
                return self._happen(action)
            case Finish(finished):
                self._log.add(finished)
        return True

    def _think(self, action: Think | Consult) -> None:
        if self._chance(6):
            self._refuse()
            return
        name = f"r{self._log.execution.seq + 1}"
        self._log.add(
            ModelRequested(
                request=name,
                turn=action.turn,
                purpose=action.purpose,
                attempt=action.attempt,
                tier=action.tier,
                model=action.model,
                reserved_usd=self._data.draw(st.sampled_from([0.004, 0.001, 0.011])),
            )
        )

    def _refuse(self) -> None:
        """A cap that executions share has no room for the request."""
        self._drawn.held["day"] += 1
        day = self._log.now.date().isoformat()
        whose = self._data.draw(st.sampled_from(["person", "guild", "bot"]))
        self._log.add(BudgetRefused(whose=whose, day=day, cap_usd=1.0, spent_usd=0.99, needed_usd=0.02))

    def _begin(self, call: Call) -> None:
        if self._chance(10):
            self._state = self._data.draw(st.sampled_from(["s0", "s1"]))
        gated = call.block.tool in GATED or bool(call.objection)
        if gated and not covers(call, "sha", self._state):
            who = self._data.draw(st.sampled_from(["executor", "operator"]))
            reason = "deletes" if call.block.tool in GATED else ""
            self._drawn.held["objected"] += bool(call.objection)
            self._log.add(
                Gated(
                    call=call.id, args_sha="sha", reason=reason, who_may=who, state_sha=self._state,
                    objection=call.objection,
                )
            )  # fmt: skip
            return
        again = call.intent.approval if call.intent is not None else ""
        self._log.add(self._intent(call.id, call.block, (call.approval or again) if gated else ""))
        if gated and call.intent is None:
            self._drawn.looked[self._log.execution.seq] = self._state

    def _save(self, action: Checkpoint) -> None:
        """Saving ends, well or not, unless something happens before it does."""
        if self._chance(25) and self._happen(Wait(action.timers)):
            return
        problem = "the disk is full" if self._chance(20) else ""
        through = self._log.execution.seq
        turn = self._log.execution.turn.number
        self._log.add(
            CheckpointSaved(
                manifest="" if problem else "m", through_seq=through, problem=problem, turn=turn, why=action.moment
            )
        )

    def _inspect(self, timers: tuple[Timer, ...]) -> None:
        """Looking ends, well or not, unless something happens before it does."""
        if self._chance(25) and self._happen(Wait(timers)):
            return
        change = FileChange(path="a.py", kind="modified", sha_before="1", sha_after="2")
        problem = "the disk is full" if self._chance(20) else ""
        found = (change,) if not problem and self._chance(50) else ()
        never: list[str] = []
        for call in cut_off(self._log.execution):
            match self._data.draw(st.sampled_from(["nobody knows", "ended", "never began"])):
                case "ended":
                    self._drawn.recalled.add(call.id)
                    self._log.add(ToolFinished(call=call.id, outcome="ok", preview="seen"))
                case "never began":
                    never.append(call.id)
                case _:
                    pass
        self._log.add(WorkspaceFound(changes=found, problem=problem, never_begun=tuple(never)))

    def _intent(self, call: str, block: CallBlock, approval: str) -> ToolStarted:
        return ToolStarted(
            approval=approval,
            call=call,
            provider_id=block.provider_id,
            tool=block.tool,
            effect=_EFFECTS[block.tool],
            arguments=block.arguments,
            args_sha="sha",
            diary="d" if _EFFECTS[block.tool] == "unkeyed" else "",
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
        if not self._stopped and self._chance(5):
            self._stopped = True
            where = "while paused" if execution.paused is not None else "in flight" if in_flight else "at rest"
            self._drawn.held[f"stop {where}"] += 1
            self._log.say("stop")
        elif self._crashes < 2 and self._chance(25 if execution.calls_in_flight else 12):
            self._crash()
        elif self._chance(20):
            self._said()
        elif in_flight and action.timers and self._chance(8):
            self._log.add(DeadlinePassed(ref=min(action.timers, key=lambda timer: timer.at).ref))
        elif execution.request_in_flight is not None:
            self._log.add(self._answered(execution.request_in_flight.id))
        elif execution.calls_in_flight:
            self._finish_one()
        elif execution.paused is not None and self._chance(60):
            self._log.say("resume", by=self._data.draw(st.sampled_from([YOU, MACHINE])))
        elif execution.question is not None and not (action.timers and self._chance(20)):
            self._answer_question(execution.question)
        elif action.timers:
            self._drawn.held["expired"] += execution.question is not None
            self._log.add(DeadlinePassed(ref=action.timers[0].ref))
        else:
            return execution.paused is not None
        return True

    def _said(self) -> None:
        """What people do at any time."""
        execution = self._log.execution
        in_flight = execution.request_in_flight is not None or bool(execution.calls_in_flight)
        sort = self._data.draw(
            st.sampled_from(["pause", "guidance", "pause", "vote", "ask", "resume", "pause", "deleted"])
        )
        if sort in ("pause", "resume"):
            self._drawn.held["pause in flight"] += in_flight and sort == "pause"
            self._log.say(sort, by=self._data.draw(st.sampled_from([YOU, YOU, MACHINE])))
        elif sort == "vote":
            vote = self._data.draw(st.sampled_from(["up", "down", "down", "none"]))
            self._log.say("feedback", vote, f"{execution.id}/turn:1", by=self._data.draw(st.sampled_from([YOU, BOSS])))
        elif sort == "deleted":
            self._log.say(sort, message=self._data.draw(st.sampled_from(["100", "999", "999"])))
        else:
            self._log.say(sort, f"hint {execution.seq}")

    def _answer_question(self, question: Asked) -> None:
        """By a click or in words, by who may and who may not."""
        part = self._data.draw(st.sampled_from(["", *(f"#{part.id}" for part in question.parts)]))
        target = self._data.draw(st.sampled_from(["", question.question + part, question.question + part, "qother"]))
        by = self._data.draw(st.sampled_from([YOU, BOSS, BOSS, GUEST]))
        allowing = ("allow once",) * len(_WORDS) if any(option.id == ALLOW for option in question.options) else ()
        self._log.say("answer", self._data.draw(st.sampled_from((*_WORDS, *allowing))), target, by=by)

    def _crash(self) -> None:
        execution = self._log.execution
        self._crashes += 1
        begun = bool(execution.calls_in_flight)
        self._drawn.held["older fence"] += bool(begun or execution.request_in_flight)
        self._drawn.held["crash between intent and result"] += begun
        if self._chance(25):
            self._log.add(HandedOver(worker="w"))
        self._log.fence += 1
        self._log.add(OwnerChanged(worker=f"w{self._log.fence}"))

    def _answered(self, request: str) -> Event:
        if self._chance(10):
            names = "unavailable", "rate_limited", "timed_out", "key_refused", "context_overflow", "model_unknown"
            failures = st.sampled_from(names)
            return ModelFailed(request=request, failure=self._data.draw(failures))
        asked = self._log.execution.request
        if asked is not None and asked.purpose == "watcher":
            verdict = TextBlock(text=self._data.draw(st.sampled_from(_VERDICTS)))
            return ModelAnswered(request=request, blocks=(verdict,), usage=Usage(output=5), usd=0.0001)
        blocks: list[TextBlock | CallBlock] = []
        if self._chance(50):
            blocks.append(TextBlock(text="confidence: 40" if self._chance(30) else "I think."))
        for index in range(self._data.draw(st.integers(0, 4))):
            tool = self._data.draw(st.sampled_from(_TOOLS))
            problem = "malformed" if self._chance(5) else "cut_off" if self._chance(5) else ""
            blocks.append(CallBlock(provider_id=f"{request}-{index}", tool=tool, problem=problem))
        stop = self._data.draw(st.sampled_from(["end", "tool_use", "length", "filtered", "end", "tool_use"]))
        usd = self._data.draw(st.sampled_from([0.0, 0.001, 0.004, 0.02]))
        return ModelAnswered(request=request, blocks=tuple(blocks), stop=stop, usage=Usage(output=50), usd=usd)

    def _finish_one(self) -> None:
        call = self._data.draw(st.sampled_from(self._log.execution.calls_in_flight))
        if call.block.tool == "ask_user":
            question = question_id("x1", self._log.execution.seq + 1)
            parts = _PARTS if self._chance(40) else ()
            self._log.add(Asked(question=question, text="Which?", call=call.id, parts=parts))
            return
        if self._chance(8):
            self._log.add(CommitCreated(offer=f"o{self._log.execution.seq}", branch="b", commit="c", base="main"))
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
