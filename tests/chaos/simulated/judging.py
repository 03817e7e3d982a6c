"""What must be true of a world when it has come to rest: the seven invariants of the fault catalogue, read from what is
kept, what stands in the guild, and what the commands did.  Each broken one is a line that says what it was.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

from agentic.core.events.execution_events import (
    Asked,
    Decided,
    Envelope,
    Finished,
    InboxItem,
    InputReceived,
    ModelAnswered,
    ModelRequested,
    PolicyChanged,
    Quarantined,
    Started,
    SubagentFinished,
    ToolFinished,
    ToolStarted,
)
from agentic.core.fold.fold import fold
from agentic.core.prompt.user_messages import first_message
from agentic.core.rules.questions import choice_of
from agentic.core.rules.task_end import UNSEEN
from agentic.ports.runtime import ExecutionRow, OutboxRow
from bot.cli.replay.invariants import broken_promises
from bot.outbound.discord_api import nonce_of
from bot.outbound.outbox import GENERATIONS as ANEW
from tests.chaos.counts import Counts
from tests.chaos.simulated.minds import plan_of
from tests.chaos.simulated.processes import World
from tests.chaos.simulated.town import CANARY

STOP_SECONDS = KNOWN_SECONDS = 2.0
TOLD = frozenset(("task", "queue", "guidance", "side", "edited"))
"""Words of people: each is taken into an execution, or somebody is told that it was not."""
MEANT = frozenset(("guidance", "correction", "edited"))
PARTS, GENERATIONS = 10, 2 * ANEW


@dataclass(frozen=True, slots=True)
class Violation:
    """A broken promise; ``count`` names the figure of ``Counts`` that it adds to."""

    count: str
    text: str


class Judge:
    """Looks at a world that has come to rest."""

    def __init__(self, world: World) -> None:
        self.world, self.town, self.truth, self.guild = world, world.town, world.truth, world.guild
        self.rows: list[ExecutionRow] = []
        self.logs: dict[str, list[Envelope]] = {}
        self.outbox: list[OutboxRow] = []

    async def judge(self) -> tuple[Counts, list[Violation]]:
        """All of it."""
        self.rows = await self.truth.newest_executions(1_000)
        everybody = [row async for row in self.truth.all_executions()]
        self.logs = {row.execution: self.truth.log_of(row.execution) for row in everybody}
        self.outbox = self.truth.outbox_rows()
        found = [
            *self._accepted(), *self._meant(), *self._heard(), *self._posted(), *self._effects(), *self._logs(),
            *self._owners(), *self._secrets(), *self._stops(), *self._ends(), *self._budgets(), *self._children(),
        ]  # fmt: skip
        counts = Counts(executions=len(self.rows), faults=Counter(self.town.faults))
        for log in self.logs.values():
            begun = {e.event.call for e in log if isinstance(e.event, ToolStarted) and e.event.effect == "unkeyed"}
            counts.unkeyed += len(begun)
            counts.unknown += sum(isinstance(e.event, ToolFinished) and e.event.outcome == "unknown" for e in log)
        for violation in found:
            setattr(counts, violation.count, getattr(counts, violation.count) + 1)
        return counts, found

    # --- (1) no acknowledged message is lost --------------------------------------------------------------------

    def _accepted(self) -> Iterator[Violation]:
        taken: Counter[str] = Counter()
        for log in self.logs.values():
            for envelope in log:
                if isinstance(envelope.event, Started | InputReceived):
                    taken[envelope.event.inbox] += 1
        pending = self.truth.inbox_ids()
        for id, (_, item) in self.truth.kept.items():
            if taken[id] > 1:
                yield Violation("other", f"{item.sort} {id} was taken in {taken[id]} times")
            elif id in self.truth.doubtful:
                continue
            elif not taken[id] and id in pending:
                yield Violation(
                    "lost", f"{item.sort} {id} of thread {item.thread} still lies in the inbox: {item.text!r}"
                )
            elif not taken[id] and item.sort in TOLD and not self._was_told(item):
                yield Violation("lost", f"{item.sort} {id} of thread {item.thread} came to nothing: {item.text!r}")
        for execution, log in self.logs.items():
            yield from self._carried(execution, log)

    def _was_told(self, item: InboxItem) -> bool:
        keys = (f"{item.id}.", f"told.{item.id}")
        return any(
            row.item.key.startswith(keys) or (item.text and item.text[:200] in row.item.text) for row in self.outbox
        )

    def _carried(self, execution: str, log: list[Envelope]) -> Iterator[Violation]:
        """What was taken in as guidance reaches a request, or its writer is told that it did not."""
        ended = log[-1].event
        for place, envelope in enumerate(log):
            event = envelope.event
            if not isinstance(event, InputReceived) or event.sort not in MEANT:
                continue
            later = log[place + 1 :]
            reached = any(isinstance(e.event, ModelRequested) for e in later)
            said = isinstance(ended, Finished) and UNSEEN[0] in ended.answer
            answers = any(isinstance(e.event, Decided) and _decides(e.event, event, log[:place]) for e in later)
            stopped = isinstance(ended, Finished) and any(
                isinstance(e.event, InputReceived) and e.event.sort == "stop" for e in log[:place]
            )
            if isinstance(ended, Finished) and not (
                reached or said or answers or stopped or _answered(log[:place], later)
            ):
                yield Violation("lost", f"{event.sort} {event.inbox} was taken into {execution} and reached no request")

    def _meant(self) -> Iterator[Violation]:
        """What is said where a question is open is no new task, and a stop where something is open stops it."""
        if self.town.faults["second_process"] or self.town.faults["frozen_owner"]:
            return  # each knows only what it heard itself
        for id, (at, item) in self.truth.kept.items():
            here = [
                row.execution for row in self.rows if row.thread == item.thread and row.execution in self.truth.open
            ]
            if item.sort == "task":
                asked = [since for one in here for since in self.truth.asking.get(one, ()) if _within(at, since)]
                if asked:
                    yield Violation("other", f"{id} was taken for a task where a question was open: {item.text!r}")
            elif item.sort == "stop" and id in self.truth.dropped and not item.target:
                opened = [one for one in here if _within(at, self.truth.open[one]) and not self._obeyed(one, id, at)]
                if opened:
                    yield Violation("other", f"stop {id} was taken out, and {opened[0]} went on")

    def _obeyed(self, execution: str, id: str, at: float) -> bool:
        """It took this stop in, or was ending by an earlier one."""
        stops = [
            e.event.inbox for e in self.logs[execution] if isinstance(e.event, InputReceived) and e.event.sort == "stop"
        ]
        return id in stops or any(self.truth.kept[one][0] <= at for one in stops if one in self.truth.kept)

    def _heard(self) -> Iterator[Violation]:
        for said in self.guild.said:
            if said.id not in self.town.handled and not self.guild.messages[int(said.id)].deleted:
                yield Violation(
                    "lost", f"message {said.id} in {said.thread or 'the channel'} was never read: {said.text!r}"
                )

    # --- (2) each visible effect once ---------------------------------------------------------------------------

    def _posted(self) -> Iterator[Violation]:
        for row in self.outbox:
            if not row.done:
                yield Violation("lost", f"{row.item.sort} {row.item.key} was never posted: {row.item.text[:80]!r}")
                continue
            parts = [self._made_of(row.item.key, part, row.item.generation, GENERATIONS) for part in range(PARTS)]
            for number in range(PARTS):
                yield from self._twice(row, number)
            signed = row.item.sign and row.item.target.isdecimal() and int(row.item.target) in self.guild.signed
            if row.item.sort != "thread" and not any(parts) and not signed and not row.item.key.endswith(".unfit"):
                notes = any(other.item.key == f"{row.item.key}.unfit" for other in self.outbox)
                if not notes:
                    yield Violation("lost", f"{row.item.sort} {row.item.key} is said to be posted and never was")

    def _twice(self, row: OutboxRow, part: int) -> Iterator[Violation]:
        """Where Discord does not take a later part, the plain form of the whole stands below the first ones."""
        for generation in (row.item.generation, row.item.generation + ANEW):
            made = self._made_of(row.item.key, part, generation, ANEW)
            standing = [id for id in made if not self.guild.messages[id].deleted]
            if len(standing) > 1:
                words = self.guild.messages[standing[0]].content[:60]
                text = f"{row.item.sort} {row.item.key} part {part} stands {len(standing)} times: {words!r}"
                yield Violation("doubled", text)

    def _made_of(self, key: str, part: int, generation: int, forms: int) -> list[int]:
        """The messages that were ever made for a part."""
        nonces = (nonce_of(key, part, generation + more) for more in range(forms))
        return [id for nonce in nonces for id in self.guild.created.get(nonce, [])]

    def _effects(self) -> Iterator[Violation]:
        for token, times in self.world.benches.times.items():
            if times > 1:
                yield Violation("unkeyed_twice", f"{token!r} happened {times} times")

    # --- logs and owners ----------------------------------------------------------------------------------------

    def _logs(self) -> Iterator[Violation]:
        for execution, log in self.logs.items():
            for broken in broken_promises(log):
                yield Violation("other", f"log of {execution}: {broken}")
            recorded = self.world.recorded.get(execution)
            if recorded is not None and recorded.finished is not None and fold(log) != recorded:
                yield Violation("other", f"the log of {execution} does not fold to the state it was left in")

    def _owners(self) -> Iterator[Violation]:
        for stale in self.truth.stale_writes:
            yield Violation("other", stale)
        for text in self.world.benches.strangers:
            yield Violation("other", text)

    def _secrets(self) -> Iterator[Violation]:
        for text in self.guild.shown:
            if CANARY in text:
                yield Violation("other", f"the secret stands in Discord: {text[:120]!r}")

    # --- (5) stop -------------------------------------------------------------------------------------------------

    def _stops(self) -> Iterator[Violation]:
        for execution, log in self.logs.items():
            started = log[0].event
            if not isinstance(started, Started):
                continue
            stops = (self._stopped(one) for one in (execution, started.parent if started.child else ""))
            given = min((at for at in stops if at is not None), default=None)
            if given is None:
                continue
            plan = plan_of(first_message(started))
            for effect in self.world.benches.effects:
                if plan != effect.token.rpartition(" ")[2].partition(".")[0] or effect.at <= given:
                    continue
                since = self.town.undisturbed_since(given, effect.at)
                if effect.at > since + STOP_SECONDS:
                    late = effect.at - given
                    yield Violation("other", f"{execution} had the effect {effect.token!r} {late:.1f} s after its stop")

    def _stopped(self, execution: str) -> float | None:
        """When its first stop was kept."""
        said = (e.event for e in self.logs.get(execution, ()))
        stop = next((each.inbox for each in said if isinstance(each, InputReceived) and each.sort == "stop"), "")
        return self.truth.kept[stop][0] if stop in self.truth.kept else None

    def _children(self) -> Iterator[Violation]:
        """None outlives its parent, and each came to what its parent says of it, once."""
        told = Counter[str]()
        for execution, log in self.logs.items():
            for event in (envelope.event for envelope in log):
                if not isinstance(event, SubagentFinished):
                    continue
                told[event.child] += 1
                ended = self.logs[event.child][-1].event if event.child in self.logs else None
                if not isinstance(ended, Finished) or ended.reason != event.result:
                    yield Violation("other", f"{execution} says that {event.child} ended as {event.result}: {ended}")
        for execution, log in self.logs.items():
            started = log[0].event
            if not isinstance(started, Started) or not started.child:
                continue
            if told[execution] > 1:
                yield Violation("other", f"what the helper {execution} came to is told {told[execution]} times")
            over = isinstance(self.logs[started.parent][-1].event, Finished)
            if over and not isinstance(log[-1].event, Finished):
                yield Violation("other", f"the helper {execution} is open, and {started.parent} has ended")

    # --- (6) ends, (7) budgets ------------------------------------------------------------------------------------

    def _ends(self) -> Iterator[Violation]:
        answers = {row.item.execution for row in self.outbox if row.item.sort == "answer"}
        for row in self.rows:
            if not row.finished:
                yield Violation("other", f"{row.execution} did not end, also not after a stop")
            elif row.execution not in answers:
                yield Violation("other", f"{row.execution} ended ({row.finished}) and nobody was told")

    def _budgets(self) -> Iterator[Violation]:
        for execution, log in self.logs.items():
            spent, cap = 0.0, 0.0
            for envelope in log:
                event = envelope.event
                if isinstance(event, Started):
                    cap = event.policy.max_usd
                elif isinstance(event, PolicyChanged):
                    cap += event.add_usd
                elif isinstance(event, ModelAnswered):
                    spent += event.usd
                elif isinstance(event, ModelRequested) and spent >= cap:
                    yield Violation("other", f"{execution} asked a model with {spent:.3f} of {cap:.3f} USD spent")


def _within(at: float, since: tuple[float, float]) -> bool:
    """Whether it was so for a while already, and stayed so for a while."""
    return since[0] + KNOWN_SECONDS < at < since[1] - KNOWN_SECONDS


def _decides(decided: Decided, said: InputReceived, before: list[Envelope]) -> bool:
    """Whether it is what a person's words made of the question that was open: by the option that they name, or as they are."""
    asked = next((e.event for e in before if isinstance(e.event, Asked) and e.event.question == decided.question), None)
    if asked is None or decided.by.id != said.author.id:
        return False
    return decided.text == said.text or decided.choice == choice_of(asked, said)[0]


def _answered(before: list[Envelope], after: list[Envelope]) -> bool:
    """It answered an open question, and a stop that came with it was stronger."""
    asked = {e.event.question for e in before if isinstance(e.event, Asked)}
    decided = {e.event.question for e in before if isinstance(e.event, Decided)}
    return bool(asked - decided) and any(isinstance(e.event, InputReceived) and e.event.sort == "stop" for e in after)


def visibly_waiting(world: World, row: ExecutionRow) -> bool:
    """Whether somebody who looks at the thread sees what an open execution waits for."""
    log = world.truth.log_of(row.execution)
    state = fold(log)
    told = Asked if state.question is not None else Quarantined if state.quarantined is not None else None
    if told is not None:
        return _was_posted(
            world, next(f"{row.execution}.{e.seq}.0" for e in reversed(log) if isinstance(e.event, told))
        )
    if state.paused is not None:
        return True
    said = [one.item for one in world.truth.outbox_rows() if one.done and one.item.thread == row.thread]
    return any(".trouble." in item.key for item in said)


def _was_posted(world: World, key: str) -> bool:
    return any(row.item.key == key and row.done for row in world.truth.outbox_rows())
