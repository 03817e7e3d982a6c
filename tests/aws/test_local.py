"""``make aws-local`` as a process of its own: what it prints works, and nothing of it is left, however it ends."""

from __future__ import annotations

import os
import re
import shlex
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from deploy.aws_local import emulator
from deploy.aws_local.__main__ import main
from deploy.aws_local.resources import client
from tests.aws.accounts import NOT_INSTALLED
from tests.waiting import eventually_true

ROOT = Path(__file__).parents[2]
MICROBURST = bool(os.environ.get("MICROBURST"))
"""Whether microburst is started before it too, which takes some seconds more."""

pytestmark = pytest.mark.skipif(not emulator.PYTHON.exists(), reason=NOT_INSTALLED)


@contextmanager
def started(*options: str) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """The process, and what it said once everything was made."""
    command = [sys.executable, "-m", "deploy.aws_local", "--port", "0", *options]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        said = ""
        try:
            while "Ctrl-C ends it." not in said:
                line = process.stdout.readline()
                assert line, f"it ended with {process.wait()}: {said}"
                said += line
            yield process, said
        finally:
            process.kill()


def exported(said: str) -> dict[str, str]:
    """The variables that a shell would set from it."""
    lines = [shlex.split(line)[1] for line in said.splitlines() if line.strip().startswith("export ")]
    return dict(line.split("=", 1) for line in lines)


def listens(endpoint: str) -> bool:
    """Whether something answers there."""
    host, _, port = endpoint.rpartition("/")[2].partition(":")
    with socket.socket() as asked:
        return asked.connect_ex((host, int(port))) == 0


def until_gone(endpoint: str) -> None:
    """Wait until nothing answers there any more."""
    eventually_true(lambda: not listens(endpoint), f"nothing listens at {endpoint}")


def test_ctrl_c_ends_it_in_order_and_what_it_printed_was_there() -> None:
    with started(*(["--faults"] if MICROBURST else [])) as (process, said):
        variables = exported(said)
        endpoint, table = variables["AWS_ENDPOINT_URL"], variables["DYNAMODB_EXECUTIONS_TABLE"]
        dynamodb = client("dynamodb", endpoint)
        assert dynamodb.describe_table(TableName=table)["Table"]["TableStatus"] == "ACTIVE"
        for name in ("AGENTIC_DOORBELL_QUEUE_URL", "AGENTIC_EVENTS_QUEUE_URL"):
            got = client("sqs", endpoint).get_queue_attributes(
                QueueUrl=variables[name], AttributeNames=["RedrivePolicy"]
            )
            assert "maxReceiveCount" in got["Attributes"]["RedrivePolicy"]
        versioning = client("s3", endpoint).get_bucket_versioning(Bucket=variables["S3_ARTIFACT_BUCKET"])
        assert versioning["Status"] == "Enabled"
        assert (f"curl -X PATCH {endpoint}/_microburst/rules" in said) is MICROBURST
        if MICROBURST:
            script = said[said.index("  curl") : said.index("Ctrl-C")].replace("curl", "curl -fsS")
            subprocess.run(["sh", "-ec", script], check=True, timeout=60, stdout=subprocess.DEVNULL)
        behind = re.match(r"http://[\d.:]+", variables["AGENTIC_EVENTS_QUEUE_URL"])
        assert behind is not None
        process.send_signal(signal.SIGINT)
        assert process.wait(60) == 0
        assert process.stdout is not None
        assert "The local AWS has ended; its table, bucket and queues are gone." in process.stdout.read()
        assert not listens(endpoint)
        assert not listens(behind[0])


def test_nothing_outlives_it_when_it_is_killed() -> None:
    with started() as (process, said):
        endpoint = exported(said)["AWS_ENDPOINT_URL"]
        assert listens(endpoint)
        process.kill()
        process.wait()
        until_gone(endpoint)


def test_what_keeps_it_from_starting_is_one_line(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    handlers = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        assert main(["--port", str(port)]) == 1
    assert (
        capsys.readouterr().err
        == f"Port {port} is taken. Name another one (PORT=4567), or PORT=0 for any that is free.\n"
    )
    monkeypatch.setattr(emulator, "PYTHON", tmp_path / ".venv-aws/bin/python")
    assert main(["--port", "0"]) == 1
    assert capsys.readouterr().err == ".venv-aws is missing. Set it up once (700 MB): make aws\n"
    for number, handler in handlers.items():
        signal.signal(number, handler)
