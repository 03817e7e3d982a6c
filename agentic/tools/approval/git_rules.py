"""What of git a person must approve: what others share is overwritten, or what was never committed is lost."""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Iterator
from dataclasses import replace

from agentic.bash.command_output import UNKNOWN
from agentic.bash.evaluation import SimpleCommand
from agentic.bash.workspace_paths import SCRATCHES, inside
from agentic.tools.approval.gated_command import Found, GatedCommand, Runs, flags_of, values_of

MOST_EARLIER = 40
_LOOSENS = {"clean.requireforce": "false", "remote.origin.mirror": "true", "remote.origin.push": "+"}
"""Settings, with how a value begins by which git asks less."""
_TAKES_AWAY = frozenset(("-D", "-d", "--delete", "-f", "--force"))


def git(command: GatedCommand) -> Iterator[Found]:
    """A command of git, with the settings, aliases and the folder that stand before it."""
    words, folder, unforced = command.words[1:], ".", False
    aliases: dict[str, str] = {}
    while words and words[0].startswith("-"):
        if words[0] == "-c" and len(words) > 1:
            name, _, body = words[1].partition("=")
            unforced = unforced or (name.lower() == "clean.requireforce" and body == "false")
            if name.lower().startswith("alias."):
                aliases[name[6:]] = body
            else:
                yield Runs(body)
        folder = words[1] if words[0] == "-C" and len(words) > 1 else folder
        words = words[2:] if words[0] in ("-C", "-c", "--git-dir", "--work-tree", "--namespace") else words[1:]
    if not words:
        return
    if words[0] in aliases:
        yield Runs(_alias(f"{aliases[words[0]]} {shlex.join(words[1:])}"))
        return
    flags, names = flags_of(words[1:])
    if "--help" in flags or words[1:] == ["-h"]:
        return
    if unforced and words[0] == "clean":
        flags.add("-f")
    there = replace(command.simple, cwd=inside(command.simple.cwd, folder))
    yield from _in_folder(words, flags, names, replace(command, simple=there))


def _in_folder(words: list[str], flags: set[str], names: list[str], command: GatedCommand) -> Iterator[Found]:
    """A command of git in the folder in which it works."""
    name, simple = words[0], command.simple
    if name == "config" and len(names) > 1:
        yield from _config(names, simple.cwd)
        return
    if inner := _runs(name, words[1:]):
        yield Runs(inner, cwd=simple.cwd)
    if name == "clean" and names and "-e" not in flags and all(map(command.passes, names)):
        return
    committed = not flags & {"-f", "--force"} and "git commit" in simple.evaluation.text
    if name == "rm" and not committed and not flags & {"--cached", "-n", "--dry-run"}:
        many = names if "-r" in flags else [path for path in names if "*" in path or UNKNOWN in path]
        if many or "-r" in flags:
            yield command.deletes(many)
            return
    if name == "worktree" and all(map(command.passes, names[1:])):
        return
    if name in ("apply", "patch") and {"-R", "--reverse"} & flags and not flags & {"--check", "--stat", "--cached"}:
        yield AWAY if simple.piped_from[:2] == ["git", "diff"] else ""
        return
    if (name == "checkout-index" and "--prefix" in flags) or _is_own(name, flags, names, simple):
        return
    after = words[words.index("--") + 1 :] if "--" in words else None
    why = why_git(name, flags, names, after, simple.stdin)
    of_files = why == AWAY or name == "clean"
    scratch = simple.cwd in simple.made or (of_files and f"{simple.cwd}/found".startswith(SCRATCHES))
    yield "" if name != "push" and scratch else why


def _config(names: list[str], cwd: str) -> Iterator[Found]:
    name, value = names[0].lower(), names[1]
    if names[0].startswith("alias."):
        yield Runs(_alias(value), cwd=cwd)
    elif name in _LOOSENS and value.startswith(_LOOSENS[name]):
        yield "changes what git asks before it destroys something"
    else:
        yield Runs(value, cwd=cwd)


def _runs(name: str, words: list[str]) -> str:
    """The command that a command of git runs."""
    if name == "bisect" and words[:1] == ["run"]:
        return shlex.join(words[1:])
    if name == "submodule" and "foreach" in words:
        inner = [word for word in words[words.index("foreach") + 1 :] if word != "--recursive"]
        return inner[0] if len(inner) == 1 else shlex.join(inner)
    after = values_of(words, "-x", "--exec")
    joined = (word.partition("=")[2] for word in words if word.startswith("--exec="))
    return next(iter((*after, *joined)), "") if name == "rebase" else ""


def _is_own(name: str, flags: set[str], names: list[str], simple: SimpleCommand) -> bool:
    """Whether what would go was made, or applied, by a command just before."""
    earlier = [words for words in simple.evaluation.earlier[-MOST_EARLIER:] if words[:1] == ["git"]]
    if name == "stash" and names[:1] == ["drop"]:
        return any(words[1:3] == ["stash", "apply"] for words in earlier)
    if name not in ("branch", "tag") or len(names) != 1 or not flags & _TAKES_AWAY:
        return False
    made = (words for words in earlier if names[0] in words[2:] and not flags_of(words[2:])[0] & _TAKES_AWAY)
    return any((words[1] == name and not words[2].startswith("-")) or {"-b", "-c"} & set(words) for words in made)


def _alias(body: str) -> str:
    return body[1:] if body.startswith("!") else f"git {body}"


def patch(command: GatedCommand) -> Iterator[Found]:
    """``patch``, which takes back what is not committed."""
    back = {"-R", "--reverse"} & flags_of(command.words[1:])[0] and "--dry-run" not in command.words
    yield AWAY if back and command.simple.piped_from[:2] == ["git", "diff"] else ""


def rewritten_history(command: GatedCommand) -> Iterator[Found]:
    """``bfg`` and ``git-filter-repo``."""
    yield HISTORY


def why_git(command: str, flags: set[str], names: list[str], after: list[str] | None = None, given: str = "") -> str:
    """Why a person must approve a command of git; '' where it may run.

    ``after`` are the words behind ``--``, and ``given`` what the command reads.
    """
    if flags & {"-n", "--dry-run", "-l", "--list"} and command in _SHOWN_FIRST:
        return ""
    if command in ("checkout", "restore") and _whole_tree(command, flags, names, after):
        return AWAY
    if command == "update-ref" and "--stdin" in flags:
        return "deletes a branch that may not be merged" if "delete refs/" in given else ""
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
AWAY = "discards uncommitted changes, including ones this task didn't make"
HISTORY = "rewrites history that others may already have"
_GIT: tuple[tuple[str, Callable[[set[str], list[str]], bool], str], ...] = (
    ("push", _forced, "overwrites a branch that others share (a forced push)"),
    ("push", _takes_away, "deletes a branch or tag that others share"),
    ("reset", _any("--hard", "--har", "--ha", "--merge"), AWAY),
    ("reset", _moves_head, HISTORY),
    ("checkout", _any("-B"), "moves a branch, so that its commits may be lost"),
    ("branch", lambda flags, names: bool(names) and bool(flags & {"-f", "--force"}) and not flags & _OTHER_THAN_MOVING,
     "moves a branch, so that its commits may be lost"),
    ("switch", _any("-f", "--force", "--discard-changes", "-C", "--force-create"), AWAY),
    ("read-tree", _any("--reset", "-u"), AWAY),
    ("checkout-index", _any("-f", "--force"), AWAY),
    ("clean", _any("-f", "--force", "--for", "--forc"),
     "deletes every file git doesn't track, including ones this task didn't create"),
    ("stash", _said("drop", "clear"), "drops stashed changes"),
    ("branch", _any("-D"), "deletes a branch that may not be merged"),
    ("branch", lambda flags, _: bool(flags & {"--delete", "-d"} and flags & {"--force", "-f"}),
     "deletes a branch that may not be merged"),
    ("tag", _any("-d", "--delete", "-f", "--force"), "deletes or moves a tag"),
    ("rebase", _rebases, HISTORY),
    ("filter-branch", _always, HISTORY),
    ("filter-repo", _always, HISTORY),
    ("replace", lambda flags, names: bool(names), HISTORY),
    ("update-ref", _moves_branch, "moves or deletes a branch that may not be merged"),
    ("fetch", _fetches_over, "moves a branch, so that its commits may be lost"),
    ("pull", _fetches_over, "moves a branch, so that its commits may be lost"),
    ("reflog", _said("expire", "delete"), "removes git's own way back to lost commits"),
    ("gc", _any("--prune"), "removes git's own way back to lost commits"),
    ("prune", _always, "removes git's own way back to lost commits"),
    ("worktree", lambda flags, names: names[:1] == ["remove"] and bool(flags & {"-f", "--force"}), AWAY),
)  # fmt: skip
