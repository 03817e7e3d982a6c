"""Settings: read once, told all at once when they are wrong, and listed in .env.example."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from agentic.aws.aws_place import AwsPlace
from agentic.core.events.execution_events import Usage
from bot.app.options import options_from
from bot.cogs.commands.privacy import told
from bot.config.settings import (
    PROVIDER_VARIABLES,
    Settings,
    SettingsMistaken,
    read_settings,
    variable,
)
from bot.config.settings_example import example
from bot.config.settings_sources import AWS_CREDENTIALS, TELEMETRY_VARIABLES, gather
from bot.retention.personal_data import StoredData

ROOT = Path(__file__).parents[3]


@pytest.fixture(autouse=True)
def an_empty_working_directory(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("THREADWRIGHT_HOME", str(tmp_path / "home"))
    (tmp_path / "home").mkdir()


def mistakes_by_name() -> dict[str, str]:
    with pytest.raises(SettingsMistaken) as caught:
        read_settings()
    return {mistake.name: f"{mistake.problem}. {mistake.instead}" for mistake in caught.value.mistakes}


def test_all_mistakes_are_told_at_once_with_what_to_write(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("THREADWRIGHT_SANDBOX", "dokcer")
    monkeypatch.setenv("THREADWRIGHT_MAX_USD", "0")
    monkeypatch.setenv("THREADWRIGHT_MAX_TURNS_SIMPLE", "many")
    told = mistakes_by_name()
    assert set(told) == {"THREADWRIGHT_SANDBOX", "THREADWRIGHT_MAX_USD", "THREADWRIGHT_MAX_TURNS_SIMPLE"}
    assert "auto, docker, bubblewrap, host" in told["THREADWRIGHT_SANDBOX"]
    assert "more than 0" in told["THREADWRIGHT_MAX_USD"]
    assert "whole number" in told["THREADWRIGHT_MAX_TURNS_SIMPLE"]


def test_a_misspelt_name_is_told_with_the_nearest_real_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("THREADWRIGHT_TEIR_2", "openai/gpt")
    monkeypatch.setenv("THREADWRIGHT_STORE", "mysql")
    told = mistakes_by_name()
    assert "Write THREADWRIGHT_TIER_2 instead" in told["THREADWRIGHT_TEIR_2"]
    assert "sqlite, aws, memory" in told["THREADWRIGHT_STORE"]


def test_a_misspelt_name_in_the_file_is_told_too(tmp_path: Path) -> None:
    (tmp_path / "home/.env").write_text("THREADWRIGHT_HOEM=/srv\n")
    assert "THREADWRIGHT_HOME" in mistakes_by_name()["THREADWRIGHT_HOEM"]


def test_a_mistaken_token_is_told_without_showing_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DISCORD_TOKEN", "Bot sesame-7731")
    told = mistakes_by_name()["DISCORD_TOKEN"]
    assert "sesame" not in told
    assert "blank" in told
    assert told.endswith("Write the token as the developer portal shows it")


def test_names_are_split_at_commas_and_pairs_are_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("THREADWRIGHT_PRICES", "own/model=0.5/2, other/one=1/3/0.1/1.25@32000")
    monkeypatch.setenv("THREADWRIGHT_CUSTOM_EMOJI", "123=🛑")
    monkeypatch.setenv("THREADWRIGHT_OWNERS", "Admins")
    monkeypatch.setenv("THREADWRIGHT_VIEWERS", "Guests, 42")
    settings = read_settings()
    assert settings.priced["own/model"].usd(Usage(input=1_000_000, output=1_000_000)) == 2.5
    assert settings.priced["other/one"].usd(Usage(cache_read=1_000_000, cache_write=1_000_000)) == 1.35
    assert settings.priced["other/one"].window == 32_000
    assert settings.signs == {"123": "🛑"}
    assert settings.levels == {"Admins": "owner", "Guests": "viewer", "42": "viewer"}


def test_pairs_that_are_none_are_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("THREADWRIGHT_PRICES", "own/model")
    monkeypatch.setenv("THREADWRIGHT_CUSTOM_EMOJI", "stop=🛑")
    told = mistakes_by_name()
    assert "Write it like" in told["THREADWRIGHT_PRICES"]
    assert "id" in told["THREADWRIGHT_CUSTOM_EMOJI"]


def test_the_environment_wins_over_the_file(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "home/.env").write_text("THREADWRIGHT_STORE=memory\nTHREADWRIGHT_TIER_2=a/one, b/two\n")
    monkeypatch.setenv("THREADWRIGHT_STORE", "sqlite")
    settings = read_settings()
    assert settings.store == "sqlite"
    assert settings.tiers == ((), ("a/one", "b/two"), (), ())


def test_home_is_absolute_and_the_token_is_not_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("THREADWRIGHT_HOME", "~/state")
    monkeypatch.setenv("DISCORD_TOKEN", "sesame-7731")
    settings = read_settings()
    assert settings.home == Path("~/state").expanduser()
    assert "sesame" not in repr(settings)


def test_the_example_file_is_made_from_the_settings_and_shows_each_once() -> None:
    """``python -m bot.config.settings_example > .env.example`` writes it."""
    assert (ROOT / ".env.example").read_text() == example()
    shown = re.findall(r"^#([A-Z][A-Z0-9_]*)=", example(), re.MULTILINE)
    libraries = (*PROVIDER_VARIABLES, *AWS_CREDENTIALS, *TELEMETRY_VARIABLES)
    assert sorted(shown) == sorted([*libraries, *(variable(field) for field in Settings.model_fields)])
    assert all(info.description for info in Settings.model_fields.values())


def test_the_example_file_begins_with_what_everybody_needs() -> None:
    text = example()
    order = [
        "1. Must", "2. Models", "3. Money", "4. People", "5. The rest", "6. Many machines", "7. Watching", "8. Experts",
    ]  # fmt: skip
    assert [text.index(heading) for heading in order] == sorted(text.index(heading) for heading in order)
    assert (
        text.index("6. Many machines")
        < text.index("THREADWRIGHT_STORE=sqlite")
        < text.index("DYNAMODB_EXECUTIONS_TABLE=")
    )
    assert text.index("DISCORD_TOKEN=") < text.index("2. Models") < text.index("THREADWRIGHT_TIER_2=\n")


AWS = {
    "DYNAMODB_EXECUTIONS_TABLE": "threads",
    "S3_ARTIFACT_BUCKET": "artifacts",
    "AGENTIC_DOORBELL_QUEUE_URL": "http://127.0.0.1:4566/000000000000/doorbell",
    "AGENTIC_EVENTS_QUEUE_URL": "http://127.0.0.1:4566/000000000000/events",
    "AWS_ENDPOINT_URL": "http://127.0.0.1:4566/",
}


def test_a_place_on_aws_is_named_by_variables_that_other_programs_know(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """From a file as well; the region has two names, as the SDK has."""
    here = read_settings()
    assert here.aws_place is None
    lines = [f"{name}={value}" for name, value in {**AWS, "AWS_DEFAULT_REGION": "eu-west-1"}.items()]
    (tmp_path / "home/.env").write_text("\n".join([*lines, "THREADWRIGHT_STORE=aws", "AWS_SECRET_ACCESS_KEY=sesame"]))
    monkeypatch.setenv("AGENTIC_EVENTS_QUEUE_URL", "")
    place = read_settings().aws_place
    assert place == AwsPlace(
        "threads", "artifacts", "eu-west-1", "http://127.0.0.1:4566", AWS["AGENTIC_DOORBELL_QUEUE_URL"],
        AWS["AGENTIC_EVENTS_QUEUE_URL"], tmp_path / "home/copies",
    )  # fmt: skip
    for settings, where in ((here, "on the computer that runs the bot;"), (read_settings(), "in the AWS account that")):
        assert f"**Where:** {where}" in told(StoredData(), (), options_from(settings, local=False)), (
            "people are told so"
        )
    for name, value in (("AWS_REGION", "eu-north-1"), ("DYNAMODB_EXECUTIONS_TABLE", "others")):
        monkeypatch.setenv(name, value)
    place = read_settings().aws_place
    assert place is not None
    assert (place.region, place.table) == ("eu-north-1", "others")
    assert gather(None, {"THREADWRIGHT_HOME": str(tmp_path / "home")}).for_libraries() == {
        "AWS_SECRET_ACCESS_KEY": "sesame"
    }


def test_a_store_on_aws_needs_a_table_and_a_bucket_and_a_queue_for_each_purpose(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("THREADWRIGHT_STORE", "aws")
    told = mistakes_by_name()
    assert set(told) == {"DYNAMODB_EXECUTIONS_TABLE", "S3_ARTIFACT_BUCKET"}
    assert "make aws-local" in told["S3_ARTIFACT_BUCKET"]
    for name, value in {**AWS, "AGENTIC_EVENTS_QUEUE_URL": AWS["AGENTIC_DOORBELL_QUEUE_URL"]}.items():
        monkeypatch.setenv(name, value)
    told = mistakes_by_name()
    assert list(told) == ["AGENTIC_DOORBELL_QUEUE_URL"]
    assert "it is the queue of events too" in told["AGENTIC_DOORBELL_QUEUE_URL"]


def test_what_cannot_be_a_name_or_an_address_on_aws_is_told_by_its_variable(monkeypatch: pytest.MonkeyPatch) -> None:
    wrong = {
        "DYNAMODB_EXECUTIONS_TABLE": ("arn:aws:dynamodb:eu-west-1:1:table/threads", "no ARN"),
        "S3_ARTIFACT_BUCKET": ("s3://artifacts", "without s3://"),
        "AGENTIC_DOORBELL_QUEUE_URL": ("https://sqs.eu-west-1.amazonaws.com/1/doorbell.fifo", "make a standard queue"),
        "AGENTIC_EVENTS_QUEUE_URL": ("events", "a queue's URL"),
        "AWS_ENDPOINT_URL": ("127.0.0.1:4566", "begins with https://"),
    }
    for name, (value, _) in wrong.items():
        monkeypatch.setenv(name, value)
    told = mistakes_by_name()
    assert {name: words in told[name] for name, (_, words) in wrong.items()} == dict.fromkeys(wrong, True)
    assert not any("token" in words for words in told.values())
    assert all(words.endswith("See .env.example for what may stand there") for words in told.values())


def test_the_console_has_an_address_a_free_port_or_is_off(monkeypatch: pytest.MonkeyPatch) -> None:
    assert read_settings().console_address == ("127.0.0.1", 8094)
    for written, address in (("0.0.0.0:80", ("0.0.0.0", 80)), ("127.0.0.1:0", ("127.0.0.1", 0)), ("off", None)):
        monkeypatch.setenv("THREADWRIGHT_CONSOLE", written)
        assert read_settings().console_address == address
    assert Settings(store="memory").console_address is None
    monkeypatch.setenv("THREADWRIGHT_CONSOLE", "somewhere")
    monkeypatch.setenv("THREADWRIGHT_CONSOLE_URL", "console.example.org")
    monkeypatch.setenv("THREADWRIGHT_CONSOLE_TOKEN", "t" * 31)
    monkeypatch.setenv("DISCORD_CLIENT_ID", "my bot")
    told = mistakes_by_name()
    assert "write 127.0.0.1:8094" in told["THREADWRIGHT_CONSOLE"]
    assert "begins with https://" in told["THREADWRIGHT_CONSOLE_URL"]
    assert "fewer than 32 characters" in told["THREADWRIGHT_CONSOLE_TOKEN"]
    assert "developer portal" in told["DISCORD_CLIENT_ID"]
