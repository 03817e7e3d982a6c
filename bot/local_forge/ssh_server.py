"""git over SSH: OpenSSH's own server on loopback, a process for each connection; its one key runs git and nothing else.

It lets in whoever runs it, since no other user can be taken for granted, so its clients need the ``ssh`` of its folder
``programs`` first in their PATH: the real one, which is told the user and the port.  A repository is reached by the name
that it was made with.
"""

from __future__ import annotations

import asyncio
import getpass
import os
import shlex
import shutil
import socket
import subprocess
from pathlib import Path
from typing import Self

from bot.local_forge.git_endpoint import environment
from bot.local_forge.local_forge import LocalForge

SSHD = shutil.which("sshd", path=f"{os.environ.get('PATH', '')}:/usr/sbin:/usr/local/sbin")
ROOT_NEEDS = Path("/run/sshd")
_CONFIGURATION = """HostKey {folder}/host
AuthorizedKeysFile {folder}/keys/id.pub
ForceCommand {folder}/only-git
AcceptEnv GIT_PROTOCOL
AuthenticationMethods publickey
PermitRootLogin prohibit-password
StrictModes no
UsePAM no
DisableForwarding yes
PermitTTY no
PermitUserRC no
"""
_ONLY_GIT = """#!/bin/sh
case $SSH_ORIGINAL_COMMAND in
  *..*) exit 1;;
  "git-upload-pack '/"*"'" | "git-receive-pack '/"*"'") ;;
  *) echo 'Only git can be used here.' >&2; exit 1;;
esac
path=${{SSH_ORIGINAL_COMMAND#*\\'/}}
exec env -i {environment} GIT_PROTOCOL="$GIT_PROTOCOL" "${{SSH_ORIGINAL_COMMAND%% *}}" {repositories}/"${{path%\\'}}"
"""
_CLIENT = """#!/bin/sh
exec {ssh} -l {user} -p {port} "$@"
"""


def usable() -> bool:
    """Whether there is a server on this machine that starts for whoever runs this."""
    return SSHD is not None and (os.geteuid() != 0 or ROOT_NEEDS.is_dir())


class SshServer:
    """Serves a forge's repositories.  ``key`` opens it; the server's own key is in the ``known_hosts`` beside it."""

    def __init__(self, forge: LocalForge, folder: Path) -> None:
        self.key = folder / "keys" / "id"
        self.programs = folder / "programs"
        self._forge, self._folder = forge, folder
        self._listener: socket.socket | None = None
        self._accepting: asyncio.Task[None] | None = None
        self._talking = set[asyncio.Task[None]]()

    async def __aenter__(self) -> Self:
        self._listener = socket.create_server(("127.0.0.1", 0))
        self._listener.setblocking(False)
        await asyncio.to_thread(self._furnish, self._listener.getsockname()[1])
        self._accepting = asyncio.create_task(self._accept(self._listener), name="ssh")
        return self

    async def __aexit__(self, *_: object) -> None:
        tasks = [each for each in (self._accepting, *self._talking) if each is not None]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        if self._listener is not None:
            self._listener.close()

    def _furnish(self, port: int) -> None:
        for each in (self.key.parent, self.programs):
            each.mkdir(parents=True)
        for path in (self._folder / "host", self.key):
            subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(path)], check=True, timeout=30)
        host = (self._folder / "host.pub").read_text()
        (self.key.parent / "known_hosts").write_text(f"[127.0.0.1]:{port} {host}")
        (self._folder / "configuration").write_text(_CONFIGURATION.format(folder=self._folder))
        given = " ".join(shlex.quote(f"{name}={value}") for name, value in environment(self._forge.pushes).items())
        repositories = shlex.quote(str(self._forge.folder.resolve()))
        only_git = _ONLY_GIT.format(environment=given, repositories=repositories)
        client = _CLIENT.format(ssh=shutil.which("ssh"), user=shlex.quote(getpass.getuser()), port=port)
        for path, script in ((self._folder / "only-git", only_git), (self.programs / "ssh", client)):
            path.write_text(script)
            path.chmod(0o755)

    async def _accept(self, listener: socket.socket) -> None:
        while True:
            connection, _ = await asyncio.get_running_loop().sock_accept(listener)
            task = asyncio.create_task(self._talk(connection), name="ssh connection")
            self._talking.add(task)
            task.add_done_callback(self._talking.discard)

    async def _talk(self, connection: socket.socket) -> None:
        with connection:
            connection.setblocking(True)
            process = await asyncio.create_subprocess_exec(
                str(SSHD), "-i", "-f", str(self._folder / "configuration"),
                stdin=connection.fileno(), stdout=connection.fileno(), stderr=asyncio.subprocess.DEVNULL,
            )  # fmt: skip
        try:
            await process.wait()
        finally:
            if process.returncode is None:
                process.kill()
                await process.wait()
