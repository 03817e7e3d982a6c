"""A mirror is seen, and published from, in the other kinds of sandbox."""

from __future__ import annotations

from pathlib import Path

import pytest

from agentic.forges.hosts import Forges
from agentic.ports.forge import Remote
from agentic.sandbox.backends.docker import Docker
from agentic.sandbox.backends.host import Host
from agentic.sandbox.limits import IMAGE
from agentic.sandbox.pool import Rung
from bot.local_forge import LocalForge
from bot.local_forge.forge_records import HostedRepository
from bot.local_forge.git_endpoint import tip
from tests.integration.world.rungs import docker_url

from .benches import opened

__all__ = ["docker_url"]


@pytest.mark.parametrize("kind", ["github"], indirect=True)
@pytest.mark.parametrize("name", [pytest.param("docker", marks=pytest.mark.docker), "host"])
async def test_a_checkout_is_made_and_published_from(
    tmp_path: Path, forge: LocalForge, forges: Forges, remote: Remote, shop: HostedRepository, name: str,
    request: pytest.FixtureRequest,
) -> None:  # fmt: skip
    tmp_path.chmod(0o755)
    state = tmp_path / "state"
    rung: Rung = Host(state)
    if name == "docker":
        rung = Docker(state, str(request.getfixturevalue("docker_url")), IMAGE)
    bench = tmp_path / "bench"
    bench.mkdir()
    async with opened(bench, forges, remote, rung) as checkout:
        await checkout.check_out()
        await checkout.fix()
        await checkout.sh(f"git clone -q {forge.web}/ada/shop .again && rm -rf .again")
        done = await checkout.publish()
        refused = await checkout.world.exec("git push -q origin HEAD:refs/heads/x 2>&1", timeout=30)
        assert name == "host" or not refused.ok
    assert tip(shop.folder, done.pull.head) == done.commit
    assert len(shop.pushes) == 1
