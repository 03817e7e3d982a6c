"""Forms (modals): what a bot may ask, and a person's input.

https://discord.com/developers/docs/interactions/receiving-and-responding#interaction-response-object-modal
https://discord.com/developers/docs/components/reference
"""

from __future__ import annotations

from bot.local_discord.interactions.command_options import check_length
from bot.local_discord.model.errors import invalid, out_of_range, required
from bot.local_discord.model.json_fields import Fields, Json, JsonObject

_ROW, _STRING_SELECT, _TEXT, _TEXT_DISPLAY, _LABEL = 1, 3, 4, 10, 18
_SELECTS = (3, 5, 6, 7, 8)
LONGEST = 4_000
TITLE = 45


def check_form(fields: Fields) -> None:
    """Check a bot's form: a title, an id, one to five fields with distinct ids."""
    fields.sized("custom_id", 1, 100)
    fields.sized("title", 1, TITLE)
    parts = fields.objects("components") or []
    if not 1 <= len(parts) <= 5:
        raise out_of_range(fields.at("components"), 1, 5)
    seen: set[str] = set()
    for part in parts:
        field = _field(part)
        if field is None:
            continue
        name = field.sized("custom_id", 1, 100)
        if name in seen:
            message = "Component custom id cannot be duplicated"
            raise invalid(field.at("custom_id"), "COMPONENT_CUSTOM_ID_DUPLICATED", message)
        seen.add(name)


def _field(part: Fields) -> Fields | None:
    """Return the input field in a part of a form; None for plain text."""
    match part.choice("type", (_ROW, _TEXT_DISPLAY, _LABEL)):
        case 1:
            inner = part.objects("components") or []
            if len(inner) != 1 or inner[0].integer("type") != _TEXT:
                raise invalid(part.at("components"), "BASE_TYPE_BAD_LENGTH", "Must be exactly one text input.")
            return inner[0]
        case 18:
            found = part.object("component")
            if found is None:
                raise required(part.at("component"))
            return found
        case _:
            return None


def filled_form(form: Fields, values: dict[str, Json]) -> list[Json]:
    """Return the submitted form; raises where the fields' bounds are broken."""
    parts = form.objects("components") or []
    names = [field.text("custom_id") for field in map(_field, parts) if field is not None]
    for name in values:
        if name not in names:
            raise LookupError(f"The form has no field {name!r}; it has: {', '.join(map(str, names))}.")
    return [_submitted(part, values, n * 2 + 1) for n, part in enumerate(parts)]


def _submitted(part: Fields, values: dict[str, Json], number: int) -> JsonObject:
    kind, field = part.integer("type"), _field(part)
    if field is None:
        return {"type": kind, "id": number}
    name = field.text("custom_id") or ""
    body: JsonObject = {"type": field.integer("type"), "id": number + 1, "custom_id": name}
    if field.integer("type") in _SELECTS:
        body["values"] = [*_chosen(field, name, values.get(name))]
    else:
        body["value"] = _written(field, name, values.get(name))
    if kind == _LABEL:
        return {"type": kind, "id": number, "component": body}
    return {"type": kind, "id": number, "components": [body]}


def _written(field: Fields, name: str, value: Json) -> str:
    text = "" if value is None else str(value)
    if text:
        check_length(field, name, text, LONGEST)
    elif field.flag("required") is not False:
        raise required((name,))
    return text


def _chosen(field: Fields, name: str, value: Json) -> list[str]:
    chosen = [str(v) for v in value] if isinstance(value, list) else [] if value in (None, "") else [str(value)]
    if not chosen and field.flag("required") is not False:
        raise required((name,))
    offered = [str(o.data.get("value")) for o in field.objects("options") or []]
    if field.integer("type") == _STRING_SELECT and any(c not in offered for c in chosen):
        raise invalid((name,), "BASE_TYPE_CHOICES", f"Value must be one of {{{', '.join(offered)}}}.")
    return chosen
