"""What counts as done, and with what evidence.

Done is the ``finish`` tool or the marker at a line's start; never a substring.  Each claim is checked against the
log: a command that ran with the exit code it names, a file that the log saw change.  What has no evidence stays
unproven, and what the log denies is contradicted.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from pydantic import BaseModel, ConfigDict, ValidationError

from agentic.core.events import Claim
from agentic.core.execution import Call, Deeds, Execution

FINISH = "finish"
_MARKER = re.compile(r"^THREADWRIGHT DONE:[ \t]*(.*)\Z", re.MULTILINE | re.DOTALL)


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
    marked = _MARKER.search(execution.turn.text)
    if marked and not execution.turn.calls and execution.turn.stop != "length":
        return Completion(answer=marked.group(1).strip() or execution.turn.text)
    return None


def judged_claims(execution: Execution, completion: Completion) -> tuple[Claim, ...]:
    """Each claim with the log's verdict on it."""
    return tuple(_judge(claimed, execution.deeds) for claimed in completion.claims)


def proven(execution: Execution) -> bool | None:
    """Whether the current turn's completion is proven by the log; None where it states none."""
    completion = finished_by(execution)
    if completion is None:
        return None
    claims = judged_claims(execution, completion)
    return bool(claims) and all(claim.verdict == "proven" for claim in claims)


def contradicted(execution: Execution) -> tuple[Claim, ...]:
    """Claims of the current turn's completion that the log denies."""
    completion = finished_by(execution)
    claims = judged_claims(execution, completion) if completion is not None and completion.success else ()
    return tuple(claim for claim in claims if claim.verdict == "contradicted")


def changed_files(deeds: Deeds) -> tuple[str, ...]:
    """Files that stand changed in the workspace at the end, sorted."""
    last = {change.path: change.kind for change in deeds.changes if change.path not in deeds.offered}
    return tuple(sorted(path for path, kind in last.items() if kind != "deleted"))


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


def _judge(claimed: _Claimed, deeds: Deeds) -> Claim:
    claim = Claim(**claimed.model_dump())
    if claimed.command:
        return _judge_command(claim, deeds)
    if claimed.file:
        return _judge_file(claim, deeds)
    return claim.model_copy(update={"note": "no evidence was given"})


def _judge_command(claim: Claim, deeds: Deeds) -> Claim:
    wanted = " ".join(claim.command.split())
    codes = [code for command, code in deeds.commands if " ".join(command.split()) == wanted]
    if not codes:
        return claim.model_copy(update={"note": "this command is not in the log"})
    expected = claim.exit_code if claim.exit_code is not None else 0
    if codes[-1] == expected:
        return claim.model_copy(update={"verdict": "proven", "exit_code": codes[-1]})
    note = f"its last run ended with {codes[-1]}"
    return claim.model_copy(update={"verdict": "contradicted", "note": note})


def _judge_file(claim: Claim, deeds: Deeds) -> Claim:
    changes = [change for change in deeds.changes if change.path == claim.file.removeprefix("/workspace/")]
    if not changes:
        return claim.model_copy(update={"note": "the log saw no change of this file"})
    if changes[-1].kind == "deleted":
        return claim.model_copy(update={"verdict": "contradicted", "note": "this file was deleted"})
    return claim.model_copy(update={"verdict": "proven", "sha": changes[-1].sha_after})
