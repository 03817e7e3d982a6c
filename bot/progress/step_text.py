"""Steps in plain words: "Running the tests (`pytest -q`)", not the names of tools; pure."""

from __future__ import annotations

import re

from agentic.bash.runners import Kind, kind_of
from agentic.bash.steps import run_by
from bot.progress.model import ProgressStep
from bot.rendering.discord_text import inline, plain

Verbs = tuple[str, str]
"""(while it runs, afterwards)."""

_VERBS: dict[str, Verbs] = {
    "shell": ("Running", "Ran"),
    "python": ("Running a piece of Python", "Ran a piece of Python"),
    "read": ("Reading", "Read"),
    "write": ("Writing", "Wrote"),
    "edit": ("Editing", "Edited"),
    "multi_edit": ("Editing", "Edited"),
    "list": ("Looking into", "Looked into"),
    "glob": ("Looking for files", "Looked for files"),
    "grep": ("Searching for", "Searched for"),
    "read_output": ("Reading an output again", "Read an output again"),
    "job": ("Looking after a background command", "Looked after a background command"),
    "todo": ("Updating the to-do list", "Updated the to-do list"),
    "note": ("Taking a note", "Took a note"),
    "report": ("Taking stock", "Took stock"),
    "ask_user": ("Asking you", "Asked you"),
    "ask_stronger": ("Asking for a stronger model", "Asked for a stronger model"),
    "commit": ("Preparing a branch", "Prepared a branch"),
    "finish": ("Wrapping up", "Wrapped up"),
}
_WITHOUT_SUBJECT = frozenset(
    ("python", "read_output", "job", "todo", "note", "report", "ask_stronger", "ask_user", "commit", "finish")
)

_CHECKING: dict[Kind, Verbs] = {
    "tests": ("Running the tests", "Ran the tests"),
    "checks": ("Running the checks", "Ran the checks"),
    "types": ("Checking the types", "Checked the types"),
    "style": ("Checking the style", "Checked the style"),
    "format": ("Checking the style", "Checked the style"),
    "build": ("Building", "Built"),
}
_COMMANDS: tuple[tuple[re.Pattern[str], Verbs], ...] = tuple(
    (re.compile(rf"\A(?:{pattern})"), verbs)
    for pattern, verbs in (
        (
            r"(?:uv |python[\d.]* -m |\S*/bin/)?(?:pip3?|npm|pnpm|yarn|bun|poetry|apt|apt-get|cargo|go|gem|bundle)"
            r" (?:install|add|ci|sync|get)\b",
            ("Installing packages", "Installed packages"),
        ),
        (
            r"(?:make|ninja|cmake)\b|(?:cargo|go|docker|npm run|pnpm|yarn|dotnet|mvn|gradle) (?:build|package)\b",
            ("Building", "Built"),
        ),
        (r"git (?:status|diff|log|show|blame)\b", ("Looking at the changes", "Looked at the changes")),
        (r"git clone\b", ("Fetching a repository", "Fetched a repository")),
        (r"(?:curl|wget)\b", ("Fetching from the network", "Fetched from the network")),
        (r"(?:grep|rg|ag|ack)\b", ("Searching", "Searched")),
        (r"(?:ls|tree|find|pwd|du|stat)\b", ("Looking around", "Looked around")),
        (r"(?:cat|head|tail|less|nl|wc|sed -n)\b", ("Reading", "Read")),
    )
)
_LOOKING = frozenset(("Looked at the changes", "Searched", "Looked around", "Read"))
"""Commands that change nothing, if they are all that a command line does."""
_HARMLESS = re.compile(
    r"(?<!\s)\s*(?:[12&]?>{1,2}\s*/dev/null|2>&1)|\|\s*(?:head|tail|wc|sort|uniq|grep|cut|nl|less|cat)\b"
)
_MORE = re.compile(r"[>;&|`]|\$\(|<\(|\s-(?:delete|exec|execdir|ok|okdir|fprint\w*|fls)\b|--output\b")
"""The command line does more: another command follows, or a file is written."""
_BEFORE = re.compile(
    r"^(?:(?:cd|export|set|source|\.|mkdir -p) [^;&|\n]*(?:&&|;|\n)\s*"
    r"|\w+=\S*\s+"
    r"|(?:timeout|nice|time|env)(?: -?[\d.]+[smh]?)? )+"
)


def phrase(step: ProgressStep, *, ended: bool) -> str:
    """Say what a step does, or did."""
    tense = 1 if ended else 0
    if step.tool == "shell" and (verbs := _recognised(step.subject)):
        return f"{verbs[tense]} ({inline(step.subject, 60)})"
    verbs = _VERBS.get(step.tool)
    words = verbs[tense] if verbs else f"{('Using', 'Used')[tense]} {plain(step.tool.replace('_', ' '), 40)}"
    if step.tool == "list" and step.subject in ("", "."):
        return ("Listing the workspace", "Listed the workspace")[tense]
    if step.tool in _WITHOUT_SUBJECT or not step.subject:
        return words
    return f"{words} {inline(step.subject, 70)}"


def unbegun(step: ProgressStep) -> str:
    """Say what a step that was denied, refused or cancelled would have done."""
    words = phrase(step, ended=False)
    return f"Not done: {words[:1].lower()}{words[1:]}"


def headline(step: ProgressStep) -> str:
    """Say what a step does for the first line, where only the words are bold."""
    words, _, rest = phrase(step, ended=False).partition(" (`" if _is_recognised(step) else " `")
    if not rest:
        return f"**{words}**"
    return f"**{words}** (`{rest}" if _is_recognised(step) else f"**{words}** `{rest}"


def _is_recognised(step: ProgressStep) -> bool:
    return step.tool == "shell" and _recognised(step.subject) is not None


def _recognised(command: str) -> Verbs | None:
    """Return plain words for a command by how it begins; None where the command itself says it best."""
    step = next(iter(run_by(command).steps), None)
    kind = kind_of(step.words) if step is not None else None
    if kind is not None:
        return _CHECKING[kind]
    bare = _BEFORE.sub("", " ".join(command.split()))
    verbs = next((verbs for pattern, verbs in _COMMANDS if pattern.match(bare)), None)
    if verbs is None or verbs[1] not in _LOOKING:
        return verbs
    more = len(command.strip().splitlines()) > 1 or _MORE.search(_HARMLESS.sub("", bare))
    return None if more else verbs
