"""Nonsense in any field is refused as Discord refuses it; the server itself never fails."""

from __future__ import annotations

import random

import pytest

from bot.local_discord import LocalGuild
from tests.integration.local_discord.harness import Raw
from tests.integration.local_discord.shapes import keeps_to

INSIDE = {
    "": [
        "content", "nonce", "enforce_nonce", "embeds", "allowed_mentions", "message_reference", "components", "flags", "tts",
        "attachments", "name", "type", "archived", "locked", "auto_archive_duration", "topic", "messages", "description",
        "options",
    ],
    "embeds": ["title", "description", "fields", "footer", "author", "color", "url", "timestamp"],
    "fields": ["name", "value", "inline"],
    "footer": ["text"],
    "author": ["name"],
    "allowed_mentions": ["parse", "users", "roles", "replied_user"],
    "message_reference": ["message_id", "channel_id", "fail_if_not_exists", "type"],
    "components": ["type", "components", "custom_id", "style", "label", "options", "disabled", "url"],
    "attachments": ["id", "filename", "description"],
    "options": ["name", "description", "type", "required", "options", "choices"],
}  # fmt: skip
VALUES = [
    None, True, False, 0, -1, 1, 4, 1 << 15, 1 << 70, 1.5, 1e308, "", "x", "1", "-1", "²", "٣", "9" * 30, "\x00", "\ud800",
    "x" * 2001, [], {}, [None], ["x"], ["²"], [1], [[]], [{}], "users", ["users"],
]  # fmt: skip


def nonsense(rng: random.Random, name: str = "", depth: int = 0) -> object:
    """A JSON value that is like what is expected under a name, and wrong."""
    if rng.random() < (0.25 if name in INSIDE else 0.9) or depth > 4:
        return rng.choice(VALUES)
    inner = INSIDE.get(name, INSIDE[""])
    one = {key: nonsense(rng, key, depth + 1) for key in rng.sample(inner, rng.randrange(1, min(len(inner), 4) + 1))}
    if name in ("embeds", "fields", "components", "attachments", "options"):
        return [one | {"type": rng.choice([1, 2, 3, "1"])}] * rng.randrange(1, 3)
    return one


@pytest.mark.parametrize("seed", range(6))
async def test_nonsense_is_refused_and_never_an_error_of_the_server(raw: Raw, guild: LocalGuild, seed: int) -> None:
    rng = random.Random(seed)
    guild.limit_requests(100_000)
    thread = await guild.create_thread(guild.channel().id, "t")
    sent = await raw.post(content="x")
    commands = f"/applications/{guild.bot_user_id}/commands"
    one = f"{raw.messages}/{sent['id']}"
    channel = f"/channels/{guild.channel().id}"
    addresses = [
        ("POST", raw.messages), ("PATCH", one), ("POST", one + "/threads"), ("POST", channel + "/threads"),
        ("PATCH", f"/channels/{thread.id}"), ("POST", f"{raw.messages}/bulk-delete"), ("PUT", commands), ("POST", commands),
        ("GET", f"{raw.messages}?before={rng.choice(['²', 'x', '-1', ''])}"),
        ("GET", f"{raw.messages}?limit={rng.choice(['²', '0', 'x'])}"),
    ]  # fmt: skip
    for _ in range(150):
        method, path = rng.choice(addresses)
        body = [nonsense(rng)] if rng.random() < 0.1 else nonsense(rng)
        if method == "GET":
            body = None
        status, answer, _ = await raw(method, path, body)
        assert status < 500, (method, path, body)
        if status >= 400:
            keeps_to(answer, "rate_limited" if status == 429 else "error")


async def test_endless_nesting_is_50109(raw: Raw, guild: LocalGuild) -> None:
    headers = {"Content-Type": "application/json", "Authorization": f"Bot {guild.bot_token}"}
    for text in (b"[" * 200_000, b'{"content": NaN}', b"\xff\xfe", b'{"content": "x"'):
        async with raw.session.post(guild.rest_base + raw.messages, data=text, headers=headers) as response:
            assert (response.status, (await response.json())["code"]) == (400, 50109)
