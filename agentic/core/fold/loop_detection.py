"""The part of the fold that notices what repeats itself, and when that is too much.

A step is a call of a tool that acts or looks, with its result.  Real progress (a file with a content it never had, a test
that newly passes, a to-do done, a new fact noted) begins the count anew.  Waiting for what goes on by itself is no step;
nor is what the infrastructure broke.  Words without a call, in a task, are a step too.  Four things are noticed: the same
step over and over; a ring of two to four steps; a check that fails alike whatever is changed; and turns that tell nothing
new, however their arguments vary.

When two calls, or what came of them, are the same; and what is no step of its own: waiting, and broken infrastructure.

Times, process ids, addresses and names of temporary files differ from run to run and say nothing.  Other numbers say
something: a count that grows is news.  What a failure says is compared by ``ToolFinished.error``, which is normal already.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache

from agentic.bash.steps import run_by
from agentic.core.claims.call_counts import call_of, count_error
from agentic.core.events.execution_events import ToolFinished
from agentic.core.events.ids import digest
from agentic.core.state.counters import Check, Repeats, Result
from agentic.core.state.execution import Call, Execution
from agentic.core.state.replace import changed

_CLIP = 300
"""Characters of the beginning and of the end of a result that are compared."""
_READ = 4_000
"""Characters of each end of a result in which trouble is looked for."""
_KEY = 200
"""A call longer than this is known by its digest."""
_KEPT = 256
"""So many results that were compared are kept as they are compared; only those that look alike come to that."""
_PROSE = frozenset(("reasoning", "expectation", "alternatives", "timeout", "wait"))
"""Arguments that do not change what a call does."""
_COARSE = dict.fromkeys(map(ord, "0123456789abcdefABCDEF \t\n|#=>.-_~*█▏▎▍▌▋▊▉"))
_NOISE = re.compile(
    r"\b\d{4}-\d\d-\d\d[T ]\d\d:\d\d(?::\d\d)?(?:[.,]\d+)?(?:Z|[+-]\d\d:?\d\d)?"
    r"|\b\d{1,2}:\d\d(?::\d\d)?(?:[.,]\d+)?\b"
    r"|\b\d+(?:\.\d+)?\s?(?:ns|µs|us|ms|s|secs?|seconds?|mins?|minutes?|h|hours?)\b"
    r"|\b0x[0-9a-f]+\b"
    r"|\b[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\b"
    r"|\b(?=[0-9a-f]*\d)(?=[0-9a-f]*[a-f])[0-9a-f]{7,}\b"
    r"|\b(?:pid|seed)[ =:]*\d+|\[\d{2,6}\]|\b\d{8,}\b"
    r"|(?:/var)?/tmp/[^\s'\":;,)]*"
    r"|[=\-_~*.#>█▏▎▍▌▋▊▉]{3,}",
    re.IGNORECASE,
)
_NUMBER = re.compile(r"\d+")
_LINE_NUMBER = re.compile(r"^\d+\t", re.MULTILINE)
_VERDICT = re.compile(r"^(?:exit \d+|done|raised) after [\d.]+ s\n")
_PROCESS_WORDS = ("ps", "top", "pgrep", "lsof")
_PROCESSES = re.compile(r"\b(?:ps|top|pgrep|lsof)\b")
_WAITING_WORDS = ("sleep", "watch", "wait", "tail -", "until ", "while ")
"""One of them stands in everything that ``_WAITING`` finds; to look for them is much quicker."""
_WAITING = re.compile(
    r"\b(?:sleep|watch|wait|inotifywait|wait-for-it)\b|time\.sleep|--wait\b|--watch\b|tail -[fF]\b|\b(?:until|while) ",
)
_GOING_ON_WORDS = (
    "running", "progress", "pending", "queued", "building", "starting", "activating", "waiting", "processing", "creating",
    "not ready", "pd", "%", "percent",
)  # fmt: skip
_GOING_ON = re.compile(
    r"\b(?:running|in[ _-]progress|pending|queued|building|starting|activating|waiting|processing|creating|not ready|PD)\b"
    r"|\b\d{1,3}\s?%|\"(?:percent|progress)\"",
    re.IGNORECASE,
)
_SHORT = 600
_ACTING = frozenset(("shell", "python"))
_SEARCHES = frozenset(("grep", "egrep", "rg", "ag", "find", "fd", "which", "locate"))
_NOTHING = re.compile(r"^(?:No match in \d+ files\.|No file matches.*|No line matches.*)$")
_NO_SANDBOX = ("Not begun, there is no sandbox", "The sandbox was lost")
_TROUBLE_WORDS = (
    "429", "502", "503", "504", "too many", "gateway", "unavailable", "connection", "limit", "etimedout", "eai_again",
    "try again", "overloaded",
)  # fmt: skip
_TROUBLE = re.compile(
    r"\b(?:https?(?:/[\d.]{1,3})?|status(?:[ _]?code)?)\"?[ :=(\[]{1,3}(?:429|50[2-4])\b"
    r"|\b(?:error|code|response|returned|responded(?: with)?|answered(?: with)?|got)\"?[ :=(\[]{1,3}(?:429|50[2-4])\b"
    r"(?:(?! ?\w)|(?= (?:from|for|on|by|when|after)\b))"
    r"|\b(?:429|50[2-4]):? (?:server|client|http|response|status|gateway)\b"
    r"|too many requests|bad gateway|service unavailable|temporarily unavailable"
    r"|connection reset|rate.?limit|etimedout|eai_again|connection timed out|try again later|overloaded",
    re.IGNORECASE,
)
"""A server has trouble; a number of its states alone is a number: ``502 tests passed``."""
_SELF_REPORT = re.compile(r"^(?:confidence|status):[^\n]{0,80}$", re.IGNORECASE | re.MULTILINE)
NOTHING = "(nothing)"
PROSE = "said"


@dataclass(frozen=True)
class ComparedCall:
    """A call with its result, as they are compared; ``text`` is '' where silence only says that it worked."""

    call: str
    text: str
    waits: bool = False
    """It looks at what goes on by itself, and that does go on."""
    trouble: bool = False
    """It waits for what is not there yet, or somebody else's server has trouble: patience is due, for a while."""
    broken: bool = False
    """The call did not run as such; that says nothing of the agent."""
    failed: bool = False
    """What it says is a normalised error."""


def step_of(tool: str, arguments: Mapping[str, object], event: ToolFinished) -> ComparedCall:
    """The call and its result, as they are compared."""
    call = _call(tool, arguments)
    if event.outcome in ("cancelled", "unknown") or event.preview.startswith(_NO_SANDBOX):
        return ComparedCall(call, "", broken=True)
    command = str(arguments.get("command") or arguments.get("code") or "")
    if event.outcome != "ok":
        return _failed(call, tool, command, event)
    text = clipped(_body(event.preview))
    if _polls(tool, arguments, command, text):
        return ComparedCall(call, "", waits=True)
    if _is_silent(text):
        looked = tool not in _ACTING or _searches(command)
        text = NOTHING if looked else ""
    elif _finds(_PROCESSES, _PROCESS_WORDS, command):
        text = _NUMBER.sub("", text)
    return ComparedCall(call, text)


def mark(text: str) -> int:
    """The same for all results that are the same, and made at once: letters are counted that ``coarse`` leaves in."""
    return (text.count("o") << 20) + (text.count("t") << 10) + text.count("r")


def says_the_same(step: ComparedCall, text: str) -> bool:
    """Whether it came to a result that an earlier one with the same mark came to; errors are normal already."""
    if step.text == text or step.failed:
        return step.text == text
    return coarse(step.text) == coarse(text) and exact(step.text) == exact(text)


@lru_cache(maxsize=_KEPT)
def exact(text: str) -> str:
    """A result without what differs from run to run."""
    return " ".join(_NOISE.sub("~", _LINE_NUMBER.sub("", text)).split())


@lru_cache(maxsize=_KEPT)
def coarse(text: str) -> str:
    """What results that are the same have in common."""
    return text.translate(_COARSE)


def prose_of(text: str) -> str:
    """A name for words without a call: the same where they begin alike, for what is cut off ends where it happens to."""
    beginning = _SELF_REPORT.sub("", text[: 2 * _CLIP]).strip()[:_CLIP]
    return f"{PROSE} {digest(exact(beginning), length=16)}" if beginning else ""


def clipped(text: str, each: int = _CLIP) -> str:
    """Its beginning and its end."""
    return text if len(text) <= 2 * each else f"{text[:each]}\n{text[-each:]}"


def _call(tool: str, arguments: Mapping[str, object]) -> str:
    """A name for the call; a short one is its own name."""
    kept = [(name, arguments[name]) for name in sorted(arguments) if name not in _PROSE]
    said = " ".join(repr(kept).split())
    return f"{tool} {said}" if len(said) <= _KEY else digest(tool, said, length=16)


def _finds(pattern: re.Pattern[str], words: tuple[str, ...], text: str) -> bool:
    """Whether the pattern is found, which it is only where one of the words stands."""
    for word in words:
        if word in text:
            return bool(pattern.search(text))
    return False


def _failed(call: str, tool: str, command: str, event: ToolFinished) -> ComparedCall:
    """A failure says its normalised error, and how many tests passed; a search that found nothing says just that."""
    if _is_silent(_body(event.preview)) and _searches(command):
        return ComparedCall(call, NOTHING)
    said = _NUMBER.sub("", event.error or clipped(event.preview))
    text = f"{tool} {event.outcome} {event.tests_passed} {event.tests_failed} {said}"
    patient = _finds(_WAITING, _WAITING_WORDS, command) or _is_trouble(clipped(event.preview, _READ))
    return ComparedCall(call, text, trouble=patient, failed=True)


def _body(preview: str) -> str:
    """What a result says after how it ended."""
    verdict = _VERDICT.match(preview)
    return preview[verdict.end() :] if verdict else preview


def _polls(tool: str, arguments: Mapping[str, object], command: str, text: str) -> bool:
    if tool == "job":
        return arguments.get("action") != "stop" and text.startswith("Running.")
    if tool not in _ACTING:
        return False
    return _finds(_WAITING, _WAITING_WORDS, command) or (
        len(text) <= _SHORT and _finds(_GOING_ON, _GOING_ON_WORDS, text.lower())
    )


def _is_trouble(text: str) -> bool:
    return _finds(_TROUBLE, _TROUBLE_WORDS, text.lower())


def _searches(command: str) -> bool:
    """Whether a command line begins with a search."""
    steps = run_by(command).steps
    return bool(steps) and (steps[0].program in _SEARCHES or steps[0].words[:2] == ("git", "grep"))


def _is_silent(text: str) -> bool:
    return text.strip() in ("", "(no output)") or (text.startswith("No ") and bool(_NOTHING.match(text)))


Errors = tuple[tuple[str, str, int], ...]
LONGEST_RING = 4
_STEPS, _RESULTS, _CHECKS = 16, 40, 20
"""So many are compared."""
_PATIENCE = 2
"""Times the failures that escalate, which are waited through."""


def with_result(execution: Execution, event: ToolFinished) -> tuple[Errors, Repeats]:
    """The errors since real progress, and what repeats itself, with this result; its call stands in the current turn."""
    errors, repeats, call = execution.judged.errors_since, execution.judged.repeats, _call_with(execution, event)
    if call is None:
        return errors, repeats
    intent = call.intent
    step = step_of(call.block.tool, intent.arguments if intent is not None else call.block.arguments, event)
    moves = _moves_on(repeats, step, event)
    if errors or event.error:
        errors = _errors_with(execution, step, event, call.block.tool, () if moves else errors)
    repeats = _repeats_with(execution, step, event, moves=moves)
    return errors, repeats if repeats.acted else changed(repeats, acted=True)


def _repeats_with(execution: Execution, step: ComparedCall, event: ToolFinished, *, moves: bool) -> Repeats:
    repeats = _with_tests(_with_files(execution.judged.repeats, event), event)
    if repeats.checks and event.outcome == "ok":
        repeats = changed(repeats, checks=tuple(check for check in repeats.checks if check.call != step.call))
    if moves:
        return changed(_anew(repeats), moved=repeats.moved | {step.call})
    if step.broken or step.waits or not step.text:
        return _silent(repeats, step)
    if _is_patient(execution, step):
        return changed(repeats, patience=repeats.patience + 1)
    return _stepped(repeats, step, event)


def _errors_with(execution: Execution, step: ComparedCall, event: ToolFinished, tool: str, errors: Errors) -> Errors:
    """Waiting and broken infrastructure do not count."""
    if event.outcome == "ok":
        return _mended(errors, execution.judged.repeats, step)
    counts = event.outcome == "failed" and says_something(event)
    if not counts or step.broken or _is_patient(execution, step):
        return errors
    return count_error(errors, tool, event.error)


def says_something(event: ToolFinished) -> bool:
    """A failure without a word (``exit 1`` of a search) is the same as another one only by chance."""
    return bool(event.error) and ("\n" in event.error or not event.error.startswith("exit "))


def progressed(execution: Execution) -> Execution:
    """A to-do done, or a new fact noted."""
    judged = execution.judged
    return changed(execution, judged=changed(judged, repeats=_anew(judged.repeats), errors_since=()))


def turn_ended(execution: Execution) -> Repeats:
    """A turn more: whether it told anything new, and whether any tool was used that looks or acts."""
    repeats = _with_prose(execution)
    stale = 0 if repeats.news else repeats.stale_turns + repeats.stepped
    idle = 0 if repeats.acted else repeats.idle_turns + 1
    return changed(repeats, stale_turns=stale, idle_turns=idle, news=False, stepped=False, acted=False)


def _with_prose(execution: Execution) -> Repeats:
    """The same words, turn after turn, are as much of a circle as the same call."""
    repeats, turn = execution.judged.repeats, execution.turn
    said = prose_of(turn.text) if not (turn.calls or execution.talk) else ""
    return changed(repeats, steps=(*repeats.steps, (said, 0))[-_STEPS:]) if said else repeats


def stuck(execution: Execution) -> str:
    """How it repeats itself so often that a stronger model should take over, in words; '' where it does not."""
    policy = execution.policy
    return _told(execution, policy.repeats_escalate, policy.repeats_nudged, policy.stale_turns_escalate)


def repeating(execution: Execution) -> str:
    """How it begins to repeat itself, in words; '' where it does not."""
    policy = execution.policy
    return _told(execution, policy.repeats_nudged, policy.repeats_nudged - 1, policy.stale_turns_nudged)


def _told(execution: Execution, same: int, rounds: int, stale: int) -> str:
    repeats = execution.judged.repeats
    run = _run(repeats.steps)
    if run >= same and repeats.steps[-1][0].startswith(f"{PROSE} "):
        return f"the same words {run} times, without using a tool"
    if run >= same:
        return f"the same step with the same result {run} times"
    for size in range(2, LONGEST_RING + 1):
        times = _rounds(repeats.steps, size)
        if times >= rounds:
            return f"the same {size} steps {times} times in a circle"
    failed = max((check.changes for check in repeats.checks), default=0) + 1
    if failed >= same:
        return f"the same check failed {failed} times the same way, despite changes in between"
    if repeats.stale_turns >= stale:
        return f"{repeats.stale_turns} turns without anything new"
    return ""


def _run(steps: tuple[tuple[str, int], ...]) -> int:
    """How often the last step was done without another between."""
    count = 0
    for step in reversed(steps):
        if step != steps[-1]:
            break
        count += 1
    return count


def _rounds(steps: tuple[tuple[str, int], ...], size: int) -> int:
    """How often the last ``size`` steps were done one after the other; 1 is once, and no ring of equal steps counts."""
    ring = steps[-size:]
    if len(set(ring)) < 2:
        return 1
    count = 0
    for end in range(len(steps), size - 1, -size):
        if steps[end - size : end] != ring:
            break
        count += 1
    return count


def _call_with(execution: Execution, event: ToolFinished) -> Call | None:
    """The call, unless it concerns only the agent's own mind."""
    call = call_of(execution, event.call)
    if call is None or execution.started is None:
        return call
    name = call.block.tool
    return call if not [tool for tool in execution.started.tools if tool.cognitive and tool.name == name] else None


def _is_patient(execution: Execution, step: ComparedCall) -> bool:
    """What takes its time, or has trouble of its own, is waited for; not for ever."""
    return step.trouble and execution.judged.repeats.patience < _PATIENCE * execution.policy.repeats_escalate


def _moves_on(repeats: Repeats, step: ComparedCall, event: ToolFinished) -> bool:
    """Real progress: a test that newly passes, or a file with a content it never had, by a call that did not do so before."""
    if event.tests_passed is not None and repeats.most_passed is not None and event.tests_passed > repeats.most_passed:
        return True
    if event.outcome != "ok" or not event.changes or step.call in repeats.moved:
        return False
    return any(f"{change.path}\0{change.sha_after}" not in repeats.contents for change in event.changes)


def _with_files(repeats: Repeats, event: ToolFinished) -> Repeats:
    if not event.changes:
        return repeats
    had = {f"{change.path}\0{sha}" for change in event.changes for sha in (change.sha_before, change.sha_after)}
    return changed(repeats, contents=repeats.contents | had)


def _with_tests(repeats: Repeats, event: ToolFinished) -> Repeats:
    """The most tests that passed; with more of them, what failed before is to be seen anew."""
    most, passed = repeats.most_passed, event.tests_passed
    if passed is None or (most is not None and passed <= most):
        return repeats
    return changed(repeats, most_passed=passed, checks=() if most is not None else repeats.checks)


def _anew(repeats: Repeats) -> Repeats:
    return changed(repeats, steps=(), patience=0, news=True, stale_turns=0, changes=repeats.changes + 1)


def _silent(repeats: Repeats, step: ComparedCall) -> Repeats:
    """Silence is neither news nor the lack of it; the same call again is the same step all the same."""
    if step.broken or step.waits:
        return repeats
    return changed(repeats, steps=(*repeats.steps, (step.call, 0))[-_STEPS:])


def _stepped(repeats: Repeats, step: ComparedCall, event: ToolFinished) -> Repeats:
    results, seen = repeats.results, mark(step.text)
    number = _number(repeats, step, seen)
    news = number > repeats.count
    if news:
        results = (*results[1 - _RESULTS :], Result(number, step.text, seen))
    repeats = changed(
        repeats,
        results=results,
        count=max(number, repeats.count),
        news=repeats.news or news,
        steps=(*repeats.steps, (step.call, number))[-_STEPS:],
        stepped=True,
        acted=True,
    )
    return repeats if event.outcome == "ok" else _with_check(repeats, step, number, event.error)


def _number(repeats: Repeats, step: ComparedCall, seen: int) -> int:
    """Which result it is: that of an earlier one that is the same, else the next number."""
    for known in repeats.results:
        if known.mark == seen and says_the_same(step, known.text):
            return known.number
    return repeats.count + 1


def _with_check(repeats: Repeats, step: ComparedCall, number: int, error: str) -> Repeats:
    """What failed, and through how many changes it has failed alike; whatever else comes of the call ends that."""
    before = next((check for check in repeats.checks if check.call == step.call), None)
    others = tuple(check for check in repeats.checks if check is not before)
    through = 0
    if before is not None and before.number == number:
        through = before.changes + (before.since != repeats.changes)
    check = Check(step.call, number, error, changes=through, since=repeats.changes)
    return changed(repeats, checks=(*others, check)[-_CHECKS:])


def _mended(errors: Errors, repeats: Repeats, step: ComparedCall) -> Errors:
    """What failed and now succeeds is no error any more."""
    mended = {check.error for check in repeats.checks if check.call == step.call}
    return tuple(known for known in errors if known[1] not in mended)
