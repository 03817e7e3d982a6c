"""Which files any call may destroy without anybody being asked: the same that the gates let go."""

from __future__ import annotations

import fnmatch
from collections.abc import Callable

from agentic.ports.runtime import Prepared
from agentic.tools.approval.command_rules import DERIVED_FILES, DERIVED_FOLDERS, targets


def own_to_destroy(prepared: Prepared) -> Callable[[str, bool], bool]:
    """Whether a file, or a folder with a slash at its end, is derived or named in the command.

    That one is named does not cover that it is emptied, the second argument: whoever means that deletes it.
    """
    arguments = prepared.arguments
    command, cwd = arguments.get("command"), arguments.get("cwd", ".")
    named = frozenset(targets(command, cwd)) if isinstance(command, str) and isinstance(cwd, str) else frozenset[str]()

    def may_go(path: str, emptied: bool) -> bool:
        if path in named and not emptied:
            return True
        *folders, name = path.split("/")
        return any(each in DERIVED_FOLDERS for each in folders) or any(fnmatch.fnmatch(name, p) for p in DERIVED_FILES)

    return may_go
