"""What a task asked for by name and what of it is there, as far as the log can tell.

The log sees each file that changed, each branch and pull request of the product's own tools.  What other ways there are (a
command, a tool of a server) count where they may have done it: an end is denied only where nothing can have.
"""

from __future__ import annotations

import re

from agentic.core.claims.proof import only_looks
from agentic.core.events.values import Claim
from agentic.core.state.execution import Execution
from agentic.core.text.asked_by_name import BRANCH, PULL, kind_and_name, speaks_of, taken_back

_SAYS_WHY = re.compile(
    r"\b(?:already|exists|existed|nothing (?:to|new|had|has|was|needed|needs)|no (?:changes?|need)|unnecessary|"
    r"not (?:needed|necessary|required)|schon|bereits|existiert|nichts (?:zu|neues)|keine änderung\w*|"
    r"nicht (?:nötig|notwendig))\b"
)
"""An answer that says of a thing that it was there, or that nothing had to be."""
_OPENS = re.compile(r"\bgh\s+pr\s+create\b|\bglab\s+mr\s+create\b|\bhub\s+pull-request\b|/(?:pulls|merge_requests)\b")
FOREIGN = re.compile(r"(?:pull|merge)[_-]?request|(?:^|[_-])pr(?:[_-]|$)")
"""Tools of servers that may open a pull request, by their names."""
_BRANCHES = re.compile(
    r"\bgit\b.{0,200}?(?:\bcheckout\s+.{0,40}?-b\b|\bcheckout\s+.{0,40}?-B\b|\bswitch\s+.{0,40}?(?:-[cC]\b|--create|--orphan)|"
    r"\bbranch\s+(?:-[fm]\s+)?[^-\s]|\bworktree\s+add\b|\bupdate-ref\b)",
    re.DOTALL,
)


def missing(execution: Execution, answer: str) -> Claim | None:
    """The first thing that was asked for by name and is not there; None where all are, or the answer says why not."""
    for thing in execution.triage.asks_for if execution.triage is not None else ():
        excused = any(_SAYS_WHY.search(sentence) for sentence in speaks_of(thing, answer))
        unwanted = any(taken_back(thing, said) for said in execution.mind.guided)
        if not (excused or unwanted or _is_there(execution, thing)):
            return _claim(thing)
    return None


def _claim(thing: str) -> Claim:
    kind, name = kind_and_name(thing)
    called = f"the {kind} {name}" if name else f"a {kind}"
    note = (
        f"{called} was asked for by name, and is not there; make it"
        f"{' with the tool publish' if kind == PULL else ''}, or finish with success false and say why it cannot be"
    )
    return Claim(text=f"{called[0].upper()}{called[1:]} is there", verdict="contradicted", note=note)


def _is_there(execution: Execution, thing: str) -> bool:
    kind, name = kind_and_name(thing)
    mind, deeds = execution.mind, execution.deeds
    commands = [ran.command for ran in deeds.runs if ran.exit_code in (0, None)]
    if kind == PULL:
        return bool(mind.pulls or any(map(FOREIGN.search, deeds.used)) or any(map(_OPENS.search, commands)))
    if kind == BRANCH:
        branches = [offer.branch.lower() for offer in mind.offers] + [pull.branch.lower() for pull in mind.pulls]
        made = [command.lower() for command in commands if _BRANCHES.search(command)]
        ours = [branch for branch in branches if not name or branch == name or branch.endswith(f"/{name}")]
        return bool(ours or [command for command in made if name in command])
    last = {change.path.lower(): change.kind for change in deeds.changes}
    changed = any(f"/{path}".endswith(f"/{name}") for path, became in last.items() if became != "deleted")
    return changed or any(name in command.lower() and not only_looks(command) for command in commands)
