"""Each refusal of the REST API: status, code, words and shape.

https://discord.com/developers/docs/topics/opcodes-and-status-codes#json-json-error-codes
https://discord.com/developers/docs/reference#error-messages
"""

from __future__ import annotations

import io

import aiohttp
import pytest

from bot.local_discord import (
    ApiError,
    LocalGuild,
    RateLimited,
    Reset,
    Rule,
)
from bot.local_discord.model.permission_flags import Permission
from tests.integration.local_discord.harness import Raw
from tests.integration.local_discord.shapes import keeps_to

NOBODY = 1_000_000_000_000_000_000


async def refused(raw: Raw, method: str, path: str, body: object = None) -> tuple[int, int]:
    status, answer, _ = await raw(method, path, body)
    keeps_to(answer, "error")
    return status, answer["code"]


async def test_a_wrong_token_is_401(raw: Raw) -> None:
    status, answer, _ = await raw("GET", "/users/@me", token="wrong")
    assert (status, answer) == (401, {"message": "401: Unauthorized", "code": 0})


async def test_what_does_not_exist_is_404_with_its_own_code(raw: Raw, guild: LocalGuild) -> None:
    assert await refused(raw, "GET", f"/channels/{NOBODY}") == (404, 10003)
    assert await refused(raw, "POST", f"/channels/{NOBODY}/messages", {"content": "x"}) == (404, 10003)
    assert await refused(raw, "GET", f"{raw.messages}/{NOBODY}") == (404, 10008)
    assert await refused(raw, "PATCH", f"{raw.messages}/{NOBODY}", {"content": "x"}) == (404, 10008)
    assert await refused(raw, "GET", f"/guilds/{NOBODY}") == (404, 10004)
    assert await refused(raw, "GET", f"/guilds/{guild.guild_id}/members/{NOBODY}") == (404, 10007)
    assert await refused(raw, "GET", f"/users/{NOBODY}") == (404, 10013)
    assert await refused(raw, "POST", f"/interactions/{NOBODY}/nothing/callback", {"type": 6}) == (404, 10062)
    assert await refused(raw, "POST", f"/webhooks/{guild.bot_user_id}/nothing", {"content": "x"}) == (404, 10015)
    assert await refused(raw, "GET", "/nowhere") == (404, 0)


async def test_a_deleted_thread_is_an_unknown_channel(raw: Raw, guild: LocalGuild) -> None:
    thread = await guild.create_thread(guild.channel().id, "short")
    await guild.delete_channel(thread.id)
    assert await refused(raw, "POST", f"/channels/{thread.id}/messages", {"content": "x"}) == (404, 10003)


LONG = {"code": "BASE_TYPE_MAX_LENGTH"}
BUTTON = {"type": 2, "style": 1, "label": "b"}


def row(*ids: str) -> dict[str, object]:
    return {"type": 1, "components": [BUTTON | {"custom_id": i} for i in ids]}


@pytest.mark.parametrize(
    ("body", "path", "code"),
    [
        ({"content": "x" * 2001}, "content", "BASE_TYPE_MAX_LENGTH"),
        ({"content": ["x"]}, "content", "STRING_TYPE_CONVERT"),
        ({"content": "x", "tts": "x", "flags": "x"}, "flags", "NUMBER_TYPE_COERCE"),
        ({"content": "x", "nonce": "n" * 26}, "nonce", "BASE_TYPE_MAX_LENGTH"),
        ({"embeds": [{"title": "t"}] * 11}, "embeds", "BASE_TYPE_MAX_LENGTH"),
        ({"embeds": [{"title": "t" * 257}]}, "embeds.0.title", "BASE_TYPE_MAX_LENGTH"),
        ({"embeds": [{"description": "d" * 4097}]}, "embeds.0.description", "BASE_TYPE_MAX_LENGTH"),
        ({"embeds": [{"footer": {"text": "f" * 2049}}]}, "embeds.0.footer.text", "BASE_TYPE_MAX_LENGTH"),
        ({"embeds": [{"fields": [{"name": "n", "value": "v" * 1025}]}]}, "embeds.0.fields.0.value", "BASE_TYPE_MAX_LENGTH"),
        ({"embeds": [{"fields": [{"name": "n"}]}]}, "embeds.0.fields.0.value", "BASE_TYPE_REQUIRED"),
        ({"embeds": [{"fields": [{"name": "n", "value": "v"}] * 26}]}, "embeds.0.fields", "BASE_TYPE_MAX_LENGTH"),
        ({"embeds": [{"description": "d" * 3001}] * 2}, "embeds", "MAX_EMBED_SIZE_EXCEEDED"),
        ({"components": [row("a")] * 6}, "components", "BASE_TYPE_BAD_LENGTH"),
        ({"components": [row(*"abcdef")]}, "components.0.components", "BASE_TYPE_BAD_LENGTH"),
        ({"components": [row("")]}, "components.0.components.0.custom_id", "BASE_TYPE_BAD_LENGTH"),
        ({"components": [row("c" * 101)]}, "components.0.components.0.custom_id", "BASE_TYPE_BAD_LENGTH"),
        ({"components": [row("a", "a")]}, "components.0.components.1.custom_id", "COMPONENT_CUSTOM_ID_DUPLICATED"),
        ({"components": [{"type": 1, "components": [BUTTON]}]}, "components.0.components.0.custom_id", "BASE_TYPE_REQUIRED"),
        (
            {"content": "x", "flags": 1 << 15},
            "content",
            "MESSAGE_CANNOT_USE_LEGACY_FIELDS_WITH_COMPONENTS_V2",
        ),
        ({"content": "x", "message_reference": {"message_id": str(NOBODY)}}, "message_reference", "REPLIES_UNKNOWN_MESSAGE"),
        ({"content": "x", "allowed_mentions": {"users": ["x"]}}, "allowed_mentions.users.0", "NUMBER_TYPE_COERCE"),
        ({"content": "x", "allowed_mentions": {"parse": ["all"]}}, "allowed_mentions.parse.0", "BASE_TYPE_CHOICES"),
    ],
)  # fmt: skip
async def test_a_bad_message_is_50035_with_the_path_of_the_field(
    raw: Raw, guild: LocalGuild, body: dict[str, object], path: str, code: str
) -> None:
    status, answer, _ = await raw("POST", raw.messages, body)
    keeps_to(answer, "error")
    assert (status, answer["code"], answer["message"]) == (400, 50035, "Invalid Form Body")
    node = answer["errors"]
    for name in path.split("."):
        node = node[name]
    assert [e["code"] for e in node["_errors"]] == [code]
    assert all(e["message"] for e in node["_errors"])
    assert guild.messages(guild.channel().id) == [], "nothing was posted"


@pytest.mark.parametrize("body", [{}, {"content": ""}, {"content": " \n\t"}, {"content": None, "embeds": []}])
async def test_an_empty_message_is_50006(raw: Raw, body: dict[str, object]) -> None:
    assert await refused(raw, "POST", raw.messages, body) == (400, 50006)


async def test_a_file_over_10_mib_is_40005(raw: Raw, guild: LocalGuild) -> None:
    for size, expected in ((10 * 1024 * 1024, 200), (10 * 1024 * 1024 + 1, 413)):
        form = aiohttp.FormData(quote_fields=False)
        form.add_field("files[0]", io.BytesIO(b"x" * size), filename="big.bin")
        status, answer, _ = await raw("POST", raw.messages, data=form)
        assert status == expected
    assert answer["code"] == 40005
    assert len(guild.messages(guild.channel().id)) == 1


async def test_a_request_over_25_mib_is_40005_and_leaves_the_connection_usable(raw: Raw, guild: LocalGuild) -> None:
    form = aiohttp.FormData(quote_fields=False)
    for n in range(3):
        form.add_field(f"files[{n}]", io.BytesIO(b"x" * (9 * 1024 * 1024)), filename=f"{n}.bin")
    status, answer, _ = await raw("POST", raw.messages, data=form)
    assert (status, answer["code"]) == (413, 40005)
    await raw.post(content="still here")
    assert [m.content for m in guild.messages(guild.channel().id)] == ["still here"]


async def test_an_eleventh_file_is_30015_and_a_role_that_is_gone_10011(raw: Raw, guild: LocalGuild) -> None:
    form = aiohttp.FormData(quote_fields=False)
    for n in range(11):
        form.add_field(f"files[{n}]", b"x", filename=f"{n}.txt")
    status, answer, _ = await raw("POST", raw.messages, data=form)
    assert (status, answer["code"]) == (400, 30015)
    assert guild.messages(guild.channel().id) == []
    with pytest.raises(ApiError, match="10011"):
        guild.remove_role(NOBODY)


async def test_thread_names_archive_times_and_second_threads(raw: Raw, guild: LocalGuild) -> None:
    message = await guild.post(guild.channel().id, "x")
    path = f"{raw.messages}/{message.id}/threads"
    for body in ({"name": ""}, {"name": "n" * 101}, {}, {"name": "n", "auto_archive_duration": 61}):
        assert await refused(raw, "POST", path, body) == (400, 50035)
    assert (await raw("POST", path, {"name": "n" * 100}))[0] == 201
    assert await refused(raw, "POST", path, {"name": "n"}) == (400, 160004)
    inside = await guild.post(message.id, "inside")
    nested = f"/channels/{message.id}/messages/{inside.id}/threads"
    assert await refused(raw, "POST", nested, {"name": "n"}) == (400, 50024)


async def test_the_21st_kind_of_reaction_is_30010(raw: Raw) -> None:
    sent = await raw.post(content="x")
    base = f"{raw.messages}/{sent['id']}/reactions"
    kinds = [chr(0x1F600 + n) for n in range(21)]
    for kind in kinds[:20]:
        assert (await raw("PUT", f"{base}/{kind}/@me"))[0] == 204
    assert await refused(raw, "PUT", f"{base}/{kinds[20]}/@me") == (400, 30010)
    assert (await raw("PUT", f"{base}/{kinds[0]}/@me"))[0] == 204, "a kind that is there may be repeated"
    assert await refused(raw, "PUT", f"{base}/word/@me") == (404, 10014)


@pytest.mark.parametrize(
    ("right", "method", "path", "body"),
    [
        (Permission.SEND_MESSAGES, "POST", "/messages", {"content": "x"}),
        (Permission.EMBED_LINKS, "POST", "/messages", {"embeds": [{"title": "x"}]}),
        (Permission.SEND_MESSAGES, "POST", "/typing", None),
        (Permission.CREATE_PUBLIC_THREADS, "POST", "/messages/{message}/threads", {"name": "x"}),
        (Permission.READ_MESSAGE_HISTORY, "GET", "/messages/{message}", None),
        (Permission.READ_MESSAGE_HISTORY, "PUT", "/messages/{message}/reactions/👍/@me", None),
        (Permission.ADD_REACTIONS, "PUT", "/messages/{message}/reactions/👍/@me", None),
        (Permission.MANAGE_MESSAGES, "DELETE", "/messages/{message}", None),
        (Permission.MANAGE_CHANNELS, "PATCH", "", {"name": "x"}),
    ],
)
async def test_a_missing_right_is_50013_and_the_channel_unseen_50001(
    raw: Raw, guild: LocalGuild, right: Permission, method: str, path: str, body: object
) -> None:
    channel = guild.channel()
    message = await guild.post(channel.id, "x")
    path = f"/channels/{channel.id}" + path.format(message=message.id)
    guild.deny(channel.id, right)
    assert await refused(raw, method, path, body) == (403, 50013)
    guild.deny(channel.id, Permission.VIEW_CHANNEL)
    assert await refused(raw, method, path, body) == (403, 50001)
    guild.deny(channel.id)
    assert (await raw(method, path, body))[0] in (200, 201, 204)


async def test_sending_in_threads_is_a_right_of_its_own(raw: Raw, guild: LocalGuild) -> None:
    """topics/threads: SEND_MESSAGES has no effect in threads"""
    thread = await guild.create_thread(guild.channel().id, "t")
    path = f"/channels/{thread.id}/messages"
    guild.deny(guild.channel().id, Permission.SEND_MESSAGES)
    assert (await raw("POST", path, {"content": "x"}))[0] == 200
    guild.deny(guild.channel().id, Permission.SEND_MESSAGES_IN_THREADS)
    assert await refused(raw, "POST", path, {"content": "x"}) == (403, 50013)


async def test_only_the_author_edits_a_message(raw: Raw, guild: LocalGuild) -> None:
    message = await guild.post(guild.channel().id, "mine")
    assert await refused(raw, "PATCH", f"{raw.messages}/{message.id}", {"content": "x"}) == (403, 50005)


async def test_a_locked_thread_is_not_reopened_without_the_right(raw: Raw, guild: LocalGuild) -> None:
    thread = await guild.create_thread(guild.channel().id, "t")
    await guild.archive(thread.id, locked=True)
    path = f"/channels/{thread.id}"
    assert await refused(raw, "POST", path + "/messages", {"content": "x"}) == (400, 50083)
    assert await refused(raw, "PATCH", path, {"name": "x"}) == (400, 50083)
    guild.deny(guild.channel().id, Permission.MANAGE_THREADS)
    assert await refused(raw, "PATCH", path, {"archived": False}) == (403, 50013)
    guild.deny(guild.channel().id)
    assert (await raw("PATCH", path, {"archived": False}))[0] == 200


async def test_a_nonce_is_honoured_for_the_same_author_and_channel_only(raw: Raw, guild: LocalGuild) -> None:
    """resources/message#create-message: enforce_nonce"""
    body = {"content": "x", "nonce": "n", "enforce_nonce": True}
    _, first, _ = await raw("POST", raw.messages, body)
    _, second, _ = await raw("POST", raw.messages, body | {"content": "other text"})
    assert (second["id"], second["content"]) == (first["id"], "x")
    unenforced = await raw.post(content="x", nonce="n")
    assert unenforced["id"] != first["id"]
    other = guild.add_channel("other")
    _, elsewhere, _ = await raw("POST", f"/channels/{other.id}/messages", body)
    assert elsewhere["id"] != first["id"]
    await raw("DELETE", f"{raw.messages}/{unenforced['id']}")
    assert await refused(raw, "POST", raw.messages, body) == (404, 10008)
    guild.forget_nonces()
    assert (await raw("POST", raw.messages, body))[1]["id"] != first["id"]


async def test_bad_and_double_names_of_commands_are_refused(raw: Raw, guild: LocalGuild) -> None:
    path = f"/applications/{guild.bot_user_id}/commands"
    for bad in ({"name": "Upper", "description": "d"}, {"name": "a b", "description": "d"}, {"name": "a"}):
        assert await refused(raw, "PUT", path, [bad]) == (400, 50035)
    assert await refused(raw, "PUT", path, [{"name": "a", "description": "d"}] * 2) == (400, 50035)
    assert await refused(raw, "PUT", f"/applications/{NOBODY}/commands", []) == (403, 20012)


async def test_told_faults_a_global_limit_an_edge_and_a_reset(raw: Raw, guild: LocalGuild) -> None:
    guild.misbehave(Rule("GET /users/@me", RateLimited(retry_after=0.5, is_global=True)))
    status, answer, response = await raw("GET", "/users/@me")
    assert (status, answer["global"], response.headers["X-RateLimit-Global"]) == (429, True, "true")
    guild.misbehave(Rule("GET /users/@me", RateLimited(html=True)))
    _, _, response = await raw("GET", "/users/@me")
    assert response.content_type == "text/html"
    guild.misbehave(Rule("POST */messages", Reset(landed=True), skip=1))
    await raw.post(content="fine")
    with pytest.raises(aiohttp.ClientError):
        await raw("POST", raw.messages, {"content": "landed"})
    assert [m.content for m in guild.messages(guild.channel().id)] == ["fine", "landed"]
    assert [what for what, _ in guild.misbehaviour.applied] == ["GET /users/@me"] * 2 + [f"POST {raw.messages}"]
