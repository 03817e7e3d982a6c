"""What stands before a command and runs it: variables, ``sudo``, ``env``, ``timeout``, ``xargs``, ``uv run`` …"""

from __future__ import annotations

import re
import shlex

from agentic.bash.command_output import UNKNOWN
from agentic.bash.evaluation import SimpleCommand
from agentic.tools.approval.gated_command import name_of

MOST_ARGUMENTS = 40
MOST_LINES = 8
_PREFIXES = frozenset((
    "sudo", "doas", "env", "nohup", "nice", "ionice", "time", "timeout", "stdbuf", "setsid", "command", "builtin", "exec",
    "busybox", "chronic", "xargs", "parallel", "watch", "unbuffer", "eatmydata", "coproc", "toybox", "npx", "flock", "taskset",
    "chrt", "prlimit", "strace", "ltrace", "unshare", "setarch", "shx", "bunx", "uvx", "fakeroot", "proot", "dbus-run-session",
))  # fmt: skip
_WITH_VALUE: dict[str, frozenset[str]] = {
    "sudo": frozenset(("-u", "-g", "-h", "-p", "-C", "-T", "-R", "-D")), "doas": frozenset(("-u", "-C")),
    "nice": frozenset(("-n",)), "ionice": frozenset(("-c", "-n", "-p")),
    "timeout": frozenset(("-s", "-k", "--signal", "--kill-after")), "stdbuf": frozenset(("-i", "-o", "-e")),
    "xargs": frozenset(("-a", "-d", "-E", "-I", "-L", "-n", "-P", "-s")), "parallel": frozenset(("-j", "-a", "-n", "-I")),
    "npx": frozenset(("-p", "--package")), "flock": frozenset(("-w", "-E", "--timeout")),
    "strace": frozenset(("-e", "-o", "-s", "-p")), "chrt": frozenset(("-T", "-P", "-D")), "env": frozenset(("-u", "-C")),
    "watch": frozenset(("-n",)), "exec": frozenset(("-a",)), "time": frozenset(("-f", "-o")),
}  # fmt: skip
"""Options of a prefix that take the next word."""
_RUNNERS = frozenset((
    ("uv", "run"), ("poetry", "run"), ("pipenv", "run"), ("pdm", "run"), ("hatch", "run"), ("rye", "run"), ("npm", "exec"),
    ("pnpm", "exec"), ("pnpm", "dlx"), ("yarn", "exec"), ("yarn", "dlx"), ("bundle", "exec"),
))  # fmt: skip
"""They run what follows these words."""
_SETS = re.compile(r"(?<!\w)[A-Za-z_]\w*\+?=")
_SPLITS = re.compile(r"(?:-[a-zA-Z]*S|--split-string=?)(.*)", re.DOTALL)
_PLACEHOLDER = re.compile(r"-I|--replace=?")
_BY_LINES = frozenset(("-d", "-0", "--null", "-L", "-L1", "-d\\n", "-d\n"))


def bare(words: list[str]) -> tuple[list[str], bool]:
    """The command itself, and whether its arguments come from elsewhere."""
    piped = False
    starts_shell = words[:1] == ["sudo"] and bool({"-s", "-i"} & set(words))
    while words and "=" in words[0] and _SETS.match(words[0]):
        words = words[1:]
    while words and (name_of(words[0]) in _PREFIXES or tuple(words[:2]) in _RUNNERS):
        name, words = name_of(words[0]), words[2 if tuple(words[:2]) in _RUNNERS else 1 :]
        piped = piped or name in ("xargs", "parallel")
        while words and (words[0].startswith("-") or "=" in words[0]):
            if name == "env" and (split := _SPLITS.match(words[0])):
                words = [*_split(split[1]), *words[1:]] if split[1] else [*_split("".join(words[1:2])), *words[2:]]
                continue
            words = words[2:] if words[0] in _WITH_VALUE.get(name, ()) else words[1:]
        if name in ("timeout", "flock", "taskset", "chrt"):
            words = words[1:]
            words = ["sh", *words] if name == "flock" and words[:1] == ["-c"] else words
        if name == "watch" and words:
            words = ["sh", "-c", " ".join(words)]
        if name == "sudo" and not words and starts_shell:
            words = ["sh"]
    return words, piped


def set_before(words: list[str]) -> list[tuple[str, str]]:
    """The variables that are set for a command."""
    found: list[tuple[str, str]] = []
    for word in words:
        name, sign, value = word.partition("=")
        if sign and _SETS.match(word):
            found.append((name, value))
        elif word != "env":
            break
    return found


def filled(said: list[str], words: list[str], simple: SimpleCommand) -> list[list[str]]:
    """A command with the arguments that the xargs before it, in ``said``, gives it, as far as they are known."""
    given = next((at for at, word in enumerate(said) if _PLACEHOLDER.match(word)), -1)
    sign = _PLACEHOLDER.sub("", said[given]) or said[given + 1 : given + 2][0] if 0 <= given < len(said) - 1 else "{}"
    if ":::" in words:
        at = words.index(":::")
        return [[*words[:at], *words[at + 1 :]]] if at else [["sh", "-c", each] for each in words[1:MOST_ARGUMENTS]]
    if sign and any(sign in word for word in words):
        lines = list(dict.fromkeys(simple.stdin.splitlines())) or [UNKNOWN]
        lines = lines if len(lines) <= MOST_LINES else [UNKNOWN]
        return [[word.replace(sign, line) for word in words] for line in lines]
    whole = _BY_LINES & set(said)
    listed = simple.stdin.splitlines() if whole else simple.stdin.split()
    return [[*words, *(listed[:MOST_ARGUMENTS] or [UNKNOWN])]]


def _split(text: str) -> list[str]:
    try:
        return shlex.split(text)
    except ValueError:
        return text.split()
