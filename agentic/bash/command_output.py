"""What commands print, as far as that stands on the command line."""

from __future__ import annotations

import base64
import binascii
import posixpath
import re
from itertools import product

from agentic.bash.escapes import unescaped

UNKNOWN = "\x00"
"""Stands for what only the shell itself knows."""
_ECHO_FLAGS = re.compile(r"-[neE]+")
_PLACES, _HEX = re.compile(r"%[sb]"), re.compile(r"(?:[\da-f]{2})+\s*")
_RANGE = re.compile(r"(.)-(.)", re.DOTALL)


def printed(words: list[str], given: str) -> str:
    """What a command prints that is given a text, where that is plain; '' where it is not.

    Of a list of files it is the pattern that they match: ``git ls-files`` prints ``*``.
    """
    match words:
        case ["echo", *rest]:
            flags = [word for word in rest[:1] if _ECHO_FLAGS.fullmatch(word)]
            text = " ".join(rest[len(flags) :])
            return unescaped(text) if any("e" in flag for flag in flags) else text
        case ["printf", form, *rest]:
            parts = _PLACES.split(unescaped(form))
            filled = product(rest[: len(parts) - 1] or [""])
            return "".join(
                part + (next(filled, ("",))[0] if at < len(parts) - 1 else "") for at, part in enumerate(parts)
            )
        case ["which", name] | ["command", "-v", name] | ["type", "-P", name]:
            return name
        case ["basename", path]:
            return path.rstrip("/").rpartition("/")[2]
        case ["dirname", path] if UNKNOWN not in path or "/" in path:
            return posixpath.dirname(path.rstrip("/")) or "."
        case ["cat"] | ["cat", "-"] | ["tee" | "sort" | "uniq" | "head" | "tail" | "grep", *_] if given:
            return given
        case ["find" | "ls" | "git", *_]:
            return _files_of(words)
        case ["rev"]:
            return given.strip()[::-1]
        case ["base64", "-d" | "-D" | "--decode" | "-di"]:
            return _decoded(given)
        case ["xxd", *flags] if flags in (["-r", "-p"], ["-p", "-r"], ["-rp"]):
            return bytes.fromhex(given.strip()).decode("utf-8", "replace") if _HEX.fullmatch(given) else ""
        case ["tr", old, new] if not old.startswith("-"):
            old, new = _RANGE.sub(_run, old), _RANGE.sub(_run, new)
            return given.translate(dict(zip(map(ord, old), new.ljust(len(old), new[-1:]), strict=False))) if new else ""
        case _:
            return ""


def _files_of(words: list[str]) -> str:
    """The patterns of the files that a command lists; '' where it lists none."""
    match words:
        case ["find", *rest]:
            return _found_by(rest)
        case ["ls", *rest]:
            named = [word for word in rest if not word.startswith("-")]
            return "\n".join(named) if any("*" in word for word in named) or "-d" in rest else "*"
        case ["git", "ls-files" | "status", *rest]:
            return "\n".join(word for word in rest if "*" in word) or "*"
        case ["git", "diff" | "grep", *rest] if {"-l", "--name-only", "-z"} & set(rest):
            return "*"
        case _:
            return ""


def _found_by(words: list[str]) -> str:
    """The patterns of the files that find prints; '' where its tests are more than names."""
    if {"!", "-not", "-printf", "-exec", "-delete", "-regex"} & set(words) or UNKNOWN in "".join(words):
        return ""
    first = next((at for at, word in enumerate(words) if word.startswith(("-", "("))), len(words))
    names = [words[at + 1] for at, word in enumerate(words[:-1]) if word in ("-name", "-iname")]
    if len(names) <= sum(word in ("-o", "-or", ",") for word in words):
        return ""
    return "\n".join(f"{root}/found/{name}" for root in words[:first] or ["."] for name in names)


def _run(found: re.Match[str]) -> str:
    first, last = ord(found[1]), ord(found[2])
    return "".join(map(chr, range(first, min(last, first + 255) + 1)))


def _decoded(text: str) -> str:
    try:
        return base64.b64decode(text).decode("utf-8", "replace")
    except (binascii.Error, ValueError):
        return ""
