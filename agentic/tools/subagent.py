"""``subagent``: have parts of the task done side by side, each by an agent of its own in the same workspace."""

from __future__ import annotations

from functools import reduce

from pydantic import Field

from agentic.core.fold.exposure import merged
from agentic.ports.children import ChildResult, ChildTask
from agentic.ports.runtime import Observation
from agentic.tools.base.observation import listed, refused, tell_changes
from agentic.tools.base.terminal_text import one_line
from agentic.tools.base.tool import Arguments, CallContext, Tool
from agentic.tools.base.truncation import Limit, show
from agentic.tools.shell.shell import merge_changes

MOST = 8
CONFLICTS = 10
ALL_SHOWN = 24_000
"""Characters of all answers together."""
NOT_HERE = "There are no helpers here: do it yourself."
_SIGNS = {"proven": "proven", "unproven": "not proven", "contradicted": "contradicted"}


class PartArguments(Arguments):
    """One part of the work."""

    task: str = Field(
        min_length=1,
        max_length=8_000,
        description="All it has to know: which files, what to do, how to check it. It sees nothing of this conversation.",
    )
    role: str | None = Field(
        default=None,
        max_length=40,
        description="planner, coder, reviewer (another kind of model than you; it and the planner only look), or a role of "
        "this place.",
    )


class SubagentArguments(Arguments):
    """The parts."""

    tasks: tuple[PartArguments, ...] = Field(
        min_length=1, max_length=MOST, description="Parts that do not need each other."
    )


async def _run(arguments: SubagentArguments, call: CallContext) -> Observation:
    if call.children is None:
        return refused(NOT_HERE)
    parts = tuple(ChildTask(part.task, part.role) for part in arguments.tasks)
    results = await call.children.run(call.id, parts, call.on_output)
    if isinstance(results, str):
        return refused(results)
    world = await call.world()
    room = Limit(characters=ALL_SHOWN // len(results), lines=400)
    whole = listed("\n\n".join(map(_told, range(1, MOST + 1), results)), world.outputs, Limit(ALL_SHOWN, 750))
    shown = "\n\n".join(show(_told(number, each), room).text for number, each in enumerate(results, 1))
    reasons = {each.finished.reason for each in results}
    outcome = "ok" if "done" in reasons else "cancelled" if reasons == {"stopped"} else "failed"
    return Observation(
        outcome=outcome,
        preview=shown if whole.output_ref else whole.preview,
        changes=merge_changes(tuple(change for each in results for change in each.changes)),
        output=whole.output,
        output_ref=whole.output_ref,
        error="" if outcome == "ok" else "no helper got it done",
        events=tuple(each.ended for each in results),
        exposure=reduce(merged, (each.exposure for each in results)),
        conflicts=tuple(dict.fromkeys(conflict for each in results for conflict in each.conflicts)),
    )


def _told(number: int, result: ChildResult) -> str:
    """What one came to, its words as a quotation."""
    finished = result.finished
    head = f"Helper {number} ({' '.join(result.task.task.split())[:100]}): {finished.reason}, in {result.ended.turns} turns."
    said = [f"> {line}" for line in finished.answer.strip().splitlines()]
    claims = [
        f"- {_SIGNS[claim.verdict]}: {' '.join(claim.text.split())}{f' ({claim.note})' if claim.note else ''}"
        for claim in finished.claims
    ]
    changed = tell_changes(merge_changes(result.changes))
    met = ", ".join(f"{one_line(each.path)}{f' {each.by}' if each.by else ''}" for each in result.conflicts[:CONFLICTS])
    crossed = f"Others changed files under its hands: {met}. Look whether both changes are there." if met else ""
    listed_claims = ["Its claims, by its own log:", *claims] if claims else []
    return "\n".join((head, *said, *listed_claims, *filter(None, (changed, crossed))))


SUBAGENT_TOOL = Tool(
    name="subagent",
    description=(
        "Have 1 to 8 parts of the task done side by side, each by a helper: an agent of its own in this workspace. For parts"
        " that do not need each other, such as looking into several places at once, or a review of your change by other eyes."
        " You wait until all have ended. They spend from your budget, and cannot ask the person. Check what they tell you."
    ),
    example=SubagentArguments(
        tasks=(
            PartArguments(
                task="Find every place below src/ that rounds a price. Answer with path and line of each.",
                role="planner",
            ),
            PartArguments(
                task="Review the change in src/cart.py (git diff): is anything rounded twice?", role="reviewer"
            ),
        )
    ),
    act=_run,
    effect="keyed",
    permission="execute",
)
