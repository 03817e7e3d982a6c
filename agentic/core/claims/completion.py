"""What counts as done, and with what evidence.

Done is the ``finish`` tool or the marker at a line's start; never a substring, never beside calls of which nobody has seen
what came of them, and never what only announces the next step.  Where a change was asked for and none was made, an end is
one only where it says why nothing had to be changed.  Each claim is checked against the
log (``proof``): a command that ran with the exit code it names, a file that the log saw change.  What has no evidence
stays unproven, and what the log denies is contradicted: that is sent back once, with the facts, and then shown as such.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from pydantic import BaseModel, ConfigDict, ValidationError

from agentic.core.claims import proof
from agentic.core.claims.asked_things import missing
from agentic.core.claims.call_counts import minds_only
from agentic.core.events.execution_events import Claim
from agentic.core.prompt.recap import call_told
from agentic.core.state.execution import FINISH, Call, Execution
from agentic.core.state.facts import Deeds, Ran
from agentic.core.text.announced_intent import MARKER, promises

IT_IS_DONE = "The task is done"
"""What failing tests deny."""
NO_CLAIMS = Claim(text="This answer came without claims.", note="no evidence was given")
NOTHING_DONE = Claim(
    text="The change is made",
    verdict="contradicted",
    note="a change was asked for, but nothing was changed or even looked at",
)
"""What an end without any work denies."""
ONLY_LOOKED = Claim(
    text=NOTHING_DONE.text,
    verdict="contradicted",
    note="a change was asked for, and nothing was changed; make it, or, if nothing has to be changed, say so in the answer, "
    "and why",
)
"""What an end after mere looking denies."""
ALL_FAILED = "no file was changed, and every step that could have changed one failed"
_SAYS_WHY = re.compile(
    r"\b(?:(?<!i have )(?<!i've )(?<!i’ve )already|can['’]t|no (?:changes?|need|such|longer)|unchanged|"
    r"(?:nothing|none) (?:to|needs?|needed|had|has|was|is)|"
    r"not (?:needed|necessary|required|possible)|there (?:is|are|was|were) (?:no|not|nothing)|"
    r"(?:does|do|did|is|are|was|were|could|can|have|has) ?n[o'’]t|cannot|"
    r"schon|bereits|nichts|kein\w*|nicht|déjà|rien|aucun\w*|n['’]\w+ pas|ne \w+ pas|ya|nada|ning[uú]n\w*)\b",
    re.IGNORECASE,
)
"""An answer that says why nothing was changed."""
RESULTS_TOLD = 8
"""Results that a refused ``finish`` names."""
_MARKER = re.compile(rf"^{MARKER}[ \t]*(.*)\Z", re.MULTILINE | re.DOTALL)


class _Claimed(BaseModel):
    model_config = ConfigDict(extra="ignore")

    text: str = ""
    command: str = ""
    exit_code: int | None = None
    file: str = ""


class Completion(BaseModel):
    """What the model said when it called ``finish``."""

    model_config = ConfigDict(extra="ignore")

    answer: str = ""
    claims: tuple[_Claimed, ...] = ()
    files: tuple[str, ...] = ()
    success: bool = True


def finished_by(execution: Execution) -> Completion | None:
    """The completion that the current turn states, or None."""
    for call in execution.turn.calls:
        if call.block.tool == FINISH and call.result is not None and call.result.outcome == "ok":
            return _of_call(call)
    turn = execution.turn
    marked = _MARKER.search(turn.text)
    if marked is None or turn.stop == "length" or promises(turn.text) or beside(execution):
        return None
    return Completion(answer=marked.group(1).strip() or turn.text)


def beside(execution: Execution) -> tuple[Call, ...]:
    """Calls of the current turn that look, act or ask: what came of them was not known when it was said to be done."""
    calls = execution.turn.calls
    return tuple(call for call in calls if call.block.tool != FINISH and not minds_only(execution, call.block.tool))


def too_early(execution: Execution, call: Call) -> str:
    """Why a ``finish`` is none yet, for the model; '' where it may be one.  The other calls of its answer have results."""
    others = beside(execution)
    if others:
        return (
            "Not finished: you wrote this beside other calls, so you had not seen what came of them. They ran first:\n"
            f"{results_told(others)}\nMend what failed. If they bear your answer out, call finish again with it, by itself."
        )
    said = _of_call(call)
    if said.success and not said.claims and promises(said.answer):
        return "Not finished: your answer says what you are about to do. Do it, or finish with what was done."
    return ""


def results_told(calls: tuple[Call, ...]) -> str:
    """What came of calls, a line each."""
    lines = [f"- {call_told(call)}" for call in calls[:RESULTS_TOLD]]
    more = [f"- … and {len(calls) - RESULTS_TOLD} more"] if len(calls) > RESULTS_TOLD else []
    return "\n".join([*lines, *more])


def unmarked(text: str) -> str:
    """A text without the marker, which only we read."""
    return "\n".join(
        line.removeprefix(MARKER).lstrip() if line.startswith(MARKER) else line for line in text.splitlines()
    )


def is_marked(execution: Execution) -> bool:
    """The current turn says by the marker that it is done."""
    return _MARKER.search(execution.turn.text) is not None


def unchanged(execution: Execution) -> bool:
    """A change was asked for, and nothing ran that may have made one."""
    deeds, triage = execution.deeds, execution.triage
    asked = triage is not None and triage.asks_change
    return asked and not (deeds.acted or deeds.changes or execution.mind.offers)


def idle(execution: Execution) -> bool:
    """A change was asked for, and no tool was used that looks or acts.

    Who has looked may have found that nothing needs a change.
    """
    return unchanged(execution) and not execution.deeds.looked


def unfounded(execution: Execution, answer: str) -> Claim | None:
    """What an end says of a change that was asked for and is not there, or of a thing that was asked for by name.

    None where all is there, or the answer says why not.
    """
    if idle(execution):
        return NOTHING_DONE
    if not _fruitless(execution) or _SAYS_WHY.search(answer):
        return missing(execution, answer)
    if unchanged(execution):
        return ONLY_LOOKED
    ran = next((ran for ran in reversed(execution.deeds.runs) if ran.exit_code), Ran(""))
    return Claim(text=IT_IS_DONE, command=ran.command, exit_code=ran.exit_code, verdict="contradicted", note=ALL_FAILED)


def _fruitless(execution: Execution) -> bool:
    """A change was asked for, no file was changed, and nothing else that may have made one did its work."""
    deeds, triage = execution.deeds, execution.triage
    asked = triage is not None and triage.asks_change
    return asked and not (deeds.achieved or deeds.changes or execution.mind.offers)


def ends_idly(execution: Execution) -> bool:
    """The current turn says that it is done, or merely answers, and what was asked for was not done."""
    turn = execution.turn
    completion = finished_by(execution)
    if completion is None:
        answers = not turn.calls and bool(execution.judged.textual_answers)
        return answers and unfounded(execution, turn.text) is not None
    return completion.success and unfounded(execution, completion.answer) is not None


def judged_claims(execution: Execution, completion: Completion) -> tuple[Claim, ...]:
    """Each claim with the log's verdict on it; that nothing is claimed of changed files is shown, too."""
    deeds = execution.deeds
    claims = tuple(proof.judged(Claim(**claimed.model_dump()), deeds) for claimed in completion.claims)
    if unchanged(execution):
        claims = tuple(proof.of_nothing_changed(claim) for claim in claims)
    if not claims and completion.success and (deeds.changes or _changes_files(execution)):
        return (NO_CLAIMS,)
    return claims


def proven(execution: Execution) -> bool | None:
    """Whether the current turn's completion is proven by the log; None where it states none."""
    completion = finished_by(execution)
    if completion is None:
        return None
    claims = judged_claims(execution, completion)
    return bool(claims) and all(claim.verdict == "proven" for claim in claims) and not denied(execution, completion)


def denied(execution: Execution, completion: Completion) -> tuple[Claim, ...]:
    """What the log denies of a completion that says it succeeded: claims, and that it is done while the tests fail.

    That they fail denies nothing where a claim says so itself, by naming that run with its exit code.
    """
    if not completion.success:
        return ()
    claims = judged_claims(execution, completion)
    against = tuple(claim for claim in claims if claim.verdict == "contradicted")
    against = (*proof.told_of_denied(completion.answer, execution.deeds), *against)
    if (wanting := unfounded(execution, completion.answer)) is not None:
        against = (wanting, *against)
    failing = failing_tests(execution.deeds)
    if failing is None or any(proof.names(claim, failing[0]) and claim.verdict != "unproven" for claim in claims):
        return against
    return (*against, failing[1])


def failing_tests(deeds: Deeds) -> tuple[Ran, Claim] | None:
    """The last test run where it failed, and what that denies."""
    last = proof.last_test_run(deeds)
    failure = proof.failure_of(last) if last is not None else ""
    if last is None or not failure:
        return None
    later = proof.changed_since(deeds, last)
    since = f"; {proof.listed(later)} changed since, and no test ran again" if later else ""
    note = f"in the last test run {failure}{since}"
    return last, Claim(
        text=IT_IS_DONE, command=last.command, exit_code=last.exit_code, verdict="contradicted", note=note
    )


def objections(execution: Execution) -> tuple[Claim, ...]:
    """What sends the current turn's completion back: what the log denies, and test runs that prove nothing."""
    completion = finished_by(execution)
    if completion is None or not completion.success:
        return ()
    hollow = tuple(
        claim
        for claim in judged_claims(execution, completion)
        if claim.verdict == "unproven" and any(proof.names(claim, ran) for ran in execution.deeds.runs)
        and proof.speaks_of_tests(claim)
    )  # fmt: skip
    return (*denied(execution, completion), *hollow)


def facts(against: tuple[Claim, ...]) -> str:
    """The objections for the model, a line each."""
    return "\n".join(f"- {_named(claim)}: {claim.note}" for claim in against)


def first_objection(told: str) -> str:
    """The first objection in a text that holds ``facts``; '' where it holds none."""
    return next((line.removeprefix("- ") for line in told.splitlines() if line.startswith("- ")), "")


def _named(claim: Claim) -> str:
    evidence = claim.command or claim.file
    return f"{claim.text} ({evidence})" if evidence else claim.text


def changed_files(deeds: Deeds) -> tuple[str, ...]:
    """Files that stand changed in the workspace at the end, sorted."""
    last = {change.path: change.kind for change in deeds.changes if change.path not in deeds.offered}
    return tuple(sorted(path for path, kind in last.items() if kind != "deleted"))


def shown_files(execution: Execution, named: tuple[str, ...] = ()) -> tuple[str, ...]:
    """The files to show with an answer: those that the model named, and else, in older logs, those that it changed."""
    return named or (() if execution.policy.shows_named_only else changed_files(execution.deeds))


def created_files(deeds: Deeds) -> frozenset[str]:
    """Files that did not exist before this execution made them: its own, whatever became of them since."""
    first: dict[str, str] = {}
    for change in deeds.changes:
        first.setdefault(change.path, change.kind)
    return frozenset(path for path, kind in first.items() if kind == "added")


def _of_call(call: Call) -> Completion:
    arguments: Mapping[str, object] = call.intent.arguments if call.intent else call.block.arguments
    try:
        return Completion.model_validate(arguments)
    except ValidationError:
        return Completion(answer=str(arguments.get("answer", "")))


def _changes_files(execution: Execution) -> bool:
    return execution.triage is not None and execution.triage.changes_files
