"""Programs that delete, move, empty or lock files, and redirections that leave nothing of one."""

from __future__ import annotations

import re
from collections.abc import Iterator

from agentic.bash.command_output import UNKNOWN
from agentic.bash.evaluation import SimpleCommand
from agentic.bash.workspace_paths import SCRATCHES, inside
from agentic.tools.approval.gated_command import (
    Found,
    GatedCommand,
    Runs,
    flags_of,
    name_of,
    quoted,
    values_of,
)

LOCKS = "removes the permission to read or change files"
DISKS = ("mkfs", "wipefs", "shred", "blkdiscard", "fdisk", "sfdisk", "parted", "mkswap", "badblocks", "srm")
"""What programs that overwrite disks or files for good begin with."""
INPLACE = frozenset(("-i", "--in-place"))
_OF_GIT = "removes what git keeps its history in"
_GIT_OWN = frozenset((
    ".git", ".git/HEAD", ".git/index", ".git/config", ".git/packed-refs", ".git/objects", ".git/refs", ".git/logs",
))  # fmt: skip
_OF_REFS = (".git/HEAD", ".git/refs/", ".git/objects/", ".git/logs/", ".git/packed-refs")
_SINGLE = re.compile(
    r"(?:[^/*?\[\x00]*/)*[^/*?\[\x00]+\.(?:json|lock|txt|md|rst|py|js|ts|tsx|jsx|css|html|ya?ml|toml|zip|gz|tgz|tar|xz|csv|sh|cfg|ini|"
    r"xml|c|h|cpp|go|rs|java|rb|php|png|jpe?g|svg|pdf|patch|diff|whl|jar|ipynb)"
)
"""The name of a single file."""
_EVERY_FILE = re.compile(r"[^*]*\*(?:\.\w{1,5})?")
"""What a loop over files writes to, and not one beside each."""
_MODE = re.compile(r"[0-7]{1,4}|-[rwxX]{1,4}|[ugoa]*[=+-][ugorwxXst,=+-]*")
_HARMLESS = re.compile(r"0?7(?:55|75|50|00|05)|(?:(?:[ugoa]*\+[rwxXst]+|[go]+[-=][rwxX]*|u=rw[xX])(?:,|$)){1,4}")
_NAMES = frozenset(("-name", "-iname", "-path"))
_PRINT_NOTHING = (
    ["cat", "/dev/null"], [":"], ["true"], ["echo"], ["echo", "-n"], ["echo", "-n", ""], ["echo", ""], ["printf", ""],
)  # fmt: skip


def redirection(command: GatedCommand) -> Iterator[Found]:
    """Yield why to ask, where a redirection leaves nothing of a file."""
    words, simple = command.words, command.simple
    nothing = words == [] or words[0] in (":", "true") or words[:2] == ["cat", "/dev/null"] or words in _PRINT_NOTHING
    if nothing or (words == ["cat"] and simple.stdin_file == "/dev/null"):
        yield command.empties([path for path in simple.writes if not _grows(path, simple)])
        return
    if any(inside(simple.cwd, path).startswith(_OF_REFS) for path in simple.writes):
        yield _OF_GIT
    elif every := [path for path in simple.writes if _EVERY_FILE.fullmatch(name_of(path))]:
        yield command.empties(every)
    elif words[0] not in ("echo", "printf"):
        read = {inside(simple.cwd, word) for word in (*words[1:], *simple.upstream[1:], simple.stdin_file) if word}
        yield command.empties([path for path in simple.writes if inside(simple.cwd, path) in read])


def _grows(path: str, simple: SimpleCommand) -> bool:
    """Whether something is appended later on the same line."""
    text = simple.evaluation.text
    simple.evaluation.take(len(text) // 50)
    return any(f">>{sign}{each}" in text for sign in (" ", "", ' "', '"') for each in {path, name_of(path)} if each)


def rm(command: GatedCommand) -> Iterator[Found]:
    """``rm`` and ``unlink``: single files that are named may go."""
    flags, paths = flags_of(command.words[1:])
    if {"--help", "--version"} & flags:
        return
    if command.piped and any(path == UNKNOWN for path in paths):
        yield "deletes every file named in a list"
        return
    if flags & {"-r", "-R"} or any(flag.startswith("--r") for flag in flags):
        yield command.deletes([path for path in paths if not _SINGLE.fullmatch(path)])
        return
    many = [path for path in paths if any(sign in path for sign in "*?[") or UNKNOWN in path]
    left = [path for path in many if not command.passes(path)]
    if left:
        yield f"deletes every file that matches {quoted(left[:1])}"
    named = {inside(command.simple.cwd, path) for path in paths}
    if _GIT_OWN & named or any(path.startswith(_OF_REFS) for path in named):
        yield _OF_GIT


def trash(command: GatedCommand) -> Iterator[Found]:
    """Programs that delete all that they are given."""
    yield command.deletes(flags_of(command.words[1:])[1])


def disk(command: GatedCommand) -> Iterator[Found]:
    """Programs that overwrite a disk or a file for good."""
    paths = flags_of(command.words[1:])[1]
    if not command.words[1:] or any(not path.startswith(SCRATCHES) for path in paths):
        yield f"runs {quoted([command.name])}, which overwrites what it is given for good"


def find(command: GatedCommand) -> Iterator[Found]:
    """``find``: what it deletes, rewrites or locks, and what it runs."""
    words, simple = command.words, command.simple
    roots = quoted(_roots(words))
    if "-delete" in words and not _finds_disposable(words[: words.index("-delete")], command):
        yield f"deletes every file that `find` finds in {roots}"
    for place, word in enumerate(words):
        if word not in ("-exec", "-execdir", "-ok", "-okdir") or _finds_disposable(words, command):
            continue
        after = words[place + 1 :]
        end = next((at for at, each in enumerate(after) if each in (";", "+")), len(after))
        inner = [UNKNOWN if each == "{}" else each for each in after[:end]]
        edits = inner[:1] == ["sed"] and not _NAMES & set(words) and flags_of(inner[1:])[0] & INPLACE
        if edits or (inner[:1] == ["cp"] and inner[-1] == UNKNOWN):
            yield f"rewrites every file that `find` finds in {roots}"
        folders = "-type d" in " ".join(words[max(place - 6, 0) : place])
        if inner[:1] == ["chmod"] and _locks(inner[1:], folders=folders):
            yield LOCKS
        yield Runs(simple=SimpleCommand(inner, simple.cwd, evaluation=simple.evaluation, variables=simple.variables))


def _roots(words: list[str]) -> list[str]:
    """The folders in which a find looks."""
    end = next((at for at, word in enumerate(words) if at and word.startswith(("-", "(", "!"))), len(words))
    return words[1:end] or ["."]


def _finds_disposable(words: list[str], command: GatedCommand) -> bool:
    """Whether all that a find names is empty, derived or scratch."""
    named = [words[place + 1] for place, word in enumerate(words[:-1]) if word in _NAMES]
    several = sum(word in ("-o", "-or", ",") for word in words)
    if "-empty" in words and not several:
        return True
    every = len(named) > several and not {"!", "-not"} & set(words)
    if every and all(command.passes(name_of(name.rstrip("/*")) or name) for name in named):
        return True
    return all(command.passes(f"{root}/found") for root in _roots(words))


def move(command: GatedCommand) -> Iterator[Found]:
    """``mv``, ``cp`` and ``install``: what leaves the workspace, and what is written over."""
    _, paths = flags_of(command.words[1:])
    if "-t" in command.words[:-1]:
        into = command.words[command.words.index("-t") + 1]
        paths = [*(path for path in paths if path != into), f"{into}/"]
    if command.name == "mv":
        yield from _moves(paths, command)
    else:
        settings = values_of(command.words, "-m", "-o", "-g") if command.name == "install" else []
        yield from _copies([path for path in paths[:-1] if path not in settings], paths[-1:], command)


def _copies(sources: list[str], into: list[str], command: GatedCommand) -> Iterator[Found]:
    if not sources:
        return
    over_many = "*" in into[0] and name_of(sources[0]) not in into[0] and UNKNOWN not in sources[0]
    if sources == ["/dev/null"] or (over_many and not command.passes(sources[0])):
        yield command.empties(into)


def _moves(paths: list[str], command: GatedCommand) -> Iterator[Found]:
    simple, sources = command.simple, paths[:-1]
    if _GIT_OWN & {inside(simple.cwd, path) for path in sources}:
        yield _OF_GIT
    if any("*" in path for path in sources) and _SINGLE.fullmatch(paths[-1]):
        yield f"moves every file that matches {quoted(sources[:1])} onto a single file"
    target = inside(simple.cwd, paths[-1]) if paths else ""
    whole = [path for path in sources if "*" in path or "." not in name_of(path.strip("./")) or target == "/dev/null"]
    left = [path for path in whole if not command.passes(path)]
    if not left or not paths[-1]:
        return
    text, first = simple.evaluation.text, target.partition("/")[0]
    simple.evaluation.take(len(text) // 10)
    gone = target == "/dev/null" or f"{target}/".startswith(SCRATCHES)
    gone = gone or any(f"rm {flag} {first}" in text for flag in ("-rf", "-fr", "-r"))
    back = any(f"mv {sign}{paths[-1].rstrip('/')}" in text for sign in ("", '"'))
    if gone and not back:
        yield f"moves {quoted(left)} out of the workspace"


def tee(command: GatedCommand) -> Iterator[Found]:
    """``tee``, which is given nothing to write."""
    flags, paths = flags_of(command.words[1:])
    nothing = command.simple.stdin_file == "/dev/null" or command.simple.piped_from in _PRINT_NOTHING
    if not flags & {"-a", "--append"}:
        yield command.empties(paths if nothing else [path for path in paths if "*" in path])


def rights(command: GatedCommand) -> Iterator[Found]:
    """``chmod``, ``chown`` and ``chgrp``: rights of many files, or of their owner."""
    words, changes_mode = command.words, command.name == "chmod"
    flags, rest = flags_of([word for word in words[1:] if not _MODE.fullmatch(word)])
    modes = [word for word in words[1:] if _MODE.fullmatch(word)]
    left = [path for path in (rest if modes and changes_mode else rest[1:]) if not command.passes(path)]
    if not left or (changes_mode and modes and _HARMLESS.fullmatch(modes[0])):
        return
    if flags & {"-R", "--recursive"} or any(mode.startswith("-R") for mode in modes):
        yield f"changes the permissions or the owner of everything in {quoted(left[:1])}"
    elif changes_mode and _locks(modes, folders=False):
        yield LOCKS


def _locks(words: list[str], *, folders: bool) -> bool:
    """Whether a mode takes files, or folders, from their owner."""
    mode = next((word for word in words if _MODE.fullmatch(word)), "")
    if mode.isdigit():
        owner = int(mode[-3:-2] or "0")
        return owner < 4 or (folders and not owner & 1)
    takes = mode.startswith(("a=", "u=,", "a-r", "u-r")) and "+" not in mode
    return takes or (mode.endswith("=") and mode[:1] in "ua=")


def truncate(command: GatedCommand) -> Iterator[Found]:
    """``truncate``, to whatever size."""
    sizes = values_of(command.words, "-s", "--size", "-r", "--reference")
    yield command.empties(flags_of([word for word in command.words[1:] if word not in sizes])[1])


def dd(command: GatedCommand) -> Iterator[Found]:
    """``dd``: what it writes over."""
    written = [word[3:] for word in command.words if word.startswith("of=")]
    left = [path for path in written if path != "/dev/null" and not command.passes(path)]
    if left:
        yield f"overwrites {quoted(left[:1])}"


def rsync(command: GatedCommand) -> Iterator[Found]:
    """``rsync``, where it deletes at one end."""
    flags, paths = flags_of(command.words[1:])
    if "--remove-source-files" in flags:
        yield command.deletes(paths[:-1])
    elif any(flag.startswith("--del") for flag in flags) and not flags & {"--dry-run", "-n"}:
        yield command.deletes(paths[-1:])


def tar(command: GatedCommand) -> Iterator[Found]:
    """``tar``, which takes away what it packs, or unpacks an old version over what is there."""
    words, simple = command.words, command.simple
    into = (values_of(words, "-C", "--directory") or ["."])[0]
    if "--remove-files" in words:
        yield command.deletes([f"{into}/{path}" for path in _packed(words[1:]) if path != into])
        return
    unpacks = any("x" in word.partition("=")[0] for word in words[1:3] if word != into)
    if unpacks and simple.piped_from[:2] == ["git", "archive"] and not command.passes(f"{into}/found"):
        yield "overwrites files with an old version of them"


def _packed(words: list[str]) -> list[str]:
    return [word for word in words if "." not in name_of(word) or "*" in word] and [
        word for word in words[1:] if not word.startswith("-") and ".tar" not in word and ".tgz" not in word
    ]


def pack(command: GatedCommand) -> Iterator[Found]:
    """``zip``, ``7z``, ``gzip`` and their like, where they take away what they have packed."""
    flags, paths = flags_of(command.words[1:])
    if command.name == "zip":
        yield command.deletes(paths[1:]) if flags & {"-m", "--move"} else ""
    elif "-sdel" in command.words:
        yield command.deletes(paths[2:])
    elif command.name != "7z" and not flags & {"-k", "--keep", "-c", "--stdout", "-t", "-l", "-d"}:
        yield command.deletes([path for path in paths if "*" in path or flags & {"-r", "--recursive"}])
