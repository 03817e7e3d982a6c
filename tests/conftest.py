"""Nothing a test does may reach a provider, a token or a state folder of the person who runs it."""

from __future__ import annotations

import asyncio
import gc
import os
from collections.abc import Iterator

import pytest
from hypothesis import settings

from agentic.sandbox.backends import bwrap_programs
from tests.aws.accounts import aws_credentials, aws_endpoint, aws_place, no_credentials
from tests.selection import Selection
from tests.stores import closing_fresh
from tests.walls.tally import Walls, pytest_itemcollected, wall

__all__ = ["aws_credentials", "aws_endpoint", "aws_place", "no_credentials", "pytest_itemcollected", "wall"]

# How busy the machine is makes no test fail, nor what it draws: a change fails by what it breaks. Others are drawn by
# `make test ARGS="--hypothesis-profile=drawn"`, and what that finds becomes an example with a name.
settings.register_profile("same", settings(), deadline=None, derandomize=True)
settings.register_profile("drawn", settings(), deadline=None)
settings.load_profile("same")

OURS = ("THREADWRIGHT_", "AWS_", "AGENTIC_", "DYNAMODB_", "S3_")
NO_ACCOUNT = {
    "AWS_SHARED_CREDENTIALS_FILE": os.devnull, "AWS_CONFIG_FILE": os.devnull, "AWS_EC2_METADATA_DISABLED": "true",
    "SSL_CERT_DIR": os.devnull,
}  # fmt: skip
"""Where else the SDK of AWS would find somebody's account; and no certificates, which each client would read for 30 ms."""


@pytest.fixture(autouse=True)
def no_settings_of_the_person(monkeypatch: pytest.MonkeyPatch) -> None:
    """Take every setting and provider's variable out of the environment."""
    for name in list(os.environ):
        if name.startswith((*OURS, "SSL_CERT_")) or name.endswith(
            ("_API_KEY", "_API_BASE", "_BASE_URL", "DISCORD_TOKEN")
        ):
            monkeypatch.delenv(name)
    for name, nothing in NO_ACCOUNT.items():
        monkeypatch.setenv(name, nothing)


def pytest_addoption(parser: pytest.Parser) -> None:
    """Say which bubblewrap sandboxes run in that tests make themselves; processes that they start choose as ever."""
    parser.addoption("--system-bwrap", action="store_true", help="the system's bubblewrap first, not the bundled one")


@pytest.fixture(autouse=True, scope="session")
def stores_of_modules() -> Iterator[None]:
    """Close the stores that fixtures of modules opened."""
    with closing_fresh():
        yield


@pytest.fixture(autouse=True)
def stores_of_the_test() -> Iterator[None]:
    """Close the stores that the test opened."""
    with closing_fresh():
        yield


def pytest_collection_finish() -> None:
    """Leave what was collected out of garbage collections: each would stop every thread, a sandbox's heartbeat too."""
    gc.collect()
    gc.freeze()


def pytest_configure(config: pytest.Config) -> None:
    """Print at the end what was tried against each wall, where ``python -m tests.walls`` does not do so already.

    No loop is set from here on: pytest-asyncio would have one made, and the first ``asyncio.run`` would drop it unclosed.
    """
    asyncio.set_event_loop(None)
    config.pluginmanager.register(Selection(config))
    if not config.getoption("--system-bwrap") and bwrap_programs.bundled_folder() is not None:
        bwrap_programs.COMMAND = "no bubblewrap of the system"
    ours = any(isinstance(plugin, Walls) for plugin in config.pluginmanager.get_plugins())
    if not ours and not hasattr(config, "workerinput"):
        config.pluginmanager.register(Walls())
