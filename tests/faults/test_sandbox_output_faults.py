"""Rows 34, 36, 66, 69 and 71 of the fault catalogue, at the sandbox: real bubblewrap and real Docker."""

from __future__ import annotations

import asyncio
import io
import os
import signal
import tarfile
import time
import zipfile
from pathlib import Path

import pytest

from agentic.ports.errors import PathRefused, SandboxLost, SandboxUnavailable
from agentic.sandbox.backends.bubblewrap import Bubblewrap
from agentic.sandbox.backends.bwrap_programs import Bwrap
from agentic.sandbox.backends.docker import Docker
from agentic.sandbox.backends.selection import choose
from agentic.sandbox.limits import Limits
from agentic.sandbox.sandbox import Sandbox
from tests.integration.world.rungs import Ground, docker_url, ground, rung_name, sandbox
from tests.scripts import Gate
from tests.waiting import BOUND

__all__ = ["docker_url", "ground", "rung_name", "sandbox"]

MB = 1024 * 1024


# --- 62: paths ------------------------------------------------------------------------------------------------


async def test_f66_a_flood_of_output_is_cut_and_its_command_ended(ground: Ground) -> None:
    """1 GB without a newline: head and tail come back, the rest stands in a file of bounded size."""
    async with ground.open(output=16 * MB) as sandbox:
        began = time.monotonic()
        result = await sandbox.exec("printf begin; head -c 1G /dev/zero | tr '\\0' x; sleep 60", timeout=60, cap=10_000)
        assert time.monotonic() - began < 30
        assert "output" in result.killed_reason
        assert result.truncated
        assert result.output.startswith(b"beginxxx")
        assert len(result.output) < 11_000
        page = await sandbox.read_output(result.output_ref, 8 * MB, 1000)
        assert page.data == b"x" * 1000
        assert 16 * MB <= page.size <= 18 * MB
        assert (await sandbox.exec("echo next", timeout=10)).text == "next\n"


async def test_f66_a_long_output_can_be_paged_and_searched(sandbox: Sandbox) -> None:
    """Head and tail are shown, each whole line is found in the file."""
    result = await sandbox.exec("seq 1 200000", timeout=20, cap=4000)
    assert result.text.startswith("1\n2\n3\n")
    assert result.text.endswith("199999\n200000\n")
    assert result.output_size == len("".join(f"{n}\n" for n in range(1, 200001)))
    hits = (await sandbox.read_output(result.output_ref, pattern=r"^12345\d$")).hits
    assert [(hit.line, hit.text) for hit in hits] == [(n, str(n)) for n in range(123450, 123460)]


async def test_f66_binary_output_is_shown_and_kept(sandbox: Sandbox) -> None:
    """What is no text is replaced for the eye, and nothing breaks."""
    result = await sandbox.exec("head -c 3000000 /dev/urandom; printf '\\377\\000end'", timeout=20, cap=2000)
    assert result.output.endswith(b"\xff\x00end")
    assert result.text.endswith("��end")
    assert (await sandbox.read_output(result.output_ref, 0, 10)).size == 3_000_005


async def test_f66_an_output_whose_file_is_obstructed_still_gives_head_and_tail(sandbox: Sandbox) -> None:
    """A command put something else where outputs are kept."""
    for obstacle in (
        "ln -s /tmp ~/.threadwright",
        "echo > ~/.threadwright",
        "mkdir ~/.threadwright; chmod 0 ~/.threadwright",
    ):
        result = await sandbox.exec(f"rm -rf ~/.threadwright; {obstacle}; seq 100000", timeout=20, cap=1000)
        assert result.text.startswith("1\n2\n")
        assert result.text.endswith("100000\n")
        assert (result.truncated, result.output_ref) == (True, "")
    await sandbox.exec("chmod 700 ~/.threadwright", timeout=5)


# --- 69: secrets ----------------------------------------------------------------------------------------------


async def test_f69_the_owners_environment_and_credentials_are_nowhere(
    ground: Ground, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """A canary in the owner's environment and in its files is looked for in every place a command can read."""
    canary = "canary-" + os.urandom(8).hex()
    monkeypatch.setenv("DISCORD_TOKEN", canary)
    (tmp_path / "credentials").write_text(canary)
    look = (
        "env; cat /proc/*/environ /proc/*/cmdline /proc/*/task/*/environ; set; "
        f"cat {tmp_path}/credentials ~/.netrc /root/.aws/credentials /etc/shadow; "
        "ls -la /var/run/docker.sock /run/docker.sock /root /run/secrets; "
        "python3 -c 'import os; print(dict(os.environ))'; mount; cat /proc/self/mountinfo > /dev/null"
    )
    async with ground.open() as sandbox:
        for text in (
            (await sandbox.exec(look, timeout=20)).text,
            (
                await sandbox.python(
                    "import os, subprocess; print(os.environ, subprocess.getoutput('cat /proc/*/environ'))", timeout=20
                )
            ).text,
        ):
            assert "PATH" in text
            assert canary not in text
        sockets = await sandbox.exec(
            "find / -xdev -name '*docker*.sock' -o -name 'supervisor*.sock' 2>/dev/null", timeout=30
        )
        assert sockets.text == ""


async def test_f69_a_command_has_no_network_no_capabilities_and_no_way_to_more(sandbox: Sandbox) -> None:
    """Not root, nothing to become root with."""
    status = (await sandbox.exec("cat /proc/self/status; id -u; cat /proc/net/dev", timeout=10)).text
    assert "CapEff:\t0000000000000000" in status
    assert "CapBnd:\t0000000000000000" in status
    assert "NoNewPrivs:\t1" in status
    assert "Seccomp:\t2" in status
    assert "eth0" not in status
    assert (await sandbox.exec("unshare -Ur true || unshare -m true", timeout=10)).exit_code != 0
    assert (await sandbox.exec("mount -t tmpfs x /tmp || chroot / true", timeout=10)).exit_code != 0


async def test_f69_system_calls_that_lead_to_the_kernel_are_kept_back(sandbox: Sandbox) -> None:
    """Its keyring, tracing of it, new namespaces, by their numbers."""
    ask = (
        "import ctypes, platform\nlibc = ctypes.CDLL(None, use_errno=True)\n"
        "x86 = platform.machine() == 'x86_64'\n"
        "calls = dict(keyctl=(250, 219), bpf=(321, 280), perf=(298, 241), unshare=(272, 97), mount=(165, 40))\n"
        "for name, numbers in calls.items():\n"
        "    print(name, libc.syscall(numbers[not x86], 0, 0, 0, 0, 0), ctypes.get_errno())"
    )
    result = await sandbox.python(ask, timeout=10)
    assert result.text.splitlines() == [f"{name} -1 1" for name in ("keyctl", "bpf", "perf", "unshare", "mount")]


# --- 71: the engine ---------------------------------------------------------------------------------------------


async def test_f71_an_engine_that_is_down_is_a_typed_error_that_says_what_to_do(tmp_path: Path) -> None:
    """Not an observation for the agent to try again."""
    rung = Docker(tmp_path / "state", f"unix://{tmp_path}/none.sock")
    with pytest.raises(SandboxUnavailable, match=r"none\.sock.*Start Docker"):
        await rung.start("t", tmp_path, tmp_path, Limits())
    await rung.close()


async def test_f71_without_any_rung_commands_are_refused_and_it_is_said_why(tmp_path: Path) -> None:
    """The host is never taken by itself."""
    choice = await choose("docker", tmp_path / "state", docker_url=f"unix://{tmp_path}/none.sock")
    assert choice.rung is None
    assert "start Docker" in choice.todo
    absent = Bubblewrap(tmp_path / "state", Bwrap(tmp_path / "bwrap", "system", trouble="it does not start"))
    with pytest.raises(SandboxUnavailable, match="of the system: it does not start"):
        await absent.start("t", tmp_path, tmp_path, Limits())


@pytest.mark.docker
async def test_f71_a_missing_image_is_a_typed_error_that_says_how_to_make_it(tmp_path: Path, docker_url: str) -> None:
    """With both ways."""
    choice = await choose("docker", tmp_path / "state", docker_url=docker_url, image="no-such-image:local")
    assert choice.rung is None
    assert "docker build" in choice.todo
    assert "make-image" in choice.todo


async def test_f71_a_sandbox_that_dies_is_a_typed_error_and_its_remains_are_reaped(ground: Ground) -> None:
    """Its supervisor is killed from outside in mid-command; the next sandbox works."""
    gate = Gate(ground.workspace)
    async with ground.open() as sandbox:
        running = asyncio.create_task(sandbox.exec("cat gate", timeout=600))
        await gate.reached()
        await kill_from_outside(ground)
        with pytest.raises(SandboxLost):
            await asyncio.wait_for(running, BOUND)
        with pytest.raises(SandboxLost):
            await sandbox.read("x")
        words = await sandbox.close()
        assert ground.rung_name != "docker" or "137" in words
    async with ground.open() as fresh:
        assert (await fresh.exec("echo again", timeout=10)).text == "again\n"


async def kill_from_outside(ground: Ground) -> None:
    """SIGKILL to the supervisor of this test, as root of the machine would, or an engine that runs out of memory."""
    if ground.rung_name == "docker":
        stop = ["docker", "-H", ground.docker_url, "ps", "-q", "--no-trunc"]
        listed = await asyncio.create_subprocess_exec(*stop, stdout=asyncio.subprocess.PIPE)
        names = (await listed.communicate())[0].decode().split()
        for name in names:
            look = ["docker", "-H", ground.docker_url, "inspect", "-f", "{{range .Mounts}}{{.Source}} {{end}}", name]
            looked = await asyncio.create_subprocess_exec(*look, stdout=asyncio.subprocess.PIPE)
            if str(ground.folder) in (await looked.communicate())[0].decode():
                killed = await asyncio.create_subprocess_exec("docker", "-H", ground.docker_url, "kill", name)
                await killed.wait()
        return
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                mine = (
                    str(ground.folder) in (entry / "mountinfo").read_text()
                    or str(os.getpid()) == (entry / "stat").read_text().rsplit(")", 1)[1].split()[1]
                )
                if mine and b"bwrap" in (entry / "cmdline").read_bytes():
                    os.kill(int(entry.name), signal.SIGKILL)
            except OSError:
                continue


# --- 34, 36: archives -------------------------------------------------------------------------------------------


def zipped(entries: dict[str, bytes]) -> bytes:
    """A zip archive."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in entries.items():
            archive.writestr(name, content)
    return out.getvalue()


async def test_f34_an_archive_beyond_the_caps_is_refused(sandbox: Sandbox) -> None:
    """By bytes, by ratio, by number of entries."""
    archives = {
        "bytes": {f"f{n}": os.urandom(MB) for n in range(10)},
        "ratio": {"zeros": bytes(6 * MB)},
        "count": {f"f{n}": b"x" for n in range(60)},
    }
    for name, entries in archives.items():  # in a thread: a sandbox that hears nothing of its owner for seconds ends
        await sandbox.write(f"{name}.zip", await asyncio.to_thread(zipped, entries))
    for name, word in (("bytes", "bytes"), ("ratio", "times its size"), ("count", "50 files")):
        with pytest.raises(PathRefused, match=word):
            await sandbox.extract(f"{name}.zip", name, max_bytes=8 * MB, max_files=50, max_ratio=100.0)


async def test_f36_links_devices_and_names_that_lead_outside_are_left_out(sandbox: Sandbox) -> None:
    """What is harmless comes out; what is not is named."""
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w:gz") as archive:
        for name, kind in (("link", tarfile.SYMTYPE), ("hard", tarfile.LNKTYPE), ("device", tarfile.CHRTYPE)):
            entry = tarfile.TarInfo(name)
            entry.type, entry.linkname = kind, "/etc/passwd"
            archive.addfile(entry)
        for name in ("../up", "/abs", "fine/file", "link/through"):
            entry = tarfile.TarInfo(name)
            entry.size = 4
            archive.addfile(entry, io.BytesIO(b"data"))
    await sandbox.write("a.tgz", out.getvalue())
    unpacked = await sandbox.extract("a.tgz", "to", max_bytes=8 * MB, max_files=50, max_ratio=100.0)
    assert unpacked.files == ("to/fine/file", "to/link/through")
    assert sorted(line.split(":")[0] for line in unpacked.skipped) == ["../up", "/abs", "device", "hard", "link"]
    assert (await sandbox.exec("find . -type l -o -type c; cat to/fine/file", timeout=10)).text == "data"
