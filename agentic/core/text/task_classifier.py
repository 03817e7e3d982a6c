"""What the words of a task say: talk or task, how complex, whether it changes files, whose work it is.

Where the words are clear the reading is sure; where they are not it is the best guess, which is always a task: talk taken
for a task costs a turn, a task taken for talk has no tools.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from agentic.core.events.values import Complexity
from agentic.core.text import task_vocabulary as words
from agentic.core.text.task_roles import role_of

SHORT = 100
LONG = 700
_FENCE = re.compile(r"```.*?(?:```|\Z)", re.DOTALL)
_URL = re.compile(r"https?://\S+")
_WORD = re.compile(r"[\w'’-]+")
_WHOLE = re.compile(
    r"\b(?:whole|entire|complete|completely|full|fully|from scratch|end[- ]to[- ]end|every(?:thing)?|all (?:modules|services|"
    r"files|tests|callers|endpoints|\d+)|gesamte|komplett|tout le|entier|todo el|completo)\b"
)
_BIG = re.compile(
    r"\b(?:migrate|rewrite|refactor|port|redesign|restructure|re-?implement|build|create|develop|terraform|modernise|modernize|"
    r"migriere|baue|entwickle|réécris|reescribe)\b"
)
_SMALL = re.compile(
    r"\b(?:typo|rename|\.gitignore|empty file|one-liner|one line|comment|colou?r|blue|red|green|bigger|smaller|undo|revert|"
    r"delete all|how many|which version|what version|size of|license)\b"
)
_QUICK = frozenset(
    ("run", "list", "show", "count", "print", "ping", "calculate", "zeig", "zeige", "liste", "montre", "muestra")
)
_ASKING = frozenset(
    ("what", "what's", "who", "who's", "when", "where", "which", "how", "was", "wer", "wann", "combien")
)
COMPLEX_STEPS = 5
LISTED = 3


@dataclass(frozen=True, slots=True)
class TaskReading:
    """What a task is, as far as its words tell; ``sure`` that it is talk, or is not."""

    talk: bool
    sure: bool
    complexity: Complexity
    changes_files: bool
    role: str
    why: str
    asks_change: bool = False
    """It plainly asks that something is changed."""


def read(text: str, *, attached: bool = False, earlier: bool = False, changed_before: bool = False) -> TaskReading:
    """Read a task; ``earlier``: the thread had executions before, ``changed_before``: that changed files."""
    plain = _FENCE.sub(" ", text).replace("’", "'").lower().strip().lstrip("¿¡")
    code, named = "```" in text, _named(plain)
    if not (attached or code or named):
        if _is_talk(plain) and not (earlier and _assents(plain)):
            return TaskReading(
                talk=True, sure=True, complexity="simple", changes_files=False, role="", why="small talk"
            )
        if len(plain) < SHORT and words.SUM.match(plain):
            return TaskReading(talk=True, sure=True, complexity="simple", changes_files=False, role="", why="a sum")
        if not _acts(plain) and len(plain) < SHORT and words.ABOUT_YOU.search(plain):
            return TaskReading(
                talk=True, sure=True, complexity="simple", changes_files=False, role="", why="about the bot"
            )
    changes = _changes(plain, changed_before=changed_before)
    clue = "files come with it" if attached else "it shows code" if code else named or _clue(plain, changes=changes)
    return TaskReading(
        talk=False,
        sure=bool(clue),
        complexity=_complexity(plain, changes=changes) if clue or changes else _of_a_guess(plain),
        changes_files=changes,
        role=role_of(plain, changes=changes),
        why=clue or "the words alone do not say what it is",
        asks_change=changes and _asks_change(plain, attached=attached),
    )


def _named(plain: str) -> str:
    if _URL.search(plain) or words.FILE.search(plain):
        return "it names a file or an address"
    return "it is a command" if words.PROGRAM.match(plain) else ""


def _is_talk(plain: str) -> bool:
    found = _WORD.findall(plain)
    if not found or plain in words.ALONE:
        return bool(plain)
    core = sum(word in words.TALK_CORE for word in found)
    rest = all(word in words.TALK_CORE or word in words.TALK_MORE for word in found)
    return (rest and core > 0 and len(found) <= 12) or (found[0] in ("brb", "afk", "gtg", "lol") and len(found) < 8)


def _assents(plain: str) -> bool:
    """It takes up what was offered, and so is work."""
    found = _WORD.findall(plain)
    return bool(found) and all(word in words.ASSENT for word in found)


def _openings(plain: str) -> list[str]:
    """What each clause begins with, less its courtesies."""
    clauses = (words.COURTESY.sub("", clause.strip(" ,()\"'*-")) for clause in words.CLAUSES.split(plain) if clause)
    return [clause for clause in clauses if clause]


def _first(clause: str) -> str:
    found = _WORD.match(clause.lstrip("¿¡"))
    return found[0] if found else ""


def _acts(plain: str) -> bool:
    first = [_first(clause) for clause in _openings(plain)]
    return any(word in words.CHANGES for word in first) or _tells_of_trouble(plain)


def _tells_of_trouble(plain: str) -> bool:
    return bool(words.TROUBLE.search(plain) or words.SERVER_FAULT.search(plain))


def _changes(plain: str, *, changed_before: bool) -> bool:
    openings = _openings(plain)
    if any(_first(clause) in words.CHANGES and not words.NO_FILES.match(clause) for clause in openings):
        return True
    if _goes_on(plain):
        return changed_before
    if openings and words.WISHES.match(openings[0]):
        return True
    if any(_first(clause) in words.LOOKS or words.QUESTION.match(clause) for clause in openings):
        return False
    return _tells_of_trouble(plain)


def _asks_change(plain: str, *, attached: bool) -> bool:
    """Whether the change is of something: a file, a place for one, work that is there.  A poem is its own answer."""
    verbs = {_first(clause) for clause in _openings(plain)} & words.CHANGES
    if not verbs:
        return False
    if attached or words.FILE.search(plain) or words.PLACE.search(plain):
        return True
    return bool(verbs & words.ALTERS and words.WORK.search(plain))


def _goes_on(plain: str) -> bool:
    return bool(words.GOES_ON.match(plain) or any(words.GOES_ON.match(clause) for clause in _openings(plain)[:1]))


def _clue(plain: str, *, changes: bool) -> str:
    """What shows that it is a task; '' where nothing does."""
    openings = _openings(plain)
    verb = next((word for word in map(_first, openings) if word in words.CHANGES or word in words.LOOKS), "")
    if verb:
        return f"it says what to do: {verb}"
    if _goes_on(plain):
        return "it goes on with something"
    if _tells_of_trouble(plain):
        return "it tells of trouble"
    if changes:
        return "it says what is wanted"
    asks = "?" in plain or any(words.QUESTION.match(clause) for clause in openings)
    return "it asks about the work" if asks and words.WORK.search(plain) else ""


def _of_a_guess(plain: str) -> Complexity:
    """A short question that nothing ties to the work has a short answer."""
    asks = "?" in plain or any(_first(clause) in _ASKING for clause in _openings(plain))
    return "simple" if asks and len(plain) < SHORT else _complexity(plain, changes=False)


def _complexity(plain: str, *, changes: bool) -> Complexity:
    openings = _openings(plain)
    steps = sum(_first(clause) in words.CHANGES or _first(clause) in words.LOOKS for clause in openings)
    whole = _WHOLE.search(plain) is not None
    if changes and (steps >= COMPLEX_STEPS - whole or len(plain) > LONG):
        return "complex"
    if changes and _BIG.search(plain) and (whole or plain.count(",") >= LISTED):
        return "complex"
    if len(plain) >= SHORT:
        return "medium"
    quick = steps <= 1 and not changes and any(_first(clause) in _QUICK for clause in openings)
    return "simple" if quick or _SMALL.search(plain) or words.PROGRAM.match(plain) else "medium"
