"""``approaches``: have the task done in several ways side by side, and the person choose; what is chosen is merged.

The call has two parts, with the person's answer between them.  First each way is carried out by a child in a copy of the
workspace, and all are set beside each other; then the files of the one that was taken are brought into the workspace.  What
the second part needs goes along with the question, so that whoever goes on after a crash needs nothing else.

Where nobody can be asked the best is taken only if its check passed: an unproven change that nobody chose is none.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce

from pydantic import Field, ValidationError

from agentic.core.claims.comparison import ComparedApproaches, TriedApproach, best, is_proven
from agentic.core.display.comparison_text import labels, taken, told
from agentic.core.fold.exposure import merged
from agentic.core.state.execution import APPROACHES
from agentic.core.text.task_words import FEWEST, MOST
from agentic.ports.children import ChildResult, FileDifference, OwnWorkspaces
from agentic.ports.runtime import Observation, Question
from agentic.tools.approaches.difference_file import difference_file
from agentic.tools.base.observation import failed, refused, tell_changes
from agentic.tools.base.terminal_text import visible
from agentic.tools.base.tool import Arguments, CallContext, Tool

NOT_HERE = "Approaches cannot be tried side by side here."
BY_YOURSELF = "Do the task yourself, in the way that you find best, and say so in your answer."
NONE_TAKEN = (
    "Nothing was changed in the workspace. Finish with what was learned from the approaches, unless they say what else they"
    " want."
)
CONFLICT = "I can't take {number}: {files} changed here since they began. Nothing was overwritten. Which one instead?"
NOTHING_THERE = "I can't take {number}: there is no copy of its files. Which one instead?"
NAMED = 5


class ApproachesArguments(Arguments):
    """The ways."""

    ways: tuple[str, ...] = Field(
        min_length=FEWEST,
        max_length=MOST,
        description="How each goes about it, in a sentence or two, unlike the others. Each is told the task besides.",
    )


async def _act(arguments: ApproachesArguments, call: CallContext) -> Observation:
    workspaces = call.children.workspaces if call.children is not None else None
    if call.children is None or workspaces is None:
        return _impossible(NOT_HERE)
    if call.replies:
        return await _decided(call, workspaces)
    ways = tuple(visible(" ".join(way.split()))[:1_000] for way in arguments.ways)
    came = await call.children.approach(call.id, ways, call.on_output)
    if isinstance(came, str):
        return _impossible(came)
    base, results = came
    if any(each.finished.reason == "stopped" for each in results):
        return _stopped(results)
    return await _compared(call, workspaces, base, results)


def _impossible(why: str) -> Observation:
    """The task is done as usual."""
    return failed(f"{why} {BY_YOURSELF}")


def _stopped(results: Sequence[ChildResult]) -> Observation:
    return Observation(
        "cancelled",
        "The approaches were stopped. Nothing was changed in the workspace.",
        events=tuple(each.ended for each in results),
        exposure=reduce(merged, (each.exposure for each in results)),
    )


async def _compared(
    call: CallContext, workspaces: OwnWorkspaces, base: str, results: Sequence[ChildResult]
) -> Observation:
    """Set all beside each other; the person chooses, or, where nobody can, the evidence does."""
    different = [await _differences(workspaces, base, each.tried) for each in results if each.tried is not None]
    tried = tuple(
        _counted(each.tried, files) for each, files in zip(results, different, strict=True) if each.tried is not None
    )
    compared, number = ComparedApproaches(base=base, tried=tried), best(tried)
    events = tuple(each.ended for each in results)
    exposure = reduce(merged, (each.exposure for each in results))
    if call.attended:
        question = _question(told(tried), compared)
        diff = difference_file(tried, different)
        return Observation("ok", "Asked.", events=events, exposure=exposure, output=diff or None, question=question)
    proven = number if number and is_proven(tried[number - 1]) else 0
    came = await _take(workspaces, compared, proven, "Nobody can be asked here")
    seen = came if isinstance(came, Observation) else _none(compared, f"{came} Nobody can be asked here.")
    return Observation(
        seen.outcome, f"{told(tried)}\n\n{seen.preview}", changes=seen.changes, events=events, exposure=exposure
    )


def _question(text: str, compared: ComparedApproaches) -> Question:
    """Which is taken; where none is best, none is recommended."""
    options = labels(compared.tried)
    recommended = best(compared.tried) or len(options)
    return Question(text, options, resume=compared.model_dump_json(), recommended=recommended, approaches=True)


async def _differences(workspaces: OwnWorkspaces, base: str, tried: TriedApproach) -> tuple[FileDifference, ...]:
    return await workspaces.differences(tried.place, base, tried.end) if tried.end else ()


def _counted(tried: TriedApproach, files: Sequence[FileDifference]) -> TriedApproach:
    added, removed = sum(each.added for each in files), sum(each.removed for each in files)
    return tried.model_copy(update={"files": len(files), "added": added, "removed": removed})


async def _decided(call: CallContext, workspaces: OwnWorkspaces) -> Observation:
    """Do what the person chose; what cannot be done is asked anew."""
    reply = call.replies[-1]
    try:
        compared = ComparedApproaches.model_validate_json(reply.resume)
    except ValidationError:
        return refused("What was compared can no longer be read. Call it again.")
    said = "" if reply.text in labels(compared.tried) else reply.text
    number = taken(reply.text)
    came = await _take(workspaces, compared, number if number <= len(compared.tried) else 0, "The person chose")
    if isinstance(came, str):
        return Observation("ok", "Asked.", question=_question(f"{came}\n\n{told(compared.tried)}", compared))
    return came if not said else _none(compared, f"The person took none of them, and wrote:\n{said}")


async def _take(workspaces: OwnWorkspaces, compared: ComparedApproaches, number: int, why: str) -> Observation | str:
    """Merge one of them, 0 for none, and let go of the copies; or why it cannot be taken, when nothing was changed."""
    places = [each.place for each in compared.tried]
    if not number:
        await workspaces.drop(places)
        return _none(compared, f"{why}: none of the approaches is taken.")
    chosen = compared.tried[number - 1]
    if not chosen.end:
        return NOTHING_THERE.format(number=number)
    brought = await workspaces.take(chosen.place, compared.base, chosen.end)
    if brought.conflicts:
        return CONFLICT.format(number=number, files=_listed(brought.conflicts))
    await workspaces.drop(places)
    proven = (
        f"Its check passed there ({chosen.check})."
        if is_proven(chosen) and chosen.check
        else "No check proved it there."
    )
    changes = tell_changes(brought.changes) or "It had changed no file."
    text = (
        f"{why}: approach {number} is taken, and its files are in the workspace now. {proven} Look at the result here, run its"
        f" check, and finish.\n{_own_words(chosen)}\n{changes}"
    )
    return Observation("ok", text, changes=brought.changes)


def _none(compared: ComparedApproaches, why: str) -> Observation:
    return Observation("ok", "\n".join((f"{why} {NONE_TAKEN}", *map(_own_words, compared.tried))))


def _own_words(tried: TriedApproach) -> str:
    """What it said itself, as a quotation."""
    return "\n".join(
        (f"“{tried.way}” came to: {tried.result}.", *(f"> {line}" for line in tried.said.strip().splitlines()))
    )


def _listed(conflicts: Sequence[str]) -> str:
    more = f" and {len(conflicts) - NAMED} more" if len(conflicts) > NAMED else ""
    return ", ".join(f"`{path.replace('`', 'ˋ')}`" for path in conflicts[:NAMED]) + more


APPROACHES_TOOL = Tool(
    name=APPROACHES,
    description=(
        "Have this task done in 2 to 4 ways side by side, each by an agent of its own in a copy of the workspace as it is now."
        " They are told the task, and spend from your budget. When all have ended, the person is shown what each came to and"
        " takes one, whose files are then in the workspace, or none."
    ),
    example=ApproachesArguments(
        ways=(
            "Cache the totals beside the cart, and throw them away at each change.",
            "Compute the totals in one SQL query, and keep nothing.",
        )
    ),
    act=_act,
    effect="keyed",
    permission="execute",
)
