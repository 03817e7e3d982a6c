"""What somebody outside is told of a bot's tasks: by a signed webhook and in a file, as the schema has it, and no words."""

from __future__ import annotations

import json
import logging
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from unittest import mock

import pytest
from jsonschema import Draft202012Validator

from agentic.aws.aws_place import AwsPlace
from agentic.event_targets import event_publisher
from agentic.models.scripted.endpoint import ScriptedEndpoint
from agentic.stores.aws.store import AwsStore
from agentic.stores.factory import store_maintenance
from bot.cli import doctor
from bot.config.home import DATABASE
from bot.config.settings import Settings, SettingsMistaken, read_settings
from bot.local_discord.local_discord import LocalGuild
from tests.integration.bot.whole import finishes, uses, whole
from tests.integration.event_targets.receiver import SECRET, receiver
from tests.integration.stores.samples import NOW, begin
from tests.waiting import eventually

DOCS = Path(__file__).parents[3] / "docs"
WORDS = "numbers nobody else may read"


def lines(path: Path) -> list[dict[str, Any]]:
    """The events of a file."""
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()]


def kinds(events: list[dict[str, Any]]) -> list[str]:
    return [event["event"] for event in events]


async def rows(settings: Mapping[str, object]) -> dict[str, tuple[str, str]]:
    """What `threadwright doctor` says of each target."""
    chosen = Settings(_env_file=None, **settings)  # type: ignore[call-arg, arg-type]
    return {row.adapter.partition(" ")[0]: (row.state, row.why) for row in await doctor.events(chosen)}


async def test_a_file_and_a_signed_webhook_are_told_of_a_task_and_one_that_is_down_waits_alone(
    guild: LocalGuild, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(event_publisher, "FIRST_PAUSE", 0.01)
    monkeypatch.setattr(event_publisher, "LONGEST_PAUSE", 0.02)
    monkeypatch.setattr(event_publisher, "TELL_SECONDS", 0.05)
    monkeypatch.setattr(event_publisher, "LOOK_SECONDS", 0.05)
    monkeypatch.setattr(doctor, "WAITING", -doctor.WAITING)
    path, home = tmp_path / "events.jsonl", tmp_path / "home"
    ask = uses("ask_user", question=f"May I delete the {WORDS}?", options=["Yes", "No"])
    work = uses("write", path="sums.txt", content=WORDS)
    async with receiver() as there, ScriptedEndpoint.start([work, finishes(f"Done: {WORDS}"), ask]) as endpoint:
        there.status = lambda _: 503
        told: dict[str, object] = {
            "events_file": path, "events_webhook": there.url.replace("hooks.test", "localhost"),
            "events_webhook_secret": SECRET, "network_private": f"localhost:{there.port}",
        }  # fmt: skip
        async with whole(home, endpoint, guild, **told) as running:
            thread = await running.task(f"add the {WORDS}")
            (execution,) = await running.executions(thread)
            await there.until(lambda: "503: look at its log" in caplog.text)
            await eventually(
                lambda: store_maintenance(home / DATABASE).waiting_since("file") is None, "the file was told all"
            )
            found = await rows({"home": home, **told})
            assert found["webhook"][0] == "limited"
            assert found["webhook"][1].startswith("events wait since ")
            assert found["file"] == ("ok", "what happens in tasks is told there; nothing waits")

            await guild.post(thread, f"{guild.bot.mention} delete the {WORDS}")
            await running.says(thread, "May I delete")
            await guild.post(thread, "stop")
            await running.says(thread, "top")
            there.status = lambda _: 204
            await there.until(lambda: "execution_aborted" in kinds(there.got))

    in_file = lines(path)
    assert kinds([event for event in in_file if event["execution"] == execution]) == [
        "execution_started", "checkpoint_saved", "turn_completed", "turn_completed", "confidence_changed",
        "execution_completed", "checkpoint_saved",
    ]  # fmt: skip
    assert kinds(in_file)[-3:] == ["execution_started", "question_asked", "execution_aborted"]
    for name in {event["execution"] for event in in_file}:
        both = [[event for event in each if event["execution"] == name] for each in (in_file, there.got)]
        assert both[0] == both[1], "each target has all, once and in order"
    assert len(there.got) == len(in_file)
    assert there.forged == []
    check = Draft202012Validator(json.loads((DOCS / "outside-events.schema.json").read_text("utf-8")))
    assert [error.message for event in in_file for error in check.iter_errors(event)] == []
    assert {event["thread"] for event in in_file} == {str(thread)}
    assert WORDS not in path.read_text("utf-8")
    assert store_maintenance(home / DATABASE).waiting_since("webhook") is None
    told_once = [
        r.getMessage() for r in caplog.records if r.name == event_publisher.__name__ and r.levelno == logging.WARNING
    ]
    assert [text.partition(" to the ")[0] for text in told_once] == ["events are not delivered", "events are delivered"]


@pytest.mark.parametrize(
    ("values", "says"),
    [
        ({"EVENTS_WEBHOOK": "https://example.org/x"}, "set THREADWRIGHT_EVENTS_WEBHOOK_SECRET too"),
        ({"EVENTS_WEBHOOK": "http://example.org/x", "EVENTS_WEBHOOK_SECRET": SECRET}, "in the open"),
        ({"EVENTS_WEBHOOK": "https://example.org/x", "EVENTS_WEBHOOK_SECRET": "secret"}, "openssl rand"),
        ({"EVENTS_FILE": "events.jsonl"}, "does not begin with / or ~"),
    ],
)
def test_settings_that_cannot_work_are_refused_with_what_to_write(
    values: dict[str, str], says: str, tmp_path: Path
) -> None:
    given = {f"THREADWRIGHT_{name}": value for name, value in values.items()}
    with mock.patch.dict(os.environ, {"THREADWRIGHT_HOME": str(tmp_path), **given}):
        with pytest.raises(SettingsMistaken, match=says):
            read_settings()


def test_the_queue_is_set_under_the_name_that_others_use_too(tmp_path: Path) -> None:
    (tmp_path / ".env").write_text("AGENTIC_EVENTS_QUEUE_URL=https://sqs.eu-central-1.amazonaws.com/1/events\n")
    (tmp_path / ".env").chmod(0o600)
    with mock.patch.dict(os.environ, {"THREADWRIGHT_HOME": str(tmp_path)}):
        assert read_settings().aws_events_queue == "https://sqs.eu-central-1.amazonaws.com/1/events"
    with mock.patch.dict(os.environ, {"THREADWRIGHT_HOME": str(tmp_path), "AGENTIC_EVENTS_QUEUE_URL": "events"}):
        with pytest.raises(SettingsMistaken, match="AGENTIC_EVENTS_QUEUE_URL: it is a queue's URL"):
            read_settings()


async def test_what_waits_in_a_store_on_aws_is_shown_too(aws_place: AwsPlace, tmp_path: Path) -> None:
    store = AwsStore.open(aws_place)
    await store.subscribe("file")
    await begin(store)
    await store.close()
    settings: dict[str, object] = {
        "home": tmp_path, "store": "aws", "events_file": tmp_path / "events.jsonl", "AWS_REGION": aws_place.region,
        "DYNAMODB_EXECUTIONS_TABLE": aws_place.table, "S3_ARTIFACT_BUCKET": aws_place.bucket,
        "AWS_ENDPOINT_URL": aws_place.endpoint,
    }  # fmt: skip
    assert await rows(settings) == {"file": ("limited", f"events wait since {NOW:%Y-%m-%d %H:%M} UTC")}


async def test_the_doctor_has_one_row_for_the_queue_of_events_wherever_the_store_is(
    aws_place: AwsPlace, tmp_path: Path
) -> None:
    names = {
        "DYNAMODB_EXECUTIONS_TABLE": aws_place.table, "S3_ARTIFACT_BUCKET": aws_place.bucket, "AWS_REGION": aws_place.region,
        "AWS_ENDPOINT_URL": aws_place.endpoint, "AGENTIC_EVENTS_QUEUE_URL": aws_place.events,
    }  # fmt: skip
    on_aws = Settings.model_validate({"home": tmp_path, "store": "aws", **names})
    found = [*await doctor.stores(on_aws), *await doctor.events(on_aws)]
    name = aws_place.events.rpartition("/")[2]
    assert [(row.adapter, row.state) for row in found if row.name == "events"] == [(name, "ok")]
    (bell,) = [row for row in found if row.name == "queue"]
    assert "each worker asks the table five times a second" in bell.why
    (row,) = await doctor.events(
        on_aws.model_copy(update={"store": "memory", "aws_events_queue": f"{aws_place.events}-not"})
    )
    assert (row.adapter, row.state) == (f"queue {name}-not", "limited")
    assert row.why.startswith("there is no queue ")
