"""Asks a second model what doing a lesson would touch; it sees the lesson alone, and nothing of what its writer read."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence
from importlib.resources import files
from typing import Final

from agentic.core.events.execution_events import TextBlock
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
from reflexion.judge.judge import JudgeCandidate
from reflexion.judge.model_families import family_of
from reflexion.lessons.lesson import Lesson, held_for
from reflexion.reflection.parse import first_object
from reflexion.text.abilities import abilities_text, declared
from reflexion.text.hidden_text import visible
from reflexion.text.secrets import redact

MAX_TOKENS: Final = 200
SECONDS: Final = 15.0
"""It fits beside two requests for a reflection into the time that learning has."""
_COMMENT: Final = re.compile(r"\A<!--.*?-->\s*", re.DOTALL)


def second_instructions() -> str:
    """The system prompt, without the reasons that stand above it."""
    text = files("reflexion").joinpath("prompts/second.md").read_text(encoding="utf-8")
    return _COMMENT.sub("", text, count=1).strip().replace("{abilities}", abilities_text())


class SecondReader:
    """Reads lessons that nothing else holds back, with a model other than the one that wrote them."""

    def __init__(
        self, model: LanguageModel, purse: BudgetLedger, clock: Clock, candidates: Sequence[JudgeCandidate]
    ) -> None:
        self._model, self._purse, self._clock = model, purse, clock
        self._candidates = tuple(candidates)
        self._system = second_instructions()

    async def read(self, lesson: Lesson, writer: str, trajectory: Trajectory, stream: OutcomeStream) -> Lesson:
        """The lesson, held for a person unless the second model finds that it touches nothing.

        Unchanged where it is held already, or where there is no second model.  Raises ``StoreError``.
        """
        name = self._chosen(writer) if lesson.status != "quarantined" else ""
        if not name:
            return lesson
        inside = redact(visible(f"WHEN: {lesson.trigger}\nDO: {lesson.action}\nERROR: {lesson.error_signature}"))
        mark = hashlib.sha256(inside.encode()).hexdigest()[:12]
        answer = await self._ask(name, f"<<<record {mark}>>>\n{inside}\n<<<end of record {mark}>>>", trajectory, stream)
        if isinstance(answer, str):
            return held_for(lesson, f"A second model was to read it, and did not: {answer}")
        text = "".join(block.text for block in answer.blocks if isinstance(block, TextBlock))
        try:
            said = first_object(text, "touches")
        except ReflectionUnusable:
            said = {}
        touches = declared(said.get("touches")) if said.get("record") == mark else None
        if touches is None:
            return held_for(lesson, "A second model's answer about what it touches could not be used")
        return (
            held_for(lesson, f"A second model says that doing it touches {' and '.join(touches)}")
            if touches
            else lesson
        )

    def _chosen(self, writer: str) -> str:
        """The first one of another family than the writer, else another model at all, whose price is known."""
        others = [
            each.model for each in self._candidates
            if each.model != writer and self._model.price(each.model, 1, 1) is not None
        ]  # fmt: skip
        return next((name for name in others if family_of(name) != family_of(writer)), next(iter(others), ""))

    async def _ask(self, name: str, text: str, trajectory: Trajectory, stream: OutcomeStream) -> Answer | str:
        stood = standing([each.event for each in await stream.read()], "screening", name)
        if stood:
            return read_again(stood[1])
        paid = Paid(self._model, self._purse, self._clock, trajectory, stream)
        price = self._model.price(name, (len(self._system) + len(text)) // 4, MAX_TOKENS) or 0.0
        tier = next(each.tier for each in self._candidates if each.model == name)
        requests = await paid.announce("screening", name, price, (1,), tier)
        if not requests:
            return NO_ROOM
        prompt = Prompt(system=self._system, tools=(), messages=(Message(role="user", text=text),))
        return await paid.ask(requests[0], prompt, max_tokens=MAX_TOKENS, seconds=SECONDS)
