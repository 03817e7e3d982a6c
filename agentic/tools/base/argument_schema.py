"""Argument models as short JSON schemas, and validation errors in words."""

from __future__ import annotations

import re
from functools import lru_cache

from pydantic import BaseModel, JsonValue, TypeAdapter, ValidationError

_OBJECT = TypeAdapter(dict[str, JsonValue])
_LEFT_OUT = ("title", "default", "minLength", "maxLength", "minItems", "maxItems")
_REASONS = {
    "missing": "is missing",
    "extra_forbidden": "is no argument of this tool",
}
_SUBJECT = re.compile(r"^(?:Value error, |(?:Input|String|Tuple|List|Dictionary) (?=should ))")
SHOWN_PROBLEMS = 4
NAME_CHARACTERS = 60


@lru_cache(maxsize=256)
def compact_schema(model: type[BaseModel]) -> dict[str, JsonValue]:
    """Return the schema of type object with definitions inlined, without titles, defaults and lengths (descriptions
    suffice).

    Made once, for it costs milliseconds and every execution has a toolbox of its own; nobody changes it.
    """
    schema = _OBJECT.validate_python(model.model_json_schema())
    definitions = schema.pop("$defs", {})
    compact = _compact(schema, definitions if isinstance(definitions, dict) else {})
    assert isinstance(compact, dict)
    compact.pop("description", None)
    return compact


def _compact(value: JsonValue, definitions: dict[str, JsonValue]) -> JsonValue:
    if isinstance(value, list):
        return [_compact(item, definitions) for item in value]
    if not isinstance(value, dict):
        return value
    reference = value.get("$ref")
    if isinstance(reference, str):
        named = definitions[reference.rsplit("/", 1)[-1]]
        return _compact(_without_docstring(named) | {k: v for k, v in value.items() if k != "$ref"}, definitions)
    properties = value.get("properties")
    kept = {k: _compact(v, definitions) for k, v in value.items() if k not in _LEFT_OUT and k != "properties"}
    if isinstance(properties, dict):
        kept["properties"] = {name: _compact(field, definitions) for name, field in properties.items()}
    return kept


def _without_docstring(named: JsonValue) -> dict[str, JsonValue]:
    return {k: v for k, v in named.items() if k != "description"} if isinstance(named, dict) else {}


def shape(model: type[BaseModel]) -> str:
    """Return the arguments in one line: ``{path: string, offset?: integer}``."""
    return _shape(compact_schema(model))


def _shape(schema: JsonValue) -> str:
    if not isinstance(schema, dict):
        return "any"
    match schema:
        case {"enum": list(values)}:
            return " | ".join(f'"{value}"' for value in values)
        case {"const": value}:
            return f'"{value}"'
        case {"properties": dict(properties)}:
            required = schema.get("required", [])
            needed = required if isinstance(required, list) else []
            return "{" + ", ".join(f"{n}{'' if n in needed else '?'}: {_shape(f)}" for n, f in properties.items()) + "}"
        case {"items": items}:
            return f"[{_shape(items)}]"
        case {"anyOf": list(choices)}:
            return " | ".join(_shape(choice) for choice in choices)
        case {"type": str(kind)}:
            return kind
        case _:
            return "any"


def explain(wrong: ValidationError) -> str:
    """Say what is wrong, argument by argument, without long quotations of the model's text."""
    problems = wrong.errors(include_url=False, include_input=False, include_context=False)
    told = [_problem(p["type"], p["msg"], p["loc"]) for p in problems[:SHOWN_PROBLEMS]]
    more = len(problems) - len(told)
    return "; ".join(told) + (f"; and {more} more" if more > 0 else "")


def _problem(kind: str, message: str, place: tuple[int | str, ...]) -> str:
    where = ".".join(quotable(str(part)) for part in place)
    said = _REASONS.get(kind) or _SUBJECT.sub("", message)
    return f"'{where}' {said}" if where else said


def quotable(text: str) -> str:
    """Return a model's name for something, short and printable."""
    shown = "".join(c if c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in text[:NAME_CHARACTERS])
    return shown + ("…" if len(text) > NAME_CHARACTERS else "")
