"""The task that every engine is measured with: one tool call with 2 kB of result a turn, and a last turn that answers."""

from __future__ import annotations

import re
from typing import Literal

from agentic.core.events.execution_events import (
    Person,
    Policy,
    Started,
    Tier,
    ToolRef,
)
from agentic.models.scripted.captured_request import CapturedRequest
from agentic.models.scripted.replies import Reply
from agentic.tools.toolbox import StandardToolbox
from agentic.workspace.workspace import RealWorld

Route = Literal["litellm", "anthropic", "openai"]

MODELS: dict[Route, str] = {
    "litellm": "hosted_vllm/bench",
    "anthropic": "anthropic/claude-sonnet-4-5",
    "openai": "openai/gpt-4o",
}

OUTPUT = b"0123456789abcdefghijklmnopqrstuvwxyz and some words\n" * 39
"""What the tool answers: 2 kB."""

_TURNS = re.compile(r"in (\d+) turns")


def task_text(turns: int) -> str:
    """A task that takes so many requests."""
    return f"Look at the code and answer in {turns} turns."


async def no_world() -> RealWorld:
    """For a toolbox that only says which tools there are."""
    raise RuntimeError("nothing runs here")


def started(route: Route, turns: int, thread: str = "1200000000000000001") -> Started:
    """The beginning of an execution with the standard tools, so many turns and no other cap."""
    caps = {"turns_medium": turns + 10, "max_tokens": 10**9, "max_usd": 1e6, "max_minutes": 1e6}
    caps |= {
        "turns_simple": turns + 10,
        "turns_complex": turns + 10,
        "unchanged_turns_escalate": 10**6,
        "stale_turns_escalate": 10**6,
    }
    return Started(
        thread=thread,
        task=task_text(turns),
        requester=Person(id="7", name="Anna"),
        policy=Policy(tiers=(Tier(number=2, models=(MODELS[route],)),), history="replay_all", **caps),
        tools=tuple(
            ToolRef(name=spec.name, effect=spec.effect, permission=spec.permission, cognitive=spec.cognitive)
            for spec in StandardToolbox(no_world).specs
        ),
    )


def reply(request: CapturedRequest) -> Reply:
    """The endpoint's answer: calls until one request is left, then the end; without a number of turns, calls for ever."""
    said = next((message.text for message in request.messages if _TURNS.search(message.text)), "")
    match = _TURNS.search(said)
    answered = sum(bool(message.answers) for message in request.messages)
    if match and answered + 1 >= int(match[1]):
        return Reply("All done.", (("finish", {"answer": "done"}),))
    arguments = {"command": f"sed -n {answered},{answered + 40}p src/module_{answered}.py"}
    tool = "bash" if "bash" in request.tools else "shell"
    return Reply(f"I look at module {answered} next.", ((tool, arguments),))
