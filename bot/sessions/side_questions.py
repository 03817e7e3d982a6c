"""Side questions: answered beside the running execution, under the same lease, by an execution without tools.

It is given the task and the work so far, as data; the running execution learns nothing of it and does not wait for it.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import asynccontextmanager

from pydantic import JsonValue

from agentic.core.events.execution_events import (
    Envelope,
    FileChange,
    InboxItem,
    InputReceived,
    ModelAnswered,
    QuotedMessage,
    Started,
    TextBlock,
    ToolFinished,
    ToolStarted,
)
from agentic.core.events.ids import execution_id, side_target
from agentic.ports.errors import AgenticError, StoreCorrupt, StoreUnavailable
from agentic.ports.runtime import (
    Found,
    Lease,
    Observation,
    Perception,
    Prepared,
    Preview,
    Refused,
    Saved,
    ToolSpec,
)
from bot.messages.error_text import Attempted, error_text
from bot.sessions import lease as lease_module
from bot.sessions.session import Session
from bot.thread_state.session_state import BegunBeside, EndedBeside, StopRequested

SECONDS = 90.0
"""Seconds a side question may outlast the main execution before it is given up."""
STOP_SECONDS = 2.0
BEGINNING_LOOKS, BEGINNING_PAUSE = 50, 0.1
"""How often, and how many seconds apart, to check whether the main execution has begun."""
AGAIN_SECONDS = 1.0
STEPS = 30
CHARACTERS = 200

log = logging.getLogger(__name__)


class NoTools:
    """The empty toolbox of an execution that only answers."""

    @property
    def specs(self) -> tuple[ToolSpec, ...]:
        return ()

    def prepare(
        self, tool: str, arguments: dict[str, JsonValue], created: frozenset[str] = frozenset()
    ) -> Prepared | Refused:
        """Refuse every call."""
        return Refused(f"There is no tool {tool!r} for a side question.")

    async def run(self, tool: str, call: str, prepared: Prepared, on_output: Callable[[str], None]) -> Observation:
        """Unreachable, since no call is ever prepared."""
        return Observation("refused", f"There is no tool {tool!r}.")

    @property
    def diary(self) -> str:
        return ""

    async def recall(self, intent: ToolStarted, created: frozenset[str] = frozenset()) -> None:
        """Nothing was begun."""

    async def preview(self, tool: str, prepared: Prepared) -> Preview | Refused:
        """No call is put to anybody."""
        return Preview()

    async def state_of(self, tool: str, arguments: dict[str, JsonValue]) -> str:
        return ""

    async def checkpoint(self) -> Saved:
        return Saved("", "")

    async def inspect(self, manifest: str, since: tuple[FileChange, ...]) -> Found:
        return Found()

    async def perceive(self) -> Perception:
        return Perception()

    @property
    def restoring(self) -> None:
        return None

    async def settle(self) -> None:
        """Do nothing: there are no processes to end."""


@asynccontextmanager
async def side_questions(session: Session, lease: Lease, parent: str) -> AsyncGenerator[None]:
    """Answer the thread's side questions while the execution runs; those that have begun are answered to their end."""
    sides = _Sides(session, lease, parent)
    watchers: list[asyncio.Task[None]] = []
    one = session.state.execution(parent)
    is_side = one is not None and one.side
    if is_side and session.halt.is_set():
        await _stopped_itself(session, parent)
    elif is_side:
        watchers.append(asyncio.create_task(_stopped_itself(session, parent), name=f"a stop for {parent}"))
    watchers.append(asyncio.create_task(sides.watch(), name=f"side questions in {session.thread}"))
    try:
        yield
    finally:
        for watcher in watchers:
            watcher.cancel()
        try:
            await asyncio.wait(watchers)
        finally:
            await sides.end()


async def _stopped_itself(session: Session, execution: str) -> None:
    """Wait for a stop of the thread where the running execution is itself a side question, since nothing else would
    take the stop.
    """
    await session.halt.wait()
    while True:
        try:
            pending = await session.ground.store.pending(session.thread)
            for stop in [one for one in pending if one.sort == "stop" and not one.target]:
                own = stop.model_copy(update={"id": f"{stop.id}.side", "target": side_target(execution)})
                await session.ground.store.put(own)
        except AgenticError as error:
            log.warning("the stop of side question %s cannot be read now: %s", execution, error)
            await session.ground.clock.sleep(AGAIN_SECONDS)
        else:
            break
    session.doorbell.set()


class _Sides:
    def __init__(self, session: Session, lease: Lease, parent: str) -> None:
        self._session, self._lease, self._parent = session, lease, parent
        self._begun: dict[str, asyncio.Task[None]] = {}
        self._asked: dict[str, InboxItem] = {}

    async def watch(self) -> None:
        """Begin each side question; a failing store is asked again."""
        session, opened = self._session, False
        while True:
            session.aside.clear()
            try:
                left = [] if opened else await self._left_open()
                asked = [item for item in await session.ground.store.pending(session.thread) if item.sort == "side"]
                for item in (*left, *asked):
                    if item.id not in self._begun:
                        self._begin(item)
                opened = True
            except AgenticError as error:
                log.warning("side questions in thread %s cannot be read now: %s", session.thread, error)
                await session.ground.clock.sleep(AGAIN_SECONDS)
            else:
                await session.aside.wait()

    def _begin(self, item: InboxItem) -> None:
        execution = execution_id(item.thread, item.id)
        self._session.apply(BegunBeside(execution))
        self._session.bells[execution] = asyncio.Event()
        self._asked[item.id] = item
        self._begun[item.id] = asyncio.create_task(self._answer(item), name=f"side question {item.id}")

    async def _left_open(self) -> list[InboxItem]:
        """Return the side questions that an earlier process had begun to answer."""
        store, thread = self._session.ground.store, self._session.thread
        found: list[InboxItem] = []
        for row in await store.open_executions(thread):
            try:
                first = await anext(aiter(store.read(row.execution)), None)
            except StoreCorrupt as damaged:  # it is put aside when its turn comes
                log.error("side questions in thread %s: %s", thread, damaged)
                continue
            event = first.event if first is not None else None
            if first is not None and isinstance(event, Started) and event.side:
                found.append(
                    InboxItem(
                        id=event.inbox, thread=thread, sort="side", author=event.requester, at=first.at,
                        text=event.task, quoted=event.quoted,
                    )
                )  # fmt: skip
        return [item for item in found if execution_id(thread, item.id) != self._parent]

    async def end(self) -> None:
        """Wait for the answers; a stop ends them in their logs, and those not ready in time are cancelled for the next
        owner.

        When this returns or is cancelled, none of them runs, so that the thread's lease can be given back.
        """
        running = {id: task for id, task in self._begun.items() if not task.done()}
        try:
            if running:
                leaving = asyncio.create_task(self._leave([*running]), name="leaving side questions")
                try:
                    await self._answered([*running.values()])
                finally:
                    leaving.cancel()
            if self._session.halt.is_set():
                await self._stop([id for id, task in running.items() if not task.done()])
        finally:
            await lease_module.ended(*running.values())

    async def _leave(self, ids: list[str]) -> None:
        """Leave the side questions in order because the process ends; the next process answers them."""
        session = self._session
        while not session.state.left:
            session.aside.clear()
            await session.aside.wait()
        for id in ids:
            session.ring(execution_id(session.thread, id))

    async def _stop(self, ids: list[str]) -> None:
        session = self._session
        for id in ids:
            execution = execution_id(session.thread, id)
            stop = InboxItem(
                id=f"{id}.stop", thread=session.thread, sort="stop", author=self._asked[id].author,
                at=session.ground.clock.now(), target=side_target(execution),
            )  # fmt: skip
            try:
                await session.ground.store.put(stop)
            except AgenticError as error:
                log.warning("side question %s goes on after the stop: %s", id, error)
            session.apply(StopRequested(0, execution))
        if ids:
            await asyncio.wait([self._begun[id] for id in ids], timeout=STOP_SECONDS)

    async def _answered(self, running: list[asyncio.Task[None]]) -> None:
        """Wait until all are answered, a stop is given, or it takes too long."""
        answered = asyncio.create_task(_all_done(running), name="side questions")
        halted = asyncio.create_task(self._session.halt.wait(), name="a stop for side questions")
        try:
            await asyncio.wait((answered, halted), timeout=SECONDS, return_when=asyncio.FIRST_COMPLETED)
        finally:
            halted.cancel()
            answered.cancel()

    async def _answer(self, item: InboxItem) -> None:
        session, ground, ended = self._session, self._session.ground, False
        execution = execution_id(session.thread, item.id)
        try:
            started = await self._started(item)
            bell = session.bells[execution]
            ended = (await ground.runner.run(self._lease, execution, NoTools(), bell, started)).finished is not None
            session.crowd.gone([item.id])
        except AgenticError as error:
            log.warning("side question %s was not answered: %s", item.id, error)
            await session.tell(f"{item.id}.side", "", error_text(Attempted.SIDE, error))
        except Exception as bug:
            log.exception("a fault of ours with side question %s", item.id)
            await session.tell(f"{item.id}.side", "", error_text(Attempted.SIDE, bug))
        finally:
            session.bells.pop(execution, None)
            if ended or not session.state.left:
                session.apply(EndedBeside(execution))

    async def _log_so_far(self) -> list[Envelope]:
        """Return the log of the running execution, waiting for its beginning where the question came in the same
        moment.
        """
        ground = self._session.ground
        for _ in range(BEGINNING_LOOKS):
            if log_so_far := [envelope async for envelope in ground.store.read(self._parent)]:
                return log_so_far
            await ground.clock.sleep(BEGINNING_PAUSE)
        raise StoreUnavailable("the task beside it did not begin")

    async def _started(self, item: InboxItem) -> Started:
        log_so_far = await self._log_so_far()
        running = next(e.event for e in log_so_far if isinstance(e.event, Started))
        return Started(
            thread=item.thread, task=item.text, requester=item.author, root=self._parent, parent=self._parent,
            policy=running.policy, side=True, inbox=item.id,
            quoted=(*so_far(running, log_so_far), *item.quoted),
        )  # fmt: skip


async def _all_done(tasks: list[asyncio.Task[None]]) -> None:
    await asyncio.wait(tasks)


def so_far(running: Started, log_so_far: Sequence[Envelope]) -> tuple[QuotedMessage, ...]:
    """Return the running task and its work so far, as data; what of it is a stranger's, the running task knows."""
    tools: dict[str, str] = {}
    lines: list[str] = []
    for envelope in log_so_far:
        event = envelope.event
        if isinstance(event, ModelAnswered):
            lines += [f"thought: {_short(block.text)}" for block in event.blocks if isinstance(block, TextBlock)]
        elif isinstance(event, ToolStarted):
            tools[event.call] = f"{event.tool} {_short(str(event.arguments))}"
        elif isinstance(event, ToolFinished) and event.call in tools:
            lines.append(f"{tools.pop(event.call)}: {event.outcome}: {_short(event.preview)}")
        elif isinstance(event, InputReceived) and event.text:
            lines.append(f"{event.author.name} wrote: {_short(event.text)}")
    lines += [f"{what}: still running" for what in tools.values()]
    task = QuotedMessage(author=f"{running.requester.name}, the running task", text=running.task, trusted=True)
    done = "\n".join(lines[-STEPS:]) or "It has only begun."
    work = QuotedMessage(author="The work on it so far", text=done, trusted=True)
    return task, work


def _short(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= CHARACTERS else line[: CHARACTERS - 1] + "…"
