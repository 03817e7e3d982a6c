"""What the REST API answers, field by field against Discord's published structures."""

from __future__ import annotations

import aiohttp

from bot.local_discord import LocalGuild
from tests.integration.local_discord.harness import Raw
from tests.integration.local_discord.shapes import keeps_to


async def test_the_bot_its_application_and_the_gateway(raw: Raw, guild: LocalGuild) -> None:
    """resources/user, resources/application, events/gateway#get-gateway-bot"""
    _, me, response = await raw("GET", "/users/@me")
    keeps_to(me, "user")
    assert me["bot"] is True
    assert response.headers["Content-Type"] == "application/json"
    _, application, _ = await raw("GET", "/oauth2/applications/@me")
    keeps_to(application, "application")
    assert application["id"] == me["id"] == str(guild.bot_user_id)
    _, gateway, _ = await raw("GET", "/gateway/bot")
    keeps_to(gateway, "gateway_bot")
    assert gateway["url"] == guild.gateway_url


async def test_the_guild_its_channels_members_and_roles(raw: Raw, guild: LocalGuild) -> None:
    """resources/guild, topics/permissions#role-object"""
    base = f"/guilds/{guild.guild_id}"
    keeps_to((await raw("GET", base))[1], "guild")
    channels = (await raw("GET", base + "/channels"))[1]
    assert [keeps_to(c, "channel") for c in channels] == [True]
    members = (await raw("GET", base + "/members?limit=10"))[1]
    assert [keeps_to(m, "member") for m in members] == [True, True]
    assert all("user" in m for m in members)
    roles = (await raw("GET", base + "/roles"))[1]
    assert [keeps_to(r, "role") for r in roles] == [True, True]
    assert roles[0]["name"] == "@everyone"
    assert roles[0]["id"] == str(guild.guild_id)


async def test_a_message_with_everything_on_it(raw: Raw, guild: LocalGuild) -> None:
    """resources/message#message-object, #attachment-object, #reaction-object"""
    first = await guild.post(guild.channel().id, "first", files=[("a b.txt", b"text")])
    embed = {"title": "t", "description": "d", "fields": [{"name": "n", "value": "v"}], "footer": {"text": "f"}}
    button = {"type": 2, "style": 1, "label": "Yes", "custom_id": "yes"}
    sent = await raw.post(
        content=f"<@{guild.you.id}> hi",
        embeds=[embed],
        components=[{"type": 1, "components": [button]}],
        message_reference={"message_id": str(first.id)},
        nonce="n-1",
        flags=1 << 12,
    )
    keeps_to(sent, "message")
    assert sent["nonce"] == "n-1"
    assert sent["type"] == 19
    assert sent["referenced_message"]["id"] == str(first.id)
    assert sent["embeds"][0]["type"] == "rich"
    assert [u["id"] for u in sent["mentions"]] == [str(guild.you.id)]
    assert sent["flags"] & 1 << 12
    await guild.react(int(sent["id"]), "👍")
    _, read, _ = await raw("GET", f"{raw.messages}/{sent['id']}")
    keeps_to(read, "message")
    [reaction] = read["reactions"]
    assert (reaction["count"], reaction["me"], reaction["emoji"]) == (1, False, {"id": None, "name": "👍"})
    _, with_file, _ = await raw("GET", f"{raw.messages}/{first.id}")
    keeps_to(with_file, "message")
    assert with_file["attachments"][0]["size"] == 4


async def test_a_thread_and_its_members(raw: Raw, guild: LocalGuild) -> None:
    """resources/channel#thread-metadata-object, #thread-member-object"""
    message = await guild.post(guild.channel().id, "start here")
    _, thread, _ = await raw("POST", f"{raw.messages}/{message.id}/threads", {"name": "t"})
    keeps_to(thread, "channel")
    assert (thread["id"], thread["type"]) == (str(message.id), 11)
    assert thread["thread_metadata"]["archived"] is False
    assert thread["member"]["user_id"] == str(guild.bot_user_id)
    _, members, _ = await raw("GET", f"/channels/{thread['id']}/thread-members")
    assert all(keeps_to(m, "thread_member") for m in members)
    _, active, _ = await raw("GET", f"/guilds/{guild.guild_id}/threads/active")
    assert [t["id"] for t in active["threads"]] == [thread["id"]]
    _, starter, _ = await raw("GET", f"{raw.messages}/{message.id}")
    keeps_to(starter, "message")
    assert starter["thread"]["id"] == thread["id"]
    assert starter["flags"] & 1 << 5, "HAS_THREAD"


async def test_registered_commands(raw: Raw, guild: LocalGuild) -> None:
    """interactions/application-commands#application-command-object"""
    path = f"/applications/{guild.bot_user_id}/commands"
    wanted = [{"name": "status", "description": "What runs"}, {"name": "stop", "description": "Stops"}]
    status, made, _ = await raw("PUT", path, wanted)
    assert status == 200
    assert [keeps_to(c, "command") for c in made] == [True, True]
    _, again, _ = await raw("PUT", path, wanted)
    assert [c["id"] for c in again] == [c["id"] for c in made], "same name, same id"
    _, one, _ = await raw("POST", f"/applications/{guild.bot_user_id}/guilds/{guild.guild_id}/commands", wanted[0])
    keeps_to(one, "command")
    assert one["guild_id"] == str(guild.guild_id)
    assert (await raw("DELETE", f"{path}/{made[0]['id']}"))[0] == 204
    assert [c["name"] for c in (await raw("GET", path))[1]] == ["stop"]


async def test_files_by_multipart_come_back_from_the_cdn(raw: Raw, guild: LocalGuild) -> None:
    """reference#uploading-files"""
    form = aiohttp.FormData(quote_fields=False)
    form.add_field("payload_json", '{"content":"two","attachments":[{"id":1,"description":"second"}]}')
    form.add_field("files[0]", b"\x89PNG", filename="a.png", content_type="image/png")
    form.add_field("files[1]", b"<script>1</script>", filename="../../b.html", content_type="text/html")
    status, sent, _ = await raw("POST", raw.messages, data=form)
    assert status == 200
    keeps_to(sent, "message")
    picture, page = sent["attachments"]
    assert (picture["filename"], picture["content_type"]) == ("a.png", "image/png")
    assert (page["filename"], page["description"]) == ("b.html", "second")
    async with raw.session.get(page["url"]) as got:
        assert await got.read() == b"<script>1</script>"
        assert got.headers["Content-Type"].startswith("text/html")
        assert got.headers["Content-Disposition"].startswith("attachment")
        assert "sandbox" in got.headers["Content-Security-Policy"], "a file never acts as a page"
    kept = {"attachments": [{"id": picture["id"]}]}
    _, edited, _ = await raw("PATCH", f"{raw.messages}/{sent['id']}", kept)
    assert [a["filename"] for a in edited["attachments"]] == ["a.png"]


async def test_every_answer_says_where_its_rate_limit_stands(raw: Raw) -> None:
    """topics/rate-limits#header-format"""
    _, _, first = await raw("GET", "/users/@me")
    _, _, second = await raw("GET", "/users/@me")
    assert int(first.headers["X-RateLimit-Remaining"]) - 1 == int(second.headers["X-RateLimit-Remaining"])
    for name in ("Limit", "Reset", "Reset-After", "Bucket"):
        assert first.headers[f"X-RateLimit-{name}"]


async def test_what_was_left_out_of_embeds_and_components_is_filled_in(raw: Raw) -> None:
    """resources/message#embed-object-embed-field-structure, components/reference#anatomy-of-a-component"""
    sent = await raw.post(embeds=[{"title": "t", "fields": [{"name": "n", "value": "v"}]}])
    assert sent["embeds"][0]["fields"] == [{"name": "n", "value": "v", "inline": False}]
    inner = {"type": 17, "components": [{"type": 10, "content": "a"}, {"type": 10, "content": "b", "id": 70}]}
    sent = await raw.post(flags=1 << 15, components=[inner])
    [box] = sent["components"]
    assert [box["id"], *(c["id"] for c in box["components"])] == [1, 2, 70]
    path = f"{raw.messages}/{sent['id']}"
    changed = {"components": [{"type": 10, "content": "c"}], "flags": 0}
    _, after, _ = await raw("PATCH", path, changed)
    assert (after["flags"] & 1 << 15, after["components"][0]["content"]) == (1 << 15, "c"), "there is no way back"
    for legacy in ({"content": "x"}, {"embeds": [{"title": "t"}]}):
        assert (await raw("PATCH", path, legacy))[1]["code"] == 50035
    old = await raw.post(content="legacy")
    upgraded = {"flags": 1 << 15, "components": [{"type": 10, "content": "x"}]}
    assert (await raw("PATCH", f"{raw.messages}/{old['id']}", upgraded))[1]["code"] == 50035, "its text is in the way"
    assert (await raw("PATCH", f"{raw.messages}/{old['id']}", upgraded | {"content": None}))[0] == 200
    deep: dict[str, object] = {"type": 10, "content": "x"}
    for _ in range(400):
        deep = {"type": 17, "components": [deep]}
    assert (await raw("POST", raw.messages, {"flags": 1 << 15, "components": [deep]}))[1]["code"] == 50035
