"""git over SSH, with OpenSSH's own server: the key goes into git's own environment, and the same rules hold."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from agentic.forges.hosts import Forges
from agentic.ports.errors import TokenRefused
from agentic.ports.forge import Remote
from bot.local_forge import LocalForge
from bot.local_forge.forge_records import HostedRepository
from bot.local_forge.git_endpoint import tip
from bot.local_forge.ssh_server import SshServer, usable

from .benches import opened


@pytest.mark.skipif(not usable(), reason="no OpenSSH server is installed")
@pytest.mark.parametrize("kind", ["forgejo"], indirect=True)
async def test_a_repository_is_fetched_and_published_over_ssh(
    tmp_path: Path, forge: LocalForge, forges: Forges, remote: Remote, shop: HostedRepository
) -> None:
    tmp_path.chmod(0o755)
    bench = tmp_path / "bench"
    bench.mkdir()
    async with SshServer(forge, tmp_path / "ssh") as server:
        environment = {"PATH": f"{server.programs}:{os.environ['PATH']}"}
        async with opened(bench, forges, remote, ssh_key=server.key, environment=environment) as checkout:
            await checkout.check_out()
            await checkout.fix()
            done = await checkout.publish()
            assert shop.pushes == [(done.pull.head, "", done.commit)]
            known = server.key.parent / "known_hosts"
            known.write_text(known.read_text().replace((server.key.parent.parent / "host.pub").read_text(), ""))
            with pytest.raises(TokenRefused, match="known_hosts"):
                await checkout.publish()
    assert tip(shop.folder, done.pull.head) == done.commit
    assert not any("git-upload-pack" in request or "git-receive-pack" in request for request in forge.requests)
