"""Children of executions: each a run of the same loop, with a log of its own under its parent's lease.

Their ids follow from the call that has them. So whoever begins that call again finds them: what has ended keeps its
result, the rest goes on by its own log, and nothing is done or counted twice. Children that do parts of a task share
its workspace; those that take approaches to it each have a copy, and begin at one checkpoint, which stands in their
first event. A child is stopped, held and resumed by items of the inbox that are meant for just it. What one spends
stands in its own log, and in its parent's with the result of the call.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Protocol

from agentic.core.claims.comparison import TriedApproach
from agentic.core.events.execution_events import (
    CancelRequested,
    Envelope,
    Evaluated,
    Event,
    FileChange,
    Finished,
    Gated,
    InboxItem,
    InputReceived,
    ModelAnswered,
    ModelRequested,
    Person,
    Policy,
    Sort,
    StaleFile,
    Started,
    SubagentFinished,
    Tier,
    ToolFinished,
    ToolRef,
    WorkspaceFound,
)
from agentic.core.events.ids import child_id, place_id, side_target
from agentic.core.fold.fold import fold
from agentic.core.fold.ownership import base
from agentic.core.prompt.role_file import EVERYTHING, shipped
from agentic.core.prompt.roles import SHELL, known, role_named, shell_looks
from agentic.core.rules.used_up_limits import granted, to_read
from agentic.core.state.conversation import ToolSpec
from agentic.core.state.execution import Execution
from agentic.core.state.tiers import model_of, short
from agentic.core.text.foreign_text import one_line
from agentic.core.text.task_roles import role_of
from agentic.core.text.task_words import read
from agentic.ports.children import ChildResult, ChildTask, OwnWorkspaces
from agentic.ports.errors import CallNotBegun, SandboxLost, StoreCorrupt, StoreError
from agentic.ports.failpoints import reach
from agentic.ports.runtime import Clock, Lease, Store, Toolbox
from agentic.prompts.approach_texts import approach
from agentic.runtime.shutdown import heard, late_to_end

STOP_SECONDS = 1.8
"""So long children may take to end after a stop; then they are cut off, and their logs say so later."""
PARENT = Person(id="parent", name="the task that it helped", level="operator")
"""Who stops, holds and resumes a child."""
TOO_DEEP = "A helper has no helpers of its own: do it yourself."
NO_COPIES = "There can be no copies of the workspace here"
NO_ROLE = "There is no role {role!r} for a helper. There is: {roles}. Leave it out to have it read from the words."
PARTS = {"planner": "planner", "coder": "coder", "reviewer": "code-reviewer"}
"""What a part may be called, and the role that it means."""
DAMAGED = "damaged"
SAID_CHARACTERS = 600

log = logging.getLogger(__name__)

ChildTools = Callable[[str, bool, str], Toolbox]
"""Makes the tools of a child: by its name to the others, whether it only reads what it is given, and the workspace of its
own, '' for its parent's."""
Score = Callable[[Sequence[Envelope]], Evaluated]
"""The score of a whole execution, by its log."""


def unscored(_: Sequence[Envelope]) -> Evaluated:
    """Where nothing scores executions."""
    return Evaluated(score=0, parts={})


class LoopRunner(Protocol):
    """The loop: ``agentic.runtime.loop.Loop``."""

    async def run(
        self, lease: Lease, execution: str, toolbox: Toolbox, doorbell: asyncio.Event, started: Started | None = None
    ) -> Execution:
        """Run an execution to its end."""
        ...


class ChildRegistry:
    """The children that run in a process; a sink, by which they are held and resumed with their parents."""

    def __init__(self, store: Store, clock: Clock, family: Callable[[str], str], score: Score = unscored) -> None:
        self.store, self.clock = store, clock
        self.family = family
        """Which family a model is of."""
        self.score = score
        self.runs: dict[str, _Run] = {}
        self._parents: dict[str, _Children] = {}

    def of(
        self,
        parent: str,
        lease: Lease,
        runner: LoopRunner,
        toolbox: ChildTools,
        workspaces: OwnWorkspaces | None = None,
    ) -> _Children:
        """The children of an execution, with the workspaces of those that have their own."""
        children = self._parents[parent] = _Children(self, parent, lease, runner, toolbox, workspaces)
        return children

    def over(self, parent: str) -> None:
        """The run of an execution has ended, and its children with it."""
        self._parents.pop(parent, None)

    def left(self) -> None:
        """The process ends in order: children look whether they are to leave."""
        for children in self._parents.values():
            children.ring()

    def saw(self, envelope: Envelope) -> None:
        """Hold and resume children with their parent, and note that it ends a call, or that one has looked at the files."""
        children, event = self._parents.get(envelope.execution), envelope.event
        if isinstance(event, WorkspaceFound) and (run := self.runs.get(envelope.execution)) is not None:
            run.looked.set()
        if children is None:
            return
        if isinstance(event, CancelRequested):
            children.ended |= set(event.refs)
        elif isinstance(event, InputReceived) and event.sort in ("pause", "resume"):
            children.steer(event.sort, event.inbox)

    def streamed(self, execution: str, text: str) -> None:
        """Ignore streamed text."""

    async def end(self, child: str, lease: Lease, runner: LoopRunner, toolbox: Toolbox) -> None:
        """Stop a child that was left open by a parent that has ended.  Raises what the loop raises."""
        bell = asyncio.Event()
        await self.store.put(self.item(child, lease.thread, "stop", "orphan"))
        await runner.run(lease, child, toolbox, bell)
        await self.store.discard([self.item(child, lease.thread, "stop", "orphan").id])

    def item(self, child: str, thread: str, sort: Sort, mark: str) -> InboxItem:
        """What is said to just one child."""
        return InboxItem(
            id=f"{child}.{sort}.{mark}", thread=thread, sort=sort, author=PARENT, at=self.clock.now(),
            target=side_target(child),
        )  # fmt: skip


@dataclass(slots=True)
class _Run:
    """A child that runs."""

    id: str
    number: int
    task: ChildTask
    share: int
    """Among so many the parent's money is shared."""
    place: str = ""
    """The workspace of its own."""
    base: str = ""
    """The snapshot that it begins with."""
    end: str = ""
    """The snapshot of what it came to."""
    bell: asyncio.Event = field(default_factory=asyncio.Event)
    looked: asyncio.Event = field(default_factory=asyncio.Event)
    """What an earlier owner's command of it had destroyed is put back: from then on others may change files."""
    ended: bool = False
    toolbox: Toolbox | None = None


class _Children:
    """The children of one execution, while that runs."""

    def __init__(
        self, registry: ChildRegistry, parent: str, lease: Lease, runner: LoopRunner, toolbox: ChildTools,
        workspaces: OwnWorkspaces | None,
    ) -> None:  # fmt: skip
        self.workspaces = workspaces
        self._registry, self._parent, self._lease, self._runner, self._toolbox = (
            registry,
            parent,
            lease,
            runner,
            toolbox,
        )
        self.ended: set[str] = set()
        """Calls that the parent ends."""
        self._running: dict[str, _Run] = {}
        self._steering: set[asyncio.Task[None]] = set()

    async def run(
        self,
        call: str,
        tasks: Sequence[ChildTask],
        on_output: Callable[[str], None],
        *,
        first: int = 0,
        share: int = 0,
    ) -> tuple[ChildResult, ...] | str:
        """Have the parts done side by side; see ``agentic.ports.children.Children``."""
        share = share or len(tasks)
        runs = [_Run(child_id(call, index), index + 1, task, share) for index, task in enumerate(tasks, first)]
        return await self._done(call, runs, on_output)

    async def approach(
        self, call: str, ways: Sequence[str], on_output: Callable[[str], None]
    ) -> tuple[str, tuple[ChildResult, ...]] | str:
        """Have the task done in each of these ways; see ``agentic.ports.children.Children``."""
        children = [child_id(call, index) for index in range(len(ways))]
        base, problem = await self._base(children)
        if not base:
            return f"{NO_COPIES}: {problem}."
        share = len(ways) + 1  # one stays with the parent
        runs = [
            _Run(child, number, ChildTask(way), share, place_id(self._lease.thread, child), base)
            for number, (child, way) in enumerate(zip(children, ways, strict=True), 1)
        ]
        results = await self._done(call, runs, on_output)
        return results if isinstance(results, str) else (base, results)

    async def _base(self, children: Sequence[str]) -> tuple[str, str]:
        """The checkpoint that all begin with: the one that the first of them began with, or the workspace as it is; or
        the problem.
        """
        if self.workspaces is None:
            return "", "no copies are kept"
        for child in children:
            begun = (await self._folded(child)).started
            if begun is not None:
                return begun.workspace, ""
        saved = await self.workspaces.checkpoint()
        return saved.manifest, saved.problem

    async def _done(
        self, call: str, runs: Sequence[_Run], on_output: Callable[[str], None]
    ) -> tuple[ChildResult, ...] | str:
        await self._forget_said(runs)
        self._running = {run.id: run for run in runs}
        self._registry.runs |= self._running
        try:
            parent = await self._folded(self._parent)
            if parent.policy.subagent_depth < 1:
                return TOO_DEEP
            if unknown := [run.task.role for run in runs if run.task.role and not _is_role(parent, run.task.role)]:
                own = [role.name for role in parent.started.own_roles] if parent.started is not None else []
                return NO_ROLE.format(role=one_line(unknown[0], 60), roles=", ".join((*PARTS, *own)))
            if parent.paused is not None:
                self.steer("pause", parent.paused.inbox)
            await self._side_by_side(parent, call, runs, on_output)
        finally:
            for child in self._running:
                del self._registry.runs[child]
            self._running = {}
            await late_to_end(self._steering)
        reach("children.ended")
        results = tuple([await self._result(run) for run in runs])
        await self._forget_said(runs)
        return results

    async def _forget_said(self, runs: Sequence[_Run]) -> None:
        """Let go of what was said to them and that they did not come to take in."""
        own, store = {side_target(run.id) for run in runs}, self._registry.store
        await store.discard([item.id for item in await store.pending(self._lease.thread) if item.target in own])

    async def _side_by_side(
        self, parent: Execution, call: str, runs: Sequence[_Run], on_output: Callable[[str], None]
    ) -> None:
        def told(run: _Run) -> None:
            run.ended = True
            on_output(f"{sum(each.ended for each in runs)} of {len(runs)} done\n")

        on_output(f"0 of {len(runs)} done\n")
        works: list[asyncio.Task[None]] = []
        for run in runs:
            works.append(asyncio.create_task(self._work(run, parent, runs, told), name=f"child {run.id}"))
            works[-1].add_done_callback(heard)
            works[-1].add_done_callback(lambda _, run=run: run.looked.set())
        try:
            await self._all_done(works, call)
        finally:
            await late_to_end(works)

    def ring(self) -> None:
        """Have each child look whether it goes on."""
        for run in self._running.values():
            run.bell.set()

    def steer(self, sort: Sort, mark: str) -> None:
        """Say to all children what was said to their parent."""
        runs = [run for run in self._running.values() if not run.ended]
        task = asyncio.create_task(self._say(runs, sort, mark), name=f"{sort} {self._parent}")
        self._steering.add(task)
        task.add_done_callback(self._steering.discard)

    async def _all_done(self, works: Sequence[asyncio.Task[None]], call: str) -> None:
        """Wait for all; the first fault is raised.  Where the parent ends the call, they end in their own logs."""
        try:
            done, _ = await asyncio.wait(works, return_when=asyncio.FIRST_EXCEPTION)
        except asyncio.CancelledError:
            if call not in self.ended:
                raise
            await self._say([run for run in self._running.values() if not run.ended], "stop", call)
            done, late = await asyncio.wait(works, timeout=STOP_SECONDS)
            while late and any(run.toolbox and run.toolbox.restoring is not None for run in self._running.values()):
                done, late = await asyncio.wait(works, timeout=STOP_SECONDS)
            if late:
                raise
        for work in sorted(done, key=lambda each: each.cancelled()):
            work.result()

    async def _say(self, runs: Sequence[_Run], sort: Sort, mark: str) -> None:
        for run in runs:
            try:
                await self._registry.store.put(self._registry.item(run.id, self._lease.thread, sort, mark))
            except StoreError as error:
                log.warning("child %s is not told of a %s: %s", run.id, sort, error)
            run.bell.set()

    async def _work(self, run: _Run, parent: Execution, runs: Sequence[_Run], told: Callable[[_Run], None]) -> None:
        """Run one to its end.  Raises ``CancelledError`` where it was left, because the process ends."""
        name = f"{'approach' if run.place else 'helper'} {run.number}"
        toolbox = run.toolbox = self._toolbox(name, run.task.reader, run.place)
        try:
            before = await self._folded(run.id)
            if before.finished is None:
                if run.place or not (before.touched and base(before)):  # else it looks at the files first
                    run.looked.set()
                    for other in runs if not run.place else ():
                        await other.looked.wait()
                if before.started is None and self.workspaces is not None and run.place:
                    await self.workspaces.open(run.place, run.base)
                if before.paused is not None:
                    await self._say((run,), "resume", str(self._lease.fence))
                started = self._begun(parent, run, runs, toolbox.specs)
                reach("children.begin")
                try:
                    after = await self._runner.run(self._lease, run.id, toolbox, run.bell, started)
                finally:
                    with contextlib.suppress(SandboxLost):
                        await toolbox.settle()
                if after.finished is None:
                    raise asyncio.CancelledError
        except CallNotBegun as none:  # of the child; its parent's has begun
            raise SandboxLost(str(none)) from none
        except StoreCorrupt as damaged:
            log.error("child %s of %s is put aside: %s", run.id, self._parent, damaged)
            await self._registry.store.set_aside(run.id, DAMAGED)
        if run.place and self.workspaces is not None:
            stopped = (await self._folded(run.id)).stopping is not None
            saved = await self.workspaces.close(run.place, keep=not stopped)
            run.end = saved.manifest
            if saved.problem:
                log.warning("what child %s came to cannot be taken: %s", run.id, saved.problem)
        told(run)

    def _begun(self, parent: Execution, run: _Run, runs: Sequence[_Run], tools: Sequence[ToolSpec]) -> Started:
        if run.place:
            return begun_approach(parent, [each.task.task for each in runs], run, tools)
        return begun(parent, run.task, run.share, tools, self._registry.family)

    async def _folded(self, execution: str) -> Execution:
        return fold([envelope async for envelope in self._registry.store.read(execution)])

    async def _result(self, run: _Run) -> ChildResult:
        try:
            events = [envelope async for envelope in self._registry.store.read(run.id)]
        except StoreCorrupt:
            events = []
        result = result_of(run.id, run.task, events)
        if not run.place:
            return result
        return replace(result, tried=tried(run.task.task, run.place, run.end, events, self._registry.score))


def begun(
    parent: Execution, part: ChildTask, number: int, tools: Sequence[ToolSpec], family: Callable[[str], str]
) -> Started:
    """How one of so many children begins."""
    started, policy = parent.started, granted(parent, number)
    assert started is not None
    role = role_for(started, part)
    template = role_named(started, role)
    if template is not None and template.other_family:
        policy = policy.model_copy(update={"tiers": other_eyes(policy.tiers, family(model_of(parent)), family)})
    policy = policy.model_copy(update={"tiers": _within(parent, policy.tiers)})
    child = _child_of(parent, part.task, to_read(policy) if part.reader else policy, tools)
    if part.reader:  # without a workspace and tools it needs the date, and no rules, files for agents or skills
        child = child.model_copy(
            update={"environment": child.environment[:1], "rule_files": (), "guides": (), "skills": ()}
        )
    return child.model_copy(update={"role": role, "quoted": part.quoted})


def begun_approach(parent: Execution, ways: Sequence[str], run: _Run, tools: Sequence[ToolSpec]) -> Started:
    """How one that takes an approach begins: with all that its parent was told."""
    started = parent.started
    assert started is not None
    models = [model for tier in started.policy.tiers for model in tier.models]
    task = read(started.task, (*models, *map(short, models))).text
    child = _child_of(parent, approach(task, ways, run.number), granted(parent, run.share), tools)
    return child.model_copy(
        update={
            "workspace": run.base,
            "role": started.role,
            "files": started.files,
            "earlier": started.earlier,
            "quoted": started.quoted,
            "lessons": started.lessons,
        }
    )


def _child_of(parent: Execution, task: str, policy: Policy, tools: Sequence[ToolSpec]) -> Started:
    """What all children have of their parent."""
    started = parent.started
    assert started is not None
    # Of facts that only `recall` finds a child is told where it has that tool.
    names = {tool.name for tool in tools}
    return Started(
        thread=started.thread,
        task=task,
        requester=started.requester,
        root=started.root or parent.id,
        parent=parent.id,
        child=True,
        policy=policy,
        tools=_shared(parent, tools),
        sandbox=started.sandbox,
        environment=tuple(line for line in started.environment if "`recall`" not in line or "recall" in names),
        instructions=started.instructions,
        own_roles=started.own_roles,
        rule_files=started.rule_files,
        guides=started.guides,
        calibrator=started.calibrator,
        opened_hosts=parent.opened_hosts,
        exposure=parent.exposure,
        watchers=started.watchers,
        skills=started.skills,
    )


def role_for(started: Started, part: ChildTask) -> str:
    """The role that fits; a coder may change files whatever the words say."""
    own = {role.name for role in started.own_roles}
    if part.role in own:
        return part.role or ""
    if part.role != "coder":
        return "researcher" if part.reader else PARTS.get(part.role or "", "")
    named = role_of(part.task.lower(), changes=True)
    return named if named in shipped() and shipped()[named].may == EVERYTHING and named not in own else "coder"


def _is_role(parent: Execution, name: str) -> bool:
    own = parent.started.own_roles if parent.started is not None else ()
    return name in PARTS or any(role.name == name for role in own)


def _within(parent: Execution, tiers: tuple[Tier, ...]) -> tuple[Tier, ...]:
    """The tiers that the parent's role may work in; all where none is left."""
    levels = parent.triage.role_levels if parent.triage is not None else ()
    return tuple(tier for tier in tiers if tier.number in levels) or tiers


def _shared(parent: Execution, tools: Sequence[ToolSpec]) -> tuple[ToolRef, ...]:
    """The tools of a child, without those that its parent's role does not have."""
    triaged = parent.triage
    if triaged is None or not (triaged.role_tools or triaged.role_refuses or triaged.role_may not in ((), EVERYTHING)):
        return tuple(spec.ref for spec in tools)
    has = {tool.name for tool in known(parent)} - ({SHELL} if shell_looks(parent) else set())
    return tuple(spec.ref for spec in tools if spec.cognitive or spec.name in has)


def other_eyes(tiers: tuple[Tier, ...], own: str, family: Callable[[str], str]) -> tuple[Tier, ...]:
    """The models of other families; all of them where there is no other."""
    left = [tier.model_copy(update={"models": tuple(m for m in tier.models if family(m) != own)}) for tier in tiers]
    return tuple(tier for tier in left if tier.models) or tiers


def result_of(child: str, task: ChildTask, log: Sequence[Envelope]) -> ChildResult:
    """What a child came to, by its log."""
    events: list[Event] = [envelope.event for envelope in log]
    if events and isinstance(began := events[0], Started):
        task = replace(task, task=began.task, quoted=began.quoted)
    folded, asked, models = fold(log), dict[str, str](), dict[str, float]()
    changes: list[FileChange] = []
    conflicts: list[StaleFile] = []
    for event in events:
        if isinstance(event, ModelRequested):
            asked[event.request] = event.model
        elif isinstance(event, ModelAnswered):
            model = asked.get(event.request, "unknown")
            models[model] = models.get(model, 0.0) + event.usd
        elif isinstance(event, ToolFinished | Gated):
            changes += event.changes
            conflicts += event.conflicts if isinstance(event, ToolFinished) else ()
    finished = folded.finished or Finished(reason="failed", answer="Its log is damaged: nothing of it is known.")
    ended = SubagentFinished(
        child=child,
        spent_usd=folded.spent.usd,
        result=finished.reason,
        grant_usd=folded.policy.max_usd,
        spent_tokens=folded.spent.tokens,
        turns=folded.turn.number,
        models=models,
    )
    return ChildResult(task, finished, ended, tuple(changes), folded.exposure, tuple(dict.fromkeys(conflicts)))


def tried(way: str, place: str, end: str, log: Sequence[Envelope], score: Score) -> TriedApproach:
    """What can be shown and taken of an approach, by its log."""
    folded = fold(log)
    finished = folded.finished or Finished(reason="failed", answer="")
    evaluated = score(log) if folded.started is not None else unscored(log)
    begun_at, ended_at = folded.started_at, folded.at
    seconds = (ended_at - begun_at).total_seconds() if begun_at is not None and ended_at is not None else 0.0
    return TriedApproach(
        way=way,
        child=folded.id,
        place=place,
        end=end,
        result=finished.reason,
        said=finished.answer[:SAID_CHARACTERS],
        verdict=evaluated.verifier,
        check=evaluated.check,
        score=evaluated.score,
        confidence=finished.confidence,
        usd=folded.spent.usd,
        seconds=seconds,
    )
