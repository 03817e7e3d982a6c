"""Steps in plain words: "Running the tests (`pytest -q`)", not the names of tools; pure."""

from __future__ import annotations

import re

from agentic.bash.runners import Kind, kind_of
from agentic.bash.steps import Step, read, run_by
from agentic.core.events.values import Act
from agentic.core.text.tool_words import tool_words
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
    "list": ("Listing", "Listed"),
    "glob": ("Looking for files", "Looked for files"),
    "grep": ("Searching for", "Searched for"),
    "codebase_search": ("Searching the code for", "Searched the code for"),
    "read_output": ("Rereading an output", "Reread an output"),
    "job": ("Checking a background command", "Checked a background command"),
    "todo": ("Updating the to-do list", "Updated the to-do list"),
    "note": ("Taking a note", "Took a note"),
    "report": ("Taking stock", "Took stock"),
    "ask_user": ("Asking you", "Asked you"),
    "ask_stronger": ("Asking for a stronger model", "Asked for a stronger model"),
    "network": ("Asking for the network", "Asked for the network"),
    "wake_me": ("Planning when to continue", "Planned when to continue"),
    "plan_mode": ("Starting with a plan", "Started with a plan"),
    "propose_plan": ("Showing you the plan", "Showed you the plan"),
    "commit": ("Preparing a branch", "Prepared a branch"),
    "notebook_edit": ("Editing a cell of", "Edited a cell of"),
    "web_search": ("Searching the web for", "Searched the web for"),
    "fetch": ("Reading", "Read"),
    "http": ("Asking", "Asked"),
    "remember": ("Remembering", "Remembered"),
    "recall": ("Recalling", "Recalled"),
    "subagent": ("Working with helpers", "Worked with helpers"),
    "finish": ("Wrapping up", "Wrapped up"),
}
_WITHOUT_SUBJECT = frozenset(
    (
        "python",
        "read_output",
        "job",
        "todo",
        "note",
        "report",
        "ask_stronger",
        "ask_user",
        "network",
        "wake_me",
        "plan_mode",
        "propose_plan",
        "commit",
        "finish",
    )
)

_CHECKING: dict[Kind, Verbs] = {
    "tests": ("Running the tests", "Ran the tests"),
    "checks": ("Running the checks", "Ran the checks"),
    "types": ("Checking the types", "Checked the types"),
    "style": ("Checking the style", "Checked the style"),
    "format": ("Checking the style", "Checked the style"),
    "build": ("Building", "Built"),
}
_INSTALLS = ("install", "add", "ci", "sync", "get")
_BUILDS = ("build", "package")
_COMMANDS: tuple[tuple[Verbs, tuple[str, ...], tuple[str, ...]], ...] = (
    (
        ("Installing packages", "Installed packages"),
        ("pip", "pip3", "uv", "npm", "pnpm", "yarn", "bun", "poetry", "apt", "apt-get", "cargo", "go", "gem", "bundle"),
        _INSTALLS,
    ),
    (("Building", "Built"), ("cargo", "go", "docker", "pnpm", "yarn", "dotnet", "mvn", "gradle"), _BUILDS),
    (("Building", "Built"), ("make", "ninja", "cmake"), ()),
    (("Fetching a repository", "Fetched a repository"), ("git",), ("clone",)),
    (("Fetching from the network", "Fetched from the network"), ("curl", "wget"), ()),
)
"""Words for a command, the programs, and the words of which one stands behind it; none where any may."""
_LOOKS: tuple[tuple[Verbs, tuple[str, ...], tuple[str, ...]], ...] = (
    (("Looking at the changes", "Looked at the changes"), ("git",), ("status", "diff", "log", "show", "blame")),
    (("Searching", "Searched"), ("grep", "rg", "ag", "ack"), ()),
    (("Looking around", "Looked around"), ("ls", "tree", "find", "pwd", "du", "stat"), ()),
    (("Reading", "Read"), ("cat", "head", "tail", "less", "nl", "wc"), ()),
    (("Reading", "Read"), ("sed",), ("-n",)),
)
"""The same of commands that change nothing, if they are all that a command line does."""
_FILTERS = frozenset(("head", "tail", "wc", "sort", "uniq", "grep", "cut", "nl", "less", "cat"))
_ACTS = re.compile(r"-(?:delete|exec|execdir|ok|okdir|fprint\w*|fls)|--output\b.*")
"""Options by which what looks does more."""


_INFINITIVES = {
    "writing": "write", "using": "use", "taking": "take", "preparing": "prepare", "updating": "update",
    "wrapping": "wrap",
}  # fmt: skip
_DID_ANYWAY = ("Ran ", "Checked ", "Searched ", "Asked ")
"""What was done also where it failed: tests that fail did run, a search without a hit did search."""


def phrase(step: ProgressStep, *, ended: bool) -> str:
    """Say what a step does, or did."""
    tense = 1 if ended else 0
    if step.tool == "shell" and (verbs := _recognised(step.subject)):
        return f"{verbs[tense]} ({inline(step.subject, 60)})"
    verbs = _VERBS.get(step.tool)
    words = (
        verbs[tense] if verbs else f"{('Using', 'Used')[tense]} {plain(tool_words(step.tool).replace('_', ' '), 60)}"
    )
    if step.tool == "subagent" and step.subject:
        return f"{('Working', 'Worked')[tense]} with {plain(step.subject, 40)}"
    if step.tool == "list" and step.subject in ("", "."):
        return ("Listing the workspace", "Listed the workspace")[tense]
    if step.tool in _WITHOUT_SUBJECT or not step.subject:
        return words
    return f"{words} {inline(step.subject, 70)}"


def ended_phrase(step: ProgressStep) -> str:
    """Say what a step did, as far as it went: one that failed only tried, one that was cancelled was stopped."""
    if step.outcome not in ("failed", "cancelled"):
        return phrase(step, ended=True)
    words = phrase(step, ended=False)
    begun = f"{words[:1].lower()}{words[1:]}"
    if step.outcome == "cancelled":
        return f"Stopped {begun}"
    did = phrase(step, ended=True)
    return did if did.startswith(_DID_ANYWAY) else f"Tried to {_infinitive(begun)}"


def _infinitive(begun: str) -> str:
    word, space, rest = begun.partition(" ")
    return f"{_INFINITIVES.get(word, word.removesuffix('ing'))}{space}{rest}"


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


def acts_in_words(acts: tuple[Act, ...]) -> str:
    """What is allowed for a whole task: "delete `data` and all in it, empty `notes.txt`"."""
    said = [f"delete {inline(act.path)} and all in it" for act in acts if act.kind == "delete"]
    said += [f"empty {inline(act.path)}" for act in acts if act.kind == "empty"]
    return ", ".join(said)


def _is_recognised(step: ProgressStep) -> bool:
    return step.tool == "shell" and _recognised(step.subject) is not None


def _recognised(command: str) -> Verbs | None:
    """Return plain words for a command by how it begins; None where the command itself says it best."""
    steps = [step for step in run_by(command).steps if step.program != "mkdir"]
    if not steps:
        return None
    kind = kind_of(steps[0].words)
    if kind is not None:
        return _CHECKING[kind]
    return _verbs(steps[0], _COMMANDS) or (_verbs(steps[0], _LOOKS) if _only_looks(command) else None)


def _verbs(step: Step, table: tuple[tuple[Verbs, tuple[str, ...], tuple[str, ...]], ...]) -> Verbs | None:
    """The words for a step, as a table has them."""
    said = step.words[2:] if step.words[:2] == ("python", "-m") else step.words
    said = said[1:] if said[:2] == ("uv", "pip") else said
    program, then = "".join(said[:1]), "".join(said[1:2])
    return next(
        (verbs for verbs, programs, words in table if program in programs and (not words or then in words)), None
    )


def _only_looks(command: str) -> bool:
    """Whether a command line is one that looks and what filters its output; the rest is left to be read by people."""
    line = read(command)
    if line is None or line.detached or line.writes:
        return False
    return all(step.joint == "|" and step.program in _FILTERS for step in line.steps[1:]) and not any(
        _ACTS.fullmatch(word) for step in line.steps for word in step.words
    )
