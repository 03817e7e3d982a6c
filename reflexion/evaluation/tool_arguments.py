"""What the arguments of a call ask for, in words."""

from __future__ import annotations

from collections.abc import Mapping
from typing import cast

from pydantic import JsonValue

_SAYS_IT = ("command", "code", "path", "pattern", "question", "text")


def command_in(arguments: Mapping[str, JsonValue]) -> str:
    """The command line of a call, '' of one that runs none; a fallback runs where the command fails."""
    command, fallback = arguments.get("command"), arguments.get("fallback")
    if not isinstance(command, str):
        return ""
    return f"{command} || {fallback}" if isinstance(fallback, str) and fallback else command


def asked_in(arguments: Mapping[str, JsonValue]) -> str:
    """The command, code or path of a call; else its arguments in order."""
    values = (arguments.get(name) for name in _SAYS_IT)
    said = next((value for value in values if isinstance(value, str)), None)
    return said if said is not None else ", ".join(f"{name}={value}" for name, value in arguments.items())


def written_in(arguments: Mapping[str, JsonValue]) -> str:
    """What a call was to write into a file, and in place of what; '' of one that writes nothing."""
    content = arguments.get("content")
    if isinstance(content, str):
        return _marked("+", content)
    edits = arguments.get("edits")
    several = cast("list[JsonValue]", edits) if isinstance(edits, list) else [dict(arguments)]
    return "\n".join(change for each in several if isinstance(each, dict) and (change := _change(each)))


def _change(edit: Mapping[str, JsonValue]) -> str:
    old, new = edit.get("old"), edit.get("new")
    return f"{_marked('-', old)}\n{_marked('+', new)}" if isinstance(old, str) and isinstance(new, str) else ""


def _marked(sign: str, text: str) -> str:
    return "\n".join(f"{sign} {line}" for line in text.splitlines())
