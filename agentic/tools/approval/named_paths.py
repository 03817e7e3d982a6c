"""The paths that a command names, and a look at them: an approval counts only while they are as they were."""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Iterable

from agentic.bash.command_output import UNKNOWN
from agentic.bash.evaluation import SimpleCommand, commands
from agentic.bash.parser import TooDeep, TooLong, parse
from agentic.bash.workspace_paths import inside

_WRITE = (["cp"], ["mv"], ["tee"], ["install"], ["ln"], ["rsync"], ["curl"], ["wget"], ["patch"], ["git"])
_SIGNS = frozenset("*?[")
_BELOW = re.compile(r"-\w*[rR]|--r")
_STARS = re.compile(r"\*+")
MOST_PATHS = 40
LONGEST_PATH = 4_096


def targets(command: str, cwd: str = ".") -> tuple[str, ...]:
    """The paths that stand in a command, as seen from the workspace: what an approval of it looks at."""
    return _paths(command, cwd, lambda each: (*each.words[1:], *each.writes))


def written_by(command: str, cwd: str = ".") -> tuple[str, ...]:
    """Those over which it says that something is written."""
    return _paths(command, cwd, lambda each: (*(each.words[1:] if each.words[:1] in _WRITE else ()), *each.writes))


def deleted_by(command: str, cwd: str = ".") -> tuple[str, ...]:
    """The patterns whose files ``rm`` deletes; a last part ``**`` says that all below goes as well."""
    return _paths(command, cwd, _deleted)


def _deleted(each: SimpleCommand) -> Iterable[str]:
    below = "/**" if any(map(_BELOW.match, each.words)) else ""
    patterns = (word for word in each.words[1:] if each.words[0] == "rm" and not _SIGNS.isdisjoint(word))
    return [_STARS.sub("*", pattern) + below for pattern in patterns]


def _paths(command: str, cwd: str, of: Callable[[SimpleCommand], Iterable[str]]) -> tuple[str, ...]:
    try:
        found = list(commands(parse(command), cwd))
    except (TooLong, TooDeep, RecursionError):
        return ()
    words = ((inside(each.cwd, word), word) for each in found for word in of(each))
    known = dict.fromkeys(path for path, word in words if word and UNKNOWN not in path and word[0] not in "-+")
    return tuple(path for path in known if len(path) <= LONGEST_PATH)


def look(command: str, cwd: str = ".") -> str:
    """A script of ours (``RealWorld.own``) with a hash of what a gated command would touch: its files, and where git stands.

    It writes nothing, for what is looked at twice must come out the same.  A time of change cannot be set back by a
    command, unlike the other times; no name is taken for an option, or for two.
    """
    named = [path for path in targets(command, cwd)[:MOST_PATHS] if not path.startswith("~")]
    paths = " ".join(shlex.quote(path if path.startswith("/") else f"./{path}") for path in named)
    files = f"find {paths} -printf '%p %y %s %m %i %T@ %C@ %l\\0' | sort -z; " if paths else ""
    git = f"git -C {shlex.quote(cwd if cwd.startswith('/') else f'./{cwd}')}"
    status = f"{git} status --porcelain -z --ignore-submodules=all"
    return f"exec 2>/dev/null; {{ {files}{git} rev-parse HEAD; {git} for-each-ref; {status}; }} | sha256sum"
