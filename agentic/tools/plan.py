"""``plan_mode`` and ``propose_plan``: make a plan first, and carry it out once the person has agreed.

Entering changes only the agent; leaving asks the person, and the rules act on the answer.  In between the rules refuse
what changes anything (``agentic/core/prompt/roles.py``).
"""

from __future__ import annotations

from pydantic import Field

from agentic.core.events.execution_events import PlanEntered
from agentic.core.prompt.roles import PROPOSE
from agentic.ports.runtime import Observation, Question
from agentic.prompts.plan_mode import PLANNING
from agentic.tools.base.tool import Arguments, CallContext, Tool


class PlanModeArguments(Arguments):
    """Nothing has to be said."""


class PlanArguments(Arguments):
    """The plan."""

    plan: str = Field(
        min_length=1,
        max_length=6_000,
        description="Markdown: numbered steps, what changes where, how it is checked, what you are unsure of.",
    )


async def _enter(_: PlanModeArguments, __: CallContext) -> Observation:
    return Observation("ok", PLANNING, events=(PlanEntered(),))


async def _propose(arguments: PlanArguments, _: CallContext) -> Observation:
    return Observation("ok", "Proposed.", question=Question(arguments.plan.strip(), plan=True))


PLAN_MODE_TOOL = Tool(
    name="plan_mode",
    description="Plan first: from here on only reading works, until the person agrees to your plan. For when they ask for a"
    " plan, or when large work could be done in several ways.",
    example=PlanModeArguments(),
    act=_enter,
    effect="keyed",
    permission="read",
    cognitive=True,
)
PROPOSE_TOOL = Tool(
    name=PROPOSE,
    description="Show the person your plan. They agree, have it changed, or drop it.",
    example=PlanArguments(plan="1. Round half up in `prices.py`.\n2. Test 0.005 and 1.005 with `pytest -q`."),
    act=_propose,
    effect="keyed",
    permission="read",
    asks=True,
)
