"""The table of ``make conformance-aws``: each check, whether it holds, and what is known of it where it does not."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass

from botocore.exceptions import BotoCoreError, ClientError

from deploy.aws_local.emulator import CannotEmulate, mini_stack
from deploy.aws_local.resources import CREDENTIALS, REGION
from tests.aws.conformance.account import Account, opened
from tests.aws.conformance.bucket_checks import CHECKS as BUCKET
from tests.aws.conformance.known import KNOWN
from tests.aws.conformance.queue_checks import CHECKS as QUEUE
from tests.aws.conformance.table_checks import CHECKS as TABLE

SERVICES: dict[str, tuple[Callable[[Account], None], ...]] = {"DynamoDB": TABLE, "S3": BUCKET, "SQS": QUEUE}


@dataclass(frozen=True, slots=True)
class Result:
    """What became of one check."""

    service: str
    name: str
    wrong: str
    """'' where it holds."""
    seconds: float


def results(account: Account) -> Iterator[Result]:
    """Run every check, one after the other."""
    for service, checks in SERVICES.items():
        for check in checks:
            begun = time.monotonic()
            wrong = ""
            try:
                check(account)
            except (AssertionError, ClientError, BotoCoreError, KeyError, ValueError) as error:
                wrong = " ".join(str(error).split())[:200] or type(error).__name__
            yield Result(service, check.__name__, wrong, time.monotonic() - begun)


def main(real: bool) -> int:
    """0 where nothing fails but what is known, 1 where something else does, 2 where nothing could be tried."""
    endpoint = os.environ.get("AWS_ENDPOINT_URL", "")
    region = os.environ.get("AWS_REGION") or os.environ.get("AWS_DEFAULT_REGION", "")
    failed = 0
    try:
        with ExitStack() as stack:
            emulated = not endpoint and not real
            if emulated:
                endpoint = stack.enter_context(mini_stack())
            if not real:
                region = region or REGION
                for name, value in CREDENTIALS.items():
                    os.environ.setdefault(name, value)
            print(f"Checking {endpoint or 'the account of your credentials'}.", flush=True)
            account = stack.enter_context(opened(endpoint, region))
            for each in results(account):
                known = KNOWN.get(each.name, "") if each.wrong else ""
                sign = "holds" if not each.wrong else "known" if known else "FAILS"
                failed += sign == "FAILS"
                print(f"{sign}  {each.service:8}  {each.name.replace('_', ' ')} ({each.seconds:.1f} s)", flush=True)
                for line in filter(None, (each.wrong, known)):
                    print(f"{'':7}{line}")
    except (CannotEmulate, BotoCoreError, ClientError) as error:
        print(f"Nothing could be tried: {error}", file=sys.stderr)
        return 2
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(real="--real" in sys.argv[1:]))
