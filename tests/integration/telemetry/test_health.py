"""A process says whether it is alive and ready, to programs and to `threadwright health`."""

from __future__ import annotations

import asyncio
import socket
from pathlib import Path

import aiohttp
import pytest

from agentic.models.scripted.endpoint import ScriptedEndpoint
from bot.app.health_checks import models_check
from bot.app.services import Roles
from bot.cli.checks.health_command import health
from bot.cli.main import perform
from bot.config.settings import Settings
from bot.local_discord.local_discord import LocalGuild
from bot.telemetry import health_server
from bot.telemetry.health_server import HealthCheck, HealthServer, PartHealth
from tests.integration.bot.whole import finishes, whole
from tests.waiting import eventually

SECONDS = 60.0


def free_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


def settings(port: int, home: Path) -> Settings:
    return Settings(_env_file=None, home=home, health=f"127.0.0.1:{port}")  # type: ignore[call-arg]  # pyright: ignore[reportCallIssue]


async def asked(port: int, path: str, method: str = "GET") -> tuple[int, dict[str, object]]:
    async with aiohttp.ClientSession() as session, session.request(method, f"http://127.0.0.1:{port}{path}") as answer:
        return answer.status, await answer.json() if answer.content_type == "application/json" else {}


def states(said: dict[str, object]) -> dict[str, str]:
    return {part["name"]: part["state"] for part in said["parts"]}  # type: ignore[attr-defined]


async def test_a_bot_says_how_each_part_is_until_its_end(
    guild: LocalGuild, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(health_server, "FRESH_SECONDS", 0.0)
    port = free_port()
    here = settings(port, tmp_path)
    async with (
        ScriptedEndpoint.start([finishes()]) as endpoint,
        whole(tmp_path, endpoint, guild, health=f"127.0.0.1:{port}") as bot,
    ):
        assert (await asked(port, "/healthz"))[0] == 200

        async def ready() -> dict[str, object] | None:
            status, said = await asked(port, "/readyz")
            assert status == 200 or states(said)["sandbox"] == "failing", "until it was tried"
            return said if status == 200 else None

        said = await eventually(ready)
        assert said is not None
        assert (said["status"], said["role"]) == ("ok", "run")
        assert set(states(said)) == {"work", "store", "discord", "sandbox", "models"}
        assert [(await asked(port, path, how))[0] for path, how in (("/", "GET"), ("/readyz", "POST"))] == [404, 405]
        assert [await health(here, live=live) for live in (False, True)] == [0, 0]
        assert f"ok, 127.0.0.1:{port}" in capsys.readouterr().out

        await bot.app.bot.close()
        status, said = await asked(port, "/readyz")
        assert (status, states(said)["discord"]) == (503, "failing")
        assert [await health(here, live=live) for live in (False, True)] == [1, 0]
        assert "failing  discord: it is not connected. Wait" in capsys.readouterr().out

        closed, leaving = asyncio.Event(), bot.app.threads.close

        async def close() -> None:
            status, said = await asked(port, "/readyz")
            assert (status, states(said)["work"]) == (503, "failing")
            closed.set()
            await leaving()

        monkeypatch.setattr(bot.app.threads, "close", close)
    assert closed.is_set(), "it said so while it ended"
    assert await health(here, live=True) == 1
    assert f"answers at 127.0.0.1:{port}" in capsys.readouterr().err


@pytest.mark.parametrize(("roles", "name", "parts"), [
    (Roles(works=False), "gateway", {"work", "store", "discord"}),
    (Roles(talks=False), "worker", {"work", "store", "sandbox", "models"}),
])  # fmt: skip
async def test_a_process_that_does_a_part_is_asked_for_that_part(
    guild: LocalGuild, tmp_path: Path, roles: Roles, name: str, parts: set[str]
) -> None:
    port = free_port()
    async with (
        ScriptedEndpoint.start([finishes()]) as endpoint,
        whole(tmp_path, endpoint, guild, roles=roles, health=f"127.0.0.1:{port}") as bot,
    ):
        if roles.works:
            await bot.app.workshop.choice()
        status, said = await asked(port, "/readyz")
        assert (status, said["role"], set(states(said))) == (200, name, parts)


async def test_where_a_scripted_tour_answers_the_health_says_what_to_set() -> None:
    tour = await models_check(lambda: "", tour=True).ask()
    works = await models_check(lambda: "", tour=False).ask()
    broken = await models_check(lambda: "no such module", tour=True).ask()
    assert (tour.state, works.state, broken.what) == ("limited", "ok", "a library that asks them cannot be loaded")
    assert "threadwright setup" in tour.todo


async def test_a_bot_whose_place_is_taken_does_not_start(guild: LocalGuild, tmp_path: Path) -> None:
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        port = other.getsockname()[1]
        async with ScriptedEndpoint.start([finishes()]) as endpoint:
            with pytest.raises(OSError, match=f"127.0.0.1:{port} is used by another program.*each process of the bot"):
                async with whole(tmp_path, endpoint, guild, health=f"127.0.0.1:{port}"):
                    pass


async def test_a_part_that_breaks_or_does_not_answer_is_said_and_holds_nobody_up(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(health_server, "CHECK_SECONDS", 0.05)
    looks = 0

    async def hangs() -> PartHealth:
        nonlocal looks
        looks += 1
        await asyncio.Event().wait()
        raise AssertionError

    async def breaks() -> PartHealth:
        raise ValueError("secret")

    async def limps() -> PartHealth:
        return PartHealth("limps", "limited", "it limps")

    port = free_port()
    checks = (HealthCheck("hangs", hangs), HealthCheck("breaks", breaks), HealthCheck("limps", limps))
    server = HealthServer(("127.0.0.1", port), "worker", checks, lambda _: 0.25)
    await server.open()
    try:
        answers = await asyncio.gather(*(asked(port, "/readyz") for _ in range(10)))
        assert (await asked(port, "/healthz"))[1] == {"status": "ok", "role": "worker", "longest_stall_seconds": 0.25}
    finally:
        await server.close()
    assert {status for status, _ in answers} == {503}
    assert states(answers[0][1]) == {"hangs": "failing", "breaks": "failing", "limps": "limited"}
    assert looks == 1, "who asks often loads nothing"
    assert "secret" not in str(answers)
    assert "breaks cannot be asked" in caplog.text


@pytest.mark.parametrize(
    ("value", "words"), [("", "THREADWRIGHT_HEALTH is not set"), ("nowhere", "write 127.0.0.1:8092")]
)
def test_where_nobody_said_where_to_ask_it_is_said_and_a_wrong_place_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], value: str, words: str
) -> None:
    monkeypatch.setenv("THREADWRIGHT_HOME", str(tmp_path))
    monkeypatch.setenv("THREADWRIGHT_HEALTH", value)
    assert perform(["health"]) == 64
    assert words in capsys.readouterr().err
