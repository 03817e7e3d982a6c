"""When two calls, or what came of them, are the same; and what is no step of its own: waiting, and broken infrastructure.

Times, process ids, addresses and names of temporary files differ from run to run and say nothing.  Other numbers say
something: a count that grows is news.  What a failure says is compared by ``ToolFinished.error``, which is normal already.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache

from agentic.core.events import ToolFinished
from agentic.core.identity import digest
from agentic.core.lazy_dataclass import dataclass

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
_SEARCHING = re.compile(r"^\s*(?:cd \S+ && )?(?:git grep|grep|egrep|rg|ag|find|fd|which|locate)\b")
_NOTHING = re.compile(r"^(?:No match in \d+ files\.|No file matches.*|No line matches.*)$")
_NO_SANDBOX = ("Not begun, there is no sandbox", "The sandbox was lost")
_TROUBLE_WORDS = (
    "429", "502", "503", "504", "too many", "gateway", "unavailable", "connection", "limit", "etimedout", "eai_again",
    "try again", "overloaded",
)  # fmt: skip
_TROUBLE = re.compile(
    r"\b(?:429|502|503|504)\b|too many requests|bad gateway|service unavailable|temporarily unavailable"
    r"|connection reset|rate.?limit|etimedout|eai_again|connection timed out|try again later|overloaded",
    re.IGNORECASE,
)
_SELF_REPORT = re.compile(r"^(?:confidence|status):[^\n]{0,80}$", re.IGNORECASE | re.MULTILINE)
NOTHING = "(nothing)"
PROSE = "said"


@dataclass(frozen=True)
class Step:
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


def step_of(tool: str, arguments: Mapping[str, object], event: ToolFinished) -> Step:
    """The call and its result, as they are compared."""
    call = _call(tool, arguments)
    if event.outcome in ("cancelled", "unknown") or event.preview.startswith(_NO_SANDBOX):
        return Step(call, "", broken=True)
    command = str(arguments.get("command") or arguments.get("code") or "")
    if event.outcome != "ok":
        return _failed(call, tool, command, event)
    text = clipped(_body(event.preview))
    if _polls(tool, arguments, command, text):
        return Step(call, "", waits=True)
    if _is_silent(text):
        looked = tool not in _ACTING or bool(_SEARCHING.match(command))
        text = NOTHING if looked else ""
    elif _finds(_PROCESSES, _PROCESS_WORDS, command):
        text = _NUMBER.sub("", text)
    return Step(call, text)


def mark(text: str) -> int:
    """The same for all results that are the same, and made at once: letters are counted that ``coarse`` leaves in."""
    return (text.count("o") << 20) + (text.count("t") << 10) + text.count("r")


def says_the_same(step: Step, text: str) -> bool:
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


def _failed(call: str, tool: str, command: str, event: ToolFinished) -> Step:
    """A failure says its normalised error, and how many tests passed; a search that found nothing says just that."""
    if _is_silent(_body(event.preview)) and _SEARCHING.match(command):
        return Step(call, NOTHING)
    said = _NUMBER.sub("", event.error or clipped(event.preview))
    text = f"{tool} {event.outcome} {event.tests_passed} {event.tests_failed} {said}"
    patient = _finds(_WAITING, _WAITING_WORDS, command) or _is_trouble(clipped(event.preview, _READ))
    return Step(call, text, trouble=patient, failed=True)


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


def _is_silent(text: str) -> bool:
    return text.strip() in ("", "(no output)") or (text.startswith("No ") and bool(_NOTHING.match(text)))
