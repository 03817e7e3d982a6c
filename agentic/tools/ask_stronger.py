"""``ask_stronger``: the agent asks for a stronger model; the rules decide whether one takes over."""

from __future__ import annotations

from pydantic import Field

from agentic.core.events.execution_events import StrongerWanted
from agentic.ports.runtime import Observation
from agentic.tools.base.tool import Arguments, CallContext, Tool


class StrongerArguments(Arguments):
    """Why."""

    reason: str = Field(min_length=10, max_length=1_000, description="The two ways you tried, and why each failed.")


async def _run(arguments: StrongerArguments, _: CallContext) -> Observation:
    return Observation("ok", "Asked for; go on as well as you can.", events=(StrongerWanted(reason=arguments.reason),))


STRONGER_TOOL = Tool(
    name="ask_stronger",
    description=(
        "Ask that a stronger, dearer model takes over: only after two different tries of your own failed, never because a"
        " task looks hard."
    ),
    example=StrongerArguments(
        reason="Tried a lock order and a queue against the deadlock; test_transfer hangs with both."
    ),
    act=_run,
    effect="keyed",
    permission="read",
    cognitive=True,
)
