"""``make aws-local``: a local AWS until Ctrl-C, with everything made in it that Threadwright needs.

FAULTS=yes puts microburst before it, whose own paths set faults while it runs.
"""

from __future__ import annotations

import argparse
import shlex
import signal
import sys
import threading
from contextlib import ExitStack

from agentic.aws.aws_place import AwsPlace
from deploy.aws_local.emulator import CannotEmulate, micro_burst, mini_stack
from deploy.aws_local.resources import environment, make_resources

PORT = 4566
GREETING = """\
A local AWS runs at {endpoint}. It keeps everything in memory: when it ends, all of it is gone.

Set this in another terminal:

{exports}

Then start the bot, and write to it on the page that it names:

  make run

It restarts as often as you like while this runs. To look at what it stores:

  aws dynamodb scan --table-name {table} --select COUNT
  aws dynamodb query --table-name {table} --key-condition-expression "pk = :thread AND begins_with(sk, :turn)" \\
    --expression-attribute-values '{{":thread": {{"S": "THREAD-ID"}}, ":turn": {{"S": "TURN#"}}}}'
  aws s3 ls s3://{bucket}/threads/ --recursive
{faults}
Ctrl-C ends it."""
FAULTS = """
Faults: requests pass microburst, which you tell what to break, such as one answer in five of the table:

  curl -X PATCH {endpoint}/_microburst/rules -d '[{{"service": "dynamodb", "probability": 0.2,
    "error": {{"code": "ProvisionedThroughputExceededException"}}}}]'
  curl -X DELETE {endpoint}/_microburst/rules -d '[{{}}]'
"""
HOME = "~/.threadwright-aws-local"
"""A home of its own: the local guild in the usual one knows threads that a new table does not."""


def main(arguments: list[str]) -> int:
    """Serve until SIGINT or SIGTERM; 0, or 1 where it cannot be started."""
    parser = argparse.ArgumentParser(prog="python -m deploy.aws_local", description=__doc__)
    parser.add_argument(
        "--port", type=int, default=PORT, help="of loopback, 0 for one that is free (default: %(default)s)"
    )
    parser.add_argument("--faults", action="store_true", help="put microburst before it")
    chosen = parser.parse_args(arguments)
    ended = threading.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: ended.set())
    try:
        with ExitStack() as stack:
            endpoint = stack.enter_context(mini_stack(0 if chosen.faults else chosen.port))
            if chosen.faults:
                endpoint = stack.enter_context(micro_burst(endpoint, chosen.port))
            print(_greeting(make_resources(endpoint), faults=chosen.faults), flush=True)
            ended.wait()
    except CannotEmulate as error:
        print(error, file=sys.stderr)
        return 1
    print("The local AWS has ended; its table, bucket and queues are gone.")
    return 0


def _greeting(made: AwsPlace, *, faults: bool) -> str:
    """What to set and what to do next, to be copied."""
    variables = {"THREADWRIGHT_HOME": HOME, **environment(made)}
    exports = "\n".join(
        f"  export {name}={value if value[:1] == '~' else shlex.quote(value)}" for name, value in variables.items()
    )
    endpoint = made.endpoint
    return GREETING.format(
        endpoint=endpoint, exports=exports, table=made.table, bucket=made.bucket,
        faults=FAULTS.format(endpoint=endpoint) if faults else "",
    )  # fmt: skip


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
