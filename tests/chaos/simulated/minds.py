"""The models of a simulated world: each plan's steps are drawn from the seed, and providers fail in every way.

What a model says depends on the transcript it is sent and on the seed, so a question that is put again gets an answer
of the same kind.  Each command it asks for carries a token that stands for one wish: it is never wished for again.
"""

from __future__ import annotations

import asyncio
import hashlib
import re
from collections import Counter
from collections.abc import Callable
from random import Random
from typing import Any

from agentic.core.events.execution_events import (
    Block,
    CallBlock,
    StopReason,
    TextBlock,
    Usage,
)
from agentic.core.prompt.summary import HEADING
from agentic.ports.errors import (
    ModelBadRequest,
    ModelContentFiltered,
    ModelContextOverflow,
    ModelError,
    ModelKeyRefused,
    ModelQuotaUsedUp,
    ModelRateLimited,
    ModelTimedOut,
    ModelUnavailable,
)
from agentic.ports.runtime import Answer, Meter, Prompt
from agentic.prompts import summary_prompt as summary
from agentic.prompts import watcher_prompt as watching
from tests.chaos.simulated.town import CANARY, Town
from tests.chaos.simulated.virtual import now

PLAN = re.compile(r"\(plan (\w+)\)")
KINDS = (
    "command",
    "reads",
    "write",
    "commands",
    "question",
    "gated",
    "report",
    "text",
    "empty",
    "cut_off",
    "malformed",
    "unknown",
    "helpers",
)
WEIGHTS = (36, 16, 10, 8, 5, 4, 5, 3, 3, 3, 3, 2, 4)  # fmt: skip
WORDS = "The tests pass now, and the cause was a missing check in the parser. "

LOOKS_ON = watching.SYSTEM.partition("\n")[0]
VERDICTS = (
    *['{"verdict": "fine"}'] * 6,
    '{"verdict": "veto", "why": "odd"}',
    '{"verdict": "note", "why": "off"}',
    "Well.",
)
"""What a watcher says, as one in nine of them each."""
ODD = ("empty", "cut_off", "malformed", "unknown")
"""Answers that are no step at all."""

Call = tuple[str, dict[str, Any]]


class Minds:
    """A ``LanguageModel``."""

    def __init__(self, town: Town) -> None:
        self.town = town
        self.down_until = 0.0
        self._dice = town.dice("models")
        self._odd: set[str] = set()
        """Places in transcripts at which it was asked before; nobody is odd twice at the same."""
        self._turns: Counter[str] = Counter()
        self._given: Counter[str] = Counter()
        """Turns of each plan, and the newest of its tokens: no step is planned twice, however short what it reads became."""

    def price(self, model: str, tokens_in: int, tokens_out: int) -> float | None:
        """What is reserved for a request."""
        return 0.02

    async def close(self) -> None:
        """Nothing is open."""

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
        """The next step of its plan, after a while, or a failure."""
        await asyncio.sleep(self._dice.uniform(0.5, 4.0))
        await self._fails(model)
        return self._step(prompt, on_text)

    async def _fails(self, model: str) -> None:
        strikes = self.town.strikes
        if now() < self.down_until or strikes("model_unavailable"):
            raise ModelUnavailable("overloaded", model=model)
        if strikes("model_limited"):
            raise ModelRateLimited("too many requests", model=model, retry_after=self._dice.uniform(0.5, 20.0))
        if strikes("model_stalls"):
            await asyncio.sleep(45.0)
            raise ModelTimedOut("the stream stalled", model=model)
        kinds: tuple[tuple[str, type[ModelError]], ...] = (
            ("model_key_refused", ModelKeyRefused),
            ("model_quota", ModelQuotaUsedUp),
            ("model_overflow", ModelContextOverflow),
            ("model_filtered", ModelContentFiltered),
            ("model_bad_request", ModelBadRequest),
        )
        for fault, kind in kinds:
            if strikes(fault):
                raise kind(fault, model=model)

    def _step(self, prompt: Prompt, on_text: Callable[[str], None] | None) -> Answer:
        if not prompt.messages or summary.TEXT in prompt.tail:
            return _answer(Random(prompt.tail), (f"It goes well. {WORDS}",), ())
        if prompt.system.startswith(LOOKS_ON):
            return _answer(Random(prompt.messages[0].text), (Random(prompt.messages[0].text).choice(VERDICTS),), ())
        plan = plan_of(prompt.messages[0].text)
        turn = sum(message.role == "assistant" for message in prompt.messages)
        given = sum(len(message.answers) for message in prompt.messages)
        if any(HEADING in message.text for message in prompt.messages):  # it reads less than there was
            turn, given = max(turn, self._turns[plan]), max(given, self._given[plan] + 1)
        self._turns[plan] = turn + 1
        self._given[plan] = max(given, self._given[plan])
        seed = f"{self.town.seed}/{self.town.number}/{plan}"
        place = f"{seed}/{len(prompt.messages)}/{given}"
        dice = Random(place)
        if not prompt.tools:
            return _answer(dice, (f"It goes well. {WORDS}",), ())
        if turn >= Random(seed).randint(2, 7):
            return _answer(dice, (), (("finish", {"answer": _final(dice, plan)}),), on_text)
        kind = dice.choices(KINDS, WEIGHTS)[0]
        if kind in (*ODD, "text") and place in self._odd:
            kind = "command"
        self._odd.add(place)
        if kind in ODD:
            self.town.faults[f"model_{kind}"] += not self.town.calm
        return _of_kind(kind, dice, f"{plan}.{given}", on_text)


def plan_of(first: str) -> str:
    """What an execution's tokens begin with; from its first message."""
    found = PLAN.search(first.partition("\n\n")[0])
    return found[1] if found else "t" + hashlib.sha256(first.encode()).hexdigest()[:10]


def _final(dice: Random, plan: str) -> str:
    secret = f" The token is {CANARY}." if dice.random() < 0.03 else ""
    return f"Done with {plan}.{secret} " + WORDS * dice.choice((1, 1, 1, 1, 1, 1, 1, 2, 4, 40, 90))


def _of_kind(kind: str, dice: Random, token: str, on_text: Callable[[str], None] | None) -> Answer:
    said = (f"confidence: {dice.randint(40, 95)}\nI look into it and go on.",)
    match kind:
        case "empty":
            return _answer(dice, (), ())
        case "text":
            return _answer(dice, ("I think that it is nearly done.",), ())
        case "cut_off":
            cut = CallBlock(provider_id="c0", tool="shell", problem="cut_off", raw='{"command": "do')
            return _answer(dice, said, (), on_text, stop="length", blocks=(cut,))
        case "malformed":
            bad = CallBlock(provider_id="c0", tool="shell", problem="malformed", raw="{command: do}")
            return _answer(dice, said, (), on_text, blocks=(bad,))
        case _:
            return _answer(dice, said, _calls(kind, dice, token), on_text)


def _calls(kind: str, dice: Random, token: str) -> tuple[Call, ...]:
    def shell(number: int = 0, *, gated: bool = False) -> Call:
        seconds = dice.choice((0.1, 0.1, 0.2, 0.3, 0.3, 0.5, 0.8, 1.5)) if dice.random() < 0.97 else 25.0
        return "shell", {"command": f"{'danger ' * gated}do {token}.{number}", "seconds": seconds}

    match kind:
        case "reads":
            return tuple(("read", {"path": f"{token}.{n}"}) for n in range(dice.randint(1, 5)))
        case "write":
            return (("write", {"path": f"{token}.0"}),)
        case "commands":
            return (shell(0), ("read", {"path": f"{token}.r"}), shell(1), ("write", {"path": f"{token}.w"}))
        case "question":
            return (("ask_user", {"question": f"Which one for {token}?", "options": ["the first", "the second"]}),)
        case "gated":
            return (shell(0, gated=True),)
        case "report":
            report = {"status": "progressing", "confidence": dice.randint(20, 95), "note": "on it"}
            return (("report", report), shell(0))
        case "helpers":
            of = token.replace(".", "x")
            return (
                (
                    "subagent",
                    {"tasks": [{"task": f"do a part of it (plan {of}h{n})"} for n in range(dice.randint(1, 3))]},
                ),
            )
        case "unknown":
            return (("teleport", {"to": token}),)
        case _:
            return (shell(0),)


def _answer(
    dice: Random,
    said: tuple[str, ...],
    calls: tuple[Call, ...],
    on_text: Callable[[str], None] | None = None,
    *,
    stop: StopReason = "end",
    blocks: tuple[Block, ...] = (),
) -> Answer:
    if on_text is not None:
        for text in said:
            on_text(text)
    asked = tuple(CallBlock(provider_id=f"c{n}", tool=tool, arguments=given) for n, (tool, given) in enumerate(calls))
    whole = (*(TextBlock(text=text) for text in said), *blocks, *asked)
    tokens = Usage(input=dice.randint(500, 3_000), output=dice.randint(20, 400))
    reason: StopReason = "tool_use" if asked else stop
    return Answer(whole, reason, tokens, round(dice.uniform(0.005, 0.05), 4), "simulated")
