"""Which sandbox is used: Docker, else bubblewrap, else none; the host only where the operator says so.

Each rung is tried with a real run, because a program that is installed says nothing about what this machine allows; of
several bubblewraps the first is used that really runs a command.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Literal, get_args

from agentic.ports.errors import SandboxError, SandboxRefused, SandboxUnavailable
from agentic.sandbox.backends.bubblewrap import Bubblewrap
from agentic.sandbox.backends.bwrap_programs import programs
from agentic.sandbox.backends.bwrap_refusals import Machine, unusable
from agentic.sandbox.backends.host import Host
from agentic.sandbox.hidden_files import adopt
from agentic.sandbox.limits import IMAGE, Limits
from agentic.sandbox.pool import Choice, Rung, reaped
from agentic.sandbox.protocol.heartbeat import Heartbeat

Setting = Literal["auto", "docker", "bubblewrap", "host"]
HOST_WARNING = (
    "commands run on this machine without any walls, because THREADWRIGHT_SANDBOX=host says so; what .aiignore hides can be "
    "opened and removed by one that sets out to"
)


async def choose(
    setting: Setting,
    state: Path,
    *,
    docker_url: str | None = None,
    image: str = IMAGE,
    limits: Limits | None = None,
    heartbeat: Heartbeat | None = None,
) -> Choice:
    """The rung for a setting.  A named rung is used or refused; ``auto`` takes the first that really runs a command."""
    if setting not in get_args(Setting):
        return Choice(None, f"THREADWRIGHT_SANDBOX is {setting!r}; write auto, docker, bubblewrap or host")
    if setting == "host":
        return Choice(Host(state, heartbeat), HOST_WARNING)
    skipped: list[str] = []
    refused: SandboxRefused | None = None
    for name in ("docker", "bubblewrap") if setting == "auto" else (setting,):
        if name == "bubblewrap":
            tried = await _bubblewrap(state, limits or Limits(), heartbeat)
        else:
            tried = await _tried(_rung(name, state, docker_url, image, heartbeat), state, limits or Limits())
        if not isinstance(tried, SandboxError):
            better = f" ({'; '.join(skipped)})" if skipped else ""
            return Choice(tried, f"a command really ran in {tried.said}{better}", tuple(skipped))
        refused = tried if isinstance(tried, SandboxRefused) else refused
        skipped.append(f"{name}: {tried.said if isinstance(tried, SandboxRefused) else tried}")
    why = "no sandbox can be had, so no command runs. " + " — ".join(skipped)
    return Choice(None, why, tuple(skipped), refused=refused)


def chooser(
    setting: Setting,
    state: Path,
    *,
    docker_url: str | None = None,
    image: str = IMAGE,
    limits: Limits | None = None,
    heartbeat: Heartbeat | None = None,
) -> Callable[[], Awaitable[Choice]]:
    """``choose`` with its arguments, for ``Sandboxes``."""
    return lambda: choose(setting, state, docker_url=docker_url, image=image, limits=limits, heartbeat=heartbeat)


async def left_behind(name: str, state: Path, *, image: str = IMAGE) -> tuple[str, ...]:
    """End what dead processes left in a rung of this state folder; what could not be ended, in words."""
    rung = _rung(name, state, None, image, None)
    try:
        return await reaped(rung)
    finally:
        await rung.close()


def _rung(name: str, state: Path, url: str | None, image: str, heartbeat: Heartbeat | None) -> Rung:
    if name != "docker":
        return (Host if name == "host" else Bubblewrap)(state, heartbeat=heartbeat)
    from agentic.sandbox.backends.docker import Docker  # its library is slow to import: only where Docker is tried

    return Docker(state, url, image, heartbeat)


async def _bubblewrap(state: Path, limits: Limits, heartbeat: Heartbeat | None) -> Rung | SandboxError:
    """The first bubblewrap that really runs a command; where none does, what the machine refused the last that started."""
    troubles: list[str] = []
    refused: SandboxError | None = None
    for program in await asyncio.to_thread(programs):
        if program.trouble:
            troubles.append(f"bubblewrap {program.said}: {program.trouble}")
            continue
        tried = await _tried(Bubblewrap(state, program, heartbeat), state, limits)
        if not isinstance(tried, SandboxError):
            return tried
        refused = tried
    return refused or unusable(troubles, Machine.here())


async def _tried(rung: Rung, state: Path, limits: Limits) -> Rung | SandboxError:
    """The rung if a sandbox of it really runs a command, else why it does not."""
    try:
        await probe(rung, state, limits)
    except SandboxError as error:
        await rung.close()
        return error
    return rung


async def probe(rung: Rung, state: Path, limits: Limits) -> None:
    """Run a command in a sandbox of this rung; raises ``SandboxError``, which says why none runs and what to do."""
    workspace, home = state / "probe" / "workspace", state / "probe" / "home"
    for folder in (workspace, home):
        adopt(folder, *rung.owner)
    sandbox = await rung.start("probe", workspace, home, limits)
    try:
        result = await sandbox.own("true", timeout=10.0)
    except SandboxError as error:
        raise SandboxUnavailable(f"it started but ran no command: {error}") from error
    finally:
        await sandbox.close()
    if not result.ok:
        raise SandboxUnavailable(f"it ran a command that failed: {result.text.strip() or result.killed_reason}")
