"""git over SSH: the key goes into git's own environment, and the same rules hold.

A stand-in for the program ``ssh`` runs what it is told on this machine, as a server's ``git-shell`` does.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from agentic.forges.hosts import Forges
from agentic.ports.forge import Remote
from bot.local_forge import LocalForge
from bot.local_forge.forge_records import HostedRepository
from bot.local_forge.git_endpoint import tip

from .benches import opened

SSH = """#!/bin/sh
echo "$@" >> {log}
while [ "$1" != git@127.0.0.1 ]; do
  case "$1" in -i) test -r "$2" || exit 255; shift 2;; -F|-o|-p) shift 2;; *) shift;; esac
done
shift; cd {folder}; exec sh -c "$(echo "$*" | sed "s#'/#'#")"
"""


@pytest.mark.parametrize("kind", ["forgejo"], indirect=True)
async def test_a_repository_is_fetched_and_published_over_ssh(
    tmp_path: Path, forge: LocalForge, forges: Forges, remote: Remote, shop: HostedRepository
) -> None:
    programs, log = tmp_path / "bin", tmp_path / "ssh.log"
    programs.mkdir()
    (programs / "ssh").write_text(SSH.format(log=log, folder=forge.folder))
    (programs / "ssh").chmod(0o755)
    key = tmp_path / "keys" / "id"
    key.parent.mkdir()
    key.write_text("not a real key\n")
    tmp_path.chmod(0o755)
    bench = tmp_path / "bench"
    bench.mkdir()
    environment = {"PATH": f"{programs}:{os.environ['PATH']}"}
    async with opened(bench, forges, remote, ssh_key=key, environment=environment) as checkout:
        await checkout.check_out()
        await checkout.fix()
        done = await checkout.publish()
    assert tip(shop.folder, done.pull.head) == done.commit
    assert not any("git-upload-pack" in request or "git-receive-pack" in request for request in forge.requests)
    said = log.read_text()
    assert "StrictHostKeyChecking=yes" in said
    assert "git-receive-pack" in said
    assert forge.token not in said
