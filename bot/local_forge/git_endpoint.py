"""git over HTTP: ``git http-backend`` behind the forge's server; and the bare repositories themselves.

A hook in each repository writes down what a push changes, whichever way it came, and also where whoever pushed is gone
by then.
"""

from __future__ import annotations

import asyncio
import os
import subprocess
from collections.abc import Mapping
from pathlib import Path

from aiohttp import web

from bot.local_forge.forge_records import HostedRepository

BODY_BYTES = 512 * 1024 * 1024
PUSHES = "LOCAL_FORGE_PUSHES"
"""The variable that names the pipe for what pushes change; without it nobody pushes, but works in the repository."""
_HOOK = f"""#!/bin/sh
[ "$1" = committed ] && [ -n "${PUSHES}" ] || exit 0
while read -r before after ref; do
  case $ref in refs/heads/*) printf '%s %s %s %s\\n' "$before" "$after" "${{ref#refs/heads/}}" "$PWD" 1<> "${PUSHES}";; esac
done
"""
_CLEAN = {
    "PATH": os.environ.get("PATH", "/usr/bin:/bin"), "HOME": "/nonexistent", "LC_ALL": "C.UTF-8",
    "GIT_CONFIG_NOSYSTEM": "1", "GIT_CONFIG_GLOBAL": "/dev/null",
    "GIT_AUTHOR_NAME": "Ada", "GIT_AUTHOR_EMAIL": "ada@example.org",
    "GIT_COMMITTER_NAME": "Ada", "GIT_COMMITTER_EMAIL": "ada@example.org",
}  # fmt: skip


def git(folder: Path, *arguments: str, content: bytes = b"", index: Path | None = None) -> str:
    """Run git in a bare repository of the forge; returns what it says."""
    more = {"GIT_INDEX_FILE": str(index)} if index is not None else {}
    done = subprocess.run(
        ["git", "-C", str(folder), *arguments],
        input=content, capture_output=True, env=_CLEAN | more, timeout=60, check=False,
    )  # fmt: skip
    if done.returncode:
        raise RuntimeError(f"git {' '.join(arguments)}: {done.stderr.decode('utf-8', 'replace')}")
    return done.stdout.decode("utf-8", "replace").strip()


def make_bare(folder: Path, branch: str) -> None:
    """An empty bare repository that takes pushes."""
    folder.mkdir(parents=True)
    git(folder, "init", "--bare", "--quiet", f"--initial-branch={branch}")
    git(folder, "config", "http.receivepack", "true")
    git(folder, "config", "uploadpack.allowFilter", "true")
    hook = folder / "hooks/reference-transaction"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text(_HOOK)
    hook.chmod(0o755)


def tip(folder: Path, branch: str) -> str:
    """The commit of a branch, '' where there is none."""
    try:
        return git(folder, "rev-parse", "-q", "--verify", f"refs/heads/{branch}^{{commit}}")
    except RuntimeError:
        return ""


def commit(folder: Path, branch: str, files: Mapping[str, str | None], message: str) -> str:
    """Put files onto a branch, as somebody who works there does; returns the commit.

    None deletes one, ``-> place`` is a symbolic link, ``@ commit`` a submodule.
    """
    before = tip(folder, branch)
    index = folder / "index.of-a-commit"
    index.unlink(missing_ok=True)
    if before:
        git(folder, "read-tree", before, index=index)
    for path, text in files.items():
        if text is None:
            git(folder, "update-index", "--force-remove", path, index=index)
            continue
        mode, text = ("120000", text.removeprefix("-> ")) if text.startswith("-> ") else ("100644", text)
        if text.startswith("@ "):
            mode, blob = "160000", text.removeprefix("@ ")
        else:
            blob = git(folder, "hash-object", "-w", "--stdin", content=text.encode())
        git(folder, "update-index", "--add", "--cacheinfo", f"{mode},{blob},{path}", index=index)
    tree = git(folder, "write-tree", index=index)
    made = git(folder, "commit-tree", tree, *(("-p", before) if before else ()), "-m", message)
    git(folder, "update-ref", f"refs/heads/{branch}", made)
    index.unlink(missing_ok=True)
    return made


def branches(folder: Path) -> dict[str, str]:
    """All branches with their commits."""
    listed = git(folder, "for-each-ref", "--format=%(refname:short) %(objectname)", "refs/heads")
    return dict(line.rsplit(" ", 1) for line in listed.splitlines())


def environment(pushes: Path) -> dict[str, str]:
    """What git's programs get with which somebody fetches and pushes."""
    return _CLEAN | {PUSHES: str(pushes)}


async def serve(request: web.Request, repository: HostedRepository, rest: str, pushes: Path) -> web.StreamResponse:
    """Answer one request of a git client."""
    body = await request.read()
    given = environment(pushes) | {
        "GIT_PROJECT_ROOT": str(repository.folder), "GIT_HTTP_EXPORT_ALL": "1", "PATH_INFO": f"/{rest}",
        "REQUEST_METHOD": request.method, "QUERY_STRING": request.query_string, "REMOTE_USER": "bot",
        "CONTENT_TYPE": request.headers.get("Content-Type", ""), "REMOTE_ADDR": "127.0.0.1",
        "HTTP_CONTENT_ENCODING": request.headers.get("Content-Encoding", ""),
        "GIT_PROTOCOL": request.headers.get("Git-Protocol", ""), "CONTENT_LENGTH": str(len(body)),
    }  # fmt: skip
    if request.headers.get("Content-Encoding") == "gzip":
        given["HTTP_CONTENT_ENCODING"] = ""  # the server has unpacked it
    process = await asyncio.create_subprocess_exec(
        "git", "http-backend", stdin=-1, stdout=-1, stderr=asyncio.subprocess.DEVNULL, env=given
    )
    try:
        out, _ = await process.communicate(body)
    finally:  # whoever asked may be gone before the answer
        if process.returncode is None:
            process.kill()
            await process.wait()
    head, _, content = out.partition(b"\r\n\r\n")
    headers = dict(line.split(": ", 1) for line in head.decode("latin-1").split("\r\n") if ": " in line)
    status = int(headers.pop("Status", "200").split()[0])
    return web.Response(status=status, headers=headers, body=content)
