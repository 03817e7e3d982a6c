"""No path that a model writes leads out of the workspace: not by dots, not by links, not by another spelling."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest
from pydantic import JsonValue

from agentic.ports.errors import SandboxError
from agentic.ports.runtime import Refused
from tests.integration.tools.bench import Bench, open_bench

from .tally import Wall

CANARY = "canary-9f3b-of-the-machine"
OUT = "outside"


@pytest.fixture
async def bench() -> AsyncIterator[Bench]:
    """A workspace beside which something stands that is nobody's business."""
    async with open_bench() as opened:
        beside = opened.workspace.parent / OUT
        beside.mkdir()
        (beside / "secret.txt").write_text(CANARY)
        opened.put("sub/a.txt", "plain\n")
        await opened.call("shell", command=f"mkdir -p /tmp/{OUT} && echo {CANARY} > /tmp/{OUT}/secret.txt")
        for name, target in links(opened.workspace).items():
            (opened.workspace / name).symlink_to(target)
        yield opened


def links(workspace: Path) -> dict[str, str]:
    """Links that a repository or a command may have left, to what is in the sandbox and to what is on the machine."""
    beside = workspace.parent / OUT
    return {
        "l-file": f"/tmp/{OUT}/secret.txt", "l-dir": f"/tmp/{OUT}", "l-host": str(beside / "secret.txt"),
        "l-hostdir": str(beside),
        "l-up": "..", "l-up-file": f"../{OUT}/secret.txt", "l-root": "/", "l-proc": "/proc/self/root",
        "l-cwd": "/proc/self/cwd/..",
        "l-chain": "l-chain-2", "l-chain-2": "l-dir", "l-loop": "l-loop", "sub/l-deep": f"../../{OUT}",
        "l-passwd": "/etc/passwd",
    }  # fmt: skip


def ways(workspace: Path) -> Iterator[str]:
    """Spellings of what stands outside."""
    for place in (f"/tmp/{OUT}/secret.txt", str(workspace.parent / OUT / "secret.txt")):
        yield from (
            place,
            f"/{place}",
            place.replace("/", "//"),
            f"/workspace/..{place}",
            f"/proc/self/root{place}",
            f"file://{place}",
        )
        yield from ("../" * depth + place.lstrip("/") for depth in (1, 2, 5, 12))
        yield from (
            f"sub/../../../..{place}",
            f"./sub/./../..{place}",
            f"sub/a.txt/../../..{place}",
            f"/workspace//..//..{place}",
        )
    for link in links(workspace):
        yield from (
            link,
            f"{link}/secret.txt",
            f"./{link}/.",
            f"sub/../{link}",
            f"{link}/../{OUT}/secret.txt",
            f"{link}/tmp/{OUT}/secret.txt",
        )
    up = f"{OUT}/secret.txt"
    yield from (
        f"../{up}",
        f"..\\{up}",
        f"%2e%2e/{up}",
        f"..%2f{up}",
        f".\u2024/{up}",
        f"\uff0e\uff0e/{up}",
        f"..;/{up}",
        f"~/../{up}",
    )
    yield from (
        f"..\0/{up}",
        f"../{up}\0.txt",
        f"\u202e../{up}",
        f"$PWD/../{up}",
        f"`pwd`/../{up}",
        f"{{..,x}}/{up}",
        "~root/.profile",
    )
    yield from (
        "/etc/passwd",
        "/etc/shadow",
        "/proc/1/environ",
        "/proc/self/environ",
        "/dev/sda",
        "/sys/kernel",
        "/root/.ssh/id_rsa",
    )


CALLS: tuple[tuple[str, str, dict[str, JsonValue]], ...] = (
    ("read", "path", {}), ("write", "path", {"content": "owned"}), ("edit", "path", {"old": CANARY, "new": "owned"}),
    ("list", "path", {}), ("grep", "path", {"pattern": "canary|root:"}), ("glob", "path", {"pattern": "**/*"}),
    ("glob", "pattern", {}), ("shell", "cwd", {"command": "cat secret.txt passwd"}),
)  # fmt: skip


@pytest.mark.wall("path")
async def test_no_tool_reads_or_writes_outside_of_the_workspace(bench: Bench, wall: Wall) -> None:
    for way in dict.fromkeys(ways(bench.workspace)):
        for tool, name, more in CALLS:
            arguments: dict[str, JsonValue] = {name: way, **more}
            if isinstance(bench.toolbox.prepare(tool, arguments), Refused):
                wall.held(f"{tool} {way}", True)
                continue
            try:
                seen = await bench.call(tool, **arguments)
            except SandboxError as refused:
                wall.held(f"{tool} {way}", False, f"the sandbox ended: {refused}")
                continue
            shown = f"{seen.preview}{seen.output or b''!r}".replace(way, "")
            wall.held(f"{tool} {way}", CANARY not in shown and "root:x:0" not in shown, shown[:200])
    kept = await bench.call("shell", command=f"cat /tmp/{OUT}/secret.txt; ls /tmp/{OUT} | wc -l")
    wall.held("what stood outside in the sandbox is as it was", f"{CANARY}\n1" in kept.preview, kept.preview)
    beside = bench.workspace.parent / OUT
    there = [path.name for path in beside.iterdir()]
    wall.held(
        "what stood outside on the machine is as it was",
        there == ["secret.txt"] and (beside / "secret.txt").read_text() == CANARY,
    )


@pytest.mark.wall("path")
async def test_nothing_outside_is_shown_saved_or_put_anywhere(bench: Bench, wall: Wall) -> None:
    """What the bot itself does with files that an agent names: shows them, keeps copies, takes attachments."""
    for way in dict.fromkeys(ways(bench.workspace)):
        try:
            shown = await bench.world.get_file(way, 10_000)
        except (SandboxError, OSError, ValueError) as refused:
            wall.held(f"shown: {way}", CANARY not in str(refused))
        else:
            wall.held(f"shown: {way}", CANARY.encode() not in shown and b"root:x:0" not in shown, str(shown[:80]))
        try:
            put = await bench.world.put_file(way, b"theirs")
        except (SandboxError, OSError, ValueError):
            wall.held(f"put: {way}", True)
        else:
            wall.held(f"put: {way}", put.startswith("attachments/") and put.count("/") == 1, put)
    assert [path.name for path in (bench.workspace.parent / OUT).iterdir()] == ["secret.txt"]
