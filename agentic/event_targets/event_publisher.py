"""Delivers what happens in executions to targets outside, each at its own pace: at least once, in order, in the background.

What waits for a target is asked of the store, so it is durable before anybody hears of it, and nothing is lost where the
process dies: what was delivered and not noted comes again under the same key.  One process at a time delivers to a target,
by a lease like that of a thread; of several each delivers what happens in it, and lets go of the lease when nothing waits, for
what happens elsewhere nobody tells it.  A target that is down is tried again ever more slowly, and told of in the log once.
"""

from __future__ import annotations

import asyncio
import logging
from collections import OrderedDict
from collections.abc import Mapping, Sequence, Set
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime

from agentic.core.events.execution_events import Envelope
from agentic.core.outside.outline import TOLD, Outline, follow
from agentic.core.outside.outside_events import AnyOutsideEvent
from agentic.event_targets.event_target import EventTarget, NotDelivered
from agentic.ports.errors import LogInvalid, StoreCorrupt, StoreError, StoreTooNew
from agentic.ports.failpoints import reach
from agentic.ports.runtime import Clock, Lease, LogEntry, Sink, Store

log = logging.getLogger(__name__)

PAGE = 100
"""Events of the logs that are taken at a time."""
LOOK_SECONDS = 5.0
"""So often it is looked for what nobody told of: outcomes, copies, what a process that died left; where a look costs."""
LOOK_HERE_SECONDS = 1.0
"""The same where it costs nothing: in a file on this machine."""
SOON_SECONDS = 0.2
"""After this, and then ever later, it is looked whether another process is done with a target for which something waits."""
COLLECT_SECONDS = 1.0
"""So long more is waited for once there is something: one request takes several events, and each costs."""
LEASE_SECONDS, RENEW_SECONDS = 120.0, 60.0
DELIVER_SECONDS = 50.0
"""One delivery takes no longer, and so less than what is left of the lease."""
FIRST_PAUSE, LONGEST_PAUSE = 1.0, 300.0
TELL_SECONDS = 60.0
"""A target that takes nothing for so long is told of in the log."""
CLOSE_SECONDS = 2.0
OUTLINES = 1_000
"""Executions whose outlines are remembered; those of others are read from their logs again."""


@dataclass(frozen=True, slots=True)
class _Step:
    """An event of a log, what is told of it, and what is known then."""

    entry: LogEntry
    told: tuple[AnyOutsideEvent, ...]
    outline: Outline


class _Line:
    """The way to one target; ``shared`` with other processes it is left to them whenever nothing waits."""

    def __init__(
        self, store: Store, clock: Clock, owner: str, target: EventTarget, *, shared: bool, look: float | None
    ) -> None:
        self.target, self._shared, self._look = target, shared, look
        self.news = asyncio.Event()
        self._store, self._clock, self._owner = store, clock, owner
        self._lease: Lease | None = None
        self._fence = 0
        """That of the last lease."""
        self._until = 0.0
        self._others = 0.0
        """Seconds until the next look whether another process is done; 0 where none is in the way."""
        self._known: OrderedDict[str, _Step] = OrderedDict()
        """The last step that was told of each execution."""
        self._closing = asyncio.Event()
        self._pause = 0.0
        self._since = 0.0
        self._told = False

    async def run(self) -> None:
        """Deliver until it is closed."""
        while not (self._closing.is_set() and self._pause):
            self.news.clear()
            last = self._closing.is_set()
            try:
                more = await self._round()
            except StoreError as error:
                self._known.clear()  # perhaps it was noted, and only the answer was lost
                self._failed(f"the store cannot be read or written: {error}")
                more = False
            if self._pause:
                await self._wait(self._closing, self._pause)
            elif not more:
                if last:
                    break
                await self._wait(self.news, self._others or self._look or LOOK_SECONDS)
                await self._wait(self._closing, COLLECT_SECONDS)
        await self._give_back()

    def close(self) -> None:
        """Deliver what there is, as far as that goes at once, and end."""
        self._closing.set()
        self.news.set()

    async def _round(self) -> bool:
        """Deliver a page of what waits; whether there may be more."""
        held = self._is_held
        entries = await self._store.unpublished(self.target.name, PAGE)
        if entries and not held:
            if not await self._holds():
                self._others = min(2 * self._others or SOON_SECONDS, LOOK_SECONDS)
                self._succeeded()
                return False
            entries = await self._store.unpublished(self.target.name, PAGE)  # another process may have told some of it
        self._others = 0.0
        if not entries:
            self._succeeded()
            await self._leave()
            return False
        steps = await self._followed(entries)
        events = [event for step in steps for event in step.told]
        keys, problem = await self._delivered(events)
        done = _first(steps, keys)
        if done:
            if keys:
                reach("events.delivered")
            await self._store.published(self.target.name, [step.entry for step in done])
            self._remember(done)
        if problem:
            self._failed(problem)
        else:
            self._succeeded()
        more = len(entries) == PAGE or len(done) < len(entries)
        if not more:
            await self._leave()
        return more

    async def _delivered(self, events: Sequence[AnyOutsideEvent]) -> tuple[set[str], str]:
        """Keys of those that arrived in time, and why a target that is not merely slow did not take all."""
        keys: set[str] = set()
        try:
            async with asyncio.timeout(DELIVER_SECONDS):
                async for key in self.target.deliver(events):
                    keys.add(key)
        except NotDelivered as why:
            return keys, str(why)
        except TimeoutError:
            silent = f"it took nothing within {DELIVER_SECONDS:.0f} seconds: check whether it is up"
            return keys, "" if keys else silent
        return keys, ""

    @property
    def _is_held(self) -> bool:
        """Whether this process surely is the one that delivers to the target."""
        return self._lease is not None and self._clock.monotonic() < self._until

    async def _holds(self) -> bool:
        """Become the one that delivers to the target, or go on to be; False where another process is."""
        now = self._clock.monotonic()
        if self._lease is None or not await self._store.renew(self._lease, LEASE_SECONDS):
            self._lease = await self._store.acquire(f"events to {self.target.name}", self._owner, LEASE_SECONDS)
            if self._lease is not None:
                if self._lease.fence != self._fence + 1:
                    self._known.clear()  # another process had it, and may have told more
                self._fence = self._lease.fence
        self._until = now + RENEW_SECONDS
        return self._lease is not None

    async def _leave(self) -> None:
        """Leave the target to other processes, where there are any."""
        if self._shared:
            await self._give_back()

    async def _give_back(self) -> None:
        lease, self._lease = self._lease, None
        if lease is not None:
            with suppress(StoreError):
                await self._store.release(lease)

    async def _followed(self, entries: Sequence[LogEntry]) -> list[_Step]:
        steps: list[_Step] = []
        outlines: dict[str, Outline] = {}
        for entry in entries:
            name = entry.envelope.execution
            outline = outlines.get(name) or self._outline_of(entry) or await self._outline_before(entry)
            outlines[name], told = follow(outline, entry.envelope, entry.stream)
            steps.append(_Step(entry, told, outlines[name]))
        return steps

    def _outline_of(self, entry: LogEntry) -> Outline | None:
        """What is known of its execution, unless that is not from before it."""
        step = self._known.get(entry.envelope.execution)
        return step.outline if step is not None and _place(step.entry) < _place(entry) else None

    async def _outline_before(self, entry: LogEntry) -> Outline:
        """What the log says up to there; as far as it can be read."""
        outline, name = Outline(), entry.envelope.execution
        with suppress(StoreCorrupt, StoreTooNew, LogInvalid):
            async for envelope in self._store.read(name):
                if entry.stream == "log" and envelope.seq >= entry.envelope.seq:
                    break
                outline = follow(outline, envelope)[0]
        return outline

    def _remember(self, steps: Sequence[_Step]) -> None:
        for step in steps:
            self._known[step.entry.envelope.execution] = step
            self._known.move_to_end(step.entry.envelope.execution)
        while len(self._known) > OUTLINES:
            self._known.popitem(last=False)

    def _failed(self, problem: str) -> None:
        now = self._clock.monotonic()
        self._since = self._since or now
        self._pause = min(LONGEST_PAUSE, 2 * self._pause or FIRST_PAUSE)
        if not self._told and now - self._since >= TELL_SECONDS:
            self._told = True
            log.warning(
                "events are not delivered to the %s (%s): %s. They wait, and are tried again", self.target.name,
                self.target.place, problem,
            )  # fmt: skip

    def _succeeded(self) -> None:
        if self._told:
            log.warning("events are delivered to the %s (%s) again", self.target.name, self.target.place)
        self._pause, self._since, self._told = 0.0, 0.0, False

    async def _wait(self, event: asyncio.Event, seconds: float) -> None:
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await event.wait()


def _place(entry: LogEntry) -> tuple[bool, int]:
    """Where it stands in its execution."""
    return entry.stream == "outcome", entry.envelope.seq


def _first(steps: Sequence[_Step], keys: Set[str]) -> list[_Step]:
    """Those before the first of which something was not delivered."""
    missing = (place for place, step in enumerate(steps) if any(one.key not in keys for one in step.told))
    return list(steps[: next(missing, len(steps))])


class EventPublisher(Sink):
    """Owns the ways to all targets; as a sink it hears of what became durable here, and looks at once.

    ``shared``: other processes deliver what happens in them.  ``look``: seconds after which it looks for what nobody told of.
    """

    def __init__(
        self, store: Store, clock: Clock, owner: str, targets: Sequence[EventTarget], *,
        shared: bool = False, look: float | None = None,
    ) -> None:  # fmt: skip
        self._store = store
        self._lines = [_Line(store, clock, owner, target, shared=shared, look=look) for target in targets]
        self._tasks: list[asyncio.Task[None]] = []

    async def open(self) -> None:
        """Have events wait for the targets from now on, and begin to deliver.  Raises ``StoreError``."""
        for line in self._lines:
            await self._store.subscribe(line.target.name)
        self._tasks = [asyncio.create_task(line.run(), name=f"events to {line.target.name}") for line in self._lines]
        for task in self._tasks:
            task.add_done_callback(_broke)

    async def close(self) -> None:
        """Deliver what there is as far as that goes within a moment; the rest is left to the next process."""
        for line in self._lines:
            line.close()
        if self._tasks:
            await asyncio.wait(self._tasks, timeout=CLOSE_SECONDS)
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        for line in self._lines:
            await line.target.close()

    def saw(self, envelope: Envelope) -> None:
        """Look at once where something may be told of it."""
        if envelope.event.kind in TOLD:
            for line in self._lines:
                line.news.set()

    def streamed(self, execution: str, text: str) -> None:
        """Nothing of that goes outside."""

    async def waiting_since(self) -> Mapping[str, datetime]:
        """When the oldest event happened that waits, for each target for which one does.  Raises ``StoreError``."""
        found = {line.target.name: await self._store.unpublished(line.target.name, 1) for line in self._lines}
        return {name: entries[0].envelope.at for name, entries in found.items() if entries}


def _broke(task: asyncio.Task[None]) -> None:
    if not task.cancelled() and (error := task.exception()) is not None:
        log.error("%s broke; restart the bot to have them delivered", task.get_name(), exc_info=error)
