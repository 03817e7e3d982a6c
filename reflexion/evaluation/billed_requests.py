"""Requests to models about an execution that has ended: said before they are sent, and paid from the caps all share.

An answer stands in the outcome stream before anything is made of it.  Where a process dies in between, the next one makes
it of what stands there (``standing``): nobody pays twice for the same answer.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable
from typing import Final

from agentic.core.events.execution_events import (
    Envelope,
    Event,
    FeedbackGiven,
    Judged,
    ModelAnswered,
    ModelFailed,
    ModelRequested,
    Purpose,
    Reflected,
)
from agentic.core.events.ids import request_id
from agentic.ports.errors import ModelError
from agentic.ports.runtime import (
    Answer,
    Clock,
    LanguageModel,
    Prompt,
)
from agentic.runtime.budget_ledger import BudgetLedger
from reflexion.evaluation.outcome_stream import OutcomeStream
from reflexion.evaluation.trajectory import Trajectory

NO_ROOM: Final = "the budget of the day has no room for it"


def standing(events: Iterable[Event], purpose: Purpose, model: str) -> dict[int, ModelAnswered | ModelFailed]:
    """What such requests came to of which nothing was made yet, by the number of the attempt.

    A reflection that was written before a person said what was wrong answers another question: it is asked for again.
    """
    asked: dict[str, int] = {}
    stood: dict[int, ModelAnswered | ModelFailed] = {}
    for event in events:
        if _closes(event, purpose):
            asked, stood = {}, {}
        elif isinstance(event, ModelRequested) and (event.purpose, event.model) == (purpose, model):
            asked[event.request] = event.attempt
        elif isinstance(event, ModelAnswered | ModelFailed) and event.request in asked:
            stood[asked[event.request]] = event
    return stood


def read_again(event: ModelAnswered | ModelFailed) -> Answer | str:
    """What ``Paid.ask`` gave when it came."""
    if isinstance(event, ModelFailed):
        return _failed(event.failure, event.message)
    return Answer(
        blocks=event.blocks, stop=event.stop, usage=event.usage, usd=event.usd, served_by=event.served_by,
        estimated=event.estimated,
    )  # fmt: skip


def _closes(event: Event, purpose: Purpose) -> bool:
    """Something was made of the answers before."""
    if purpose == "judge":
        return isinstance(event, Judged)
    return isinstance(event, Reflected) or (isinstance(event, FeedbackGiven) and bool(event.why))


def _failed(failure: str, message: str) -> str:
    return f"the model could not be asked ({failure}): {message}"


class Paid:
    """Asks models about one execution; each request and what came of it stands in its outcome stream."""

    def __init__(
        self, model: LanguageModel, purse: BudgetLedger, clock: Clock, trajectory: Trajectory, stream: OutcomeStream
    ) -> None:
        self._model, self._purse, self._clock = model, purse, clock
        self._trajectory, self._stream = trajectory, stream
        self._owner = f"{trajectory.execution}.outcome"
        """What the requests belong to, for their ids and for what is set aside for them."""

    async def announce(
        self, purpose: Purpose, model: str, price: float, attempts: Iterable[int], tier: int = 0
    ) -> tuple[ModelRequested, ...]:
        """Set their price aside and say that they are asked; none where a shared cap has no room for all of them."""
        before = await self._stream.read()
        requests = tuple(
            ModelRequested(
                request=request_id(self._owner, len(before) + place), turn=self._trajectory.turns_used, purpose=purpose,
                attempt=attempt, tier=tier or self._trajectory.tier, model=model, reserved_usd=price,
            )
            for place, attempt in enumerate(attempts, 1)
        )  # fmt: skip
        await self._purse.clear_up(self._owner, _each(before))
        for request in requests:
            if await self._purse.refusal(self._trajectory, self._owner, request, self._clock.now()) is not None:
                await self._purse.clear_up(self._owner, _each(before))
                return ()
        await self._stream.add(*requests)
        return requests

    async def ask(self, request: ModelRequested, prompt: Prompt, *, max_tokens: int, seconds: float) -> Answer | str:
        """The answer to what was announced, or in words why there is none."""
        try:
            answer = await self._model.answer(request.model, prompt, max_tokens=max_tokens, timeout=seconds)
        except ModelError as error:
            await self._came_to(
                ModelFailed(
                    request=request.request, failure=error.failure, message=error.message, retry_after=error.retry_after
                )
            )
            return _failed(error.failure, error.message)
        await self._came_to(
            ModelAnswered(
                request=request.request, blocks=answer.blocks, stop=answer.stop, usage=answer.usage, usd=answer.usd,
                served_by=answer.served_by, estimated=answer.estimated,
            )
        )  # fmt: skip
        return answer

    async def _came_to(self, event: ModelAnswered | ModelFailed) -> None:
        self._purse.owes(self._owner, event)  # before it stands in the stream: whoever ends this here loses no money
        await self._stream.add(event)
        await self._purse.settle()


async def _each(envelopes: list[Envelope]) -> AsyncIterator[Envelope]:
    for envelope in envelopes:
        yield envelope
