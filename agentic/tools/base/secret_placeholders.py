"""Replace secrets in files and outputs by placeholders such as ``[secret: GitHub token]`` before a model sees them.

A tool's observation passes here before it is logged, so prompts, logs and exports hold only the placeholder. Several
secrets of a kind in one text are numbered by their values; a placeholder is followed by as many line ends as its
secret contains, so that line numbers stay. When a model writes a placeholder back into the same file, the secret is
restored; a write that would replace a secret by a placeholder is refused.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Mapping
from dataclasses import dataclass

from agentic.text.secret_patterns import secrets_in

_PLACEHOLDER = re.compile(r"\[secret: [A-Za-z][A-Za-z. ]{0,40}(?:[0-9]{1,5})?\]")
_AT_ONCE = 100_000
"""Characters that are searched before other tasks get their turn."""

IN_COMMAND = 'Let the command read it where it stands, such as `. ./.env` or "$(grep ^TOKEN= .env | cut -d= -f2-)".'
IN_REQUEST = (
    "Send it with a command (curl) that reads it where it stands, where commands may reach that host; or ask a person."
)
IN_FILE = "Leave the line as it is and edit around it (edit, sed), or copy it with shell (cp, grep, sed)."


@dataclass(frozen=True, slots=True)
class Masked:
    """A text with placeholders, and the secret behind each of them."""

    text: str
    hidden: Mapping[str, str]


UNMASKED = Masked("", {})


def mask(text: str, known: Mapping[str, str] = UNMASKED.hidden) -> Masked:
    """Replace the secrets of a text; those in ``known`` keep their placeholders."""
    found = secrets_in(text)
    if not found:
        return Masked(text, {})
    names = {real: name for name, real in known.items()}
    taken = {*_PLACEHOLDER.findall(text), *names.values()}
    hidden: dict[str, str] = {}
    shown: list[str] = []
    counts: dict[str, int] = {}
    at = 0
    for secret in found:
        real = text[secret.start : secret.end]
        if real not in names:
            names[real] = _free(secret.kind, counts, taken)
        hidden[names[real]] = real
        shown += [text[at : secret.start], names[real], "\n" * real.count("\n")]
        at = secret.end
    return Masked("".join([*shown, text[at:]]), hidden)


async def mask_beside(text: str, known: Mapping[str, str]) -> Masked:
    """Do the same for a text of any size, without holding up other tasks."""
    return mask(text, known) if len(text) <= _AT_ONCE else await asyncio.to_thread(mask, text, known)


def _free(kind: str, counts: dict[str, int], taken: set[str]) -> str:
    """Return a placeholder that is not in the text already."""
    while True:
        number = counts[kind] = counts.get(kind, 0) + 1
        name = f"[secret: {kind}]" if number == 1 else f"[secret: {kind} {number}]"
        if name not in taken:
            return name


def reveal(written: str, hidden: Mapping[str, str]) -> str:
    """Replace the placeholders in a text by their secrets."""
    for name, real in hidden.items():
        if name in written:
            written = written.replace(name + "\n" * real.count("\n"), real).replace(name, real)
    return written


def placeholders_in(text: str) -> tuple[str, ...]:
    """Return the distinct placeholders in a text."""
    return tuple(dict.fromkeys(_PLACEHOLDER.findall(text))) if "[secret: " in text else ()


def stray_in(written: str, before: str, hidden: Mapping[str, str]) -> str:
    """Return a placeholder in the new text that stands for no secret of ``before`` and was not in it either."""
    return next((name for name in placeholders_in(written) if name not in hidden and name not in before), "")


def refusal(name: str, done: str, instead: str) -> str:
    """Say that a placeholder cannot stand for a secret here, and what to do instead."""
    return (
        f"{name} stands for a secret that is hidden from you; it is not the secret's text, and nothing was {done}. {instead}"
        " To write these very words, put them together out of two parts."
    )


def mask_part(data: bytes, start: int, end: int) -> bytes:
    """Return part of an output with its secrets replaced, also those that begin before it or end after it."""
    text = data.decode("latin-1")  # a character a byte: places in the text are places in the data
    parts: list[bytes] = []
    for secret in secrets_in(text):
        if secret.end > start and secret.start < end:
            parts += [data[start : max(start, secret.start)], f"[secret: {secret.kind}]".encode()]
            start = min(secret.end, end)
    return b"".join([*parts, data[start:end]])
