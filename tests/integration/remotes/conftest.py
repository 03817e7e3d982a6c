"""A forge on loopback with one repository, and the adapters that speak to it."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from agentic.forges.hosts import Forges, host_from
from agentic.ports.forge import Forge, Remote
from bot.local_forge import LocalForge
from bot.local_forge.forge_records import HostedRepository

from .benches import Checkout, opened

FILES = {"shop/price.py": "def total(cents):\n    return sum(cents)\n", "README.md": "# Shop\n"}


@pytest.fixture
async def forge(tmp_path: Path) -> AsyncIterator[LocalForge]:
    """The forge."""
    async with LocalForge(tmp_path / "forge") as opened:
        yield opened


@pytest.fixture
def shop(forge: LocalForge) -> HostedRepository:
    """A repository of two files."""
    return forge.create("ada/shop", FILES)


@pytest.fixture(params=["github", "forgejo"])
def kind(request: pytest.FixtureRequest) -> str:
    """Each kind of host."""
    return str(request.param)


@pytest.fixture
async def forges(forge: LocalForge, kind: str) -> AsyncIterator[Forges]:
    """The hosts, the local forge first among them."""
    opened = Forges([host_from(f"{forge.web}=FORGE_TOKEN:{kind}")], {"FORGE_TOKEN": forge.token})
    yield opened
    await opened.close()


@pytest.fixture
def remote(shop: HostedRepository, forges: Forges) -> Remote:
    """The repository as a person names it."""
    return forges.read(shop.full)


@pytest.fixture
def api(forges: Forges, remote: Remote) -> Forge:
    """Its host."""
    return forges.forge(remote)


@pytest.fixture
async def bench(tmp_path: Path, forges: Forges, remote: Remote) -> AsyncIterator[Checkout]:
    """A thread's workspace beside the forge."""
    folder = tmp_path / "bench"
    folder.mkdir()
    tmp_path.chmod(0o755)
    async with opened(folder, forges, remote) as checkout:
        yield checkout
