"""Asks a model of another family what it thinks of an execution: three readings at once, of which the middle one counts.

Each request stands in the outcome stream before it is sent and its answer after, paid from the same caps as everything.
What cannot be used (a provider that fails, a text that is no reading) leaves the objective signals alone: ``Judged`` says
why, and the score is flagged.  How far a reading counts is not decided here but by ``reflexion/lessons/judge_trust.py``.
"""

from __future__ import annotations

import asyncio
import logging
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.resources import files
from statistics import median_low
from typing import Final

from agentic.core.events.execution_events import (
    Judged,
    ModelRequested,
    RubricItem,
    TextBlock,
)
from agentic.ports.failpoints import reach
from agentic.ports.runtime import (
    Answer,
    Clock,
    LanguageModel,
    Message,
    Prompt,
)
from agentic.runtime.budget_ledger import BudgetLedger
from reflexion.errors import JudgementUnusable, LessonStoreError
from reflexion.evaluation.billed_requests import (
    NO_ROOM,
    Paid,
    read_again,
    standing,
)
from reflexion.evaluation.outcome_stream import OutcomeStream
from reflexion.evaluation.trajectory import Trajectory
from reflexion.judge.judge_input import Record, record_of
from reflexion.judge.model_families import family_of, named_family
from reflexion.judge.rubric import read_answers, rubric_text, share_of
from reflexion.lessons.judge_trust import (
    COMPARED,
    Mode,
    Trust,
    settled,
    trust_of,
    worth_asking,
)
from reflexion.ports import LessonStore

READINGS: Final = 3
MAX_TOKENS: Final = 1_000
SECONDS: Final = 25.0
"""For the three together; it fits beside two requests for a reflection into the time that learning has."""
_COMMENT = re.compile(r"\A<!--.*?-->\s*", re.DOTALL)

log = logging.getLogger("threadwright.reflexion")


@dataclass(frozen=True, slots=True)
class JudgeCandidate:
    """A model that may judge; ``named`` in the settings, else one of a tier."""

    model: str
    tier: int = 0
    named: bool = False


@dataclass(frozen=True, slots=True)
class _Read:
    """What came of one request: the items, or why there are none."""

    items: tuple[RubricItem, ...] = ()
    problem: str = ""


def judge_instructions() -> str:
    """The system prompt, without the reasons that stand above it."""
    text = files("reflexion").joinpath("prompts/judge.md").read_text(encoding="utf-8")
    return _COMMENT.sub("", text, count=1).strip().replace("{rubric}", rubric_text())


class Judge:
    """Judges executions with the first candidate that is of another family than all models that worked."""

    def __init__(
        self,
        model: LanguageModel,
        purse: BudgetLedger,
        clock: Clock,
        lessons: LessonStore,
        candidates: Sequence[JudgeCandidate],
        *,
        mode: Mode = "auto",
        seconds: float = SECONDS,
    ) -> None:
        self._model, self._purse, self._clock, self._lessons = model, purse, clock, lessons
        self._candidates, self._seconds = tuple(candidates), seconds
        self._mode: Mode = mode
        self._system = judge_instructions()

    async def judge(self, trajectory: Trajectory, stream: OutcomeStream) -> Judged | None:
        """The reading of an execution, the one it has or a new one; None where none is due.

        Raises ``StoreError``; a provider's failure is a problem in the result.
        """
        events = [envelope.event for envelope in await stream.read()]
        known, over = settled(events)
        chosen = self._chosen(trajectory.models)
        if chosen is None or self._mode == "off":
            return known
        stood = standing(events, "judge", chosen.model)
        if over and not stood:
            return known
        if not stood and not worth_asking(
            trajectory, await self._trust(chosen.model, trajectory.execution), self._mode
        ):  # fmt: skip
            return known
        record = record_of(trajectory)
        price = self._price(chosen.model, record)
        missing = [] if over else [each for each in range(1, READINGS + 1) if each not in stood]
        if price is not None and missing and trajectory.usd + len(missing) * price > trajectory.usd_max:
            if not stood:
                return known
            missing = []
        reads = {event.request: _reading(read_again(event), record) for event in stood.values()}
        judged = await self._ask(chosen, record, price, trajectory, stream, missing, reads)
        reach("judge.answered")
        await stream.add(judged)
        return judged

    async def weight(self, judged: Judged | None, execution: str) -> float:
        """λ of a reading: how far its judge and labels agreed on other executions."""
        if judged is None or judged.share is None:
            return 0.0
        return (await self._trust(judged.model, execution)).weight

    def _chosen(self, worked: Sequence[str]) -> JudgeCandidate | None:
        """The first one whose family did none of the work, of all that were asked for a turn, the first as the last.

        A tier's model only where its name tells its family and its price is known.
        """
        families = {family_of(model) for model in worked}
        for candidate in self._candidates:
            fit = candidate.named or (
                named_family(candidate.model) and self._model.price(candidate.model, 1, 1) is not None
            )
            if worked and fit and family_of(candidate.model) not in families:
                return candidate
        return None

    def _price(self, model: str, record: Record) -> float | None:
        return self._model.price(model, (len(self._system) + len(record.text)) // 4, MAX_TOKENS)

    async def _trust(self, model: str, execution: str) -> Trust:
        try:
            readings = await self._lessons.readings(model, without=execution, limit=COMPARED)
        except LessonStoreError as error:
            log.warning("how far the judge is trusted cannot be read, it has no say: %s", error)
            return Trust()
        return trust_of(readings)

    async def _ask(
        self, chosen: JudgeCandidate, record: Record, price: float | None, trajectory: Trajectory, stream: OutcomeStream,
        missing: Sequence[int], reads: Mapping[str, _Read],
    ) -> Judged:  # fmt: skip
        """Have the ``missing`` readings made, beside those that stand there."""
        name = chosen.model
        if not missing:
            return _median(name, tuple(reads), tuple(reads.values()))
        if price is None:
            return Judged(model=name, problem=f"the price of {name} is not known: set it in THREADWRIGHT_PRICES")
        paid = Paid(self._model, self._purse, self._clock, trajectory, stream)
        requests = await paid.announce("judge", name, price, missing, chosen.tier)
        if not requests:
            return _median(name, tuple(reads), tuple(reads.values())) if reads else Judged(model=name, problem=NO_ROOM)
        try:
            async with asyncio.TaskGroup() as group:
                asked = [group.create_task(self._read(paid, each, record)) for each in requests]
        except ExceptionGroup as errors:
            raise errors.exceptions[0] from None
        new = tuple(each.request for each in requests)
        return _median(name, (*reads, *new), (*reads.values(), *(task.result() for task in asked)))

    async def _read(self, paid: Paid, request: ModelRequested, record: Record) -> _Read:
        prompt = Prompt(system=self._system, tools=(), messages=(Message(role="user", text=record.text),))
        return _reading(await paid.ask(request, prompt, max_tokens=MAX_TOKENS, seconds=self._seconds), record)


def _reading(answer: Answer | str, record: Record) -> _Read:
    if isinstance(answer, str):
        return _Read(problem=answer)
    text = "".join(block.text for block in answer.blocks if isinstance(block, TextBlock))
    try:
        return _Read(read_answers(text, record.mark, record.citable))
    except JudgementUnusable as error:
        return _Read(problem=f"its text is no reading: {error}")


def _median(name: str, requests: tuple[str, ...], reads: Sequence[_Read]) -> Judged:
    """The middle one of those that could be used, the lower of two; none where fewer than two could."""
    usable = sorted((read.items for read in reads if read.items), key=share_of)
    shares = tuple(share_of(items) for items in usable)
    if 2 * len(usable) <= READINGS:
        problem = next((read.problem for read in reads if read.problem), "the others are lost")
        return Judged(
            requests=requests, model=name, shares=shares, problem=f"{len(usable)} of {READINGS} readings: {problem}"
        )
    middle = shares.index(median_low(shares))
    return Judged(requests=requests, model=name, shares=shares, share=shares[middle], items=usable[middle])
