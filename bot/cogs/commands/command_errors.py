"""What is said when a command fails: one handler, for slash commands and for those with the prefix; pure but for the log.

Whoever used it reads what was wrong, which argument it was, and how it is used.  What is our own fault gets an id that
stands in the answer and in the log, so that the operator finds the one by the other.
"""

from __future__ import annotations

import difflib
import logging
import secrets
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from discord import app_commands
from discord.ext import commands

from agentic.ports.errors import AgenticError
from bot.access.thread_access import OutOfReach
from bot.config.preferences import UnknownChoice
from bot.messages.error_text import Attempted, error_text
from bot.rendering.discord_text import inline
from reflexion.errors import ReflexionError

STALE = "Discord showed you an old version of my commands. Reload Discord (Ctrl+R), then choose `/{name}` again."
NOT_ALLOWED = "You're not allowed to use `{name}` here. An operator of this server can change that."
IN_A_SERVER = "`{name}` works in a server, not in a direct message. Use it in the thread of a task."
IN_A_DM = "`{name}` works in a direct message to me, not here."
TOO_FAST = "That was too fast. Try `{name}` again in {seconds:.0f} s."

log = logging.getLogger(__name__)


class UnknownSubcommand(commands.UserInputError):
    """A group was given a word that is none of its commands."""

    def __init__(self, given: str, known: Iterable[str]) -> None:
        self.given, self.known = given, tuple(known)
        super().__init__(given)


@dataclass(frozen=True, slots=True)
class UsedCommand:
    """How a command was used: its whole name, a line that shows how it is used right, the argument that was read last."""

    name: str
    example: str
    argument: str = ""


EXAMPLES: Mapping[str, str] = {
    "logs": "logs lines:50",
    "cost": "cost of:people",
    "model": "model name:tier3 scope:thread",
    "search": "search words:login timeout",
    "retry": "retry turn:2",
    "resume": "resume checkpoint:9262b5",
    "fork": "fork checkpoint:9262b5",
    "help": "help command:workspace",
    "workspace list": "workspace list path:src",
    "repo attach": "repo attach repository:owner/name",
    "repo account": "repo account host:github.com",
    "mcp agree": "mcp agree tool:tracker/search",
    "mcp login": "mcp login server:tracker",
    "skills show": "skills show name:release-notes",
    "skills approve": "skills approve name:release-notes",
    "skills remove": "skills remove name:release-notes",
    "workspace get": "workspace get path:report.csv",
    "memory show": "memory show fact:f0123456",
    "memory approve": "memory approve fact:f0123456",
    "memory forget": "memory forget fact:f0123456",
    "lessons list": "lessons list status:waiting page:2",
    "lessons show": "lessons show lesson:l0123456789a",
    "lessons approve": "lessons approve lesson:l0123456789a",
    "lessons retire": "lessons retire lesson:l0123456789a",
    "lessons edit": "lessons edit lesson:l0123456789a action:Run the tests before you answer.",
    "role show": "role show name:code-reviewer",
    "role edit": "role edit name:code-reviewer",
    "role remove": "role remove name:security-reviewer",
    "rules show": "rules show name:house-style",
    "rules add": "rules add scope:server",
    "rules edit": "rules edit name:house-style scope:server",
    "rules remove": "rules remove name:house-style scope:server",
    "schedule add": "schedule add when:every Monday at 9 task:look for failing tests",
    "schedule list": "schedule list page:2",
    "schedule run": "schedule run schedule:1",
    "schedule pause": "schedule pause schedule:1",
    "schedule resume": "schedule resume schedule:1",
    "schedule delete": "schedule delete schedule:1",
    "settings set": "settings set name:verbosity value:quiet scope:channel",
    "settings reset": "settings reset name:verbosity scope:channel",
}
"""How each command that takes something is used, as slash commands are written."""


def example_of(name: str, prefix: str) -> str:
    """A line that shows how the command is used: with the prefix the words alone, in their order."""
    shown = EXAMPLES.get(name, name)
    if prefix == "/":
        return f"/{shown}"
    words = [word.partition(":")[2] or word for word in shown.removeprefix(name).split()]
    return " ".join([f"{prefix}{name}", *words])


def command_error_text(error: Exception, used: UsedCommand) -> str:
    """What a person can do about a failed command; what is our fault goes to the log, under an id."""
    error = _cause(error)
    match error:
        case OutOfReach() | UnknownChoice():
            return str(error)
        case UnknownSubcommand():
            near = nearest(error.given, error.known)
            meant = f" Did you mean `{used.name} {near}`?" if near else ""
            return f"`{used.name}` has no {inline(error.given)}.{meant} It can be: {', '.join(error.known)}."
        case commands.UserInputError() | app_commands.TransformerError():
            return f"{_wrong(error, used)} For example: `{used.example}`"
        case commands.NoPrivateMessage() | app_commands.NoPrivateMessage():
            return IN_A_SERVER.format(name=used.name)
        case commands.PrivateMessageOnly():
            return IN_A_DM.format(name=used.name)
        case commands.CheckFailure() | app_commands.CheckFailure():
            return NOT_ALLOWED.format(name=used.name)
        case commands.CommandOnCooldown() | app_commands.CommandOnCooldown():
            return TOO_FAST.format(name=used.name, seconds=max(error.retry_after, 1))
        case app_commands.CommandNotFound() | app_commands.CommandSignatureMismatch():
            return STALE.format(name=used.name)
        case AgenticError() | ReflexionError():
            log.warning("command %s: %s", used.name, error)
            return error_text(Attempted.COMMAND, error)
        case _:
            id = secrets.token_hex(4)
            log.error("fault %s: command %s failed", id, used.name, exc_info=error)
            return error_text(Attempted.COMMAND, error, id=id)


def nearest(given: str, known: Iterable[str]) -> str:
    """The known name that is most like what was written, '' where none is."""
    found = difflib.get_close_matches(given.lower(), list(known), n=1, cutoff=0.65)
    return found[0] if found else ""


def _cause(error: Exception) -> Exception:
    """What really went wrong, out of what discord.py wrapped around it."""
    while isinstance(
        error, commands.CommandInvokeError | app_commands.CommandInvokeError | commands.HybridCommandError
    ):
        error = error.original
    if isinstance(error, app_commands.TransformerError) and isinstance(error.__cause__, OutOfReach | UnknownChoice):
        return error.__cause__
    return error


def _wrong(error: Exception, used: UsedCommand) -> str:
    """Which argument it was, and what may stand there."""
    match error:
        case commands.MissingRequiredArgument():
            return f"`{used.name}` needs `{error.param.displayed_name or error.param.name}`."
        case commands.TooManyArguments():
            return f"`{used.name}` takes fewer words than that; put quotes around one with spaces."
        case commands.BadLiteralArgument():
            said = f"{inline(error.argument)} cannot be" if error.argument else "That cannot be"
            return f"{said} `{error.param.name}`. It can be: {', '.join(map(str, error.literals))}."
        case commands.RangeError():
            return f"`{used.argument or 'the number'}` must be {_range(error)}, not {inline(str(error.value))}."
        case commands.BadArgument():
            return f"I did not understand `{used.argument or 'an argument'}`."
        case commands.ArgumentParsingError():
            return "The quotes in that don't match."
        case app_commands.TransformerError():
            return f"{inline(str(error.value))} cannot be used here."
        case _:
            return f"I didn't understand that use of `{used.name}`."


def _range(error: commands.RangeError) -> str:
    if error.minimum is not None and error.maximum is not None:
        return f"from {error.minimum} to {error.maximum}"
    return f"at least {error.minimum}" if error.minimum is not None else f"at most {error.maximum}"
