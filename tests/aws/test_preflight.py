"""The pre-flight of a deployment, over an emulator and, for what that lacks, answers made by hand."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import threading
from collections.abc import Callable, Generator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs

import boto3
import pytest

from deploy import preflight
from deploy.aws_local.emulator import PYTHON, mini_stack
from tests.aws.accounts import NOT_INSTALLED

REGION, ACCOUNT = "eu-central-1", "000000000000"
SERVICES = "dynamodb,sqs,s3,sts,ssm,ecr,ec2,logs"
MANIFEST = '{"schemaVersion": 2}'
DIGEST = f"sha256:{hashlib.sha256(MANIFEST.encode()).hexdigest()}"


class ByHand:
    """Answers of CloudFormation and Service Quotas, which a test sets."""

    def __init__(self) -> None:
        self.quotas = {"L-1216C47A": 32.0, "L-F678F1CE": 5.0}
        self.stack: str | None = None
        self.refuses = ""
        """What the credentials may not do."""

    def answer(self, action: str, body: dict[str, Any]) -> tuple[int, str]:
        """The status and the body of an answer."""
        if action == self.refuses:
            return self._error(403, "AccessDenied", "no")
        match action:
            case "ValidateTemplate":
                return 200, _result(action, "")
            case "DescribeStacks" if self.stack is None:
                return self._error(400, "ValidationError", "Stack with id threadwright does not exist")
            case "DescribeStacks":
                member = f"<member><StackName>threadwright</StackName><StackStatus>{self.stack}</StackStatus></member>"
                return 200, _result(action, f"<Stacks>{member}</Stacks>")
            case "GetServiceQuota" | "GetAWSDefaultServiceQuota":
                if body["QuotaCode"] not in self.quotas:
                    return 400, json.dumps({"__type": "NoSuchResourceException", "message": "none"})
                return 200, json.dumps({"Quota": {"Value": self.quotas[body["QuotaCode"]]}})
            case _:
                return self._error(400, "InvalidAction", action)

    def _error(self, status: int, code: str, message: str) -> tuple[int, str]:
        said = f"<Error><Type>Sender</Type><Code>{code}</Code><Message>{message}</Message></Error>"
        return status, f"<ErrorResponse>{said}<RequestId>1</RequestId></ErrorResponse>"


def _result(action: str, content: str) -> str:
    space = "http://cloudformation.amazonaws.com/doc/2010-05-15/"
    return f'<{action}Response xmlns="{space}"><{action}Result>{content}</{action}Result></{action}Response>'


@contextlib.contextmanager
def served(answers: ByHand) -> Generator[str]:
    """The answers over HTTP; gives the address."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"])).decode()
            target = self.headers.get("X-Amz-Target", "")
            action = target.rpartition(".")[2] or parse_qs(body)["Action"][0]
            status, text = answers.answer(action, json.loads(body) if target else {})
            self.send_response(status)
            self.send_header("Content-Length", str(len(text.encode())))
            self.end_headers()
            self.wfile.write(text.encode())

        def log_message(self, format: str, *args: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


@pytest.fixture(scope="module")
def emulated() -> Generator[str]:
    if not PYTHON.exists():
        (pytest.fail if os.environ.get("CI") else pytest.skip)(NOT_INSTALLED)
    with mini_stack(services=SERVICES) as address:
        yield address


@pytest.fixture
def answers(emulated: str, monkeypatch: pytest.MonkeyPatch) -> Generator[ByHand]:
    """The services as a person's settings point to them."""
    by_hand = ByHand()
    for name in ("AWS_PROFILE", "AWS_REGION"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("AWS_CONFIG_FILE", "/dev/null")
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", "/dev/null")
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "test")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "test")
    monkeypatch.setenv("AWS_DEFAULT_REGION", REGION)
    monkeypatch.setenv("AWS_ENDPOINT_URL", emulated)
    with served(by_hand) as address:
        monkeypatch.setenv("AWS_ENDPOINT_URL_CLOUDFORMATION", address)
        monkeypatch.setenv("AWS_ENDPOINT_URL_SERVICE_QUOTAS", address)
        yield by_hand


def image(repository: str, digest: str = DIGEST) -> str:
    return f"{ACCOUNT}.dkr.ecr.{REGION}.amazonaws.com/{repository}@{digest}"


@pytest.fixture
def told(capsys: pytest.CaptureFixture[str]) -> Callable[..., tuple[int, str]]:
    """Run it; its exit code and what it printed."""

    def run(*more: str) -> tuple[int, str]:
        ends = preflight.main(("--image", image("threadwright"), "--engine-image", image("threadwright-engine"), *more))
        return ends, capsys.readouterr().out

    return run


def wrong(said: str) -> list[str]:
    return [line for line in said.splitlines() if line.startswith("✘")]


def test_an_account_is_made_ready_step_by_step_as_the_lines_say(
    answers: ByHand, told: Callable[..., tuple[int, str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    ends, said = told()
    assert ends == 1
    assert [line.split(": ")[0] for line in wrong(said)] == [
        "✘ parameter /threadwright/DISCORD_TOKEN", "✘ parameter /threadwright/ANTHROPIC_API_KEY",
        f"✘ image threadwright@{DIGEST[:19]}…", f"✘ image threadwright-engine@{DIGEST[:19]}…",
    ]  # fmt: skip
    assert "aws ssm put-parameter --type SecureString --name /threadwright/DISCORD_TOKEN" in said
    assert "aws ecr create-repository --repository-name threadwright-engine" in said
    assert "Nothing was made." in said

    ssm, ecr = boto3.client("ssm"), boto3.client("ecr")
    ssm.put_parameter(Name="/threadwright/DISCORD_TOKEN", Value="open", Type="String")
    ssm.put_parameter(Name="/threadwright/ANTHROPIC_API_KEY", Value="a key", Type="SecureString")
    for name in ("threadwright", "threadwright-engine"):
        ecr.create_repository(repositoryName=name)
    ecr.put_image(repositoryName="threadwright", imageManifest=MANIFEST, imageTag="1")
    ends, said = told()
    assert ends == 1
    token, engine = wrong(said)
    assert "is a String, which is not encrypted" in token
    assert "is not in the repository: push it" in engine
    assert "a key" not in said

    ssm.delete_parameter(Name="/threadwright/DISCORD_TOKEN")
    ssm.put_parameter(Name="/threadwright/DISCORD_TOKEN", Value="a token", Type="SecureString")
    ecr.put_image(repositoryName="threadwright-engine", imageManifest=MANIFEST, imageTag="1")
    monkeypatch.delenv("AWS_DEFAULT_REGION")
    monkeypatch.setenv("AWS_REGION", REGION)
    ends, said = told("--account", ACCOUNT)
    assert (ends, wrong(said)) == (0, [])
    monkeypatch.setenv("AWS_DEFAULT_REGION", REGION)
    assert said.endswith("Ready to deploy (docs/deployment.md).\n")

    # What an earlier stack left is in the way of a new one, and belongs to the same stack where that is updated.
    boto3.client("sqs").create_queue(QueueName="threadwright-events")
    boto3.client("s3").create_bucket(
        Bucket=f"threadwright-artifacts-{ACCOUNT}-{REGION}", CreateBucketConfiguration={"LocationConstraint": REGION}
    )
    boto3.client("logs").create_log_group(logGroupName="/threadwright/worker")
    ends, said = told()
    assert [line.split()[1] for line in wrong(said)] == ["bucket", "queue", "log"]
    answers.stack = "UPDATE_COMPLETE"
    assert told()[0] == 0

    # Quotas, by what is asked for.
    answers.quotas = {"L-1216C47A": 20.0}
    ends, said = told("--machines", "3")
    assert "3 × t3.medium: 24 vCPU, the account may run 20: it is not enough: fewer --machines" in said
    answers.stack, answers.quotas = None, {"L-1216C47A": 32.0, "L-F678F1CE": 1.0}
    assert "networks: 1 of 1 are used: it is not enough" in told("--stack", "other")[1]


@pytest.mark.parametrize(
    ("stack", "words"), [("ROLLBACK_COMPLETE", "delete-stack"), ("UPDATE_IN_PROGRESS", "wait until it has settled")]
)
def test_a_stack_that_cannot_be_updated_ends_it(
    answers: ByHand, told: Callable[..., tuple[int, str]], stack: str, words: str
) -> None:
    answers.stack = stack
    ends, said = told()
    assert ends == 1
    assert [words in line for line in wrong(said)] == [True]


def test_who_is_not_let_in_is_told_how_to_be(
    answers: ByHand, told: Callable[..., tuple[int, str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    answers.refuses = "ValidateTemplate"
    assert "may not do cloudformation:ValidateTemplate: deploy as somebody who may" in wrong(told()[1])[0]
    assert "set AWS_PROFILE to a profile of that account" in wrong(told("--account", "123456789012")[1])[0]
    monkeypatch.setenv("AWS_ENDPOINT_URL_STS", "http://127.0.0.1:9")
    assert "does not answer" in wrong(told()[1])[0]
    monkeypatch.delenv("AWS_ACCESS_KEY_ID")
    monkeypatch.delenv("AWS_SECRET_ACCESS_KEY")
    assert "no AWS credentials that can be used" in wrong(told()[1])[0]
    monkeypatch.delenv("AWS_DEFAULT_REGION")
    assert "no region is set: set AWS_REGION" in wrong(told()[1])[0]


def test_images_have_to_be_what_the_template_may_fetch(answers: ByHand, told: Callable[..., tuple[int, str]]) -> None:
    elsewhere = image("threadwright-engine").replace(REGION, "us-east-1")
    said = "".join(wrong(told("--image", "threadwright:latest", "--engine-image", elsewhere)[1]))
    assert "is no image by its digest" in said
    assert "is in account 000000000000, region us-east-1" in said
    said = "".join(wrong(told("--image", image("other"))[1]))
    assert "only fetch it from a repository called threadwright" in said


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("--stack", "Thread_Wright"), "write up to 30 small letters"),
        (("--machines", "0"), "write a number from 1 to 50"),
        (("--model-key", "MY_KEY"), "invalid choice"),
    ],
)
def test_a_mistake_in_the_command_line_is_64(
    arguments: tuple[str, ...], words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ended:
        preflight.main(("--image", "a", "--engine-image", "b", *arguments))
    assert ended.value.code == 64
    assert words in capsys.readouterr().err
