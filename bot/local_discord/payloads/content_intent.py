"""Messages as a bot without the MESSAGE_CONTENT intent receives them.

Content, embeds, attachments and components are empty, polls missing, except in its own messages and in those
that mention it: https://discord.com/developers/docs/events/gateway#message-content-intent
"""

from __future__ import annotations

from bot.local_discord.model.json_fields import Json, JsonObject


def for_viewer(message: JsonObject, viewer: int, *, sees_content: bool) -> JsonObject:
    """Return the message's payload as `viewer` may see it."""
    if sees_content or _is_exempt(message, str(viewer)):
        return message
    redacted = message | {"content": "", "embeds": [], "attachments": [], "components": []}
    redacted.pop("poll", None)
    referenced = redacted.get("referenced_message")
    if isinstance(referenced, dict):
        redacted["referenced_message"] = for_viewer(referenced, viewer, sees_content=False)
    return redacted


def _is_exempt(message: JsonObject, viewer: str) -> bool:
    mentions = message.get("mentions")
    mentioned = mentions if isinstance(mentions, list) else []
    return _id_of(message.get("author")) == viewer or viewer in map(_id_of, mentioned)


def _id_of(user: Json) -> Json:
    return user.get("id") if isinstance(user, dict) else None
