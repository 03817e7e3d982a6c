"""The start of an execution: collect what the rules, the model and later readers of the log need in one ``Started``."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Literal, Protocol

from agentic.core.events.calibrator import Calibrator
from agentic.core.events.execution_events import (
    FACTS,
    UNEXPOSED,
    EarlierResult,
    EquippedSkill,
    Exposure,
    FileRef,
    Finished,
    InboxItem,
    Level,
    ModelRequested,
    OutboxItem,
    Policy,
    QuotedMessage,
    Started,
    Tier,
    ToolFinished,
    Watcher,
    WorkspaceGuide,
)
from agentic.core.events.ids import execution_id
from agentic.core.fold.exposure import left, merged, reachable, typed
from agentic.core.fold.fold import fold
from agentic.core.state.tiers import chosen_for, short
from agentic.core.text.task_words import FEWEST, MOST, TaskWords, bounded, read
from agentic.models.providers.catalogue import OLLAMA_WINDOW, keeps_prefix
from agentic.models.providers.prices import Prices
from agentic.models.router import SCRIPTED
from agentic.models.scripted.tour import NAME as TOUR
from agentic.ports.errors import StoreCorrupt
from agentic.ports.retention import Buried
from agentic.ports.runtime import (
    ExecutionRow,
    SessionRow,
    Store,
    Toolbox,
)
from agentic.runtime.budget_ledger import DailyCaps
from bot.access.permissions import at_least
from bot.config.models import checked_start, start_with, usual_start
from bot.config.preferences import AUTO, UnknownChoice
from bot.config.settings import Settings
from bot.equipment.equipment import Equipped
from bot.history.run_history import past_of, told_later
from bot.ports.actions import NotDone
from bot.rendering.discord_text import inline, one_line, plain
from reflexion.retrieval.selection import Choice

log = logging.getLogger(__name__)
OLLAMA = ("ollama/", "ollama_chat/")
EARLIER = 5
ANSWER_CHARACTERS = 2_000
MOST_TROUBLES = 5
FORGOTTEN = "what earlier tasks here had read, of which nothing is kept"
NOT_THAT_MODEL = (
    "You can't choose the model of a task here: that takes the level {needed}, and yours is {level}. I'm doing the task "
    "with the usual model."
)
SO_MANY = f"I can try {FEWEST} to {MOST} approaches side by side, so I'm trying {{number}}."
NOT_STARTED = "Not started. {why} Then send the task again, or leave out `model:` for the usual model."


Receive = Callable[[InboxItem], Awaitable[tuple[FileRef, ...]]]
"""Puts the files that a person sent into the thread's workspace; returns them, those that were left out with the
reason.
"""


class LessonSource(Protocol):
    """The source of reflections and lessons: ``reflexion.service.Reflexion``."""

    async def lessons_for(self, thread: str, guild: str, task: str, *, execution: str = "", model: str = "") -> Choice:
        """Return the thread's reflections first, then lessons that fit the task."""
        ...


class Quotes(Protocol):
    """The source of recent messages."""

    async def recent(self, thread: str, before: str, reader: str = "") -> tuple[QuotedMessage, ...]:
        """Return messages before a message, at most 50 of the last 30 minutes, that ``reader`` may read as well."""
        ...


class TaskRefused(NotDone):
    """A task is not begun as it was asked for; the message is for the person."""


@dataclass(frozen=True, slots=True)
class Before:
    """What a thread's last task leaves to the next one."""

    exposure: Exposure = UNEXPOSED
    planning: bool = False
    """It ended before a plan was agreed to: what nobody asks for (a wake-up, a red check) changes nothing either."""


@dataclass(frozen=True, slots=True)
class Beginning:
    """Builds ``Started``."""

    store: Store
    lessons: LessonSource
    policy: Policy
    """The policy where nobody chose a model."""
    receive: Receive
    tell: Callable[[OutboxItem], Awaitable[None]]
    quotes: Quotes | None = None
    place: Callable[[SessionRow], Awaitable[str]] | None = None
    """Where commands of a thread run and what they reach, in words."""
    surroundings: Callable[[str], tuple[str, ...]] | None = None
    """Facts about the sandbox: date, platform, network, installed programs."""
    repository: Callable[[str], tuple[str, ...]] | None = None
    """Facts about the thread's repository."""
    remarks: Callable[[str], Awaitable[tuple[QuotedMessage, ...]]] | None = None
    """What people wrote at its host on the thread's pull requests."""
    instructions: str = ""
    """Instructions of the operator to every agent."""
    equipped: Callable[[SessionRow], Awaitable[Equipped]] | None = None
    """The role that somebody chose for the thread ('' to choose one by the task's words), own roles and rules."""
    guides: Callable[[str], Awaitable[tuple[WorkspaceGuide, ...]]] | None = None
    """What the authors of a thread's workspace wrote for agents."""
    policy_of: Callable[[SessionRow, str], Awaitable[Policy]] | None = None
    """The policy with the model that was chosen for the task, else with the one that somebody chose for the thread."""
    model_level: Level = "owner"
    """The least level that may choose the model of a task."""
    calibrator: Callable[[], Awaitable[Calibrator | None]] | None = None
    """Makes the shown confidence."""
    exposure: Callable[[str], Awaitable[Exposure]] | None = None
    """What a thread's repository and network expose a task to."""
    skills: Callable[[SessionRow], Awaitable[tuple[EquippedSkill, ...]]] | None = None
    """What a new task may read of skills that were approved. Never fails."""
    untitled: Callable[[SessionRow], Awaitable[bool]] | None = None
    """Whether the first answer is to name the thread."""
    facts: Callable[[str], Awaitable[int]] | None = None
    """The number of remembered facts that hold in a thread."""

    watchers: Callable[[SessionRow], Awaitable[tuple[Watcher, ...]]] | None = None
    """The small agents that look on there."""

    async def __call__(self, item: InboxItem, session: SessionRow, toolbox: Toolbox) -> Started:
        """Return everything an execution knows before its first turn. Raises ``TaskRefused``."""
        words = self._words(item)
        chosen = await self._model(item, words)
        if words.approaches and words.approaches != bounded(words.approaches):
            await self._told(item, "approaches", SO_MANY.format(number=bounded(words.approaches)))
        files = await self.receive(item) if item.files else ()
        if notice := left_out(item, files):
            await self.tell(notice)
        said = self.quotes.recent(item.thread, item.message or item.id, item.author.id) if self.quotes else None
        recent = await said if said is not None else ()
        place = await self.place(session) if self.place else ""
        policy = await self.policy_of(session, chosen) if self.policy_of else self.policy
        choice = await self._lessons(item, session, policy)
        before = await self._before(item)
        tools = tuple(spec.ref for spec in toolbox.specs)
        equipped = await self.equipped(session) if self.equipped else Equipped()
        if notice := not_equipped(item, equipped):
            await self.tell(notice)
        return Started(
            thread=item.thread,
            task=item.text,
            requester=item.author,
            role=equipped.role,
            own_roles=equipped.own_roles,
            rule_files=equipped.rule_files,
            guides=await self.guides(item.thread) if self.guides else (),
            policy=policy,
            tools=tools,
            files=files,
            earlier=await self._earlier(item.thread),
            quoted=(*recent, *(await self.remarks(item.thread) if self.remarks else ()), *item.quoted),
            lessons=choice.chosen,
            withheld=choice.withheld,
            sandbox=place,
            environment=(
                *(self.surroundings(place) if self.surroundings else ()),
                *(self.repository(item.thread) if self.repository else ()),
                *(_remembered(await self.facts(item.thread)) if self.facts else ()),
            ),
            instructions=self.instructions,
            calibrator=await self.calibrator() if self.calibrator else None,
            inbox=item.id,
            exposure=merged(merged(await self._exposure(item), before.exposure), reachable(tools)),
            untitled=await self.untitled(session) if self.untitled else False,
            ping=item.ping,
            skills=await self.skills(session) if self.skills and not policy.tour else (),
            planning=before.planning if item.unspoken else words.plan,
            approaches=bounded(words.approaches) if item.sort != "trial" else 0,
            watchers=await self.watchers(session) if self.watchers else (),
        )

    async def _told(self, item: InboxItem, what: str, text: str) -> None:
        key = f"{item.id}.{what}"
        await self.tell(OutboxItem(key=key, thread=item.thread, execution="", sort="notice", text=text))

    def _words(self, item: InboxItem) -> TaskWords:
        """Return what a person wrote before the task; what nobody wrote chooses nothing."""
        if item.unspoken:
            return TaskWords(item.text)
        models = [model for tier in self.policy.tiers for model in tier.models]
        return read(item.text, (*models, *map(short, models)))

    async def _model(self, item: InboxItem, words: TaskWords) -> str:
        """Return the model or tier that a person chose for the task, '' for none. Raises ``TaskRefused``.

        Who may not choose is told so, and the task is done as usual; a model that is not there may be a slip of the pen,
        and a task done by another model is paid for.
        """
        if not words.model:
            return ""
        if not at_least(item.author.level, self.model_level):
            text = NOT_THAT_MODEL.format(needed=self.model_level, level=item.author.level)
            await self._told(item, "model", text)
            return ""
        try:
            return checked_start(self.policy, words.model)
        except UnknownChoice as unknown:
            raise TaskRefused(NOT_STARTED.format(why=unknown)) from unknown

    async def _exposure(self, item: InboxItem) -> Exposure:
        """Return what its place and its words expose it to."""
        place = await self.exposure(item.thread) if self.exposure else UNEXPOSED
        return merged(place, typed(item.text))

    async def _before(self, item: InboxItem) -> Before:
        """Return what the thread's last task leaves to the next one: what it had read holds what those before it had.

        Not what was asked beside it, nor what one had read that it took the place of, whose answer stands there as well.
        Where a log is gone, nobody knows.
        """
        exposure, newest = UNEXPOSED, None
        buried = await self.store.buried(item.thread)
        for row in reversed(await self.store.executions(item.thread)):
            try:
                past = fold([envelope async for envelope in self.store.read(row.execution)])
            except StoreCorrupt:
                exposure = merged(exposure, _FORGOTTEN)
                break
            exposure = merged(exposure, left(past, item.author))
            if past.side:
                continue
            newest = newest or past
            if past.started is None or past.started.forked_from is None:
                if any(_came_after(each, row) for each in buried):
                    exposure = merged(exposure, _FORGOTTEN)
                break
        else:
            if buried:
                exposure = merged(exposure, _FORGOTTEN)
        return Before(exposure, newest is not None and newest.mind.planning)

    async def _lessons(self, item: InboxItem, session: SessionRow, policy: Policy) -> Choice:
        """Return the lessons for an execution; none for the tour, whose end says nothing about them."""
        from reflexion.retrieval.selection import Choice  # with the first task, as what looks for them is

        if policy.tour:
            return Choice()
        return await self.lessons.lessons_for(
            item.thread,
            session.guild,
            item.text,
            execution=execution_id(item.thread, item.id),
            model=chosen_for(policy),
        )

    async def _earlier(self, thread: str) -> tuple[EarlierResult, ...]:
        rows = [row for row in await self.store.executions(thread) if row.finished]
        results = [await self._readable(row) for row in rows[-EARLIER:]]
        return tuple(result for result in results if result is not None)

    async def _readable(self, row: ExecutionRow) -> EarlierResult | None:
        """Return an earlier result; None where its log is damaged, which must not cost the new task."""
        try:
            return await self._result(row)
        except StoreCorrupt as damaged:
            log.warning("execution %s is left out: %s", row.execution, damaged)
            lost = "(What was stored of this is damaged, and nothing of it is known.)"
            return EarlierResult(execution=row.execution, task=row.task, reason="failed", answer=lost)

    async def _result(self, row: ExecutionRow) -> EarlierResult | None:
        files: dict[str, None] = {}
        model = ""
        async for envelope in self.store.read(row.execution):
            event = envelope.event
            if isinstance(event, ToolFinished):
                files.update(dict.fromkeys(change.path for change in event.changes))
            elif isinstance(event, ModelRequested) and event.purpose == "turn":
                model = event.model
            elif isinstance(event, Finished):
                past = await past_of(self.store, row)
                return EarlierResult(
                    execution=row.execution,
                    task=row.task,
                    reason=event.reason,
                    answer=event.answer[:ANSWER_CHARACTERS],
                    files=tuple(files)[:50],
                    model=model,
                    since=told_later(past),
                )
        return None


def _remembered(facts: int) -> tuple[str, ...]:
    """Say how many facts there are; which, the agent asks for."""
    return (f"Facts that earlier tasks remembered and that hold here: {facts}; `recall` finds them.",) if facts else ()


_FORGOTTEN = Exposure(untrusted=(FORGOTTEN,))


def _came_after(buried: Buried, row: ExecutionRow) -> bool:
    """Whether a task of which nothing is kept may have begun after one whose log is there."""
    return buried.started_at is None or row.started_at is None or buried.started_at >= row.started_at


def left_out(item: InboxItem, files: tuple[FileRef, ...]) -> OutboxItem | None:
    """Return the notice about files that were not accepted; None where all were."""
    lines = [f"- {inline(file.name)}: {plain(file.skipped)}" for file in files if file.skipped]
    if not lines:
        return None
    text = "These files were not taken into the workspace:\n" + "\n".join(lines)
    return OutboxItem(key=f"{item.id}.left-out", thread=item.thread, execution="", sort="notice", text=text)


def not_equipped(item: InboxItem, equipped: Equipped) -> OutboxItem | None:
    """Return the notice about roles and rules that cannot be used; None where all can."""
    if not equipped.troubles:
        return None
    lines = [f"- {one_line(trouble, 400)}" for trouble in equipped.troubles[:MOST_TROUBLES]]
    more = len(equipped.troubles) - len(lines)
    lines += [f"- and {more} more: `/rules list` shows them"] if more else []
    text = "⚠️ Not all roles and rules can be used here. An owner can mend that with `/rules` or `/role`:\n" + "\n".join(
        lines
    )
    return OutboxItem(key=f"{item.id}.not-equipped", thread=item.thread, execution="", sort="notice", text=text)


def caps_from(settings: Settings) -> DailyCaps:
    """Return the daily caps that executions share."""
    return DailyCaps(settings.max_daily_usd_person, settings.max_daily_usd_server, settings.max_daily_usd)


def policy_from(
    settings: Settings, tiers: tuple[Tier, ...], *, attended: bool, prices: Prices | None = None, tries: bool = True,
    chosen: str = AUTO,
) -> Policy:  # fmt: skip
    """Return the policy of new executions: settings where given, else the policy's own defaults.

    ``tries`` says whether a failed task may be tried again; ``chosen`` is the model or tier that somebody chose to begin
    with: one that is no longer there counts as not chosen.
    """
    begins = start_with(tiers, chosen)
    tiers, start = begins or (tiers, usual_start(tiers))
    known = prices or Prices()
    return Policy(
        turns_simple=settings.max_turns_simple,
        turns_medium=settings.max_turns_medium,
        turns_complex=settings.max_turns_complex,
        max_tokens=settings.max_tokens,
        max_usd=settings.max_usd,
        max_minutes=settings.max_minutes,
        request_seconds=settings.request_seconds,
        attended=attended,
        tiers=tiers,
        starting_tier=start,
        start_chosen=chosen if begins else "",
        history=strategy_of(tiers, start, known) if settings.history == "auto" else settings.history,
        history_tokens=settings.history_tokens,
        windows=windows_of(tiers, known),
        prices=prices_of(tiers, known),
        triage_by_model=settings.triage == "model" and not _is_scripted(tiers),
        advise_first=settings.advise_first,
        come_down=settings.come_down,
        complex_starts_higher=settings.complex_starts_higher,
        failure_escalates=settings.failure_escalates,
        trials=settings.trials if tries else "never",
        hold_back=settings.lessons_held_back,
        rule_of_two=FACTS,
        shows_named_only=True,
    )


def _is_scripted(tiers: tuple[Tier, ...]) -> bool:
    """Whether the cheapest model is the scripted tour, which cannot triage."""
    return any(tier.number == 1 and tier.models[:1] == (TOUR,) for tier in tiers)


def strategy_of(tiers: tuple[Tier, ...], start: int, prices: Prices) -> Literal["append", "seed"]:
    """Choose a growing history where the first model's provider caches prompt prefixes, else a short one."""
    model = next((model for tier in tiers if tier.number == start for model in tier.models), "")
    if model.startswith(SCRIPTED):
        return "append"
    known = prices.facts(model)
    return "append" if keeps_prefix(model, known.cache_read if known else None) else "seed"


def prices_of(tiers: tuple[Tier, ...], prices: Prices) -> dict[str, tuple[float, float]]:
    """Return the known prices of models: US dollars per million tokens, in and out."""
    known = {model: prices.facts(model) for tier in tiers for model in tier.models}
    return {model: (facts.input * 1e6, facts.output * 1e6) for model, facts in known.items() if facts is not None}


def windows_of(tiers: tuple[Tier, ...], prices: Prices) -> dict[str, int]:
    """Return the known context windows of models, in tokens."""
    models = dict.fromkeys(model for tier in tiers for model in tier.models)
    sizes = {model: prices.context_window(model) for model in models}
    return {
        model: min(size, OLLAMA_WINDOW) if model.startswith(OLLAMA) else size for model, size in sizes.items() if size
    }
