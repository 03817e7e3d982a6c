"""`threadwright doctor --live` against the stand-ins: what it tries, cleans up and writes down.

Nobody ran it against the real services here; that takes accounts of one's own.
"""

from __future__ import annotations

import asyncio
import contextlib
import io
import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import AsyncGenerator, Collection
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from agentic.models.scripted.replies import Reply
from agentic.sandbox.backends.docker import OWNER_LABEL, process_mark
from bot.cli.live.live_check import LiveOrder, live
from bot.cli.live.sandbox_trial import try_sandbox
from bot.cli.live.trials import Trials
from bot.cli.live.wire_record import FORM
from bot.config.settings import read_settings
from bot.local_discord import ErrorAnswer, Rule
from bot.local_forge.git_endpoint import branches
from tests.conformance.__main__ import main as conformance
from tests.conformance.stand_ins import (
    EDITED,
    MODELS,
    PARTS,
    REPOSITORY,
    WRITTEN,
    Part,
    StandIns,
    person,
    stand_ins,
    with_eight_permissions,
)
from tests.e2e.processes import started
from tests.integration.world.rungs import docker_url, rung_name

__all__ = ["docker_url", "rung_name"]

REFUSED = ErrorAnswer(403, 50013, "Missing Permissions")


@pytest.fixture
async def services(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest
) -> AsyncGenerator[StandIns]:
    """The stand-ins, which this process takes for the real ones; with models where a test asks for them."""
    async with stand_ins(tmp_path, models=getattr(request, "param", ())) as here:
        for name, value in here.settings.items():
            monkeypatch.setenv(name, value)
        yield here


@asynccontextmanager
async def somebody(here: StandIns, does: Collection[Part] = PARTS) -> AsyncGenerator[None]:
    """A person in the thread."""
    doing = asyncio.create_task(person(here.guild, does))
    try:
        yield
    finally:
        doing.cancel()
        await asyncio.gather(doing, return_exceptions=True)


async def tried(here: StandIns, *, record: Path | None = None, patience: float = 120.0) -> int:
    order = LiveOrder(here.guild.channel().id, REPOSITORY, record, agreed=True, patience=patience)
    return await live(read_settings(), order)


def changed(here: StandIns) -> list[str]:
    """Requests that change something in Discord."""
    return [asked.what for asked in here.guild.asked if not asked.what.startswith("GET ")]


def is_tidy(here: StandIns) -> bool:
    """Whether nothing is left of a run."""
    held = here.forge.repositories[REPOSITORY]
    said = here.guild.messages(here.guild.channel().id)
    return (
        not here.guild.threads()
        and not said
        and list(branches(held.folder)) == ["main"]
        and all(pull.state == "closed" for pull in held.pulls)
    )


@pytest.mark.parametrize("services", [tuple(MODELS.values())], indirect=True)
async def test_everything_is_tried_for_real_and_cleaned_up_and_the_record_names_nobody(
    services: StandIns, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    record = tmp_path / "record.jsonl"
    async with somebody(services):
        code = await tried(services, record=record)
    said = capsys.readouterr().out
    assert code == 0, said
    steps = ("start", "command", "kill", "connection", "thread", "card", "edit by the bot", "button", "🛑")
    for step in (*steps, "message and edit of yours", "pull request", "read back", *MODELS.values()):
        assert f"✔ {step}: " in said
    assert re.search(r"🛑: no process left after 0\.\d\d s", said)
    assert re.search(r"called the tool in .* for \$0\.\d+", said)
    assert is_tidy(services)
    assert len(services.forge.repositories[REPOSITORY].pulls) == 1

    text = record.read_text()
    lines = [json.loads(line) for line in text.splitlines()]
    events = {line["event"] for line in lines if "event" in line}
    assert events >= {"INTERACTION_CREATE", "MESSAGE_REACTION_ADD", "MESSAGE_UPDATE", "THREAD_CREATE", "THREAD_DELETE"}
    routes = {line["route"] for line in lines if "route" in line}
    assert routes >= {
        "/channels/{}/messages/{}/threads", "/interactions/{}/{}/callback", "/repos/{}/{}/pulls/{}", "/v1/messages",
        "/v1/chat/completions",
    }  # fmt: skip
    guild = services.guild
    canaries = [*services.settings.values(), *(str(one) for one in guild.state.channels), guild.state.name, "general"]
    canaries += [one for each in guild.state.members.values() for one in (str(each.id), each.name)]
    canaries += [
        "Threadwright",
        WRITTEN,
        EDITED,
        "ada",
        "trials",
        "doctor-",
        "scripted",
        "claude",
        "gpt",
        services.forge.host,
    ]
    assert [one for one in canaries if len(one) > 2 and re.search(rf'["/ ]{re.escape(one)}["/ ]', text)] == []
    assert not set(re.findall(r"\d{15,20}", text)) & {str(one) for one in (*guild.state.members, *guild.state.channels)}

    assert await compared(record) == (0, "")


async def compared(record: Path) -> tuple[int | None, str]:
    """What `python -m tests.conformance --record FILE` ends with, and its lines that tell of no agreement."""
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "tests.conformance", "--record", str(record), cwd=Path(__file__).parents[2],
        stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.STDOUT,
    )  # fmt: skip
    out = (await process.communicate())[0].decode()
    return process.returncode, "".join(
        line for line in out.splitlines(True) if line.startswith(("differs", "not compared"))
    )


async def test_what_nobody_does_in_time_was_not_tried_and_has_not_failed(
    services: StandIns, capsys: pytest.CaptureFixture[str]
) -> None:
    assert await tried(services, patience=0.05) == 0
    said = capsys.readouterr().out
    for step in ("button", "🛑", "message and edit of yours"):
        assert f"? {step}: not tried: nobody did it within" in said
    assert "4 not tried." in said
    assert is_tidy(services)


async def test_without_the_right_to_delete_the_thread_is_archived(
    services: StandIns, capsys: pytest.CaptureFixture[str]
) -> None:
    with_eight_permissions(services.guild)
    assert await tried(services, patience=0.05) == 0
    assert "✔ clean up the thread: archived" in capsys.readouterr().out
    assert [thread.archived for thread in services.guild.threads()] == [True]
    assert services.guild.messages(services.guild.channel().id) == []


async def test_what_cannot_be_cleaned_up_is_said_with_the_way_by_hand_and_the_rest_is_cleaned_up(
    services: StandIns, capsys: pytest.CaptureFixture[str]
) -> None:
    services.guild.misbehave(Rule("DELETE /channels/*", REFUSED, times=None))
    services.forge.fault("lacks_right", "PATCH *", times=100)
    assert await tried(services, patience=0.05) == 1
    said = capsys.readouterr().out
    assert re.search(r"✘ clean up the thread: could not be done \(.*\n  → delete the thread “threadwright doctor", said)
    assert re.search(r"✘ clean up the message: could not be done \(.*\n  → delete the message", said)
    assert re.search(
        r"✘ clean up the pull request: could not be done \(.*\n  → close the pull request of threadwright/", said
    )
    assert list(branches(services.forge.repositories[REPOSITORY].folder)) == ["main"], "the branch goes all the same"


@pytest.mark.parametrize("fault", ["fails", "drops_after"])
async def test_a_pull_request_that_failed_or_was_opened_unheard_leaves_nothing(
    fault: str, services: StandIns, capsys: pytest.CaptureFixture[str]
) -> None:
    services.forge.fault(fault, "POST */pulls")  # pyright: ignore[reportArgumentType]
    assert await tried(services, patience=0.05) == 1
    assert "✘ pull request: " in capsys.readouterr().out
    assert len(services.forge.repositories[REPOSITORY].pulls) == (fault == "drops_after")
    assert is_tidy(services)


async def test_a_bot_that_reads_no_messages_is_told_before_anything_is_made(
    services: StandIns, capsys: pytest.CaptureFixture[str]
) -> None:
    services.guild.grant_intents(message_content=False)
    assert await tried(services) == 1
    said = capsys.readouterr().out
    assert "✘ intent: it can't read messages" in said
    assert "→ switch on “Message Content Intent”" in said
    assert changed(services) == []


async def test_a_model_that_does_not_call_the_tool_is_told_with_what_it_cost(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("tests.conformance.stand_ins.answered", lambda _: Reply("I would rather talk."))
    async with stand_ins(tmp_path) as here:
        for name, value in here.settings.items():
            monkeypatch.setenv(name, value)
        assert await live(read_settings(), LiveOrder(agreed=True)) == 1
    said = capsys.readouterr().out
    assert re.search(r"✘ openai/\S+: it answered in .* for \$0\.\d+, and did not call the tool", said)
    assert "? not tried: no channel is named" in said
    assert "? not tried: no repository is named" in said


async def test_a_sandbox_is_begun_used_and_gone(
    rung_name: str,
    tmp_path: Path,
    request: pytest.FixtureRequest,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    if rung_name == "docker":
        monkeypatch.setenv("DOCKER_HOST", request.getfixturevalue("docker_url"))
    monkeypatch.setenv("THREADWRIGHT_HOME", str(tmp_path))
    monkeypatch.setenv("THREADWRIGHT_SANDBOX", rung_name)
    await try_sandbox(Trials(agreed=True), read_settings())
    said = capsys.readouterr().out
    assert f"✔ start: {rung_name} in " in said
    assert "✔ sandbox: gone" in said
    assert list(tmp_path.iterdir()) == []
    if rung_name == "docker":
        mine = f"label={OWNER_LABEL}={process_mark(os.getpid())}"
        left = subprocess.run(["docker", "ps", "-aq", "--filter", mine], capture_output=True, text=True, check=True)
        assert left.stdout == ""


async def test_ctrl_c_while_a_person_is_waited_for_cleans_up(tmp_path: Path) -> None:
    async with stand_ins(tmp_path, models=()) as here:
        env = {**os.environ, **here.settings}
        arguments = ("doctor", "--live", "--yes", "--channel", str(here.guild.channel().id))
        async with started(*arguments, env=env, cwd=tmp_path) as running, somebody(here, ("press",)):
            await here.guild.wait_for(
                lambda g: any("React with 🛑" in each.content for t in g.threads() for each in g.messages(t.id)), 120.0
            )
            running.process.send_signal(signal.SIGINT)
            assert await running.ended() == 130, running.output
        said = "".join(running.said)
        assert "✔ button: pressed" in said
        assert "✔ clean up the thread: deleted" in said
        assert "Interrupted." in said
        assert is_tidy(here)


async def test_a_no_to_each_question_makes_nothing(tmp_path: Path) -> None:
    async with stand_ins(tmp_path) as here:
        env = {**os.environ, **here.settings}
        arguments = ("doctor", "--live", "--channel", str(here.guild.channel().id), "--repository", REPOSITORY)
        async with started(*arguments, env=env, cwd=tmp_path, typed=b"\nn\nno\n") as running:
            assert await running.ended() == 0, running.output
        assert "".join(running.said).count("not tried: you didn't say yes") == 4, "the end of the input is no yes"
        assert changed(here) == []
        assert here.forge.requests == []
        assert here.endpoint.requests == []


async def test_a_second_ctrl_c_ends_the_cleaning_up_and_says_what_is_left(capsys: pytest.CaptureFixture[str]) -> None:
    trials, cleaning = Trials(), asyncio.Event()

    async def hangs() -> str:
        cleaning.set()
        await asyncio.Event().wait()
        return "never"

    async def unasked() -> str:
        raise AssertionError("it is not begun any more")

    trials.later("the first", unasked, "remove the first by hand")
    trials.later("the second", hangs, "remove the second by hand")
    task = asyncio.create_task(trials.clean_up())
    await cleaning.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    said = capsys.readouterr().out
    assert "→ remove the second by hand" in said
    assert "→ remove the first by hand" in said


def test_a_record_that_deviates_is_found_and_one_that_is_none_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "record.jsonl"
    file.write_text("{}\n")
    assert conformance(["--record", str(file)]) == 2
    file.write_text(json.dumps({"record": FORM}) + "\n")
    assert conformance(["--record", str(file)]) == 2
    body = {"full_name": "…", "name": 0, "default_branch": "…", "unknown_to_the_stand_in": True}
    line = {
        "part": "forge (forgejo)", "step": "repository", "method": "GET", "route": "/repos/{}/{}", "request": None,
        "status": 200, "headers": {"content-type": "application/json"}, "body": body,
    }  # fmt: skip
    file.write_text(json.dumps({"record": FORM}) + "\n" + json.dumps(line) + "\n")
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        assert conformance(["--record", str(file)]) == 1
    assert "name: number / string" in out.getvalue()
    assert "permissions: missing / there" in out.getvalue()
    assert "differs  forge (forgejo): repository" in out.getvalue()
