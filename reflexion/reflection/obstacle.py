"""What a task that ended well got round: a command that failed for a reason outside of the work, and what then did it.

Pure, and tight on purpose: a reflection is paid, and most successes teach nothing that the next attempt would not find.
It takes evidence that the work is right, a failed command that was no mere look and whose output names an obstacle (a
program, a module or a file that is not there, a right that is missing, an option that nobody knows) or that failed twice
in the same way, and another command with the same aim that went well without a file being edited in between: what an
edit mended was the work itself.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from agentic.bash.steps import written
from agentic.core.prompt.roles import looks
from reflexion.evaluation.trajectory import Call, Trajectory
from reflexion.reflection.error_excerpt import telling_lines
from reflexion.reflection.error_signature import recognised_by

SHELL = "shell"
LINES = 4
COMMAND_CHARACTERS = 240
_TO_BE_FOUND = (
    r"command not found|: not found$|no such (?:command|option|target|subcommand)|unknown (?:command|option|target)"
    r"|unrecognized (?:arguments|option)|invalid option|no rule to make target|missing script|is not a \S+ command"
)
_BLOCKED = re.compile(
    r"(?i)" + _TO_BE_FOUND + r"|no module named|cannot find (?:module|package)|not installed|permission denied"
    r"|read-only file system|no space left|could not resolve|connection refused|network is unreachable"
    r"|no such file or directory|environment variable|is not set\b|requires? (?:python|node|version)"
)
_FOUND = re.compile(r"(?i)" + _TO_BE_FOUND)
_SAYS_NOTHING = frozenset(("cd", "export", "bash", "sh", "sudo", "env", "exec", "python", "python3", "."))
"""Words that two commands share without sharing an aim."""


@dataclass(frozen=True, slots=True)
class Obstacle:
    """What stood in the way, and what got round it; ``teaches``: a fact where a command had to be found, else a way."""

    failed: Call
    worked: Call
    signature: str
    teaches: Literal["strategy", "fact"]

    @property
    def evidence(self) -> tuple[str, ...]:
        """What was printed of the obstacle, and the command that did it, word for word."""
        return (*telling_lines(self.failed)[:LINES], " ".join(self.worked.asked.split())[:COMMAND_CHARACTERS])


def overcome(trajectory: Trajectory) -> Obstacle | None:
    """The first obstacle that it got round, where something proves that it ended well; None else."""
    return next(_overcome(trajectory.calls), None) if is_proven(trajectory) else None


def is_proven(trajectory: Trajectory) -> bool:
    """Something outside of its own words says that it ended well, and nothing says otherwise."""
    claims = [claim.verdict for claim in trajectory.claims]
    against = trajectory.corrections or trajectory.breaches or trajectory.withdrawn or "contradicted" in claims
    if trajectory.reason != "done" or trajectory.talk or trajectory.tour or against:
        return False
    return trajectory.verifier == "pass" or (trajectory.verifier == "none" and set(claims) == {"proven"})


def _overcome(calls: tuple[Call, ...]) -> Iterator[Obstacle]:
    signatures = [_signature(call) for call in calls]
    for at, failed in enumerate(calls):
        signature = signatures[at]
        if not signature or not (_names_it(failed) or signatures[: at + 1].count(signature) > 1):
            continue
        worked = _way_round(failed, calls[at + 1 :])
        if worked is not None:
            found = failed.exit_code in (126, 127) or _FOUND.search(failed.preview)
            yield Obstacle(failed, worked, signature, "fact" if found else "strategy")


def _signature(call: Call) -> str:
    """By what the failure of a command that was to do something is recognised; '' for all other calls."""
    if call.tool != SHELL or not call.failed or not call.exit_code or looks(call.asked):
        return ""
    line = recognised_by(telling_lines(call))
    return f"{call.tool}: {line}" if line else ""


def _names_it(call: Call) -> bool:
    return call.exit_code in (126, 127) or any(_BLOCKED.search(line) for line in telling_lines(call))


def _way_round(failed: Call, after: tuple[Call, ...]) -> Call | None:
    """Another command with the same aim that went well, before any file was edited."""
    for call in after:
        if call.tool != SHELL and call.changes:
            return None
        done = call.tool == SHELL and call.outcome == "ok" and call.exit_code == 0
        if done and " ".join(call.asked.split()) == " ".join(failed.asked.split()):
            return None  # it went well as it was: what stood in the way went by itself
        if done and not looks(call.asked) and _aims(call) & _aims(failed):
            return call
    return None


def _aims(call: Call) -> frozenset[str]:
    """The words that say what a command is for."""
    steps = written(call.asked) or ()
    words = (word.rpartition("/")[2] if "/bin/" in word else word for step in steps for word in step)
    return frozenset(word for word in words if not word.startswith("-") and word not in _SAYS_NOTHING and len(word) > 1)
