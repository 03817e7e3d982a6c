"""Mistakes in settings, each with what to write instead."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import cast, get_args

from annotated_types import Ge, Gt, Le
from pydantic import ValidationError
from pydantic.fields import FieldInfo

from agentic.ports import failpoints
from reflexion.text.secrets import REDACTED, redact_known

PREFIX = "THREADWRIGHT_"
OWN_NAMES: Mapping[str, tuple[str, ...]] = {
    "discord_token": ("DISCORD_TOKEN",),
    "discord_client_id": ("DISCORD_CLIENT_ID",),
    "discord_client_secret": ("DISCORD_CLIENT_SECRET",),
    "aws_table": ("DYNAMODB_EXECUTIONS_TABLE",),
    "aws_bucket": ("S3_ARTIFACT_BUCKET",),
    "aws_doorbell_queue": ("AGENTIC_DOORBELL_QUEUE_URL",),
    "aws_events_queue": ("AGENTIC_EVENTS_QUEUE_URL",),
    "aws_region": ("AWS_REGION", "AWS_DEFAULT_REGION"),
    "aws_endpoint": ("AWS_ENDPOINT_URL",),
}
"""Fields whose variables have other names than the prefix and the field's; the first that is set counts."""
_FIELD = {name: field for field, names in OWN_NAMES.items() for name in names}
Fields = Mapping[str, FieldInfo]
SHORTEST_KEY = 16
_KEY = re.compile(r"(?<![\w./:-])[A-Za-z0-9_+=-]{24,}(?![\w./:-])")
_MIXED = re.compile(r"[a-zA-Z][0-9]|[0-9][a-zA-Z]")


class SettingsMistaken(Exception):
    """The settings cannot be used; ``mistakes`` lists why, each with what to write instead."""

    def __init__(self, mistakes: tuple[Mistake, ...]) -> None:
        super().__init__("\n".join(str(mistake) for mistake in mistakes))
        self.mistakes = mistakes


@dataclass(frozen=True, slots=True)
class Mistake:
    """One wrong setting."""

    name: str
    problem: str
    instead: str

    def __str__(self) -> str:
        return f"{self.name}: {without_keys(self.problem)}. {without_keys(self.instead)}"


def shown(value: str) -> str:
    """Return a setting's value if it is too short to be a key, which may have got into the wrong line."""
    return repr(value) if len(value) < SHORTEST_KEY else "what stands there"


def without_keys(text: str) -> str:
    """Remove words that look like a key: long, of letters and digits, and no path or name of a model."""
    return _KEY.sub(lambda word: REDACTED if _MIXED.search(word[0]) else word[0], redact_known(text))


def variable(field: str) -> str:
    """Return the environment variable of a field."""
    return OWN_NAMES[field][0] if field in OWN_NAMES else PREFIX + field.upper()


def unknown_names(names: Iterable[str], fields: Fields) -> Iterator[Mistake]:
    """Yield variables that have our prefix and are no setting."""
    known = [variable(field) for field in fields]
    for name in sorted(names):
        if name.startswith(PREFIX) and name not in (*known, failpoints.VARIABLE):
            near = difflib.get_close_matches(name, known, n=1, cutoff=0.5)
            instead = f"Write {near[0]} instead" if near else "Take it out; .env.example lists every setting"
            yield Mistake(name, "there is no such setting", instead)


def wrong_values(error: ValidationError, fields: Fields) -> Iterator[Mistake]:
    """Yield invalid values, each with what is allowed."""
    for wrong in error.errors(include_url=False):
        field = str(wrong["loc"][0])
        name = variable(field) if field in fields else field  # where it has a name of its own, that is what was wrong
        field = _FIELD.get(field, field)
        ours = wrong["type"] == "value_error"
        problem = wrong["msg"].removeprefix("Value error, ") if ours else f"{shown(str(wrong['input']))} cannot be used"
        yield Mistake(name, problem, _instead(field, fields))


def _instead(field: str, fields: Fields) -> str:
    """Say what is allowed, from the field's type and bounds."""
    if field == "discord_token":
        return "Write the token as the developer portal shows it"
    info = fields[field]
    choices = get_args(info.annotation)
    if choices and all(isinstance(choice, str) for choice in choices):
        return "Write one of: " + ", ".join(cast("tuple[str, ...]", choices))
    kind = {int: "a whole number", float: "a number"}.get(cast("type", info.annotation))
    if kind:
        return f"Write {kind}{_bounds(info.metadata)}, such as {info.default}"
    return "See .env.example for what may stand there"


def _bounds(metadata: list[object]) -> str:
    words: list[str] = []
    for limit in metadata:
        if isinstance(limit, Ge):
            words.append(f"at least {limit.ge}")
        elif isinstance(limit, Gt):
            words.append(f"more than {limit.gt}")
        elif isinstance(limit, Le):
            words.append(f"at most {limit.le}")
    return " " + " and ".join(words) if words else ""
