"""Accounts of a local AWS for tests: one server a test process, and for each test a table, bucket and queues of its own.

The fixtures are at hand everywhere (`tests/conftest.py`); where MiniStack is not installed the tests that ask for them
are skipped, and fail where ``CI`` is set.  They run in an environment of their own, which has the extra `aws`: `make
test-aws`. In any other they are left out.
"""

from __future__ import annotations

import atexit
import itertools
import os
from collections.abc import Iterator
from contextlib import ExitStack
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from agentic.aws import clients
from agentic.aws.aws_place import AwsPlace
from agentic.extras import missing
from deploy.aws_local.emulator import PYTHON, mini_stack
from deploy.aws_local.resources import CREDENTIALS, make_resources

NOT_INSTALLED = "MiniStack is not installed; set it up with: make aws"
FIXTURES = frozenset(("aws_endpoint", "aws_place"))
STORES = ("kind", "lesson_store", "store")
"""Parameters that name a store."""
FOLDERS = ("tests/aws/", "tests/chaos/machines/")
_numbers = itertools.count(1)


def mark_aws(items: list[pytest.Item]) -> list[pytest.Item]:
    """Mark the tests that talk with an AWS; those that cannot here."""
    for item in items:
        named: dict[str, object] = item.callspec.params if hasattr(item, "callspec") else {}
        asks = not FIXTURES.isdisjoint(getattr(item, "fixturenames", ())) or "aws" in (
            named.get(each) for each in STORES
        )
        if asks or item.nodeid.startswith(FOLDERS):
            item.add_marker("aws")
    return [item for item in items if item.get_closest_marker("aws")] if missing("aws") is not None else []


@cache
def local_aws() -> str:
    """The address of a local AWS, a process of its own that ends with this one."""
    if not PYTHON.exists():
        (pytest.fail if os.environ.get("CI") else pytest.skip)(NOT_INSTALLED)
    running = ExitStack()
    atexit.register(running.close)
    # Into a file with a name: a sandbox that is counted in this process counts those without one.
    folder = Path(running.enter_context(TemporaryDirectory(prefix="ministack-")))
    errors = running.enter_context((folder / "errors").open("wb"))
    return running.enter_context(mini_stack(errors=errors.fileno()))


@pytest.fixture(scope="session")
def aws_endpoint() -> str:
    """The same for whoever asks for it."""
    return local_aws()


@pytest.fixture
def aws_credentials(monkeypatch: pytest.MonkeyPatch) -> None:
    """Credentials that a local AWS takes, where the SDK looks first."""
    for name, value in CREDENTIALS.items():
        monkeypatch.setenv(name, value)


@pytest.fixture
def no_credentials(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A machine on which nobody set any, and those that were found before are forgotten."""
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    clients._session.cache_clear()  # pyright: ignore[reportPrivateUsage]
    yield
    clients._session.cache_clear()  # pyright: ignore[reportPrivateUsage]


@pytest.fixture
def aws_place(aws_endpoint: str, aws_credentials: None) -> AwsPlace:
    """An empty table, bucket and queues that no other test uses."""
    return new_place(aws_endpoint)


def new_place(endpoint: str) -> AwsPlace:
    """Make another table, bucket and queues."""
    return make_resources(endpoint, f"t{os.getpid()}-{next(_numbers)}")
