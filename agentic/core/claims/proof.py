"""What the log says of a claim: proven, contradicted, or unproven with the reason in plain words.

A claimed command is found by what it runs, not by how it is spelled: a ``cd`` before it, quotes, ``python -m pytest`` for
``pytest`` and a filter behind it make no difference to which run is meant.  They do to what the run proves: where something
behind it decides the exit code (``| tail``, ``|| true``, ``; echo``) only the tests that were counted speak.  A run that is
older than a change of what it checks proves nothing any more, nor does one that found no test.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from agentic.bash.runners import is_lenient, kind_of, runs_nothing
from agentic.bash.steps import Line, Step, read
from agentic.bash.workspace_paths import HOME, inside
from agentic.core.events.values import Claim, FileChange, Outcome
from agentic.core.state.facts import Deeds, Ran, Unrun

_LOOKING = frozenset(
    (
        "ls", "cat", "head", "tail", "grep", "rg", "egrep", "find", "wc", "echo", "printf", "pwd", "uname", "which", "stat",
        "file", "tree", "df", "du", "date", "env", "id", "whoami", "sort", "uniq", "cut", "diff", "cmp", "sha256sum", "jq",
        "true", "test", "[", "sed", "awk", "tr", "nl", "less", "tee", "sleep",
    )
)  # fmt: skip
_WRITE_BY_WORDS = frozenset(("awk", "["))
"""Programs by whose words a ``>`` may write to a file: those of awk, and ``[ a > b ]``, read by the grammar as a test."""
_WRITES: dict[str, tuple[str, ...]] = {
    "sed": ("-i", "--in-place"), "find": ("-delete", "-exec", "-ok", "-fprint", "-fls"), "sort": ("-o", "--output"),
}  # fmt: skip
"""Of what looks, the options that write."""
_GIT_LOOKS = frozenset(("status", "log", "diff", "show", "ls-files", "blame", "grep", "rev-parse", "describe"))
_FILTERS = frozenset(
    ("tail", "head", "cat", "tee", "grep", "egrep", "rg", "sed", "awk", "true", "echo", "printf", "less", ":")
)
_NOISE = re.compile(
    r"(?:^|/)(?:__pycache__|\.pytest_cache|\.mypy_cache|\.ruff_cache|\.hypothesis|\.tox|\.nox|\.nyc_output|coverage|htmlcov|"
    r"node_modules|target|dist|build|\.git|\.cache)(?:/|$)|\.(?:pyc|log|md|rst|adoc)$|(?:^|/)\.coverage|"
    r"(?:^|/)(?:CHANGELOG|LICENSE|NOTES?)\b[^/]*$|\.tmp$"
)
"""What no check is about: caches, what builds leave, prose."""
_SOURCE = re.compile(
    r"\.(?:py|pyi|js|jsx|mjs|cjs|ts|tsx|vue|svelte|go|rs|c|h|cc|cpp|hpp|java|kt|scala|rb|php|cs|swift|sh|sql|lua|pl|ex|exs)$"
)
_TESTS = re.compile(
    r"(?:^|/)(?:tests?|__tests__|specs?)/|(?:^|/)(?:test_[^/]*|[^/]*(?:_test|\.test|\.spec|_spec|Tests?)\.\w+|conftest\.py|"
    r"pytest\.ini|tox\.ini|(?:jest|vitest|playwright)\.config\.\w+)$"
)
_DELETES = re.compile(r"delet|remov|dropp|clean|no longer|gone|entfern|gelösch|supprim|elimin|borr", re.IGNORECASE)
_ADMITS = re.compile(
    r"\b(?:denied|refused|declined|rejected|cancell?ed|not (?:allowed|approved|permitted|run|done)|never ran|"
    r"(?:did|was|were|could|has|have) ?n[o']t|abgelehnt|verweigert|nicht)\b",
    re.IGNORECASE,
)
"""A claim that says itself that it did not happen."""
_CHANGED = re.compile(
    r"\b(?:created|wrote|written|added|changed|updated|fixed|implemented|edited|modified|renamed|replaced|removed|deleted|"
    r"saved|generated|inserted|erstellt|angelegt|geschrieben|geändert|hinzugefügt|créée?|écrite?|modifiée?|creado|escrito)\b",
    re.IGNORECASE,
)
"""A claim that says that something was changed."""
_NOT = re.compile(r"\b(?:not|never|no|nothing|nicht|kein\w*|pas|nunca)\b|n't\b", re.IGNORECASE)
_UNRUN: dict[Outcome, str] = {
    "denied": "denied, did not run",
    "refused": "refused, did not run",
    "cancelled": "cancelled, did not run",
    "unknown": "it was cut off, so its outcome is unknown",
}
TOLD = "The answer says this was done"
"""A denied command."""
NAMED = 3
"""So many files are named in a note."""


def judged(claim: Claim, deeds: Deeds) -> Claim:
    """The claim with the log's verdict."""
    if not claim.command:
        return _of_file(claim, deeds) if claim.file else _noted(claim, "no evidence was given")
    said = _of_command(claim, deeds)
    return _of_file(said, deeds) if claim.file and said.verdict == "proven" else said


def of_nothing_changed(claim: Claim) -> Claim:
    """A claim where nothing ran that may have changed a file: that one was changed is contradicted."""
    says_so = claim.verdict == "unproven" and claim.file and _CHANGED.search(claim.text)
    if not says_so or _NOT.search(claim.text):
        return claim
    return _noted(claim, "nothing ran that could have changed this file", verdict="contradicted")


def only_looks(command: str) -> bool:
    """It plainly reads and writes nothing; where that cannot be told, it may do more."""
    line = read(command)
    return line is not None and not line.writes and all(map(_only_looks, line.steps))


def _only_looks(step: Step) -> bool:
    if step.program == "git":
        return len(step.words) > 1 and step.words[1] in _GIT_LOOKS
    if step.program in _WRITE_BY_WORDS and any(">" in word for word in step.words):
        return False
    writes = _WRITES.get(step.program, ())
    return step.program in _LOOKING - {"tee"} and not any(word.startswith(writes) for word in step.words[1:] if writes)


def told_of_denied(answer: str, deeds: Deeds) -> tuple[Claim, ...]:
    """Denied commands that an answer names word for word, and does not say that they did not run."""
    said = " ".join(answer.split())
    if _ADMITS.search(said):
        return ()
    commands = dict.fromkeys(one.what for one in deeds.unrun if one.outcome == "denied" and " " in one.what.strip())
    named = [what for what in commands if " ".join(what.split()) in said]
    return tuple(
        Claim(text=TOLD, command=what, verdict="contradicted", note=_UNRUN["denied"])
        for what in named
        if all(_match(what, ran) is None for ran in deeds.runs)
    )


def is_test_run(ran: Ran) -> bool:
    """Its runner counted tests, or is known by its name and was not only asked about itself."""
    line = read(ran.command)
    steps = line.steps if line is not None else ()
    if any(_runs_tests(step) for step in steps):
        return True
    did = [step for step in steps if step.program not in _LOOKING and not runs_nothing(step.words)]
    return ran.tests is not None and (not steps or bool(did))


def _runs_tests(step: Step) -> bool:
    return kind_of(step.words) == "tests" and not runs_nothing(step.words)


def last_test_run(deeds: Deeds) -> Ran | None:
    """The last one that has ended."""
    return next((ran for ran in reversed(deeds.runs) if not ran.job and is_test_run(ran)), None)


def failure_of(ran: Ran) -> str:
    """How a test run failed, in words; '' where it did not, or cannot tell."""
    if ran.tests is not None and ran.tests[1]:
        return f"{ran.tests[1]} of {sum(ran.tests[:2])} tests failed"
    line = read(ran.command)
    last = next((at for at, step in enumerate(line.steps) if _runs_tests(step)), 0) if line else 0
    if ran.exit_code == 0 or (line is not None and line.hidden_by(last)):
        return ""
    return "it did not end by itself" if ran.exit_code is None else f"it ended with exit {ran.exit_code}"


def speaks_of_tests(claim: Claim) -> bool:
    """Whether the command that a claim names runs tests."""
    return is_test_run(Ran(claim.command))


def names(claim: Claim, ran: Ran) -> bool:
    """Whether the claim is about this run."""
    return bool(claim.command) and _match(claim.command, ran) is not None


def touched_tests(deeds: Deeds) -> tuple[str, ...]:
    """Tests that were there before, and that this execution itself changed or deleted."""
    told = [
        f"{path} ({last.kind})" if last.kind == "deleted" else path
        for path, (first, last) in _net(deeds.changes).items()
        if _TESTS.search(path) and first.kind != "added" and first.sha_before != (last.sha_after or "deleted")
    ]
    return tuple(sorted(told))


@dataclass(frozen=True, slots=True)
class _Found:
    """A run that a claim names: what hides its exit code, and whether other steps share that."""

    ran: Ran
    hidden: str = ""
    shared: bool = False
    looking: bool = False


def _of_command(claim: Claim, deeds: Deeds) -> Claim:
    found = [each for ran in deeds.runs if (each := _match(claim.command, ran)) is not None]
    if not found:
        unrun = next((one for one in reversed(deeds.unrun) if _match(claim.command, Ran(one.what, cwd=one.cwd))), None)
        return _noted(claim, "this command is not in the log") if unrun is None else _of_unrun(claim, unrun)
    last = found[-1]
    said = _by_result(claim, last)
    if said.verdict != "proven":
        return said
    stale = changed_since(deeds, last.ran)
    if stale:
        return _noted(said, f"stale: it ran before {listed(stale)} changed", verdict="unproven")
    touched = touched_tests(deeds) if is_test_run(last.ran) else ()
    skipped = last.ran.tests[2] if last.ran.tests is not None else 0
    notes = [said.note, f"{skipped} skipped" if skipped else ""]
    notes.append(f"the tests themselves were changed: {listed(touched)}" if touched else "")
    return _noted(said, "; ".join(note for note in notes if note), verdict="proven")


def _of_unrun(claim: Claim, unrun: Unrun) -> Claim:
    """What was denied, refused or cancelled did not run, whoever says that it did."""
    ended = unrun.outcome == "cancelled" and unrun.began
    note = "cancelled before it ended" if ended else _UNRUN[unrun.outcome]
    open_ = unrun.outcome == "unknown" or _ADMITS.search(claim.text)
    return _noted(claim, note, verdict=False if open_ else "contradicted")


def _by_result(claim: Claim, found: _Found) -> Claim:
    ran, expected = found.ran, claim.exit_code or 0
    if ran.job:
        return _noted(claim, "it ran in the background, and its end was not seen")
    if ran.tests is not None and is_test_run(ran):
        if sum(ran.tests[:2]) == 0 and expected == 0:
            return _noted(claim, f"it ran no tests; {ran.tests[2]} skipped" if ran.tests[2] else "it ran no tests")
        if ran.tests[1] and expected == 0:
            return _noted(claim, f"in its last run {failure_of(ran)}", verdict="contradicted")
        if found.hidden and bool(ran.tests[1]) == bool(expected) and sum(ran.tests[:2]):
            note = f"by its test count; `{found.hidden}` hides the exit code"
            return _noted(claim, note, verdict="proven")
    if found.hidden and not found.looking:
        return _noted(claim, f"its exit code is hidden by `{found.hidden}`")
    if ran.exit_code == expected:
        return claim.model_copy(update={"verdict": "proven", "exit_code": expected})
    if ran.exit_code is None:
        return _noted(claim, "its last run did not end by itself", verdict="contradicted")
    if found.shared:
        return _noted(claim, f"it ran as a part of a longer command, which ended with {ran.exit_code}")
    return _noted(claim, f"its last run ended with {ran.exit_code}", verdict="contradicted")


def _match(claimed: str, ran: Ran) -> _Found | None:
    """How the run answers to the claimed command; None where it is another one."""
    said, did = read(claimed), read(ran.command)
    if said is None or did is None:
        return _Found(ran) if " ".join(claimed.split()) == " ".join(ran.command.split()) else None
    core = _core(said)
    for at in range(len(did.steps) - len(core), -1, -1):
        steps = did.steps[at : at + len(core)]
        if all(_same(one, other, ran.cwd) for one, other in zip(core, steps, strict=True)) and _joined(core, steps):
            last = at + len(core) - 1
            shared = len(core) < len(_core(did))
            looking = all(step.program in _LOOKING for step in did.steps)
            return _Found(ran, _hidden(did, range(at, last + 1)), shared, looking)
    return None


def _hidden(line: Line, matched: range) -> str:
    """What hides the exit code of the tests among these steps; where none are, that of the last."""
    deciding = [at for at in matched if _runs_tests(line.steps[at])] or matched[-1:]
    lenient = next((" ".join(line.steps[at].words) for at in deciding if is_lenient(line.steps[at].words)), "")
    return next((hidden for at in deciding if (hidden := line.hidden_by(at))), lenient[:60])


def _core(line: Line) -> tuple[Step, ...]:
    """The steps without what only filters, or speaks, behind them."""
    steps = line.steps
    while len(steps) > 1 and steps[-1].joint != "&&" and steps[-1].program in _FILTERS:
        steps = steps[:-1]
    return steps


def _joined(claimed: tuple[Step, ...], ran: tuple[Step, ...]) -> bool:
    return all(one.joint == other.joint for one, other in zip(claimed[1:], ran[1:], strict=True))


def _same(claimed: Step, ran: Step, cwd: str) -> bool:
    """The same words; the same folder and variables, where the claim names them."""
    if claimed.words != ran.words or (claimed.given and claimed.given != ran.given):
        return False
    return not claimed.cwd or claimed.cwd == inside(cwd, ran.cwd or ".")


def changed_since(deeds: Deeds, ran: Ran) -> tuple[str, ...]:
    """Files that changed after a run and that it may have been about."""
    later = [path for path in _net(deeds.changes[ran.changes :]) if not _NOISE.search(path)]
    if is_test_run(ran):
        return tuple(later)
    line = read(ran.command)
    looking = line is not None and all(step.program in _LOOKING for step in line.steps)
    return tuple(path for path in later if path in ran.command or (not looking and _SOURCE.search(path)))


def _net(changes: Iterable[FileChange]) -> dict[str, tuple[FileChange, FileChange]]:
    """First and last change of each file that is not as it was."""
    seen: dict[str, tuple[FileChange, FileChange]] = {}
    for change in changes:
        seen[change.path] = (seen[change.path][0] if change.path in seen else change, change)
    return {path: pair for path, pair in seen.items() if not _restored(*pair)}


def _restored(first: FileChange, last: FileChange) -> bool:
    before = first.sha_before if first.kind != "added" else ""
    return first is not last and before == last.sha_after and (bool(before) or last.kind == "deleted")


def _of_file(claim: Claim, deeds: Deeds) -> Claim:
    path = inside("", claim.file.removeprefix(f"{HOME}/") or ".")
    changes = [change for change in deeds.changes if change.path == path or path == "."]
    if not changes:
        below = [change for change in deeds.changes if change.path.startswith(f"{path}/")]
        unrun = next((one for one in reversed(deeds.unrun) if inside("", one.what) == path), None)
        if unrun is not None and not below:
            return _of_unrun(claim, unrun)
        proven = any(change.kind != "deleted" for change in below)
        return _noted(claim, claim.note if proven else "no change of this file was seen", proven)
    first, last = changes[0], changes[-1]
    if last.kind == "deleted":
        meant = bool(_DELETES.search(claim.text))
        return _noted(claim, "it was deleted" if meant else "this file was deleted", meant or "contradicted")
    if _restored(first, last) and path != ".":
        return _noted(claim, "this file is as it was in the beginning", verdict=False)
    return claim.model_copy(update={"verdict": "proven", "sha": last.sha_after if path != "." else ""})


def _noted(claim: Claim, note: str, verdict: str | bool = False) -> Claim:
    """The claim with a note; a verdict of True is proven, of False unproven."""
    said = {True: "proven", False: "unproven"}.get(verdict, verdict) if isinstance(verdict, bool) else verdict
    return claim.model_copy(update={"verdict": said, "note": note})


def listed(paths: tuple[str, ...]) -> str:
    more = f" and {len(paths) - NAMED} more" if len(paths) > NAMED else ""
    return ", ".join(paths[:NAMED]) + more
