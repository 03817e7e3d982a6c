"""Options of slash commands: how they may be defined, and which values they take.

Discord checks a person's values before the bot receives them, so a bot never gets a number that is out of range.
https://discord.com/developers/docs/interactions/application-commands#application-command-object
"""

from __future__ import annotations

import re
from enum import IntEnum

from bot.local_discord.model.errors import ApiError, invalid, out_of_range, required, too_long
from bot.local_discord.model.json_fields import Fields, Json, JsonObject, is_snowflake


class Option(IntEnum):
    """https://discord.com/developers/docs/interactions/application-commands#application-command-object-application-command-option-type"""

    SUBCOMMAND = 1
    GROUP = 2
    STRING = 3
    INTEGER = 4
    BOOLEAN = 5
    USER = 6
    CHANNEL = 7
    ROLE = 8
    MENTIONABLE = 9
    NUMBER = 10
    ATTACHMENT = 11


NESTED = (Option.SUBCOMMAND, Option.GROUP)
LONGEST_TEXT = 6_000
LARGEST_NUMBER = 2**53
CHOICES = 25
_COMPLETED = (Option.STRING, Option.INTEGER, Option.NUMBER)
_NAME = re.compile(r"^[-_'\w]{1,32}$")


def is_name(name: str) -> bool:
    """Whether this is a valid name of a command or option."""
    return bool(_NAME.match(name)) and name == name.lower()


# -- defining -------------------------------------------------------------------------------------


def check_options(fields: Fields) -> None:
    """Check the options of a command that is being registered, with their nested ones."""
    options = fields.objects("options") or []
    if len(options) > CHOICES:
        raise out_of_range(fields.at("options"), 0, CHOICES)
    names: set[str] = set()
    optional = False
    for option in options:
        name = option.text("name") or ""
        if not is_name(name):
            raise invalid(option.at("name"), "APPLICATION_COMMAND_INVALID_NAME", "Command name is invalid")
        if name in names:
            message = "Option names must be unique"
            raise invalid(option.at("name"), "APPLICATION_COMMAND_OPTIONS_NAME_INVALID", message)
        names.add(name)
        option.sized("description", 1, 100)
        _check_kind(option)
        if option.flag("required") and optional:
            message = "Required options must be placed before non-required options"
            raise invalid(option.at("required"), "APPLICATION_COMMAND_OPTIONS_REQUIRED_INVALID", message)
        optional = optional or not option.flag("required")
        check_options(option)


def _check_kind(option: Fields) -> None:
    kind = option.choice("type", Option)
    choices = option.objects("choices") or []
    if option.flag("autocomplete") and (choices or kind not in _COMPLETED):
        message = "Autocomplete options can not have choices, and must be a text or a number"
        raise invalid(option.at("autocomplete"), "APPLICATION_COMMAND_OPTIONS_AUTOCOMPLETE_INVALID", message)
    check_choices(choices, option.at("choices"))


def check_choices(choices: list[Fields], path: tuple[str, ...]) -> None:
    """Check choices, whether registered with an option or suggested while somebody types."""
    if len(choices) > CHOICES:
        raise out_of_range(path, 0, CHOICES)
    for choice in choices:
        choice.sized("name", 1, 100)
        value = choice.data.get("value")
        if value is None:
            raise required(choice.at("value"))
        if isinstance(value, str) and len(value) > 100:
            raise too_long(choice.at("value"), 100)


# -- using ----------------------------------------------------------------------------------------


def level_of(command: Fields, path: list[str]) -> Fields:
    """Return the part of a command that has the options: itself, or its subcommand."""
    level = command
    for name in path:
        nested = [o for o in level.objects("options") or [] if o.integer("type") in NESTED]
        found = next((o for o in nested if o.text("name") == name), None)
        if found is None:
            raise LookupError(f"{level.text('name')!r} has no subcommand {name!r}.")
        level = found
    below = [str(o.text("name")) for o in level.objects("options") or [] if o.integer("type") in NESTED]
    if below:
        raise LookupError(f"{level.text('name')!r} needs one of its subcommands: {', '.join(below)}.")
    return level


def filled_in(level: Fields, values: dict[str, Json], *, focused: str | None = None) -> list[Json]:
    """Return the options of an interaction; while somebody still types (`focused`), some may be missing and unfinished."""
    known = {str(o.text("name")): o for o in level.objects("options") or []}
    for name in values:
        if name not in known:
            message = f"There is no option {name!r}; there are: {', '.join(known) or 'none'}."
            raise invalid((name,), "APPLICATION_COMMAND_INVALID_OPTION", message)
    if focused is not None:
        return [_typing(known[name], name, value, focused) for name, value in values.items()]
    for name, option in known.items():
        if option.flag("required") and name not in values:
            raise required((name,))
    return [
        {"name": name, "type": known[name].integer("type"), "value": _checked(known[name], name, value)}
        for name, value in values.items()
    ]


def _typing(option: Fields, name: str, value: Json, focused: str) -> JsonObject:
    body: JsonObject = {"name": name, "type": option.integer("type")}
    # what is being typed comes as text, whatever the option's type: it need not be a number yet
    return body | ({"value": str(value), "focused": True} if name == focused else {"value": value})


def _checked(option: Fields, name: str, value: Json) -> Json:
    match option.integer("type"):
        case Option.STRING:
            found: Json = _text(option, name, value)
        case Option.INTEGER:
            if isinstance(value, bool) or not isinstance(value, int):
                raise invalid((name,), "NUMBER_TYPE_COERCE", f'Value "{value}" is not int.')
            found = _in_range(option, name, value)
        case Option.NUMBER:
            if isinstance(value, bool) or not isinstance(value, (int, float)):
                raise invalid((name,), "NUMBER_TYPE_COERCE", f'Value "{value}" is not float.')
            found = _in_range(option, name, value)
        case Option.BOOLEAN:
            if not isinstance(value, bool):
                raise invalid((name,), "BOOLEAN_TYPE_CONVERT", "Must be either true or false.")
            return value
        case _:
            if not isinstance(value, (str, int)) or not is_snowflake(str(value)):
                raise invalid((name,), "NUMBER_TYPE_COERCE", f'Value "{value}" is not snowflake.')
            return str(value)
    _check_choice(option, name, found)
    return found


def _text(option: Fields, name: str, value: Json) -> str:
    if not isinstance(value, str):
        raise invalid((name,), "STRING_TYPE_CONVERT", "Could not interpret value as string.")
    check_length(option, name, value, LONGEST_TEXT)
    return value


def check_length(asked: Fields, name: str, value: str, longest: int) -> None:
    """Check a person's text against the length that the bot set in an option or a field of a form."""
    low, high = asked.integer("min_length") or 0, asked.integer("max_length") or longest
    if len(value) > high:
        raise too_long((name,), high)
    if len(value) < low:
        raise invalid((name,), "BASE_TYPE_MIN_LENGTH", f"Must be {low} or more in length.")


def _in_range(option: Fields, name: str, value: float) -> float:
    low = _bound(option, "min_value", -LARGEST_NUMBER)
    high = _bound(option, "max_value", LARGEST_NUMBER)
    if value > high:
        raise invalid((name,), "NUMBER_TYPE_MAX", f"Value should be less than or equal to {high}.")
    if value < low:
        raise invalid((name,), "NUMBER_TYPE_MIN", f"Value should be greater than or equal to {low}.")
    return value


def _bound(option: Fields, name: str, default: float) -> float:
    found = option.data.get(name)
    return found if isinstance(found, (int, float)) else default


def _check_choice(option: Fields, name: str, value: Json) -> None:
    choices = [c.data.get("value") for c in option.objects("choices") or []]
    if choices and value not in choices:
        listed = ", ".join(str(c) for c in choices)
        raise invalid((name,), "BASE_TYPE_CHOICES", f"Value must be one of {{{listed}}}.")


def unfinished(level: Fields, name: str) -> None:
    """Refuse to complete an option that has no completion."""
    option = next((o for o in level.objects("options") or [] if o.text("name") == name), None)
    if option is None or not option.flag("autocomplete"):
        raise ApiError(400, 50035, f"The option {name!r} is not completed by the bot.")
