"""Look at everything that a deployment to AWS would trip over, before anything is made or paid for.

    python -m deploy.preflight --image URI --engine-image URI [--stack threadwright] [--model-key ANTHROPIC_API_KEY] …

It only reads, and what it asks costs nothing.  Each line says what was looked at; a line with ✘ says what to do.  The exit
code is 0 where all is well, 1 where something is not, 64 for a mistake in the command line.
"""

from __future__ import annotations

import argparse
import os
import re
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import boto3
import botocore.config
import botocore.exceptions

from agentic.aws.aws_errors import code_of, plainly
from agentic.aws.aws_place import AwsPlace

TEMPLATE = Path(__file__).parent / "cdk/template.yaml"
LARGEST_TEMPLATE = 51_200
"""Bytes that CloudFormation takes without a bucket to upload to."""
PARAMETERS, MACHINE = "/threadwright", "t3.medium"
"""Defaults of the template."""
TOKEN = "DISCORD_TOKEN"  # noqa: S105 - the name of a setting
KEYS = (
    "ANTHROPIC_API_KEY", "OPENAI_API_KEY", "GEMINI_API_KEY", "OPENROUTER_API_KEY", "MISTRAL_API_KEY", "GROQ_API_KEY",
    "DEEPSEEK_API_KEY", "XAI_API_KEY",
)  # fmt: skip
IMAGE = re.compile(
    r"(?P<account>\d{12})\.dkr\.ecr\.(?P<region>[a-z0-9-]{5,30})\.amazonaws\.com(?:\.cn)?/"
    r"(?P<repository>[a-z0-9._/-]{2,200})@(?P<digest>sha256:[0-9a-f]{64})"
)
STACK = re.compile(r"[a-z](?:[a-z0-9-]{0,28}[a-z0-9])?")
"""Small, since the bucket's name begins so, and short, since it goes on with account and region."""
SETTLED = (
    "CREATE_COMPLETE",
    "UPDATE_COMPLETE",
    "UPDATE_ROLLBACK_COMPLETE",
    "IMPORT_COMPLETE",
    "IMPORT_ROLLBACK_COMPLETE",
)
BROKEN = ("ROLLBACK_COMPLETE", "ROLLBACK_FAILED", "CREATE_FAILED", "DELETE_FAILED", "REVIEW_IN_PROGRESS")
VCPUS, NETWORKS = ("ec2", "L-1216C47A"), ("vpc", "L-F678F1CE")
"""Quotas: processors of running standard machines, and VPCs of a region."""
PATIENCE = botocore.config.Config(
    connect_timeout=5, read_timeout=15, retries={"total_max_attempts": 2, "mode": "standard"}
)

REFUSALS = ("AccessDenied", "AccessDeniedException", "UnauthorizedOperation", "403")
MISSING = ("404", "ResourceNotFoundException", "AWS.SimpleQueueService.NonExistentQueue", "QueueDoesNotExist")


@dataclass(frozen=True, slots=True)
class Plan:
    """What is to be deployed."""

    stack: str
    image: str
    engine_image: str
    parameters: str = PARAMETERS
    model_key: str = KEYS[0]
    machines: int = 1
    instance_type: str = MACHINE
    account: str = ""
    region: str = ""


@dataclass(frozen=True, slots=True)
class Found:
    """One thing that was looked at; ``todo`` says what is wrong with it and how to mend it, '' where it is well."""

    what: str
    todo: str = ""


class Blocked(Exception):
    """Nothing after this could be looked at."""


class Aws:
    """The clients of a region; their errors in words."""

    def __init__(self, region: str) -> None:
        self._session = boto3.Session(region_name=region or os.environ.get("AWS_REGION") or None)
        self.region = self._session.region_name or ""
        self._clients: dict[str, Any] = {}

    def ask(self, service: str, operation: str, **arguments: object) -> dict[str, Any]:
        """An answer; raises ``ClientError`` for a refusal, and ``Blocked`` where there is none at all."""
        try:
            if service not in self._clients:
                self._clients[service] = self._session.client(service, config=PATIENCE)
            return getattr(self._clients[service], operation)(**arguments)
        except botocore.exceptions.ClientError as error:
            if code_of(error) in REFUSALS and code_of(error) != "403":
                name = operation.title().replace("_", "")
                raise Blocked(f"these credentials may not do {service}:{name}: deploy as somebody who may") from error
            raise
        except botocore.exceptions.BotoCoreError as error:
            raise self.blocked(error) from error

    def blocked(self, error: Exception) -> Blocked:
        """What keeps anything from being looked at, in the words that the bot has for it."""
        return Blocked(str(plainly(error, AwsPlace(region=self.region))))


def look(plan: Plan) -> Iterator[Found]:
    """Everything in order; what all else needs comes first, and ends it where it is missing."""
    aws = Aws(plan.region)
    try:
        yield from _where(aws)
        account = _account(aws)
        wrong = plan.account and plan.account != account
        todo = (
            f"these credentials are not of {plan.account}: set AWS_PROFILE to a profile of that account"
            if wrong
            else ""
        )
        yield Found(f"account {account}", todo)
        if wrong:
            return
    except Blocked as blocked:
        yield Found("account and region", str(blocked))
        return
    exists = False
    for check in (_template, _stack):
        found, exists = _carefully(check, aws, plan)
        yield found
        if found.todo:
            return
    if not exists:
        yield from _each(_names_free(aws, plan, account))
    yield from _each(_secrets(aws, plan))
    yield from _each(_images(aws, plan, account))
    yield from _each(_quotas(aws, plan, exists=exists))


def _where(aws: Aws) -> Iterator[Found]:
    if not aws.region:
        raise Blocked("no region is set: set AWS_REGION, to eu-central-1 for example, or say --region")
    yield Found(f"region {aws.region}")


def _account(aws: Aws) -> str:
    try:
        return str(aws.ask("sts", "get_caller_identity")["Account"])
    except botocore.exceptions.ClientError as error:
        raise aws.blocked(error) from error


def _carefully(check: Callable[[Aws, Plan], tuple[Found, bool]], aws: Aws, plan: Plan) -> tuple[Found, bool]:
    try:
        return check(aws, plan)
    except Blocked as blocked:
        return Found("CloudFormation", str(blocked)), False


def _each(checks: Iterator[Found]) -> Iterator[Found]:
    """What is found, up to a refusal, which is one more finding."""
    try:
        yield from checks
    except Blocked as blocked:
        yield Found("AWS", str(blocked))
    except botocore.exceptions.ClientError as error:
        yield Found("AWS", f"{error}: try again, or deploy as somebody who may")


def _template(aws: Aws, plan: Plan) -> tuple[Found, bool]:
    if not TEMPLATE.is_file():
        return Found("template", f"{TEMPLATE} is not there: take it from the repository"), False
    text = TEMPLATE.read_text("utf-8")
    if len(text.encode()) > LARGEST_TEMPLATE:
        return Found(
            "template", f"it is over {LARGEST_TEMPLATE} bytes: deploy it with --s3-bucket, or shorten it"
        ), False
    try:
        aws.ask("cloudformation", "validate_template", TemplateBody=text)
    except botocore.exceptions.ClientError as error:
        return Found("template", f"CloudFormation does not take it: {error}"), False
    return Found("template: plain CloudFormation, no bootstrap needed"), False


def _stack(aws: Aws, plan: Plan) -> tuple[Found, bool]:
    """The finding, and whether there is such a stack already."""
    try:
        rows = aws.ask("cloudformation", "describe_stacks", StackName=plan.stack)["Stacks"]
    except botocore.exceptions.ClientError as error:
        if "does not exist" in str(error):
            return Found(f"stack {plan.stack}: is made anew"), False
        return Found(f"stack {plan.stack}", f"{error}: try again"), False
    status = str(rows[0]["StackStatus"])
    what = f"stack {plan.stack}: {status}"
    if status in SETTLED:
        return Found(f"{what}, is updated"), True
    if status in BROKEN:
        todo = f"its last creation failed: `aws cloudformation delete-stack --stack-name {plan.stack}`, then look again"
        return Found(what, todo), True
    return Found(what, "wait until it has settled, and if it does not, read its events in the console"), True


def _names_free(aws: Aws, plan: Plan, account: str) -> Iterator[Found]:
    """An earlier stack leaves its table and its bucket, so that nothing is lost by deleting it."""
    bucket = f"{plan.stack}-artifacts-{account}-{aws.region}"
    table = f"{plan.stack}-executions"
    queues = [f"{plan.stack}-{name}" for name in ("doorbell", "doorbell-dead", "events")]
    asked: list[tuple[str, str, str, dict[str, str]]] = [
        (f"table {table}", "dynamodb", "describe_table", {"TableName": table}),
        (f"bucket {bucket}", "s3", "head_bucket", {"Bucket": bucket}),
        *((f"queue {queue}", "sqs", "get_queue_url", {"QueueName": queue}) for queue in queues),
    ]
    for what, service, operation, arguments in asked:
        if _is_there(aws, service, operation, arguments):
            yield Found(
                what, "exists, and no stack has it: choose another --stack, or import or delete it (docs/deployment.md)"
            )
        else:
            yield Found(f"{what}: the name is free")
    for name in ("gateway", "worker"):
        group = f"/{plan.stack}/{name}"
        rows = aws.ask("logs", "describe_log_groups", logGroupNamePrefix=group).get("logGroups", [])
        if any(row["logGroupName"] == group for row in rows):
            yield Found(
                f"log group {group}",
                f"exists: `aws logs delete-log-group --log-group-name {group}`, or another --stack",
            )


def _is_there(aws: Aws, service: str, operation: str, arguments: dict[str, str]) -> bool:
    try:
        aws.ask(service, operation, **arguments)
    except botocore.exceptions.ClientError as error:
        if code_of(error) in MISSING:
            return False
        if code_of(error) in ("403", "301"):  # a bucket of somebody else, or elsewhere
            return True
        raise
    return True


def _secrets(aws: Aws, plan: Plan) -> Iterator[Found]:
    names = [f"{plan.parameters}/{name}" for name in (TOKEN, plan.model_key)]
    rows = aws.ask("ssm", "get_parameters", Names=names, WithDecryption=False)["Parameters"]
    kinds = {str(row["Name"]): str(row["Type"]) for row in rows}
    for name in names:
        put = f"`aws ssm put-parameter --type SecureString --name {name} --value file://SECRET`"
        match kinds.get(name):
            case None:
                yield Found(f"parameter {name}", f"is not there: write the secret into a file, then {put}")
            case "SecureString":
                yield Found(f"parameter {name}: there, encrypted")
            case kind:
                yield Found(f"parameter {name}", f"is a {kind}, which is not encrypted: delete it, then {put}")


def _images(aws: Aws, plan: Plan, account: str) -> Iterator[Found]:
    for option, image in (("--image", plan.image), ("--engine-image", plan.engine_image)):
        match = IMAGE.fullmatch(image)
        if match is None:
            form = f"{account}.dkr.ecr.{aws.region}.amazonaws.com/threadwright@sha256:…"
            yield Found(
                f"{option} {image}", f"is no image by its digest in this account: write {form}; the push printed it"
            )
            continue
        if (match["account"], match["region"]) != (account, aws.region):
            todo = f"is in account {match['account']}, region {match['region']}: push it to {account} in {aws.region}"
            yield Found(f"{option} {image}", todo)
            continue
        wanted = "threadwright" if option == "--image" else "threadwright-engine"
        if match["repository"] != wanted:
            yield Found(
                f"{option} {image}", f"the template's roles may only fetch it from a repository called {wanted}"
            )
            continue
        what = f"image {match['repository']}@{match['digest'][:19]}…"
        yield Found(what, _lacking_image(aws, match["repository"], match["digest"]))


def _lacking_image(aws: Aws, repository: str, digest: str) -> str:
    try:
        rows = aws.ask("ecr", "describe_images", repositoryName=repository, imageIds=[{"imageDigest": digest}])
    except botocore.exceptions.ClientError as error:
        if code_of(error) == "RepositoryNotFoundException":
            return f"there is no repository: `aws ecr create-repository --repository-name {repository}`, then push the image"
        if code_of(error) == "ImageNotFoundException":
            return "it is not in the repository: push it, and write the digest that the push prints"
        raise
    return (
        ""
        if rows["imageDetails"]
        else "it is not in the repository: push it, and write the digest that the push prints"
    )


def _quotas(aws: Aws, plan: Plan, *, exists: bool) -> Iterator[Found]:
    try:
        told = aws.ask("ec2", "describe_instance_types", InstanceTypes=[plan.instance_type])["InstanceTypes"][0]
    except botocore.exceptions.ClientError as error:
        if code_of(error) != "InvalidInstanceType":
            raise
        yield Found(
            f"machines {plan.instance_type}", f"{aws.region} has none of this type: say another --instance-type"
        )
        return
    needed = int(told["VCpuInfo"]["DefaultVCpus"]) * plan.machines
    allowed = _quota(aws, VCPUS)
    what = f"{plan.machines} × {plan.instance_type}: {needed} vCPU, the account may run {allowed:.0f}"
    yield Found(what, _raise(aws, VCPUS, "fewer --machines") if needed > allowed else "")
    if not exists:
        there, most = len(aws.ask("ec2", "describe_vpcs")["Vpcs"]), _quota(aws, NETWORKS)
        what = f"networks: {there} of {most:.0f} are used"
        yield Found(what, _raise(aws, NETWORKS, "delete one that nothing uses") if there >= most else "")


def _quota(aws: Aws, quota: tuple[str, str]) -> float:
    service, name = quota
    try:
        return float(
            aws.ask("service-quotas", "get_service_quota", ServiceCode=service, QuotaCode=name)["Quota"]["Value"]
        )
    except botocore.exceptions.ClientError as error:
        if code_of(error) != "NoSuchResourceException":
            raise
    told = aws.ask("service-quotas", "get_aws_default_service_quota", ServiceCode=service, QuotaCode=name)
    return float(told["Quota"]["Value"])


def _raise(aws: Aws, quota: tuple[str, str], instead: str) -> str:
    service, name = quota
    ask = f"aws service-quotas request-service-quota-increase --service-code {service} --quota-code {name} --desired-value N"
    return f"it is not enough: {instead}, or ask for more with `{ask} --region {aws.region}` (takes up to a few days)"


def plan_of(arguments: Sequence[str]) -> Plan:
    """The command line."""
    parser = argparse.ArgumentParser(
        prog="preflight", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.error = _mistake(parser)  # type: ignore[method-assign]
    parser.add_argument("--image", required=True, help="the bot's image in ECR, by its digest")
    parser.add_argument("--engine-image", required=True, help="the image of the sandboxes' engine, by its digest")
    parser.add_argument("--stack", default="threadwright", help="the stack's name, with which all names begin")
    parser.add_argument("--parameters", default=PARAMETERS, help="the template's ParameterPath")
    parser.add_argument("--model-key", default=KEYS[0], choices=KEYS, help="the template's ModelKey")
    parser.add_argument("--machines", type=int, default=1, help="how many machines")
    parser.add_argument("--instance-type", default=MACHINE, help="their type")
    parser.add_argument("--account", default="", help="the account that is meant; another one is refused")
    parser.add_argument("--region", default="", help="the region, if not AWS_REGION")
    plan = Plan(**vars(parser.parse_args(arguments)))
    if not STACK.fullmatch(plan.stack):
        parser.error(f"--stack {plan.stack}: write up to 30 small letters, digits and hyphens, a letter first")
    if not 1 <= plan.machines <= 50:
        parser.error(f"--machines {plan.machines}: write a number from 1 to 50")
    return plan


def _mistake(parser: argparse.ArgumentParser) -> Callable[[str], Any]:
    def end(message: str) -> None:
        parser.exit(64, f"{parser.prog}: {message}\n")

    return end


def main(arguments: Sequence[str] | None = None) -> int:
    """Print what was found."""
    wrong = 0
    for found in look(plan_of(sys.argv[1:] if arguments is None else arguments)):
        wrong += bool(found.todo)
        sys.stdout.write(f"✘ {found.what}: {found.todo}\n" if found.todo else f"✔ {found.what}\n")
    last = (
        f"Not yet: {wrong} of these would stop it. Nothing was made."
        if wrong
        else "Ready to deploy (docs/deployment.md)."
    )
    sys.stdout.write(last + "\n")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
