"""The command line: plain errors, exit codes, and a start that waits for nothing it does not need."""

from __future__ import annotations

import errno
import json
import os
import socket
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from unittest import mock

import pytest

from bot.cli import main
from bot.cli.main import perform

ROOT = Path(__file__).parents[3]


@pytest.fixture(autouse=True)
def an_empty_working_directory(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)


Ended = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture
def command(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Ended:
    """Carry out a command in this process."""

    def ended(*arguments: str, **settings: str) -> subprocess.CompletedProcess[str]:
        for name, value in {"THREADWRIGHT_HOME": str(Path.cwd() / "home"), **settings}.items():
            monkeypatch.setenv(name, value)
        code = perform(arguments)
        told = capsys.readouterr()
        return subprocess.CompletedProcess(arguments, code, told.out, told.err)

    return ended


def process(*arguments: str, stdout: int = subprocess.PIPE) -> subprocess.CompletedProcess[str]:
    """The same in a process of its own, which also logs."""
    env = {"PATH": os.environ["PATH"], "PYTHONPATH": str(ROOT), "THREADWRIGHT_HOME": str(Path.cwd() / "home")}
    return subprocess.run(
        [sys.executable, "-m", "bot.cli.main", *arguments],
        env=env, stdout=stdout, stderr=subprocess.PIPE, text=True, timeout=60, check=False,
    )  # fmt: skip


def test_mistaken_settings_are_told_and_end_with_64(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("THREADWRIGHT_STORE", "mysql")
    monkeypatch.setenv("THREADWRIGHT_TEIR_2", "x")
    assert perform(["doctor"]) == 64
    told = capsys.readouterr()
    assert told.out == ""
    assert "THREADWRIGHT_STORE" in told.err
    assert "THREADWRIGHT_TIER_2" in told.err


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (OSError("Port 1 is taken, so set another"), "Port 1 is taken, so set another. `threadwright doctor`"),
        (
            OSError(errno.EMFILE, "Too many open files"),
            "This machine refused something: [Errno 24] Too many open files. ",
        ),
    ],
)
def test_what_the_machine_refuses_is_said_as_it_is_where_the_words_are_ours(
    error: OSError, said: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(main, "_command", mock.Mock(side_effect=error))
    assert perform(["run"]) == 1
    assert capsys.readouterr().err.startswith(said)


def test_backup_does_not_pretend_to_hold_what_lies_on_aws(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    for name, value in {"THREADWRIGHT_STORE": "aws", "DYNAMODB_EXECUTIONS_TABLE": "threads"}.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("S3_ARTIFACT_BUCKET", "artifacts")
    monkeypatch.setenv("THREADWRIGHT_HOME", str(tmp_path))
    assert perform(["backup", str(tmp_path / "all")]) == 1
    assert "recovery to a point in time" in capsys.readouterr().err
    assert not (tmp_path / "all").exists()


def test_a_model_that_cannot_be_asked_is_told_before_anything_runs(command: Ended) -> None:
    ended = command("task", "do it", THREADWRIGHT_TIER_2="openai/gpt-4o-mini")
    assert ended.returncode == 64
    assert "OPENAI_API_KEY" in ended.stderr
    assert ended.stdout == ""


@pytest.mark.parametrize(
    "arguments",
    [("task", "  "), ("task", "do it", "--dir", "nowhere"), ("task", "do it", "--timeout", "-1"), ("dance",)],
)
def test_what_cannot_be_meant_is_refused_with_64(arguments: tuple[str, ...]) -> None:
    with pytest.raises(SystemExit) as ended:
        perform(arguments)
    assert ended.value.code == 64


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (("dance",), "threadwright: there is no command 'dance'"),
        (("lessons", "dance"), "threadwright lessons: there is no command 'dance'"),
        (("setup", "--sandbox", "none"), "argument --sandbox: invalid choice: 'none'"),
        (("import", "kept.tar.gz", "--into", ""), "argument --into: it is empty: write a name"),
        (("import", ""), "argument FILE: it is empty: write a name"),
    ],
)
def test_a_mistake_is_named_in_a_line_and_nothing_is_begun(
    arguments: tuple[str, ...], told: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ended:
        perform(list(arguments))
    assert ended.value.code == 64
    assert told in capsys.readouterr().err.splitlines()[-1]
    assert list(Path.cwd().iterdir()) == []


def test_doctor_names_every_component_with_its_adapter(command: Ended) -> None:
    ended = command("doctor", "--json")
    told = json.loads(ended.stdout)
    components = {row["name"]: row for row in told["components"]}
    assert set(components) >= {"python", "guild", "store", "sandbox", "models"}
    assert components["models"]["adapter"] == "scripted tour"
    assert "ANTHROPIC_API_KEY" in components["models"]["todo"]
    assert (ended.returncode == 0) == told["can_run"]


def test_doctor_says_what_to_do_about_a_home_that_cannot_be_used(command: Ended) -> None:
    Path("home").write_text("this is a file")
    ended = command("doctor", "--json")
    store = next(row for row in json.loads(ended.stdout)["components"] if row["name"] == "store")
    assert ended.returncode == 1
    assert store["state"] == "missing"
    assert "THREADWRIGHT_HOME" in store["todo"]
    assert store["why"] == "it is a file, not a folder"


def test_a_port_that_is_taken_is_told_with_the_setting_to_change(command: Ended) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        ended = command("run", THREADWRIGHT_GUILD_PORT=port)
    assert ended.returncode == 1
    assert port in ended.stderr
    assert "THREADWRIGHT_GUILD_PORT" in ended.stderr
    assert "Traceback" not in ended.stderr


@pytest.mark.parametrize(
    ("arguments", "home"), [(("run",), "a-file"), (("task", "do it"), "a-file/below"), (("run",), "/proc/nowhere")]
)
def test_a_home_that_cannot_be_made_is_told_in_one_line(command: Ended, arguments: tuple[str, ...], home: str) -> None:
    Path("a-file").write_text("this is a file")
    ended = command(*arguments, THREADWRIGHT_HOME=str(Path.cwd() / home), OPENAI_API_KEY="nobody-asks-with-it")
    assert ended.returncode == 1
    (told,) = (line for line in ended.stderr.splitlines() if not line.endswith(" …"))
    assert "THREADWRIGHT_HOME" in told
    assert "Errno" not in ended.stderr


def test_a_damaged_guild_is_told_in_one_line() -> None:
    Path("home/guild").mkdir(parents=True)
    Path("home/guild/guild.sqlite3").write_bytes(b"this is no database " * 500)
    ended = process("run")
    assert ended.returncode == 1
    assert "Move it away" in ended.stderr
    assert ended.stderr.count("\n") == 1, ended.stderr


def test_a_guild_that_cannot_be_opened_is_told_in_one_line(command: Ended) -> None:
    Path("home/guild/guild.sqlite3").mkdir(parents=True)
    ended = command("run")
    assert ended.returncode == 1
    assert "Move it away" in ended.stderr
    assert ended.stderr.count("\n") == 1, ended.stderr


def test_a_guild_folder_that_is_a_file_is_told_in_one_line(command: Ended) -> None:
    Path("home").mkdir()
    Path("home/guild").write_text("this is a file")
    ended = command("run")
    assert ended.returncode == 1
    assert "guild cannot be used: it is a file" in ended.stderr
    assert ended.stderr.count("\n") == 1, ended.stderr


def test_a_reader_that_is_gone_ends_a_command_quietly() -> None:
    reading, writing = os.pipe()
    os.close(reading)
    ended = process("costs", stdout=writing)
    os.close(writing)
    assert ended.stderr == ""
    assert ended.returncode == 141


def test_the_version_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        perform(["--version"])
    assert ended.value.code == 0
    assert capsys.readouterr().out == "threadwright 0.1.0\n"


def test_a_damaged_database_is_told_without_a_traceback(command: Ended) -> None:
    Path("home").mkdir()
    Path("home/threadwright.sqlite").write_bytes(b"this is no database " * 500)
    ended = command("run")
    assert ended.returncode == 1
    assert "doctor" in ended.stderr
    assert "Traceback" not in ended.stderr
    store = next(row for row in json.loads(command("doctor", "--json").stdout)["components"] if row["name"] == "store")
    assert store["state"] == "missing"


def loaded_by(code: str, **settings: str) -> set[str]:
    """The modules that a process has loaded which runs this."""
    env = {"PATH": os.environ["PATH"], **settings}
    ended = subprocess.run(
        [sys.executable, "-c", f"import sys; {code}; print(*sorted(sys.modules))"],
        cwd=ROOT, env=env, capture_output=True, text=True, timeout=60, check=True,
    )  # fmt: skip
    return set(ended.stdout.split())


def test_the_start_waits_for_no_model_library_and_no_engine() -> None:
    loaded = loaded_by("import bot.app.app, bot.cli.run, bot.local_discord.server")
    assert "discord" in loaded
    assert not loaded & {"litellm", "anthropic", "openai", "docker", "aioboto3", "boto3", "rich", "httpx"}
