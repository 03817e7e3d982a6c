"""Pictures that people attach: what stands in the request on the wire, and what a model is told that cannot see."""

from __future__ import annotations

import asyncio
import base64
from io import BytesIO
from pathlib import Path

import pytest
from PIL import Image
from pydantic import JsonValue

from agentic.core.events.execution_events import ModelRequested
from agentic.models.scripted.captured_request import CapturedRequest
from agentic.models.scripted.endpoint import ScriptedEndpoint
from agentic.models.scripted.replies import Reply
from agentic.runtime.request_refs import as_sent
from bot.local_discord.local_discord import LocalGuild
from tests.integration.bot.whole import SECONDS, Whole, finishes, uses, whole

CLAUDE, GPT, BLIND = "anthropic/claude-haiku-4-5", "openai/gpt-4o", "openai/gpt-3.5-turbo"
LOOK = uses("shell", command="ls attachments")


def drawn(kind: str = "png", width: int = 30, height: int = 20, colour: int = 0) -> bytes:
    file = BytesIO()
    Image.new("RGB", (width, height), (colour, 30, 40)).save(file, kind)
    return file.getvalue()


def images(request: CapturedRequest) -> list[tuple[str, bytes]]:
    """The pictures on the wire: media type and bytes."""
    found: list[tuple[str, bytes]] = []

    def walk(value: JsonValue) -> None:
        if isinstance(value, list):
            for each in value:
                walk(each)
        if not isinstance(value, dict):
            return
        if value.get("type") == "image":
            source = value["source"]
            found.append((source["media_type"], base64.b64decode(source["data"])))
        elif value.get("type") == "image_url":
            head, _, data = value["image_url"]["url"].partition(";base64,")
            found.append((head.removeprefix("data:"), base64.b64decode(data)))
        else:
            walk(list(value.values()))

    walk(request.body["messages"])
    return found


async def shown(running: Whole, files: list[tuple[str, bytes]], words: str = "what is this?") -> int:
    """Give a task with files; its thread when the task is done."""
    posted = await running.guild.post(running.guild.channel().id, f"{running.guild.bot.mention} {words}", files=files)
    await running.says(posted.id, "Seen.")
    return posted.id


@pytest.mark.parametrize("model", [CLAUDE, GPT])
async def test_a_model_that_can_see_gets_the_pictures_in_each_request(
    guild: LocalGuild, tmp_path: Path, model: str
) -> None:
    pictures = [(f"a.{kind}", drawn(kind)) for kind in ("png", "jpeg", "gif", "webp")]
    disguised = ("notes.txt", drawn("png", colour=9))
    async with (
        ScriptedEndpoint.start([LOOK, finishes("Seen.")]) as endpoint,
        whole(tmp_path / "home", endpoint, guild, tier_2=(model,)) as running,
    ):
        thread = await shown(running, [*pictures, disguised, ("b.png", b"no picture at all")])
        first, second = endpoint.requests
        sent = [(f"image/{name.partition('.')[2]}", content) for name, content in pictures]
        assert images(first) == images(second) == [*sent, ("image/png", disguised[1])]
        assert "attachments/a.png" in first.text()
        assert "PNG picture, 30×20" in first.text()
        assert "You cannot see" not in first.text()
        (execution,) = await running.executions(thread)
        log = [envelope async for envelope in running.app.store.read(execution)]
        requests = [envelope.event.request for envelope in log if isinstance(envelope.event, ModelRequested)]
        assert [(await as_sent(running.app.store, log, request)).exact for request in requests] == [True, True]
        assert max(len(envelope.model_dump_json()) for envelope in log) < 20_000, "the log holds references"


async def test_a_model_that_cannot_see_is_told_what_it_is(guild: LocalGuild, tmp_path: Path) -> None:
    async with (
        ScriptedEndpoint.start([LOOK, finishes("Seen.")]) as endpoint,
        whole(tmp_path / "home", endpoint, guild, tier_2=(BLIND,)) as running,
    ):
        await shown(running, [("a.webp", drawn("webp", 640, 480))])
        assert not images(endpoint.requests[0])
        told = endpoint.requests[0].text()
        assert (
            "You cannot see attachments/a.webp (WEBP picture, 640×480): you are a model that takes no pictures" in told
        )


async def test_pictures_over_the_limits_and_damaged_ones_are_told(guild: LocalGuild, tmp_path: Path) -> None:
    cut = drawn("jpeg")[:-40]
    wide = drawn("png", 8_001, 1)
    heavy = drawn("png")[:-12] + b"\0" * 4_000_000 + drawn("png")[-12:]
    many = [(f"{number}.png", drawn("png", colour=number)) for number in range(1, 10)]
    files = [("first.png", drawn()), ("cut.jpg", cut), ("wide.png", wide), ("heavy.png", heavy)]
    async with (
        ScriptedEndpoint.start([LOOK, finishes("Seen.")]) as endpoint,
        whole(tmp_path / "home", endpoint, guild, tier_2=(GPT,)) as running,
    ):
        await shown(running, [*files, *many[:6]])
        told = endpoint.requests[0].text()
        assert [content for _, content in images(endpoint.requests[0])] == [drawn(), *(each for _, each in many[:6])]
        assert "attachments/cut.jpg (JPEG picture, damaged): it is damaged or cut off" in told
        assert "attachments/wide.png (PNG picture, 8001×1): it is too large (at most 8,000 pixels a side" in told
        assert "attachments/heavy.png (PNG picture, 30×20): it is too large (4.0 MB; at most 3.75 MB" in told


async def test_of_many_pictures_the_newest_are_sent(guild: LocalGuild, tmp_path: Path) -> None:
    many = [(f"{number}.png", drawn(colour=number)) for number in range(10)]
    async with (
        ScriptedEndpoint.start([LOOK, finishes("Seen.")]) as endpoint,
        whole(tmp_path / "home", endpoint, guild, tier_2=(CLAUDE,)) as running,
    ):
        await shown(running, many)
        assert [content for _, content in images(endpoint.requests[0])] == [content for _, content in many[2:]]
        told = endpoint.requests[0].text()
        assert "You cannot see attachments/1.png (PNG picture, 30×20): only the newest pictures are sent" in told


@pytest.mark.parametrize("change", ["", "remove", "replace"])
async def test_after_a_restart_a_picture_is_sent_again_if_it_is_what_was_attached(
    guild: LocalGuild, tmp_path: Path, change: str
) -> None:
    """Bytes are believed by their hash: what a request holds was attached, or is said to be gone."""
    asked, goes_on = asyncio.Event(), asyncio.Event()

    async def script(_: CapturedRequest) -> Reply:
        asked.set()
        await goes_on.wait()
        return finishes("Seen.")

    async with ScriptedEndpoint.start(script) as endpoint:
        async with whole(tmp_path / "home", endpoint, guild, tier_2=(CLAUDE,)) as running:
            posted = await guild.post(guild.channel().id, f"{guild.bot.mention} look", files=[("a.png", drawn())])
            await asyncio.wait_for(asked.wait(), SECONDS)
            file = running.workspace(posted.id) / "attachments" / "a.png"
        if change == "remove":
            file.unlink()
        elif change == "replace":
            file.write_bytes(drawn(colour=99))
        goes_on.set()
        async with whole(tmp_path / "home", endpoint, guild, tier_2=(CLAUDE,)) as running:
            await running.says(posted.id, "Seen.")
        first, again = endpoint.requests[0], endpoint.requests[-1]
        assert first is not again
        assert images(first) == [("image/png", drawn())]
        assert images(again) == ([] if change else images(first))
        assert ("it was changed or removed since it was attached" in again.text()) is bool(change)


@pytest.mark.parametrize("model", [CLAUDE, GPT])
async def test_a_picture_that_the_provider_refuses_does_not_hold_the_thread(
    guild: LocalGuild, tmp_path: Path, model: str
) -> None:
    def script(request: CapturedRequest) -> Reply:
        if images(request):
            return Reply.error(400, "Could not process image", type="invalid_request_error")
        return finishes("Seen.") if request.answers else LOOK

    async with (
        ScriptedEndpoint.start(script) as endpoint,
        whole(tmp_path / "home", endpoint, guild, tier_2=(model,)) as running,
    ):
        await shown(running, [("a.png", drawn())])
        assert [bool(images(request)) for request in endpoint.requests] == [True, False, False]
        for request in endpoint.requests[1:]:
            assert "You cannot see attachments/a.png (PNG picture, 30×20): the provider refused it" in request.text()
            assert "Could not process image" in request.text()


async def test_a_picture_in_guidance_is_seen_in_the_next_request(guild: LocalGuild, tmp_path: Path) -> None:
    asked, goes_on = asyncio.Event(), asyncio.Event()

    async def script(request: CapturedRequest) -> Reply:
        asked.set()
        await goes_on.wait()
        return finishes("Seen.") if request.answers else LOOK

    async with (
        ScriptedEndpoint.start(script) as endpoint,
        whole(tmp_path / "home", endpoint, guild, tier_2=(CLAUDE,)) as running,
    ):
        posted = await guild.post(guild.channel().id, f"{guild.bot.mention} look", files=[("a.png", drawn())])
        await asyncio.wait_for(asked.wait(), SECONDS)
        said = await guild.post(posted.id, "and at this one", files=[("b.png", drawn(colour=77))])
        await guild.wait_for(lambda g: any(m.id == said.id and m.reactions for m in g.messages(posted.id)), SECONDS)
        goes_on.set()
        await running.says(posted.id, "Seen.")
        first, second = endpoint.requests[:2]
        assert [content for _, content in images(first)] == [drawn()]
        assert [content for _, content in images(second)] == [drawn(), drawn(colour=77)]
