"""What of git a person must approve: what others share is overwritten, or what was never committed is lost."""

from __future__ import annotations

from collections.abc import Callable


def why_git(command: str, flags: set[str], names: list[str]) -> str:
    """Why a person must approve a command of git; '' where it may run."""
    return next((why for known, needed, why in _GIT if known == command and needed(flags, names)), "")


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


def _whole_tree(flags: set[str], names: list[str]) -> bool:
    many = any(name in (".", ":/", "*") or name.endswith("/") for name in names)
    folders = "--" in flags and any("." not in name and name.islower() for name in names)
    return many or folders or bool(flags & {"-f", "--force"})


def _restores(flags: set[str], names: list[str]) -> bool:
    return _whole_tree(flags, names) and not (flags & {"--staged", "-S"} and not flags & {"--worktree", "-W"})


def _rebases(flags: set[str], names: list[str]) -> bool:
    return not flags & {"--abort", "--continue", "--skip", "--quit", "--show-current-patch"}


_OTHER_THAN_MOVING = frozenset(("-d", "-D", "--delete", "-m", "-M", "--move", "-c", "-C", "--copy"))
_AWAY = "discards changes that are not committed, of whoever made them"
HISTORY = "rewrites history that others may have"
_GIT: tuple[tuple[str, Callable[[set[str], list[str]], bool], str], ...] = (
    ("push", _forced, "overwrites a branch that others share (a forced push)"),
    ("push", _takes_away, "deletes a branch or tag that others share"),
    ("reset", _any("--hard", "--har", "--ha", "--merge"), _AWAY),
    ("checkout", _whole_tree, _AWAY),
    ("checkout", _any("-B"), "moves a branch away from its commits"),
    ("branch", lambda flags, names: bool(names) and bool(flags & {"-f", "--force"}) and not flags & _OTHER_THAN_MOVING,
     "moves a branch away from its commits"),
    ("switch", _any("-f", "--force", "--discard-changes", "-C"), _AWAY),
    ("restore", _restores, _AWAY),
    ("read-tree", _any("--reset", "-u"), _AWAY),
    ("checkout-index", _any("-f", "--force"), _AWAY),
    ("clean", _any("-f", "--force", "--for", "--forc"), "deletes every file that git does not know, of whoever made them"),
    ("stash", _said("drop", "clear"), "throws away what was put aside"),
    ("branch", _any("-D"), "deletes a branch although it is not merged"),
    ("branch", lambda flags, _: "--delete" in flags and "--force" in flags, "deletes a branch although it is not merged"),
    ("tag", _any("-d", "--delete", "-f", "--force"), "deletes or moves a tag"),
    ("rebase", _rebases, HISTORY),
    ("filter-branch", _always, HISTORY),
    ("filter-repo", _always, HISTORY),
    ("replace", _always, HISTORY),
    ("update-ref", _any("-d"), "deletes a branch although it may not be merged"),
    ("reflog", _said("expire", "delete"), "takes away git's own way back"),
    ("gc", _any("--prune"), "takes away git's own way back"),
    ("prune", _always, "takes away git's own way back"),
    ("worktree", lambda flags, names: names[:1] == ["remove"] and bool(flags & {"-f", "--force"}), _AWAY),
)  # fmt: skip
