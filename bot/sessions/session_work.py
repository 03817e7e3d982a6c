"""The asyncio task of one thread: its executions, one after the other, each under the thread's lease.

It lives while there is something to do: an execution that is open in the log, an action on a finished one, or an inbox
item that begins one.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections import Counter
from functools import partial

from agentic.core.events.execution_events import InboxItem, Sort, Started
from agentic.core.events.ids import execution_id, is_child
from agentic.core.state.execution import Execution
from agentic.log_context import of_thread
from agentic.ports.errors import (
    AgenticError,
    LeaseLost,
    ModelError,
    SandboxLost,
    SandboxUnavailable,
    StoreTooNew,
    StoreUnavailable,
)
from agentic.ports.failpoints import reach
from agentic.ports.runtime import Lease, Toolbox
from bot.messages.error_text import Attempted, error_text
from bot.sessions.dependencies import Acted, receipt_of
from bot.sessions.learning import learn
from bot.sessions.lease import (
    Halted,
    ThreadTaken,
    give_back,
    take,
    unless,
    while_held,
)
from bot.sessions.leftover_inbox import (
    Opine,
    call_off,
    doubles,
    leave_behind,
    opinions_on_others,
)
from bot.sessions.recovery import ended_after_all, note_broken_off, recall, set_aside
from bot.sessions.session import Session
from bot.sessions.side_questions import side_questions
from bot.sessions.start import TaskRefused
from bot.sessions.waiting_notices import word_of_learning, word_of_waiting
from bot.thread_state.message_meaning import ACTS, starts
from bot.thread_state.session_state import (
    ActBegan,
    ActEnded,
    BrokenOff,
    Chosen,
    Discarded,
    Dropped,
    InboxRead,
    LoopBegan,
    LoopEnded,
    NothingOpen,
    TakenUp,
)

RESUMES = 2
"""How often a lost sandbox is recreated before a person is asked to look."""
AGAIN: tuple[Sort, ...] = ("retry", "rewind", "trial")
"""Kinds of items that run a task again; the new execution knows what was learned from the last one."""
NOTHING_THERE = "That couldn't be done: there is nothing here to do it to"
TRIES = 3
"""How often beginning an item is tried before it is left out in favour of later ones."""
OF_THE_PLACE = (SandboxUnavailable, SandboxLost, LeaseLost, StoreUnavailable, StoreTooNew, ModelError)
"""Faults of the machine rather than of the request: work waits until they are mended."""
SETTLE_SECONDS = 5.0
TELL_AGAIN_SECONDS = 5.0
"""Seconds between attempts to store a notice of what went wrong."""

log = logging.getLogger(__name__)


async def serve(session: Session, opine: Opine) -> None:
    """Do the thread's work; failures are reported in the thread."""
    serving = _Serving(session, opine)
    try:
        with of_thread(session.thread):
            await _served(serving, session)
    finally:
        session.task = None
        session.rests()
        if session.doorbell.is_set() or session.again:
            session.wake()


async def _served(serving: _Serving, session: Session) -> None:
    try:
        while await serving.work():
            pass
    except AgenticError as trouble:
        if isinstance(trouble, ThreadTaken) and not session.ground.alone:
            serving.leave_to_others()
        else:
            log.error("thread %s: %s", session.thread, trouble)
            await serving.report(trouble)
    except Exception as bug:
        log.exception("a fault of ours in thread %s", session.thread)
        await serving.report(bug)


class _GateClosed(Exception):
    """The gate of an item says that it is not to begin."""


class _Serving:
    def __init__(self, session: Session, opine: Opine) -> None:
        self._session, self._ground, self._opine = session, session.ground, opine
        self._seen: frozenset[str] = frozenset()
        """What lay in the inbox when the work at hand was chosen."""
        self._tries: Counter[str] = Counter()
        """How often each item was not begun."""
        self._resumed = 0
        """How often the work at hand was taken up again after its sandbox or its lease was lost."""

    async def work(self) -> bool:
        """Run one execution; False where there is none to run."""
        session = self._session
        session.doorbell.clear()
        if session.state.left:
            return False
        work = await self._next()
        if work is None:
            return session.doorbell.is_set()
        try:
            await self._perform(work)
        except (SandboxLost, LeaseLost) as lost:
            if isinstance(lost, LeaseLost):
                self._ground.lease_lost()
            in_other_hands = isinstance(lost, ThreadTaken) and not self._ground.alone
            if in_other_hands or self._resumed >= RESUMES:
                raise
            self._resumed += 1
            log.warning("thread %s goes on after: %s", session.thread, lost)
        except Exception as trouble:
            if isinstance(work, str) or isinstance(trouble, OF_THE_PLACE) or not await self._never_began(work):
                raise
            await self._try_again(work, trouble)
        else:
            self._resumed = 0
        return True

    async def _next(self) -> InboxItem | str | None:
        """Return the open execution of the log, else the oldest inbox item that begins one.

        Items before that one concern finished executions: an old stop does not stop what comes later.
        """
        session, store = self._session, self._ground.store
        session.halt.clear()
        opened = [row.execution for row in await store.open_executions(session.thread)]
        waiting = await store.pending(session.thread)
        if not opened and not self._ground.alone:  # begun elsewhere between the two looks: what waits may be about that
            opened = [row.execution for row in await store.open_executions(session.thread)]
        # No await from here until it is said what is taken up: what people do meanwhile is about that.
        self._seen = frozenset(one.id for one in waiting)
        twice = doubles(waiting)
        waiting = [one for one in waiting if one.sort != "fork" and one.id not in twice]  # a fork is done beside
        pending = [one for one in waiting if one.id not in session.state.fetching]
        starting = [one for one in pending if starts(one) or one.sort in ACTS]
        first = starting[0] if starting and not opened else None
        work = opened[0] if opened else first
        after = frozenset(one.id for one in starting if one is not first or one.sort in ACTS)
        session.apply(InboxRead(after), *(() if opened else (NothingOpen(),)))
        if isinstance(work, str):
            session.apply(TakenUp(work))
        elif work is not None and work.sort not in ACTS:
            session.apply(Chosen(execution_id(session.thread, work.id), work.author.id))
        before = [] if opened else pending[: pending.index(first)] if first is not None else pending
        session.crowd.found(pending[len(before) :])
        if any(one.sort == "stop" for one in pending[len(before) :]):
            session.halt.set()
        elif _stops_fetching(waiting, before):
            await call_off(session, "")
        await store.discard(twice)
        await leave_behind(session, self._opine, opinions_on_others(pending, opened) if opened else before)
        return work

    async def _perform(self, work: InboxItem | str) -> None:
        session = self._session
        if not isinstance(work, str) and work.sort in ACTS:
            await self._attempt(work)
            return
        if isinstance(work, str) and is_child(work):
            await self._end_child(work)
            return
        try:
            if isinstance(work, str):
                await self._recall(work)
            else:
                await unless(session.halt, self._learned(work))
                await self._caught_up()
            await self._hold(session.state.main, work)
        except Halted as halted:
            session.apply(Dropped(session.state.main))
            await self._call_off(work, str(halted))
        except TaskRefused as refused:
            assert not isinstance(work, str)
            await self._ground.tell(receipt_of(work, Acted(str(refused))).model_copy(update={"notify": True}))
            session.apply(Dropped(session.state.main), Discarded((work.id,)))
            await self._ground.store.discard([work.id])
        except _GateClosed:
            assert not isinstance(work, str)
            session.apply(Dropped(session.state.main), Discarded((work.id,)))
            await self._ground.store.discard([work.id])

    async def _never_began(self, item: InboxItem) -> bool:
        """Whether the log does not know the item, so that it would be tried first again and again."""
        return await self._ground.store.execution(execution_id(self._session.thread, item.id)) is None

    async def _try_again(self, item: InboxItem, trouble: Exception) -> None:
        """Retry the item at the next look at the inbox; after ``TRIES`` it is reported once and later items go on."""
        session, ground = self._session, self._ground
        session.apply(Dropped(session.state.main))
        self._tries[item.id] += 1
        log.error("thread %s: %s was not begun", session.thread, item.id, exc_info=trouble)
        if self._tries[item.id] < TRIES:
            return
        receipt = receipt_of(item, Acted(error_text(Attempted.BEGIN, trouble, tries=TRIES)))
        await ground.tell(receipt.model_copy(update={"notify": True}))
        await ground.store.discard([item.id])

    async def _attempt(self, item: InboxItem) -> None:
        """Carry out an action; a stop calls it off before it begins."""
        session = self._session
        try:
            if item.sort in AGAIN:
                await unless(session.halt, self._learned(item))
            await self._act(item)
        except Halted as halted:
            await self._call_off(item, str(halted))
        except Exception:
            session.apply(InboxRead(frozenset()))
            raise
        finally:
            session.apply(ActEnded())

    async def _act(self, item: InboxItem) -> None:
        """Carry out an action and post its receipt, also where it failed; it is not retried by itself."""
        session, ground = self._session, self._ground
        reach("act.before")
        acted = await self._acted(item)
        reach("act.after")
        # Who reads the receipt may do the next thing at once.
        session.apply(ActEnded(), Discarded((item.id,)))
        await ground.tell(receipt_of(item, acted))
        reach("act.told")
        await ground.store.discard([item.id])

    async def _acted(self, item: InboxItem) -> Acted:
        session, ground = self._session, self._ground
        if ground.acts is None:
            return Acted(NOTHING_THERE)
        lease = await self._take(begun=False)
        try:
            if not await self._is_still_due(item):
                raise ThreadTaken(f"another process did {item.sort} in thread {session.thread}")
            session.apply(ActBegan())
            if ground.furnish is not None:
                await ground.furnish(session.row, None)
            act = ground.acts.act(item, session.row, lease)
            return await while_held(ground.store, ground.clock, lease, act, ground.allow)
        except LeaseLost:
            raise
        except AgenticError as error:
            log.warning("thread %s: %s was not done: %s", session.thread, item.sort, error)
            return Acted(error_text(Attempted.ACT, error))
        except Exception as bug:  # done again and again it would keep all that is said here from beginning
            log.exception("a fault of ours in thread %s: %s was not done", session.thread, item.sort)
            return Acted(error_text(Attempted.ACT, bug))
        finally:
            await give_back(ground.store, lease)

    async def _hold(self, execution: str, work: InboxItem | str) -> None:
        session, ground = self._session, self._ground
        one = session.state.current
        halted, aside = session.halt.is_set(), one is not None and not one.needs_slot
        async with contextlib.AsyncExitStack() as stack:
            async with word_of_waiting(session, execution):
                asker = session.state.requester
                slot = ground.slots.slot(execution, session.row.guild, asker, hurried=halted, aside=aside)
                await stack.enter_async_context(slot)
            lease = await self._take(isinstance(work, str))
            try:
                if not await self._is_still_due(work):
                    return
                work_done = self._run(lease, execution, work)
                ended = await while_held(ground.store, ground.clock, lease, work_done, ground.allow)
            finally:
                await give_back(ground.store, lease)
            session.rests()
        if ended.finished is not None:
            self._learn_from(execution)

    def _learn_from(self, execution: str) -> None:
        learning = self._session.learning
        task = asyncio.create_task(learn(self._ground.learning, execution), name=f"learning from {execution}")
        learning.add(task)
        task.add_done_callback(learning.discard)

    async def _take(self, begun: bool) -> Lease:
        """Take the lease. A stop calls off an execution that has not begun; one that has begun waits, since its end
        belongs in its log.
        """
        session, ground = self._session, self._ground
        if session.halt.is_set() and not begun:
            raise Halted
        try:
            halt = None if begun else session.halt
            return await take(ground.store, ground.clock, session.thread, ground.owner, halt, patient=ground.alone)
        except ThreadTaken as taken:
            if begun or not ground.alone or not session.halt.is_set():
                raise
            raise Halted(str(taken)) from taken

    async def _call_off(self, work: InboxItem | str, why: str) -> None:
        """Call off what was stopped before it began; where another process began it, the stop is for what runs there."""
        session, ground = self._session, self._ground
        if ground.alone:
            await call_off(session, why)
            return
        lease = await take(ground.store, ground.clock, session.thread, ground.owner, patient=False)
        try:
            if await self._is_still_due(work):
                await call_off(session, why)
        finally:
            await give_back(ground.store, lease)

    async def _is_still_due(self, work: InboxItem | str) -> bool:
        """Whether nobody else did it while this process waited for its slot."""
        session, store = self._session, self._ground.store
        if self._ground.alone:
            return True
        if isinstance(work, str):
            return any(row.execution == work for row in await store.open_executions(session.thread))
        return any(one.id == work.id for one in await store.pending(session.thread))

    def leave_to_others(self) -> None:
        """Another process has the thread, and looks into its inbox."""
        log.info("thread %s is in the hands of another process", self._session.thread)
        self._session.apply(NothingOpen(), InboxRead(frozenset()))
        self._session.doorbell.clear()

    async def _learned(self, item: InboxItem) -> None:
        """Wait for what is being learned in the thread, so that the item's execution knows it."""
        async with word_of_learning(self._session, item.id):
            await self._ground.learning.known(self._session.thread)

    async def _recall(self, execution: str) -> None:
        """Restore an open question and a pause; messages missed while offline are read before work goes on."""
        session = self._session
        if session.recalled != execution:
            await recall(session, execution)
        session.recalled = ""
        with contextlib.suppress(Halted):
            await self._caught_up()

    async def _caught_up(self) -> None:
        """Wait until the bot is connected and has read missed messages, before an earlier process's work goes on."""
        if self._ground.missed is not None:
            await unless(self._session.halt, self._ground.missed(self._session.thread))

    async def _run(self, lease: Lease, execution: str, work: InboxItem | str) -> Execution:
        session, ground = self._session, self._ground
        if ground.furnish is not None:
            ready = ground.furnish(session.row, None if isinstance(work, str) else work)
            await (ready if isinstance(work, str) else unless(session.halt, ready))
        toolbox = self._toolbox(lease, execution)
        try:
            started = None
            if not isinstance(work, str):
                started = await unless(session.halt, self._begin(work, toolbox))
                reach("task.begin")
            async with side_questions(session, lease, execution):
                session.apply(LoopBegan(execution))
                ended = await ground.runner.run(lease, execution, toolbox, session.doorbell, started)
            reach("task.ended")
        finally:
            session.apply(LoopEnded(execution))
            if ground.children is not None:
                ground.children.over(execution)
            await self._settle(toolbox)
        if ground.acts is not None and ended.finished is not None:
            await ground.acts.ended(ended)
        return ended

    def _toolbox(self, lease: Lease, execution: str) -> Toolbox:
        """Return the tools of the execution, with the children that it may have."""
        ground, thread = self._session.ground, self._session.thread
        if ground.children is None:
            return ground.workshop.toolbox(thread)
        tools = partial(ground.workshop.child_toolbox, thread)
        children = ground.children.of(execution, lease, ground.runner, tools, ground.workshop.copies(thread))
        return ground.workshop.toolbox(thread, children)

    async def _end_child(self, child: str) -> None:
        """Stop a child execution that was left open when its parent ended."""
        session, ground = self._session, self._ground
        assert ground.children is not None
        lease = await self._take(begun=True)
        try:
            toolbox = ground.workshop.child_toolbox(session.thread, "helper")
            ending = ground.children.end(child, lease, ground.runner, toolbox)
            await while_held(ground.store, ground.clock, lease, ending, ground.allow)
        finally:
            await give_back(ground.store, lease)
        session.apply(Dropped(child))

    async def _begin(self, item: InboxItem, toolbox: Toolbox) -> Started:
        if item.gate and self._ground.gate is not None and not await self._ground.gate(item):
            raise _GateClosed
        if self._ground.acts is not None:
            await self._ground.acts.begins(self._session.thread)
        return await self._ground.begin(item, self._session.row, toolbox)

    async def _settle(self, toolbox: Toolbox) -> None:
        """End everything the execution left running; a sandbox that does not answer ends itself without a heartbeat."""
        try:
            async with asyncio.timeout(SETTLE_SECONDS):
                await toolbox.settle()
        except (AgenticError, TimeoutError) as error:
            log.warning("thread %s: what ran in the sandbox may still be ending: %s", self._session.thread, error)

    async def report(self, trouble: Exception) -> None:
        """Say in the thread what went wrong and what to do; the execution stays open and can be resumed."""
        session = self._session
        session.doorbell.clear()
        aside, one = await set_aside(session, trouble), session.state.current
        if one is not None:
            session.apply(Dropped(one.id) if aside else BrokenOff(one.id))
        key = f"{one.id if one is not None else session.thread}.trouble.{self._ground.clock.now():%Y%m%d%H%M%S%f}"
        while not await self._told(key, aside or error_text(Attempted.RUN, trouble)):
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(TELL_AGAIN_SECONDS):
                    await session.doorbell.wait()
            if session.doorbell.is_set():
                return  # the store takes things again, and what came in takes the work up
        if ended := await ended_after_all(session):
            self._learn_from(ended)
        if ended or aside or await self._came_since():
            session.doorbell.set()

    async def _came_since(self) -> bool:
        """Whether an item arrived during the interrupted work; older items do not resume it by themselves."""
        try:
            return any(one.id not in self._seen for one in await self._ground.store.pending(self._session.thread))
        except AgenticError as error:
            log.error("the inbox of thread %s cannot be read now: %s", self._session.thread, error)
            return False

    async def _told(self, key: str, text: str) -> bool:
        """Whether the notice could be stored; a failing store may accept it later."""
        session = self._session
        try:
            await session.tell(key, session.interrupted, text, notify=True)
            if session.interrupted and not self._ground.alone:
                await note_broken_off(session, session.interrupted, self._seen)
        except AgenticError as error:
            log.error("and it cannot be told in thread %s now: %s", session.thread, error)
            return False
        return True


def _stops_fetching(waiting: list[InboxItem], before: list[InboxItem]) -> bool:
    """Whether a stop followed an item whose files are still being fetched, so that the item begins nothing."""
    stop = next((place for place, one in enumerate(reversed(waiting)) if one.sort == "stop" and one in before), None)
    return stop is not None and any(one not in before for one in waiting[: len(waiting) - stop])
