"""The limits of messages, each refused as Discord refuses it.

https://discord.com/developers/docs/resources/message#embed-object-embed-limits
https://discord.com/developers/docs/components/reference
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count

from bot.local_discord.model.errors import invalid, out_of_range, required, too_long
from bot.local_discord.model.json_fields import Fields, Json, JsonObject

CONTENT = 2_000
EMBEDS = 10
EMBED_TOTAL = 6_000
EMBED_FIELDS = 25
ROWS = 5
BUTTONS_A_ROW = 5
CUSTOM_ID = 100
NONCE = 25
REACTIONS = 20
FILES = 10
NESTED = 5
LAID_OUT, LAID_OUT_TEXT = 40, 4_000
"""Components of version 2 in a message, nested ones included, and the characters of all their texts."""
FILE_BYTES = 10 * 1024 * 1024
REQUEST_BYTES = 25 * 1024 * 1024
THREAD_NAME = 100
ARCHIVE_MINUTES = (60, 1_440, 4_320, 10_080)

_EMBED_TEXTS = {"title": 256, "description": 4_096}
_ACTION_ROW, _BUTTON, _STRING_SELECT = 1, 2, 3
_LINK, _PREMIUM = 5, 6
_SELECTS = range(_STRING_SELECT, 9)
_SECTION, _TEXT, _THUMBNAIL, _GALLERY, _FILE, _SEPARATOR, _CONTAINER = 9, 10, 11, 12, 13, 14, 17
_OUTERMOST = (_ACTION_ROW, _SECTION, _TEXT, _GALLERY, _FILE, _SEPARATOR, _CONTAINER)
"""Types that stand in a message by themselves."""


def check_content(fields: Fields) -> str | None:
    """Return the text of a message, without the surrounding space that Discord drops."""
    content = fields.text("content")
    if content is None:
        return None
    content = content.replace("\x00", "").strip()
    if len(content) > CONTENT:
        raise too_long(fields.at("content"), CONTENT)
    return content


def check_embeds(fields: Fields) -> tuple[JsonObject, ...]:
    """Return the embeds of a request, within their limits, each of type "rich"."""
    embeds = fields.objects("embeds") or []
    if len(embeds) > EMBEDS:
        raise invalid(fields.at("embeds"), "BASE_TYPE_MAX_LENGTH", f"Must be {EMBEDS} or fewer in length.")
    total = sum(_embed_length(embed) for embed in embeds)
    if total > EMBED_TOTAL:
        raise invalid(
            fields.at("embeds"),
            "MAX_EMBED_SIZE_EXCEEDED",
            f"Embed size exceeds maximum size of {EMBED_TOTAL}",
        )
    return tuple(_as_kept(embed) for embed in embeds)


def _as_kept(embed: Fields) -> JsonObject:
    entries: list[Json] = [{"inline": False, **entry.data} for entry in embed.objects("fields") or []]
    kept: JsonObject = {**embed.data, "type": "rich"}
    if entries:
        kept["fields"] = entries
    return kept


def _embed_length(embed: Fields) -> int:
    length = sum(_bounded(embed, name, limit) for name, limit in _EMBED_TEXTS.items())
    footer, author = embed.object("footer"), embed.object("author")
    length += _bounded(footer, "text", 2_048) if footer else 0
    length += _bounded(author, "name", 256) if author else 0
    entries = embed.objects("fields") or []
    if len(entries) > EMBED_FIELDS:
        raise too_long(embed.at("fields"), EMBED_FIELDS)
    for entry in entries:
        for name, limit in (("name", 256), ("value", 1_024)):
            if not entry.text(name):
                raise required(entry.at(name))
            length += _bounded(entry, name, limit)
    return length


def _bounded(fields: Fields, name: str, limit: int) -> int:
    text = (fields.text(name) or "").strip()
    if len(text) > limit:
        raise too_long(fields.at(name), limit)
    return len(text)


def check_components(fields: Fields, *, version_2: bool) -> tuple[JsonObject, ...]:
    """Return the component rows of a request: at most 5 rows of 5 buttons, custom ids distinct."""
    rows = fields.objects("components") or []
    if version_2:
        return _laid_out(fields, rows)
    if len(rows) > ROWS:
        raise out_of_range(fields.at("components"), 1, ROWS)
    seen: set[str] = set()
    return tuple(_checked_row(row, n, seen) for n, row in enumerate(rows))


def _laid_out(fields: Fields, outermost: list[Fields]) -> tuple[JsonObject, ...]:
    """Return components of version 2: of known types, at most 40 and 4,000 characters in all, custom ids distinct."""
    every = [one for each in outermost for one in _within(each)]
    for one in outermost:
        one.choice("type", _OUTERMOST)
    if len(every) > LAID_OUT:
        raise invalid(fields.at("components"), "MAX_COMPONENTS_EXCEEDED", f"Must be {LAID_OUT} or fewer in total.")
    text = sum(len(one.sized("content", 1, LAID_OUT_TEXT)) for one in every if one.integer("type") == _TEXT)
    if text > LAID_OUT_TEXT:
        why = f"The text of all components must be {LAID_OUT_TEXT} or fewer in length."
        raise invalid(fields.at("components"), "MAX_TEXT_LENGTH_EXCEEDED", why)
    seen: set[str] = set()
    for one in every:
        if one.integer("type") == _ACTION_ROW:
            _checked_row(one, 0, seen)
    numbers = count(1)
    return tuple(_numbered(one, numbers) for one in outermost)


def _within(component: Fields, depth: int = 1) -> Iterator[Fields]:
    """A component with all that is nested in it."""
    if depth > NESTED:
        raise too_long(component.at("components"), 0)
    yield component
    accessory = component.object("accessory")
    for one in (*(component.objects("components") or []), *((accessory,) if accessory else ())):
        yield from _within(one, depth + 1)


def text_of(components: tuple[JsonObject, ...]) -> str:
    """Return the texts of components of version 2, which may mention people as a message's content does."""
    every = (one for each in components for one in _within(Fields(each)))
    return "\n".join(one.text("content") or "" for one in every if one.integer("type") == _TEXT)


def _numbered(component: Fields, numbers: Iterator[int], depth: int = 1) -> JsonObject:
    """Give a component and its children ids where they have none, as Discord does."""
    if depth > NESTED:
        raise too_long(component.at("components"), 0)
    body: JsonObject = {"id": next(numbers), **component.data}
    inner = component.objects("components")
    if inner is not None:
        body["components"] = [_numbered(one, numbers, depth + 1) for one in inner]
    return body


def _checked_row(row: Fields, number: int, seen: set[str]) -> JsonObject:
    row.choice("type", (_ACTION_ROW,))
    inner = row.objects("components") or []
    if not 1 <= len(inner) <= BUTTONS_A_ROW:
        raise out_of_range(row.at("components"), 1, BUTTONS_A_ROW)
    selects = [c for c in inner if c.integer("type") in _SELECTS]
    if selects and len(inner) > 1:
        raise invalid(
            row.at("components"), "COMPONENT_LAYOUT_WIDTH_EXCEEDED", "The specified component exceeds the maximum width"
        )
    checked = [_checked_component(c, number * 5 + n, seen) for n, c in enumerate(inner)]
    return {"type": _ACTION_ROW, "id": number + 1, "components": [*checked]}


def _checked_component(component: Fields, place: int, seen: set[str]) -> JsonObject:
    kind = component.choice("type", (_BUTTON, *_SELECTS))
    style = component.integer("style")
    if kind == _BUTTON and style in (_LINK, _PREMIUM):
        return {**component.data, "id": 100 + place}
    custom_id = component.sized("custom_id", 1, CUSTOM_ID)
    if custom_id in seen:
        raise invalid(
            component.at("custom_id"),
            "COMPONENT_CUSTOM_ID_DUPLICATED",
            "Component custom id cannot be duplicated",
        )
    seen.add(custom_id)
    _bounded(component, "label", 80)
    return {**component.data, "id": 100 + place}


def check_thread_name(fields: Fields) -> str:
    """The name of a thread, 1 to 100 characters."""
    return fields.stripped("name").sized("name", 1, THREAD_NAME)


def check_archive_minutes(fields: Fields, default: int) -> int:
    """Return the minutes after which a quiet thread is archived."""
    if fields.data.get("auto_archive_duration") is None:
        return default
    return fields.choice("auto_archive_duration", ARCHIVE_MINUTES)
