"""Asks a model what an attempt got wrong, or how one that ended well got round an obstacle; takes only what says something.

Each request stands in the outcome stream before it is sent and its answer after, with tokens and dollars.  A text
that is no reflection, or that quotes what the record does not hold, is sent back once with what is wrong with it; after
that it is a stored problem, never an empty reflection.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.resources import files

from agentic.core.events.execution_events import TextBlock, Usage
from agentic.ports.runtime import (
    Answer,
    Clock,
    LanguageModel,
    Message,
    Prompt,
)
from agentic.runtime.budget_ledger import BudgetLedger
from reflexion.errors import ReflectionUnusable
from reflexion.evaluation.billed_requests import (
    NO_ROOM,
    Paid,
    read_again,
    standing,
)
from reflexion.evaluation.outcome_stream import OutcomeStream
from reflexion.evaluation.trajectory import Trajectory
from reflexion.lessons.lesson import Insight
from reflexion.reflection.parse import parse_insight, resting_on, touched_in
from reflexion.reflection.transcript import record_of, transcript
from reflexion.text.abilities import Touches, abilities_text

TRIES = 2
MAX_TOKENS = 1_200
SECONDS = 45.0
"""For one request; both, and a judge's readings, fit into the two minutes that a thread waits for what it can learn."""
_COMMENT = re.compile(r"\A<!--.*?-->\s*", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Written:
    """What came of asking: an insight, or why there is none; and what it cost."""

    insight: Insight | None
    problem: str
    model: str
    usage: Usage
    usd: float
    touches: Touches = None
    """What doing what it advises touches, as its writer declares."""


def reflection_instructions(*, worked: bool = False) -> str:
    """The system prompt, without the reasons that stand above it; ``worked``: for a task that ended well."""
    name = "success" if worked else "reflection"
    text = files("reflexion").joinpath(f"prompts/{name}.md").read_text(encoding="utf-8")
    return _COMMENT.sub("", text, count=1).strip().replace("{abilities}", abilities_text())


class Reflector:
    """Writes reflections with one model; ``model_name`` '' takes the model the execution itself worked with."""

    def __init__(self, model: LanguageModel, purse: BudgetLedger, clock: Clock, model_name: str = "") -> None:
        self._model, self._purse, self._clock = model, purse, clock
        self._name = model_name
        self._instructions = {worked: reflection_instructions(worked=worked) for worked in (False, True)}

    async def reflect(
        self,
        trajectory: Trajectory,
        cause: str,
        stream: OutcomeStream,
        earlier: Sequence[Insight] = (),
        *,
        worked: bool = False,
    ) -> Written:
        """Ask, at most twice; a provider's failure is a problem in the result, not an error.

        ``earlier``: what was learned from earlier attempts at the same task, so that the same is not advised again.
        ``worked``: it ended well, and what got round an obstacle is asked for.
        """
        system = self._instructions[worked]
        name = self._name or trajectory.model
        if not name:
            return Written(None, "no model is configured to write it", "", Usage(), 0.0)
        messages = [Message(role="user", text=transcript(trajectory, cause, earlier))]
        record = record_of(trajectory)
        stood = standing([each.event for each in await stream.read()], "reflection", name)
        spent, usd, problem = Usage(), 0.0, ""
        for attempt in range(1, TRIES + 1):
            if attempt in stood:
                answer = read_again(stood[attempt])
            else:
                answer = await self._ask(name, system, tuple(messages), attempt, trajectory, stream)
            if isinstance(answer, str):
                return Written(None, answer, name, spent, usd)
            spent, usd = _sum(spent, answer.usage), usd + answer.usd
            text = "".join(block.text for block in answer.blocks if isinstance(block, TextBlock))
            try:
                insight = resting_on(parse_insight(text), record)
                return Written(insight, "", answer.served_by or name, spent, usd, touched_in(text))
            except ReflectionUnusable as error:
                problem = str(error) if answer.stop != "length" else f"the answer was cut off; {error}"
                messages += [Message(role="assistant", text=text or "(nothing)"), _again(problem)]
        return Written(None, f"the model's text is no reflection: {problem}", name, spent, usd)

    async def _ask(
        self,
        name: str,
        system: str,
        messages: tuple[Message, ...],
        attempt: int,
        trajectory: Trajectory,
        stream: OutcomeStream,
    ) -> Answer | str:
        paid = Paid(self._model, self._purse, self._clock, trajectory, stream)
        tokens_in = (len(system) + sum(len(message.text) for message in messages)) // 4
        price = self._model.price(name, tokens_in, MAX_TOKENS) or 0.0
        requests = await paid.announce("reflection", name, price, (attempt,))
        if not requests:
            return NO_ROOM
        prompt = Prompt(system=system, tools=(), messages=messages)
        return await paid.ask(requests[0], prompt, max_tokens=MAX_TOKENS, seconds=SECONDS)


def _again(problem: str) -> Message:
    return Message(
        role="user", text=f"That cannot be used: {problem}. Answer with the one JSON object and nothing else."
    )


def _sum(first: Usage, second: Usage) -> Usage:
    return Usage(
        input=first.input + second.input, output=first.output + second.output,
        cache_read=first.cache_read + second.cache_read, cache_write=first.cache_write + second.cache_write,
        reasoning=first.reasoning + second.reasoning,
    )  # fmt: skip
