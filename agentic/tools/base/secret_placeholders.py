"""Secrets in files and outputs as a model sees them: each by a placeholder such as ``[secret: GitHub token]``.

A tool's observation passes here before it is logged, so prompts, logs and exports hold the placeholder only.  Several
secrets of a kind in one text are numbered by their values; a placeholder has as many line ends after it as its secret has
in it, so that the numbers of lines stay.  What a model writes back into the same file gets its secret back; what would put
a placeholder in a secret's place is refused.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Mapping
from dataclasses import dataclass

from agentic.text.secret_patterns import secrets_in

_PLACEHOLDER = re.compile(r"\[secret: [A-Za-z][A-Za-z. ]{0,40}(?:[0-9]{1,5})?\]")
_AT_ONCE = 100_000
"""So many characters are looked at between two looks at everything else."""

IN_COMMAND = 'Let the command read it where it stands, such as `. ./.env` or "$(grep ^TOKEN= .env | cut -d= -f2-)".'
IN_FILE = "Leave the line as it is and edit around it (edit, sed), or copy it with shell (cp, grep, sed)."


@dataclass(frozen=True, slots=True)
class Masked:
    """A text as it is shown, and what each placeholder in it stands for."""

    text: str
    hidden: Mapping[str, str]


UNMASKED = Masked("", {})


def mask(text: str, known: Mapping[str, str] = UNMASKED.hidden) -> Masked:
    """The text with its secrets as placeholders; what is ``known`` keeps the placeholder that it has."""
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
    """The same for a text of any size, beside what else is to be done."""
    return mask(text, known) if len(text) <= _AT_ONCE else await asyncio.to_thread(mask, text, known)


def _free(kind: str, counts: dict[str, int], taken: set[str]) -> str:
    """A placeholder that does not stand in the text already."""
    while True:
        number = counts[kind] = counts.get(kind, 0) + 1
        name = f"[secret: {kind}]" if number == 1 else f"[secret: {kind} {number}]"
        if name not in taken:
            return name


def reveal(written: str, hidden: Mapping[str, str]) -> str:
    """What was written, with the secrets themselves."""
    for name, real in hidden.items():
        if name in written:
            written = written.replace(name + "\n" * real.count("\n"), real).replace(name, real)
    return written


def placeholders_in(text: str) -> tuple[str, ...]:
    """The placeholders in a text, each once."""
    return tuple(dict.fromkeys(_PLACEHOLDER.findall(text))) if "[secret: " in text else ()


def stray_in(written: str, before: str, hidden: Mapping[str, str]) -> str:
    """A placeholder in what was written that stands for no secret of the text ``before`` and does not stand there itself."""
    return next((name for name in placeholders_in(written) if name not in hidden and name not in before), "")


def refusal(name: str, done: str, instead: str) -> str:
    """That a placeholder cannot be taken for the text that it stands for, and what to do instead."""
    return (
        f"{name} stands for a secret that is hidden from you; it is not the secret's text, and nothing was {done}. {instead}"
        " To write these very words, put them together out of two parts."
    )


def mask_part(data: bytes, start: int, end: int) -> bytes:
    """A part of an output, with secrets hidden that begin before it or end behind it."""
    text = data.decode("latin-1")  # a character a byte: places in the text are places in the data
    parts: list[bytes] = []
    for secret in secrets_in(text):
        if secret.end > start and secret.start < end:
            parts += [data[start : max(start, secret.start)], f"[secret: {secret.kind}]".encode()]
            start = min(secret.end, end)
    return b"".join([*parts, data[start:end]])
