"""What of git a person must approve: what others share is overwritten, or what was never committed is lost."""

from __future__ import annotations

import re
from collections.abc import Callable
from itertools import pairwise

from agentic.bash.command_output import UNKNOWN


def why_git(command: str, flags: set[str], names: list[str], after: list[str] | None = None, given: str = "") -> str:
    """Why a person must approve a command of git; '' where it may run.

    ``after`` are the words behind ``--``, and ``given`` what the command reads.
    """
    if flags & {"-n", "--dry-run", "-l", "--list"} and command in _SHOWN_FIRST:
        return ""
    if command in ("checkout", "restore") and _whole_tree(command, flags, names, after):
        return AWAY
    if command == "update-ref" and "--stdin" in flags:
        return "deletes a branch although it may not be merged" if "delete refs/" in given else ""
    return next((why for known, needed, why in _GIT if known == command and needed(flags, names)), "")


_SHOWN_FIRST = frozenset(("clean", "push", "rm", "prune", "reflog", "replace", "tag", "branch", "worktree", "fetch"))
_FILES = re.compile(r"[A-Z][A-Za-z]*|\.[a-z]+rc")
"""Names of files that have no ending: Makefile, LICENSE."""


def _whole_tree(command: str, flags: set[str], names: list[str], after: list[str] | None) -> bool:
    """Whether a checkout or restore writes over more than files that are named."""
    if command == "restore":
        paths = names
        if flags & {"--staged", "-S"} and not flags & {"--worktree", "-W"}:
            return False
    elif flags & {"-b", "-B", "--orphan", "-t", "--track"}:
        return bool(flags & {"-f", "--force"})
    else:
        paths = names[1:] if after is None and len(names) > 1 else after or []
        paths = [
            *paths,
            *(name for name in names[:1] if after is None and (name == "." or name.startswith(":") or "*" in name)),
        ]
    wide = any(_is_wide(path) for path in paths)
    return wide or bool(flags & {"-f", "--force"}) or any(flag.startswith("--pathspec-from") for flag in flags)


def _is_wide(path: str) -> bool:
    name = path.rstrip("/").rpartition("/")[2]
    if path in (".", ":/", "./") or path.endswith("/") or "*" in path or path == UNKNOWN:
        return True
    return "." not in name and not _FILES.fullmatch(name) and UNKNOWN not in name


def flags_of(words: list[str]) -> tuple[set[str], list[str]]:
    """The options, single letters apart, and what is no option."""
    flags: set[str] = set()
    rest: list[str] = []
    for place, word in enumerate(words):
        if word == "--":
            return flags, rest + words[place + 1 :]
        if word.startswith("--"):
            flags.add(word.partition("=")[0])
        elif word.startswith("-") and len(word) > 1:
            flags.update(f"-{letter}" for letter in word[1:])
        else:
            rest.append(word)
    return flags, rest


def values_of(words: list[str], *options: str) -> list[str]:
    """The words that stand behind an option."""
    return [value for option, value in pairwise(words) if option in options]


def _always(flags: set[str], names: list[str]) -> bool:
    return True


def _forced(flags: set[str], names: list[str]) -> bool:
    long = any(flag.startswith("--force") for flag in flags)
    return long or "-f" in flags or "--mirror" in flags or any(name.startswith("+") for name in names[1:])


def _takes_away(flags: set[str], names: list[str]) -> bool:
    return bool(flags & {"--delete", "-d", "--prune"}) or any(name.startswith(":") for name in names[1:])


def _any(*wanted: str) -> Callable[[set[str], list[str]], bool]:
    return lambda flags, names: bool(flags & set(wanted))


def _said(*wanted: str) -> Callable[[set[str], list[str]], bool]:
    return lambda flags, names: bool(set(names[:1]) & set(wanted))


def _rebases(flags: set[str], names: list[str]) -> bool:
    """Whether commits may be dropped; a plain rebase keeps them, and what others share is behind a forced push."""
    return bool(flags & {"-i", "--interactive", "--onto", "--root"})


def _moves_head(flags: set[str], names: list[str]) -> bool:
    """Whether a reset takes several commits off a branch, or goes to where cannot be told."""
    if any((found := _BACK.fullmatch(name)) and int(found[1]) > MOST_BACK for name in names):
        return True
    return "--soft" in flags and any(not _NEAR.fullmatch(name) for name in names)


def _moves_branch(flags: set[str], names: list[str]) -> bool:
    """Whether a branch is set by plumbing."""
    return any(name.startswith(("refs/heads/", "refs/tags/", "refs/stash", "HEAD")) for name in names[:1])


def _fetches_over(flags: set[str], names: list[str]) -> bool:
    forced = bool(flags & {"-f", "--force"})
    return any(
        ":" in name and (forced or name.startswith("+")) and ":refs/remotes/" not in name and "://" not in name
        for name in names[1:]
    )


MOST_BACK = 2
_BACK = re.compile(r"(?:HEAD|@)~([0-9]{1,6})")
_NEAR = re.compile(r"(?:HEAD|@|ORIG_HEAD)(?:~[0-9]?|\^|@\{[0-9]\})?")
_OTHER_THAN_MOVING = frozenset(("-d", "-D", "--delete", "-m", "-M", "--move", "-c", "-C", "--copy"))
AWAY = "discards changes that are not committed, of whoever made them"
HISTORY = "rewrites history that others may have"
_GIT: tuple[tuple[str, Callable[[set[str], list[str]], bool], str], ...] = (
    ("push", _forced, "overwrites a branch that others share (a forced push)"),
    ("push", _takes_away, "deletes a branch or tag that others share"),
    ("reset", _any("--hard", "--har", "--ha", "--merge"), AWAY),
    ("reset", _moves_head, HISTORY),
    ("checkout", _any("-B"), "moves a branch away from its commits"),
    ("branch", lambda flags, names: bool(names) and bool(flags & {"-f", "--force"}) and not flags & _OTHER_THAN_MOVING,
     "moves a branch away from its commits"),
    ("switch", _any("-f", "--force", "--discard-changes", "-C", "--force-create"), AWAY),
    ("read-tree", _any("--reset", "-u"), AWAY),
    ("checkout-index", _any("-f", "--force"), AWAY),
    ("clean", _any("-f", "--force", "--for", "--forc"), "deletes every file that git does not know, of whoever made them"),
    ("stash", _said("drop", "clear"), "throws away what was put aside"),
    ("branch", _any("-D"), "deletes a branch although it is not merged"),
    ("branch", lambda flags, _: bool(flags & {"--delete", "-d"} and flags & {"--force", "-f"}),
     "deletes a branch although it is not merged"),
    ("tag", _any("-d", "--delete", "-f", "--force"), "deletes or moves a tag"),
    ("rebase", _rebases, HISTORY),
    ("filter-branch", _always, HISTORY),
    ("filter-repo", _always, HISTORY),
    ("replace", lambda flags, names: bool(names), HISTORY),
    ("update-ref", _moves_branch, "moves or deletes a branch although it may not be merged"),
    ("fetch", _fetches_over, "moves a branch away from its commits"),
    ("pull", _fetches_over, "moves a branch away from its commits"),
    ("reflog", _said("expire", "delete"), "takes away git's own way back"),
    ("gc", _any("--prune"), "takes away git's own way back"),
    ("prune", _always, "takes away git's own way back"),
    ("worktree", lambda flags, names: names[:1] == ["remove"] and bool(flags & {"-f", "--force"}), AWAY),
)  # fmt: skip
