"""The local guild's errors: Discord's codes, in Discord's words.

  ApiError            a REST refusal: HTTP status, JSON code, message, nested form errors
  RateLimitedError    a REST refusal with 429 and the seconds to wait

Texts: https://discord.com/developers/docs/topics/opcodes-and-status-codes#json-json-error-codes Shape:
https://discord.com/developers/docs/reference#error-messages
"""

from __future__ import annotations

from typing import TypeAlias

from pydantic import JsonValue

JsonObject: TypeAlias = dict[str, JsonValue]


class ApiError(Exception):
    """A request that Discord would refuse, with the body it would send."""

    def __init__(self, status: int, code: int, message: str, errors: JsonObject | None = None) -> None:
        super().__init__(f"{status} {code}: {message}")
        self.status = status
        self.code = code
        self.message = message
        self.errors = errors

    def body(self) -> JsonObject:
        """The JSON body of the refusal."""
        body: JsonObject = {"message": self.message, "code": self.code}
        if self.errors is not None:
            body["errors"] = self.errors
        return body


class RateLimitedError(ApiError):
    """A request over its rate limit; says how long to wait."""

    def __init__(
        self, retry_after: float, *, is_global: bool = False, scope: str = "user", code: int = 0, message: str = ""
    ) -> None:
        default = "The resource is being rate limited." if scope == "shared" else "You are being rate limited."
        super().__init__(429, code, message or default)
        self.retry_after = retry_after
        self.is_global = is_global
        self.scope = "global" if is_global else scope

    def body(self) -> JsonObject:
        body: JsonObject = {
            "message": self.message,
            "retry_after": round(self.retry_after, 3),
            "global": self.is_global,
        }
        return body | {"code": self.code} if self.code else body


def invalid(path: tuple[str, ...], code: str, message: str) -> ApiError:
    """50035 for one field: the nested `errors` object leads along `path` to the reason."""
    errors: JsonObject = {"_errors": [{"code": code, "message": message}]}
    for name in reversed(path):
        errors = {name: errors}
    return ApiError(400, 50035, "Invalid Form Body", errors)


def too_long(path: tuple[str, ...], limit: int) -> ApiError:
    """50035: a text over its limit."""
    return invalid(path, "BASE_TYPE_MAX_LENGTH", f"Must be {limit} or fewer in length.")


def out_of_range(path: tuple[str, ...], low: int, high: int) -> ApiError:
    """50035: a text or list whose length is outside its bounds."""
    return invalid(path, "BASE_TYPE_BAD_LENGTH", f"Must be between {low} and {high} in length.")


def required(path: tuple[str, ...]) -> ApiError:
    """50035: a required field is missing."""
    return invalid(path, "BASE_TYPE_REQUIRED", "This field is required")


def legacy_fields(name: str, path: tuple[str, ...] | None = None) -> ApiError:
    """50035: text or embeds in a message whose components are of version 2."""
    text = f"The '{name}' field cannot be used when using MessageFlags.IS_COMPONENTS_V2"
    return invalid(path or (name,), "MESSAGE_CANNOT_USE_LEGACY_FIELDS_WITH_COMPONENTS_V2", text)


def unknown(what: str) -> ApiError:
    """404 for a thing that does not exist (or no longer)."""
    codes = {
        "Channel": 10003,
        "Guild": 10004,
        "Member": 10007,
        "Message": 10008,
        "Role": 10011,
        "User": 10013,
        "Emoji": 10014,
        "Webhook": 10015,
        "Interaction": 10062,
        "Application Command": 10063,
    }
    label = what if what != "Interaction" else "interaction"
    return ApiError(404, codes[what], f"Unknown {label}")


def missing_access() -> ApiError:
    """The channel cannot be seen."""
    return ApiError(403, 50001, "Missing Access")


def missing_permissions() -> ApiError:
    """The channel can be seen, but the action is not allowed."""
    return ApiError(403, 50013, "Missing Permissions")


def thread_archived() -> ApiError:
    """The thread must be unarchived first."""
    return ApiError(400, 50083, "Thread is archived")


def empty_message() -> ApiError:
    """A message without text, embed, file or component."""
    return ApiError(400, 50006, "Cannot send an empty message")


def too_large() -> ApiError:
    """A file or a request over its size limit."""
    return ApiError(413, 40005, "Request entity too large")


def too_many_old_edits(retry_after: float) -> ApiError:
    """Messages over an hour old were edited too often."""
    text = "Maximum number of edits to messages older than 1 hour reached. Try again later."
    return RateLimitedError(retry_after, code=30046, message=text)


def too_many_creates(number: int) -> ApiError:
    """Too many commands were created today."""
    return ApiError(400, 30034, f"Maximum number of daily application command creates reached ({number}).")
