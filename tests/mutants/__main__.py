"""One line a mutant: what was taken out, and the test that failed; exits with 1 if any was not noticed.

``make mutants`` takes all of them, ``make mutants ONLY=rule`` those whose words begin so (``step``, ``branch budgeting``).
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from agentic.bash import steps
from agentic.core.claims import (
    asked_things,
    call_counts,
    completion,
    confidence,
    proof,
)
from agentic.core.display import tier_change_text
from agentic.core.events import calibrator
from agentic.core.fold import (
    compacted_turns,
    escalation_signs,
    exposure,
    fold,
    loop_detection,
    model_requests,
    people,
    prompt_size,
    watchers,
)
from agentic.core.prompt import recap, roles, summary
from agentic.core.rules import (
    approvals,
    budget,
    compaction,
    decide,
    escalation,
    model_failures,
    nudges,
    questions,
    task_end,
    triage,
    used_up_limits,
)
from agentic.core.rules.watchers import peek, watch_rules
from agentic.core.state import tiers, work_log
from agentic.core.text import (
    amounts,
    announced_intent,
    answers,
    asked_by_name,
    task_classifier,
    task_roles,
)
from tests.mutants.parts import branches

ROOT = Path(__file__).resolve().parents[2]
SECONDS = 300
CALIBRATING = (calibrator, confidence)
CLIMBING = (escalation, tier_change_text, escalation_signs, escalation, model_failures, tiers, recap)
CAPS = (amounts, budget, used_up_limits)
COMPACTING = (work_log, compaction, prompt_size, compacted_turns, summary)
REPEATING = (nudges, announced_intent, loop_detection, recap, loop_detection)
PROVING = (task_end, steps, completion, proof, asked_things, asked_by_name)
WATCHING = (peek, watch_rules, watchers)
TRIAGING = (roles, task_classifier, task_roles, triage)
NOT_COUNTED = (
    "--deselect",
    "tests/unit/core/test_decide.py::test_the_order_of_the_rules_is_the_one_that_holds_the_promises",
)
"""It compares names, so it would notice every rule and say nothing of what a rule does."""
_FAILED = re.compile(r"^(?:FAILED|ERROR) (\S+?::)?(\S+)", re.MULTILINE)


def mutants() -> list[tuple[str, str]]:
    """(name for the plugin, words for people)."""
    found = [(f"rule:agentic.core.rules.decide:{rule.__name__}", f"rule {rule.__name__}") for rule in decide.RULES]
    steps = fold._STEPS  # pyright: ignore[reportPrivateUsage]
    found += [(f"step:agentic.core.fold.fold:{kind}", f"step {kind}") for kind in steps]
    for module in (
        fold,
        exposure,
        people,
        model_requests,
        call_counts,
        answers,
        approvals,
        questions,
        *CALIBRATING,
        *CAPS,
        *CLIMBING,
        *COMPACTING,
        *REPEATING,
        *PROVING,
        *TRIAGING,
        *WATCHING,
    ):
        assert module.__file__ is not None
        name = module.__name__
        found += [
            (f"branch:{name}:{line}", f"branch {name.rpartition('.')[2]}.py:{line}  if {test}")
            for line, test in branches(Path(module.__file__))
        ]
    return found


def noticed_by(mutant: str) -> str:
    """The first test that fails with this part taken out, or ''."""
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-p",
        "tests.mutants.plugin",
        "-x",
        "-q",
        "--no-header",
        "tests/unit/core",
        *NOT_COUNTED,
    ]
    command += ["-p", "no:cacheprovider", "--tb=no"]
    environment = os.environ | {"THREADWRIGHT_MUTANT": mutant}
    try:
        done = subprocess.run(
            command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=SECONDS, check=False
        )
    except subprocess.TimeoutExpired:
        return "(the tests did not end)"
    failed = _FAILED.search(done.stdout)
    return failed.group(2) if failed else ""


def main(only: str = "") -> int:
    """Run them, two at a time, and say of each what noticed it as soon as that is known."""
    todo = [mutant for mutant in mutants() if mutant[1].startswith(only)]
    noticed = 0
    with ThreadPoolExecutor(2) as pool:
        for (_, words), test in zip(todo, pool.map(lambda mutant: noticed_by(mutant[0]), todo), strict=True):
            print(f"{words:<70} {test or 'NOT NOTICED'}", flush=True)
            noticed += bool(test)
    print(f"mutants noticed: {noticed}/{len(todo)}")
    return 0 if noticed == len(todo) else 1


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
