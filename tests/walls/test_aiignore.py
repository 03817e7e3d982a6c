"""What ``.aiignore`` hides, attacked from a command: read, opened, moved, removed, its rule flooded away."""

from __future__ import annotations

import asyncio
import json
import os
import shlex
import subprocess
import sys
import tempfile
from itertools import product
from pathlib import Path

import pytest

from agentic.sandbox.aiignore import MAX_VERSIONS, IgnoreFile
from agentic.sandbox.backends.bubblewrap import Bubblewrap
from agentic.sandbox.backends.hidden_mounts import (
    MAX_COVERS,
    covers,
    moved,
    uncovered,
)
from agentic.sandbox.hidden_files import adopt
from agentic.sandbox.limits import Limits
from agentic.sandbox.pool import Choice, Sandboxes
from agentic.workspace.workspace import RealWorld
from tests.integration.world.rungs import Ground, docker_url, ground, missing, rung_name
from tests.walls.tally import Wall

__all__ = ["docker_url", "ground", "rung_name"]

SECRETS = {".env": ".env", "deep/a b/k.pem": "*.pem", "vault/key": "vault/", ".git/config": ".git/config"}
"""Each with the pattern that hides it."""
READS = (
    "cat {path}", "chmod 777 {path}; cat {path}", "chmod -R 777 .; cat {path}", "chown $(id -u) {path}; cat {path}",
    "mv {path} x; cat x", "ln {path} x; cat x", "ln -s {path} x; cat x", "cp -a {path} x; chmod 777 x; cat x",
    "install -m 777 {path} x; cat x", "setfacl -m u:$(id -u):rwx {path}; cat {path}", "umount {path}; cat {path}",
    "cat /proc/1/root/workspace/{path}", "cat /proc/self/root/workspace/{path}", "mount --bind . /tmp; cat /tmp/{path}",
    "unshare -Ur cat {path}", "dd if={path}", "tar c . | tar xO", "python3 -c 'print(open({path!r}).read())'",
    "d={top}; chmod 777 \"$d\"; mv \"$d\" moved; chmod -R 777 moved; grep -r . moved",
    "rm -f {path}; git checkout -- {path}; cat {path}", "exec 3<>{path}; cat <&3", "grep -rs . .",
)  # fmt: skip
REMOVALS = (
    "rm -f {path}", "rm -rf {top}", "unlink {path}", ": > {path}", "chmod 777 {path}; echo x > {path}", "truncate -s0 {path}",
    "echo x > n; mv -f n {path}", "find . -delete", "rm -rf ./* ./.[!.]*", "git clean -fdx",
    "python3 -c 'import os; os.replace({path!r}, \"x\"); os.remove(\"x\")'", "mv {top} moved; rm -rf moved",
)  # fmt: skip


MARK = "=== next ==="


def forms() -> list[tuple[str, str]]:
    """Every attack on every secret."""
    made: list[tuple[str, str]] = []
    for path, form in product(SECRETS, (*READS, *REMOVALS)):
        if "{path!r}" in form:
            command = form.replace("{path!r}", json.dumps(path))
        else:
            command = form.replace("{path}", shlex.quote(path)).replace("{top}", path.partition("/")[0])
        made.append((path, command))
    return made


def laid(workspace: Path) -> None:
    """A workspace with secrets and the rules that hide them."""
    for path in SECRETS:
        (workspace / path).parent.mkdir(parents=True, exist_ok=True)
        (workspace / path).write_text(f"needle of {path}\n")
    (workspace / "plain").write_text("seen\n")
    (workspace / ".aiignore").write_text("\n".join(SECRETS.values()) + "\n")


def still_there(workspace: Path) -> list[str]:
    """The secrets that no longer stand anywhere in the workspace with what they held."""
    files = [path for path in workspace.rglob("*") if path.is_file() and not path.is_symlink()]
    for path in files:
        path.chmod(0o600)  # what was renamed stays closed after the sandbox too
    texts = [path.read_text() for path in files]
    return [path for path in SECRETS if f"needle of {path}\n" not in texts]


async def attacked(rung: Choice, folder: Path, limits: Limits) -> list[tuple[str, str]]:
    """Try each form in the thread's sandbox, each on a fresh look; returns those that came through, and why."""

    async def chosen() -> Choice:
        return rung

    assert rung.rung is not None
    workspace, through = folder / "workspace", list[tuple[str, str]]()
    workspace.mkdir(parents=True, exist_ok=True)
    laid(workspace)
    sandboxes = Sandboxes(folder / "state", chosen, limits)
    world = RealWorld(sandboxes, "a thread", workspace)
    try:
        for path in SECRETS:
            laid(workspace)
            tried = [form for secret, form in forms() if secret == path]
            script = "\n".join(f"echo {MARK}; bash -c {shlex.quote(form)} 2>&1 </dev/null" for form in tried)
            _, *said = (await world.exec(script, timeout=60, cap=1024 * 1024)).text.split(MARK)
            assert len(said) == len(tried), said
            read = f"needle of {path}"
            through += [(form, f"read {path}") for form, told in zip(tried, said, strict=True) if read in told]
            await world.close()
        through += [("all of them", f"{path} is gone") for path in still_there(workspace)]
        opened = (await world.exec("cat plain .aiignore; chmod -R 777 .; grep -r needle .", timeout=20)).text
        through += [("a later sandbox", opened)] * ("needle" in opened)
    finally:
        await sandboxes.close()
    return through


@pytest.mark.wall("aiignore")
async def test_what_is_hidden_is_neither_read_nor_removed_by_any_command(ground: Ground, wall: Wall) -> None:
    """Of any kind of secret, in each kind of sandbox; also after the folder above it got another name."""
    adopt(ground.workspace, *ground.rung.owner)
    through = await attacked(Choice(ground.rung, "the test says so"), ground.folder, ground.limits)
    counted(wall, through)


def counted(wall: Wall, through: list[tuple[str, str]]) -> None:
    """Count the forms that were tried."""
    came = dict(through)
    for path, form in forms():
        wall.held(f"{path}: {form}", form not in came, came.get(form, ""))
    for form in ("all of them", "a later sandbox"):
        wall.held(form, form not in came, came.get(form, ""))


@pytest.mark.wall("aiignore")
def test_an_ordinary_user_s_secrets_are_as_firm_as_root_s(wall: Wall) -> None:
    """Where files and commands have one owner, and a mode alone could be changed back."""
    with tempfile.TemporaryDirectory(prefix="tw-ordinary-") as folder:
        Path(folder).chmod(0o777)
        run = [sys.executable, "-m", "tests.walls.test_aiignore", folder]
        if os.geteuid() == 0:
            run = ["setpriv", "--reuid=65531", "--regid=65531", "--clear-groups", *run]
        done = subprocess.run(
            run, capture_output=True, text=True, timeout=120, cwd=Path(__file__).parents[2], env={**os.environ, "HOME": folder}
        )  # fmt: skip
    if "no bubblewrap" in done.stdout or "Permission denied" in done.stderr[:200]:
        missing(f"no sandbox for an ordinary user here: {done.stdout}{done.stderr}")
    assert done.returncode == 0, done.stderr
    counted(wall, [(form, why) for form, why in json.loads(done.stdout)])


@pytest.mark.wall("aiignore")
def test_no_flood_of_versions_drives_out_a_rule(tmp_path: Path, wall: Wall) -> None:
    """Whenever it was laid down, and however much junk comes before and after; also when the record is read again."""
    for before, after, junk in product(
        (0, MAX_VERSIONS - 1, MAX_VERSIONS),
        (1, MAX_VERSIONS),
        ("# {}", "junk{}", "!*.pem\n!{}", "*\n!*\n# {}", "\n" * 50 + "x{}", "!/x{}\n!**"),
    ):
        workspace = tmp_path / f"{before}-{after}-{abs(hash(junk))}"
        workspace.mkdir()
        kept, rules = workspace.with_suffix(".json"), workspace / ".aiignore"
        (workspace / "my.pem").touch()
        ignore = IgnoreFile(workspace, kept)

        def write(text: str, rules: Path = rules, ignore: IgnoreFile = ignore) -> None:
            rules.unlink(missing_ok=True)
            rules.write_text(text)
            ignore.version()

        for at in range(before):
            write(junk.format(f"before{at}" + "." * (at % 7)))
        write("*.pem\n")
        for at in range(after):
            write(junk.format(f"after{at}" + "." * (at % 7)))
        rules.unlink()
        hidden = {*ignore.hidden(), *IgnoreFile(workspace, kept).hidden()}
        texts = json.loads(kept.read_text())
        fits = len(texts) <= MAX_VERSIONS and all(isinstance(text, str) for text in texts)
        wall.held(f"{junk!r} x {before}, the rule, x {after}", "my.pem" in hidden and fits, f"{hidden} {len(texts)}")


def test_below_git_patterns_hide_files_and_leave_git_its_folders(tmp_path: Path) -> None:
    """What tools refuse is what commands do not see; a pattern that says .git is meant, one that does not is not."""
    for path in (
        ".git/config",
        ".git/logs/HEAD",
        ".git/objects/ab/cd",
        ".git/modules/m/config",
        "sub/.git/config",
        "logs/x",
    ):
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).touch()
    for text, hidden in (
        (".git/config", (".git/config",)),
        ("config", (".git/config", ".git/modules/m/config", "sub/.git/config")),
        ("logs/\nobjects/\nab\ncd", ("logs",)),
        (".git/logs/", (".git/logs",)),
        (".git/objects/ab/cd", (".git/objects/ab/cd",)),
        ("**/.git/config", (".git/config", "sub/.git/config")),
    ):
        (tmp_path / ".aiignore").write_text(text)
        ignore = IgnoreFile(tmp_path)
        assert ignore.hidden() == hidden, text
        every = [str(path.relative_to(tmp_path)) for path in tmp_path.rglob("*") if path.is_file()]
        refused = set(every) - ignore.visible(every)
        assert refused == {path for path in every if any(f"{path}/".startswith(f"{top}/") for top in hidden)}, text


def test_what_cannot_be_covered_is_known(tmp_path: Path) -> None:
    """A link is none's to cover; a folder that cannot be passed is covered whole; beyond so many they are named."""
    for at in range(MAX_COVERS + 5):
        (tmp_path / f"{at}.key").touch()
    (tmp_path / "closed/in").mkdir(parents=True)
    (tmp_path / "closed/in/my.key").touch()
    (tmp_path / "closed").chmod(0o600)
    (tmp_path / "link").symlink_to("0.key")
    found = covers(tmp_path, ["closed/in/my.key", "link", "gone"])
    assert [(cover.path, cover.folder) for cover in found] == ([("closed", True)] if os.geteuid() == 0 else [])
    keys = [f"{at}.key" for at in range(MAX_COVERS + 5)]
    found = covers(tmp_path, keys)
    assert len(found) == MAX_COVERS
    assert len(uncovered(tmp_path, keys, found)) == 5
    first = found[0].path
    (tmp_path / "late").touch()
    (tmp_path / first).rename(tmp_path / "moved")
    (tmp_path / "late").rename(tmp_path / first)
    assert first in uncovered(tmp_path, keys, found)
    assert moved(tmp_path, {found[0].inode}) == [], "open to others: a new thing with an old number"
    (tmp_path / "moved").chmod(0o600)
    assert moved(tmp_path, {found[0].inode}) == ["moved"]


if __name__ == "__main__":
    where = Path(sys.argv[1])
    rung = Bubblewrap(where / "state")
    print(json.dumps(asyncio.run(attacked(Choice(rung, "the test says so"), where, Limits()))))
