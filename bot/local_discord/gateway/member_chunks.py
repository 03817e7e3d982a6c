"""Answer a client's request for members, in chunks.

https://discord.com/developers/docs/events/gateway-events#request-guild-members
"""

from __future__ import annotations

from bot.local_discord.model.json_fields import Fields, Json, JsonObject
from bot.local_discord.model.records import Member
from bot.local_discord.model.state import GuildState
from bot.local_discord.payloads import guild_payloads

CHUNK = 1_000
MOST_FOUND = 100
NONCE_BYTES = 32


def asks_for_all(fields: Fields) -> bool:
    """Whether all members are requested, which has a limit of its own."""
    return fields.data.get("user_ids") is None and not fields.text("query") and not fields.integer("limit")


def rate_limited(fields: Fields, seconds: float) -> JsonObject:
    """https://discord.com/developers/docs/events/gateway-events#rate-limited"""
    meta: JsonObject = {"guild_id": str(fields.snowflake("guild_id"))} | _nonce(fields)
    return {"opcode": 8, "retry_after": round(seconds, 3), "meta": meta}


def _nonce(fields: Fields) -> JsonObject:
    nonce = fields.text("nonce")
    return {"nonce": nonce} if nonce is not None and len(nonce.encode()) <= NONCE_BYTES else {}


def chunks(state: GuildState, fields: Fields) -> list[JsonObject]:
    """Return the chunks for one request; none for a guild that is not this one."""
    if fields.snowflake("guild_id") != state.identity.guild_id:
        return []
    found, missing = _found(state, fields)
    parts = [found[n : n + CHUNK] for n in range(0, len(found), CHUNK)] or [[]]
    extra = _nonce(fields)
    return [_chunk(state, part, n, len(parts), missing if n == 0 else []) | extra for n, part in enumerate(parts)]


def _chunk(state: GuildState, part: list[Member], index: int, count: int, missing: list[Json]) -> JsonObject:
    return {
        "guild_id": str(state.identity.guild_id),
        "members": [guild_payloads.member(m) for m in part],
        "chunk_index": index,
        "chunk_count": count,
        "not_found": missing,
    }


def _found(state: GuildState, fields: Fields) -> tuple[list[Member], list[Json]]:
    wanted = fields.data.get("user_ids")
    if wanted is not None:
        ids = Fields({"user_ids": wanted if isinstance(wanted, list) else [wanted]}).snowflakes("user_ids")[:MOST_FOUND]
        return [state.members[i] for i in ids if i in state.members], [str(i) for i in ids if i not in state.members]
    query, limit = (fields.text("query") or "").lower(), fields.integer("limit") or 0
    found = [m for m in state.members.values() if m.name.lower().startswith(query)]
    if query or limit:
        found = found[: min(limit or MOST_FOUND, MOST_FOUND)]
    return found, []
