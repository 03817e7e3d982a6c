"""Logs of many turns, driven as the loop does, with a model that writes summaries."""

from __future__ import annotations

from collections.abc import Callable

from agentic.core.events.execution_events import (
    CallBlock,
    Compacted,
    ModelAnswered,
    ModelFailed,
    ModelRequested,
    TextBlock,
    ToolFinished,
    ToolStarted,
    Usage,
)
from agentic.core.events.values import Outcome
from agentic.core.rules.decide import decide
from agentic.core.state.actions import (
    Action,
    Consult,
    Finish,
    Record,
    Think,
    UseTools,
)
from tests.unit.core.building import Log


class Long(Log):
    """A log to which whole turns are added; what the rules record on the way is recorded."""

    def __init__(self, task: str = "Fix the test.", **policy: object) -> None:
        numbers: dict[str, object] = {
            "turns_medium": 1_000,
            "history_tokens": 500,
            "summary_tokens": 200,
            "max_usd": 1e6,
        }
        super().__init__(task, **(numbers | {"max_tokens": 10**9, "max_minutes": 10**6} | policy))
        self.turns = 0
        self.summary: Callable[[Log], str] = lambda _: f"remembered at turn {self.turns}"

    @property
    def compactions(self) -> list[Compacted]:
        return [envelope.event for envelope in self.envelopes if isinstance(envelope.event, Compacted)]

    def go_on(self) -> Action:
        """What is due after everything that the rules record; a summary that is asked for is written."""
        for _ in range(30):
            self.settle()
            action = decide(self.execution)
            if not isinstance(action, Consult):
                assert isinstance(action, Think | UseTools | Finish | Record) or True
                return action
            self.consult(action, self.summary(self))
        message = "it is compacted without end"
        raise AssertionError(message)

    def consult(self, action: Consult, text: str) -> None:
        """The request beside the turns, with its answer; '' fails it."""
        name = f"r{self.execution.seq + 1}"
        self.add(
            ModelRequested(request=name, turn=action.turn, purpose=action.purpose, tier=action.tier, model=action.model)
        )
        if text:
            self.add(ModelAnswered(request=name, blocks=(TextBlock(text=text),)))
        else:
            self.add(ModelFailed(request=name, failure="unavailable", message="down"))

    def turn(
        self,
        result: str = "",
        text: str = "",
        tool: str = "look",
        outcome: Outcome = "ok",
        arguments: dict[str, object] | None = None,
        usage: Usage | None = None,
    ) -> None:
        """One turn with a call and its result."""
        self.go_on()
        self.turns += 1
        block = CallBlock.model_validate(
            {"provider_id": f"call_{self.turns}", "tool": tool, "arguments": arguments or {"path": f"f{self.turns}.py"}}
        )
        request = self.request()
        blocks = (TextBlock(text=text or f"I look at {self.turns}."), block)
        self.add(ModelAnswered(request=request, blocks=blocks, usage=usage or Usage(output=9)))
        call = self.execution.turn.calls[0].id
        self.add(
            ToolStarted(
                call=call,
                provider_id=block.provider_id,
                tool=tool,
                effect="read",
                arguments=block.arguments,
                args_sha="",
            )
        )
        shown = result or f"result {self.turns} " + "x" * 400
        self.add(ToolFinished(call=call, outcome=outcome, preview=shown))

    def sent(self) -> str:
        """All that the next request would say: history, what is added to it, tail."""
        from agentic.core.prompt.build import build_prompt
        from agentic.core.prompt.user_messages import pending_message

        self.go_on()
        prompt = build_prompt(self.execution, None, ())
        waiting = pending_message(self.execution)
        messages = (*prompt.messages, waiting) if waiting else prompt.messages
        texts = [text for message in messages for text in (message.text, *(a.text for a in message.answers))]
        return "\n".join((*texts, prompt.tail))


def overflow(log: Long) -> None:
    """The next request is too long for its model."""
    log.go_on()
    log.add(ModelFailed(request=log.request(), failure="context_overflow", message="too long"))
