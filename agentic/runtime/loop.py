"""The shell: drain the inbox, decide, perform, append.  It decides nothing.

Each event is durable before its effect can be seen: what was noted is committed before an effect begins and before
the loop waits.  The loop decides again whenever an effect ends or the inbox grows, also while other effects run.
Two commits a turn are usual: the answer with the intents, and the results with the end of the turn and the next request.

What a process notes first when it takes an execution up: its start, or that it goes on from here; pure.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from typing import Any, TypeVar, assert_never

from agentic.core.claims.completion import created_files
from agentic.core.events.execution_events import (
    CancelRequested,
    DeadlinePassed,
    Departure,
    Event,
    Finished,
    HandedOver,
    ModelFailed,
    OwnerChanged,
    Perceived,
    RulesChanged,
    Started,
    ToolFinished,
    WorkspaceFound,
)
from agentic.core.events.ids import batch_id, question_id, request_id
from agentic.core.fold.ownership import base
from agentic.core.rules.approvals import covers
from agentic.core.rules.decide import RULES_VERSION, decide
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
from agentic.core.state.conversation import Prompt
from agentic.core.state.execution import Call, Execution
from agentic.core.text.foreign_text import mark_of
from agentic.log_context import of_effect, of_execution
from agentic.ports.errors import CallNotBegun, NotSettled
from agentic.ports.pictures import Sight
from agentic.ports.runtime import (
    Clock,
    LanguageModel,
    Lease,
    Meter,
    Perception,
    Prepared,
    Preview,
    Refused,
    Sink,
    Store,
    Toolbox,
)
from agentic.runtime import effects
from agentic.runtime.budget_ledger import NO_CAPS, BudgetLedger, DailyCaps
from agentic.runtime.event_recorder import Recorder
from agentic.runtime.inbox_drain import received, taken_from
from agentic.runtime.pictured_model import BLIND, PicturedModel
from agentic.runtime.request_refs import SegmentKeeper, prompt_for
from agentic.runtime.shutdown import (
    ACKNOWLEDGE_SECONDS,
    GIVE_UP_SECONDS,
    SETTLE_SECONDS,
    TELL_SECONDS,
    Leaving,
    given_up,
    heard,
    late_to_end,
    settled,
    still_running,
)
from agentic.runtime.workspace_jobs import Survey, inspected, surveyed


def taken_up(execution: Execution, started: Started | None, lease: Lease) -> tuple[Event, ...]:
    """The events; by them the log says at each place who worked on it, and by which version of the rules."""
    if execution.started is None:
        if started is None:
            message = f"execution {execution.id} has no log to continue"
            raise ValueError(message)
        return (started.model_copy(update={"rules": RULES_VERSION}),)
    if execution.finished is not None:
        return ()
    owner = (OwnerChanged(worker=lease.owner, lost=execution.beside),) if execution.fence != lease.fence else ()
    rules = (RulesChanged(rules=RULES_VERSION),) if execution.rules != RULES_VERSION else ()
    return (*owner, *rules)


T = TypeVar("T")
PERCEIVE_SECONDS = 5.0
LEAVE_SECONDS, LAST_SECONDS = 3.0, 1.0
"""So long a look at the workspace and a copy of it may take where the process ends; and the copy at least."""
SURVEY_SECONDS = 120.0
"""So long saving the workspace may take, or looking at it; then work goes on without, which is told."""


@dataclass(frozen=True, slots=True)
class Loop:
    """What every execution of a process shares."""

    store: Store
    model: LanguageModel
    clock: Clock
    sinks: tuple[Sink, ...] = ()
    build: str = ""
    caps: DailyCaps = NO_CAPS
    leaving: Leaving = field(default_factory=Leaving)
    steady: Callable[[], float] | None = None
    """Seconds by which the time of a log goes on, whoever sets the clock; the clock's monotonic ones without."""
    sight: Sight = BLIND

    async def run(
        self, lease: Lease, execution: str, toolbox: Toolbox, doorbell: asyncio.Event, started: Started | None = None
    ) -> Execution:
        """Run an execution to its end: a new one (``started``) or one from its log.

        ``doorbell`` is set by whoever put something into the thread's inbox.  Raises ``StoreError``, ``SandboxError``
        and whatever is our own bug; then, and when it is cancelled, every effect it began has ended before it returns.
        """
        recorder = Recorder(self.store, self.clock, self.sinks, lease, execution, self.build, self.steady)
        with of_execution(lease.thread, execution):
            running = _Running(self, recorder, toolbox, doorbell, lease)
            try:
                return await running.run(started)
            finally:
                await running.end_effects()
                await running.settle()


class _Running:
    def __init__(self, loop: Loop, recorder: Recorder, toolbox: Toolbox, doorbell: asyncio.Event, lease: Lease) -> None:
        self._loop = loop
        self._recorder = recorder
        self._model = PicturedModel(loop.model, loop.sight, lease.thread, lambda: mark_of(self._execution.started))
        self._toolbox = toolbox
        self._doorbell = doorbell
        self._lease = lease
        self._effects: dict[str, asyncio.Task[None]] = {}
        self._ended_since = False
        self._bell: asyncio.Task[bool] | None = None
        self._looking: asyncio.Task[Perception] | None = None
        self._insisting: asyncio.Task[None] | None = None
        self._told: int | None = None
        """Of how many files people were told that a stop still has them restored."""
        self._survey = Survey(recorder, self._surveyed)
        self._looks: set[asyncio.Task[Any]] = set()
        self._bug: BaseException | None = None
        self._segments = SegmentKeeper()
        self._purse = BudgetLedger(loop.store, loop.caps)
        self._meters: dict[str, Meter] = {}
        """Of requests that run."""

    @property
    def _execution(self) -> Execution:
        return self._recorder.execution

    async def run(self, started: Started | None) -> Execution:
        await self._begin(started)
        while self._execution.finished is None:
            if self._doorbell.is_set():
                await self._drain()
            await self._raise_bug()
            action = decide(self._execution)
            if self._loop.leaving.from_here(action, self._loop.clock.monotonic(), running=bool(self._effects)):
                await self._leave()
                break
            await self._perform(action)
        await self._recorder.commit()
        return self._execution

    async def _perform(self, action: Action) -> None:
        match action:
            case Record(events):
                self._recorder.note(*events)
                await self._purse.raise_caps(self._execution, self._recorder.commit)
            case Ask(asked):
                self._recorder.note(asked)
            case Think() | Consult():
                await self._ask(action)
            case UseTools(calls, leaving):
                await self._use_tools(calls, leaving)
            case Checkpoint() | Inspect():
                self._survey.begin(partial(surveyed, action, self._toolbox, self._execution, SURVEY_SECONDS))
                await self._wait(action.timers)
            case Cancel():
                await self._cancel(action)
            case Wait(timers):
                await self._wait(timers)
            case Finish(finished):
                await self._finish(finished)
            case _:
                assert_never(action)

    async def end_effects(self) -> None:
        """Nothing that this run began goes on after it."""
        own = (self._bell, self._looking, self._insisting, self._survey.task)
        if late := await late_to_end((*own, *self._looks, *self._effects.values())):
            await settled(self._toolbox)
            await given_up(late)

    async def settle(self) -> None:
        """What requests came to and is not settled yet; what cannot be now is by whoever takes the execution up."""
        if self._recorder.uncommitted:
            return  # the log does not say it, and by the log it is settled
        with suppress(TimeoutError):
            async with asyncio.timeout(SETTLE_SECONDS):
                await self._purse.settle()

    async def _begin(self, started: Started | None) -> None:
        execution = await self._recorder.load()
        await self._purse.take_up(execution, self._loop.store.read(execution.id))
        new = started if self._execution.started is None else None
        self._recorder.note(*taken_up(self._execution, started, self._lease), taken=new.inbox if new else "")
        self._doorbell.set()

    async def _drain(self) -> None:
        self._doorbell.clear()
        await self._recorder.commit()
        match decide(self._execution):
            case Wait(timers):
                self._note_passed(timers)  # what is over is over before what was said since is read
            case _:
                pass
        for item in taken_from(self._execution, await self._loop.store.pending(self._lease.thread)):
            self._recorder.note(received(item), taken=item.id)
        await self._recorder.commit()

    async def _ask(self, action: Think | Consult) -> None:
        perceived = await self._perceive() if isinstance(action, Think) else None
        if self._doorbell.is_set():
            return  # what came in meanwhile is decided on first
        if perceived is not None:
            self._recorder.note(perceived)
        request = request_id(self._execution.id, self._execution.seq + 1)
        segments, blobs = self._segments.of(self._execution, self._toolbox.specs, action.purpose)
        price = self._loop.model.price(action.model, self._segments.characters // 4, action.max_tokens)
        requested = effects.requested(request, action, segments, price)
        refused = await self._purse.refusal(self._execution, self._execution.id, requested, self._loop.clock.now())
        if refused is not None:
            self._recorder.note(refused)
            return
        self._recorder.note(requested, blobs=blobs)
        prompt = prompt_for(self._execution, self._toolbox.specs, action.purpose)
        await self._recorder.commit()
        self._start(request, self._ask_model(request, action, prompt))

    async def _perceive(self) -> Perceived | None:
        """What the toolbox perceives; a look that takes too long, or during which the bell rang, is used next time."""
        if self._execution.talk:
            return None
        if self._looking is None:
            self._looking = asyncio.create_task(self._toolbox.perceive(), name=f"{self._execution.id} perceive")
        waiting = (self._looking, self._listen())
        await asyncio.wait(waiting, timeout=PERCEIVE_SECONDS, return_when=asyncio.FIRST_COMPLETED)
        if self._doorbell.is_set() or not self._looking.done():
            return None
        perception, self._looking = self._looking.result(), None
        if perception == Perception():
            return None
        return Perceived(
            stale=perception.stale,
            changes=perception.changes,
            environment=perception.environment,
            exposure=perception.exposure,
        )

    def _listen(self) -> asyncio.Task[bool]:
        if self._bell is None or self._bell.done():
            self._bell = asyncio.create_task(self._doorbell.wait(), name=f"{self._execution.id} doorbell")
        return self._bell

    async def _use_tools(self, calls: tuple[Call, ...], leaving: Departure | None) -> None:
        batch = batch_id(self._execution.id, self._execution.seq + 1)
        begun: list[tuple[Call, Prepared]] = []
        created = created_files(self._execution.deeds)
        for call in calls:
            prepared = self._toolbox.prepare(call.block.tool, call.block.arguments, created)
            if isinstance(prepared, Refused):
                self._recorder.note(ToolFinished(call=call.id, outcome="refused", preview=prepared.text))
                continue
            leaves = effects.leaving_of(call, leaving)
            gate = effects.is_gated(call, prepared, leaves)
            state = await self._state_of(call, prepared) if gate or prepared.effect == "unkeyed" else ""
            if state is None:
                break  # what came in meanwhile is decided on first
            if gate and not covers(call, prepared.args_sha, state):
                shows = effects.is_previewed(call, leaves)
                preview = await self._preview(call, prepared) if shows else Preview()
                if preview is None:
                    break
                self._recorder.note(effects.held(call, prepared, state, leaves, preview))
            else:
                intent = effects.intent(call, prepared, batch, self._toolbox.diary)
                self._recorder.note(intent)
                begun.append((call, effects.permitted(self._execution, call, prepared, intent.approval)))
        await self._recorder.commit()
        for call, prepared in begun:
            self._start(call.id, self._use_tool(call, prepared))

    async def _state_of(self, call: Call, prepared: Prepared) -> str | None:
        """What a gated call would touch, as it is now; None where the bell rang meanwhile."""
        return await self._look(self._toolbox.state_of(call.block.tool, prepared.arguments))

    async def _preview(self, call: Call, prepared: Prepared) -> Preview | Refused | None:
        """What a call would do outside; None where the bell rang meanwhile."""
        return await self._look(self._toolbox.preview(call.block.tool, prepared))

    async def _look(self, looks: Coroutine[None, None, T]) -> T | None:
        look = asyncio.create_task(looks)
        self._looks.add(look)
        look.add_done_callback(self._looks.discard)
        look.add_done_callback(heard)
        await asyncio.wait((look, self._listen()), return_when=asyncio.FIRST_COMPLETED)
        if self._doorbell.is_set():
            look.cancel()  # a stop does not wait for a look that is slow to end, nor for the sandbox it may be making
            return None
        return look.result()

    def _surveyed(self, bug: BaseException | None) -> None:
        self._ended_since = True
        self._bug = bug or self._bug

    async def _cancel(self, action: Cancel) -> None:
        self._recorder.note(CancelRequested(refs=action.refs, reason=action.reason))
        await self._recorder.commit()
        effects_ending = {ref: task for ref, task in self._effects.items() if ref in action.refs}
        for task in effects_ending.values():
            task.cancel()
        if effects_ending:
            self._insisting = asyncio.create_task(self._insist(effects_ending), name=f"{self._execution.id} end")

    async def _insist(self, ending: dict[str, asyncio.Task[None]]) -> None:
        """A cancelled effect that does not say that it ended holds up no stop: its sandbox is ended, and it is given up.

        As long as files are restored it is waited for, which people are told.
        """
        late = await still_running(ending.values(), min(TELL_SECONDS, ACKNOWLEDGE_SECONDS))
        late = await still_running(await self._restored(late, ending), ACKNOWLEDGE_SECONDS - TELL_SECONDS)
        if late := await self._restored(late, ending):
            await settled(self._toolbox)
            late = await self._restored(await still_running(late, GIVE_UP_SECONDS), ending)
        for ref, task in ending.items():
            if task in late and self._effects.pop(ref, None) is not None:
                meter = self._meters.get(ref)
                self._came_to(effects.unacknowledged(self._execution, ref, meter.used() if meter else None))
                self._ended_since = True
        await given_up(late)

    async def _restored(
        self, late: set[asyncio.Task[None]], ending: dict[str, asyncio.Task[None]]
    ) -> set[asyncio.Task[None]]:
        """Wait while files are restored; the effects that have not ended then."""
        while late and (files := self._toolbox.restoring) is not None:
            if files != self._told:
                refs = tuple(ref for ref, task in ending.items() if task in late)
                self._recorder.note(CancelRequested(refs=refs, restoring=files))
                self._told = files
                self._doorbell.set()  # which makes it durable
            late = await still_running(late, TELL_SECONDS)
        return late

    async def _wait(self, timers: tuple[Timer, ...]) -> None:
        await self._recorder.commit()
        if not self._ended_since and not self._doorbell.is_set():
            due = self._seconds_to(min(timers, key=lambda timer: timer.at, default=None))
            due = self._loop.leaving.patience(due, self._loop.clock.monotonic())
            waiting: list[asyncio.Task[Any]] = [self._listen(), *self._effects.values()]
            waiting += [self._survey.task] if self._survey.task is not None else []  # done: soon it will be noted
            waiting += [self._insisting] if self._insisting is not None and not self._insisting.done() else []
            await asyncio.wait(waiting, timeout=due, return_when=asyncio.FIRST_COMPLETED)
            self._note_passed(timers)
        self._ended_since = False

    def _note_passed(self, timers: tuple[Timer, ...]) -> None:
        due = min(timers, key=lambda timer: timer.at, default=None)
        if due is not None and self._seconds_to(due) == 0:
            self._recorder.note(DeadlinePassed(ref=due.ref))

    def _seconds_to(self, timer: Timer | None) -> float | None:
        if timer is None:
            return None
        return max(0.0, (timer.at - self._recorder.now()).total_seconds())

    async def _leave(self) -> None:
        """What did not end in time is ended; the files are kept as they are, and the log says that it was in order."""
        cut_off = any(call.intent and call.intent.effect == "unkeyed" for call in self._execution.calls_in_flight)
        await self.end_effects()
        loop = asyncio.get_running_loop()
        until = loop.time() + LEAVE_SECONDS
        if cut_off and base(self._execution):
            found = (await inspected(self._toolbox, self._execution, LEAVE_SECONDS))(self._execution)
            self._recorder.note(*(event for event in found if event != WorkspaceFound()))
        if self._execution.touched:
            saved = await effects.checkpointed(self._toolbox, "leaving", max(LAST_SECONDS, until - loop.time()))
            self._recorder.note(saved(self._execution))
        self._recorder.note(HandedOver(worker=self._lease.owner))

    async def _finish(self, finished: Finished) -> None:
        """Where the task is not done, nothing that was left in the background goes on either."""
        late = await late_to_end((self._survey.task,))
        while late and self._toolbox.restoring is not None:
            late = await still_running(late, TELL_SECONDS)
        await given_up(late)
        if finished.reason != "done":
            await settled(self._toolbox)
        self._recorder.note(finished)

    def _start(self, ref: str, effect: Coroutine[None, None, None]) -> None:
        task = asyncio.create_task(effect, name=f"{self._execution.id} {ref}", context=of_effect(ref))
        self._effects[ref] = task
        task.add_done_callback(lambda done: self._ended(ref, done))

    def _ended(self, ref: str, task: asyncio.Task[None]) -> None:
        meter = self._meters.pop(ref, None)
        if self._effects.pop(ref, None) is None:
            return  # it was given up, and has its result
        self._ended_since = True
        if task.cancelled():
            leaves = self._loop.leaving.until is not None and ref not in self._execution.cancelled
            ended = effects.interrupted if leaves else effects.cancelled
            self._came_to(ended(self._execution, ref, meter.used() if meter else None))
        elif task.exception() is not None:
            if isinstance(task.exception(), NotSettled):
                return  # its next owner finds it without a result, and goes on with it
            self._bug = task.exception()
            if isinstance(self._bug, CallNotBegun):
                self._recorder.note(effects.not_begun(ref, self._bug))

    def _came_to(self, result: ModelFailed | ToolFinished | None) -> None:
        """Note the result of an effect that was ended; None where it has one, or its next owner gives it one."""
        if result is not None:
            self._recorder.note(result)
        if isinstance(result, ModelFailed):
            self._purse.owes(self._execution.id, result)

    async def _raise_bug(self) -> None:
        """Whatever came of the other effects is kept before the trouble is handed on."""
        if self._bug is not None:
            await self._recorder.commit()
            raise self._bug

    async def _ask_model(self, request: str, action: Think | Consult, prompt: Prompt) -> None:
        on_text = self._recorder.streamed if self._loop.sinks and isinstance(action, Think) else None
        meter = self._meters[request] = Meter()
        came_to = await effects.asked_model(self._model, request, action, prompt, on_text, meter)
        if request in self._effects:
            self._recorder.note(came_to)
        self._purse.owes(self._execution.id, came_to)
        await self._purse.settle()

    async def _use_tool(self, call: Call, prepared: Prepared) -> None:
        begun = self._loop.clock.monotonic()
        observation = await self._toolbox.run(call.block.tool, call.id, prepared, self._recorder.streamed)
        if call.id not in self._effects:
            return
        question = question_id(self._execution.id, self._execution.seq + 1 + len(observation.events))
        seconds = self._loop.clock.monotonic() - begun
        events, blobs = effects.observed(call.id, question, observation, seconds, prepared.args_sha)
        self._recorder.note(*events, blobs=blobs)
