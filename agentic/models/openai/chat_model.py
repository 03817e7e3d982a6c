"""``LanguageModel`` over chat completions, whoever carries them: native calls or schema mode, and what was learned.

Requests and answers have OpenAI's form on two routes: providers of that protocol are asked over HTTP, all others through
LiteLLM, which takes and returns the same form.  What differs is a ``Transport``.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing
from dataclasses import dataclass
from enum import Flag, auto
from fnmatch import fnmatchcase
from typing import Final, Protocol

from pydantic import ValidationError

from agentic.core.events.execution_events import Block, TextBlock
from agentic.models.answers.answer import Came, Interrupted, finished_answer
from agentic.models.answers.answer_limit import allowance
from agentic.models.answers.stream_timeouts import IDLE_SECONDS, Patience
from agentic.models.answers.tool_calls import by_name
from agentic.models.openai.chat_request import ChatWire, Row
from agentic.models.openai.chat_response import ChatReading, Piece
from agentic.models.openai.schema_mode import SchemaWire, read_step, response_format, step_blocks
from agentic.models.providers import provider_errors
from agentic.models.providers.prices import Prices
from agentic.models.providers.provider_errors import NoAnswer
from agentic.ports.errors import ModelBadRequest, ModelUnavailable
from agentic.ports.runtime import Answer, Meter, Prompt
from agentic.prompts.identity import TITLE, TITLE_TURNS


class Quirk(Flag):
    """What a refusal taught of a model."""

    NONE = 0
    NO_TOOLS = auto()
    NO_ALTERNATIVES = auto()
    """It takes the shape of schema mode, and no alternatives in it."""
    NO_SHAPE = auto()
    COMPLETION_LIMIT = auto()
    """The limit of its answer is called ``max_completion_tokens``."""
    REASONING_IN_EACH = auto()
    """It wants reasoning in every message of its own, also in those that another model wrote."""


NO_TOOLS: Final = re.compile(
    r"(?:not|n't) support (?:tool|function)|tools? (?:is|are) not supported|tool[_ ]choice.{0,300}(?:requires|not supported)"
    r"|enable-auto-tool-choice|no endpoints found that support tool use|function calling is not (?:enabled|supported)",
    re.IGNORECASE | re.DOTALL,
)
NO_SHAPE: Final = re.compile(
    r"response_format|json_schema|structured output|\bgrammar\b|guided|invalid schema|\banyOf\b|failed to parse schema",
    re.IGNORECASE,
)
OTHER_LIMIT: Final = re.compile(r"max_completion_tokens", re.IGNORECASE)
REASONING_MISSING: Final = re.compile(r"reasoning_content.{0,100}(?:passed back|missing|required)", re.IGNORECASE)
CLAUDE: Final = "claude"
"""Anthropic's models want to be told where to cut their cache, also where another provider serves them."""


@dataclass(frozen=True, slots=True)
class ChatRequest:
    """One request; ``model`` is its full LiteLLM name, ``timeout`` seconds."""

    model: str
    rows: list[Row]
    tools: list[Row]
    shape: Row | None
    """The JSON schema that the answer has to follow."""
    max_tokens: int
    timeout: float
    stream: bool
    quirks: Quirk


class Transport(Protocol):
    """Carries requests to a provider; raises ``ModelError`` for whatever goes wrong on the way."""

    def reasoning_name(self, model: str) -> str:
        """The field in which the model's provider wants its reasoning back; '' where it wants none."""
        ...

    def pieces(self, request: ChatRequest) -> AsyncGenerator[Piece]:
        """The answer: one piece, or those of a stream.  Closing the generator closes the stream."""
        ...

    async def close(self) -> None:
        """Release the connections."""
        ...


@dataclass(frozen=True, slots=True)
class _Question:
    """What was asked, and whom the answer is streamed to."""

    model: str
    prompt: Prompt
    max_tokens: int
    timeout: float
    on_text: Callable[[str], None] | None
    meter: Meter | None


class ChatModel:
    """Models by their LiteLLM names, over one transport.

    ``schema_models`` are names, with * and ?, of models that answer in schema mode; those that turn out to take no tools
    do so from then on.
    """

    def __init__(
        self,
        transport: Transport,
        prices: Prices,
        *,
        schema_models: tuple[str, ...] = (),
        idle_seconds: float = IDLE_SECONDS,
    ) -> None:
        self._transport = transport
        self._prices = prices
        self._schema_models = schema_models
        self._idle = idle_seconds
        self._quirks: defaultdict[str, Quirk] = defaultdict(lambda: Quirk.NONE)
        self._schema_wire = SchemaWire()
        self._wires: dict[tuple[str, str, bool], ChatWire] = {}

    async def answer(
        self,
        model: str,
        prompt: Prompt,
        *,
        max_tokens: int,
        timeout: float,
        on_text: Callable[[str], None] | None = None,
        meter: Meter | None = None,
    ) -> Answer:
        """Ask once; where a refusal teaches how the model wants to be asked, ask again in that way."""
        question = _Question(model, prompt, max_tokens, timeout, on_text, meter)
        async with Patience(model, timeout, self._idle) as patience:
            while True:
                try:
                    return await self._ask(question, patience)
                except (ModelBadRequest, ModelUnavailable) as error:
                    if not self._learn(question, error.message):
                        raise

    def speaks_schema(self, model: str, prompt: Prompt) -> bool:
        """Whether the model is asked in schema mode: by setting, by experience, or as a small local one unknown to call."""
        if not prompt.tools:
            return False
        if Quirk.NO_TOOLS in self._quirks[model] or any(fnmatchcase(model, name) for name in self._schema_models):
            return True
        if not model.startswith(("ollama/", "ollama_chat/")):
            return False
        known = self._prices.facts(model)
        return known is None or not known.native_calls

    def price(self, model: str, tokens_in: int, tokens_out: int) -> float | None:
        """US dollars at full price."""
        return self._prices.price(model, tokens_in, tokens_out)

    async def close(self) -> None:
        """Release the connections."""
        await self._transport.close()

    async def _ask(self, question: _Question, patience: Patience) -> Answer:
        model, prompt, on_text = question.model, question.prompt, question.on_text
        schema, wire = self.speaks_schema(model, prompt), self._wire(model)
        request = self._request(question, wire, schema=schema)
        reading = ChatReading(allowance(question.max_tokens), None if schema else on_text)

        if question.meter is not None:
            question.meter.reads(
                lambda: Interrupted(model, prompt, question.max_tokens, streamed=on_text is not None).used(
                    reading.raw_usage(), reading.written, patience.until_heard, reading.model, self._prices
                )
            )
        try:
            async with aclosing(self._transport.pieces(request)) as pieces:
                async for piece in pieces:
                    patience.heard()
                    reading.take(piece)
                    if reading.allowance.over:
                        reading.tokens = None  # the count comes at the end, for which nobody waits
                        break
            if not reading.ended:
                raise NoAnswer("the stream ended before the answer did")
        except (NoAnswer, ValidationError) as error:
            raise provider_errors.unreadable(model, _why(error)) from error
        blocks = reading.blocks(by_name(prompt.tools), model.partition("/")[0])
        if schema:
            blocks = _steps(question, blocks, cut_off=reading.stop == "length")
        came = Came(blocks, reading.stop, reading.raw_usage(), reading.model)
        known = None if schema else wire.call_ids(prompt.messages)
        return finished_answer(model, prompt, came, self._prices, known)

    def _request(self, question: _Question, wire: ChatWire, *, schema: bool) -> ChatRequest:
        model, prompt, quirks = question.model, question.prompt, self._quirks[question.model]
        shape: Row | None = None
        if schema and Quirk.NO_SHAPE not in quirks:
            shape = response_format(prompt.tools, union=Quirk.NO_ALTERNATIVES not in quirks)
        return ChatRequest(
            model=model,
            rows=self._schema_wire.rows(prompt) if schema else wire.rows(prompt, breakpoints=CLAUDE in model),
            tools=[] if schema else wire.tools(prompt.tools),
            shape=shape,
            max_tokens=question.max_tokens,
            timeout=question.timeout,
            stream=question.on_text is not None,
            quirks=quirks,
        )

    def _wire(self, model: str) -> ChatWire:
        """The encoder of the model's provider, which keeps what it encoded."""
        name, in_each = self._transport.reasoning_name(model), Quirk.REASONING_IN_EACH in self._quirks[model]
        key = (model.partition("/")[0] if name else "", name, in_each)
        if key not in self._wires:
            self._wires[key] = ChatWire(key[0], name, in_each=in_each)
        return self._wires[key]

    def _learn(self, question: _Question, said: str) -> bool:
        """Whether a refusal says something new of how to ask; each lesson is learned once, so that this ends."""
        model = question.model
        known = self._quirks[model]
        schema = self.speaks_schema(model, question.prompt)
        shape = Quirk.NO_SHAPE if Quirk.NO_ALTERNATIVES in known else Quirk.NO_ALTERNATIVES
        lessons = (
            (Quirk.COMPLETION_LIMIT, OTHER_LIMIT, True),
            (Quirk.REASONING_IN_EACH, REASONING_MISSING, bool(self._transport.reasoning_name(model))),
            (Quirk.NO_TOOLS, NO_TOOLS, bool(question.prompt.tools) and not schema),
            (shape, NO_SHAPE, schema),
        )
        lesson = next((q for q, words, fits in lessons if fits and q not in known and words.search(said)), None)
        if lesson is None:
            return False
        self._quirks[model] |= lesson
        return True


def _why(error: NoAnswer | ValidationError) -> str:
    """What is wrong with an answer, without quoting it: pydantic would, at length."""
    return str(error) if isinstance(error, NoAnswer) else "it is not in the provider's protocol; check the address"


def _asks_title(prompt: Prompt) -> bool:
    """Whether the answer to this may offer a title."""
    return TITLE in prompt.system and sum(one.role == "assistant" for one in prompt.messages) < TITLE_TURNS


def _steps(question: _Question, blocks: tuple[Block, ...], *, cut_off: bool) -> tuple[Block, ...]:
    """The blocks that the step's text means; a text that is no step stays as it is."""
    text = "".join(block.text for block in blocks if isinstance(block, TextBlock))
    step = read_step(text)
    if step is None:
        return blocks
    if not _asks_title(question.prompt):  # the shape is the same for every answer, and who sees it fills it
        step = step.model_copy(update={"title": ""})
    read = step_blocks(step, by_name(question.prompt.tools), cut_off=cut_off)
    if question.on_text:
        for block in read:
            if isinstance(block, TextBlock):
                question.on_text(block.text)
    return (*(block for block in blocks if not isinstance(block, TextBlock)), *read)
