"""A sandbox for real: begun, a command in it, ended, and nothing of it left."""

from __future__ import annotations

import os
import tempfile
import time
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

from agentic.ports.errors import SandboxUnavailable
from agentic.sandbox.backends.selection import choose
from agentic.sandbox.hidden_files import adopt
from agentic.sandbox.limits import Limits
from agentic.sandbox.sandbox import Sandbox
from bot.cli.live.trials import StepFailed, Trials
from bot.config.settings import Settings

COMMAND = "sleep 3600"
"""Runs until it is ended."""
SECONDS = 30.0
STOP_SECONDS = 2.0
"""What is promised of a stop."""


@asynccontextmanager
async def trial_sandbox(settings: Settings) -> AsyncGenerator[tuple[str, Sandbox]]:
    """A sandbox of the kind that tasks get, and the name of that kind; ended afterwards. Raises ``SandboxUnavailable``."""
    home = settings.home if os.access(settings.home, os.W_OK | os.X_OK) else None  # what an engine in a container sees
    with tempfile.TemporaryDirectory(prefix=".doctor-", dir=home, ignore_cleanup_errors=True) as folder:
        choice = await choose(settings.sandbox, Path(folder), image=settings.sandbox_image)
        if choice.rung is None:
            raise SandboxUnavailable(choice.why)
        places = Path(folder) / "workspace", Path(folder) / "home"
        try:
            for place in places:
                adopt(place, *choice.rung.owner)
            sandbox = await choice.rung.start("doctor", *places, Limits())
            try:
                yield choice.name, sandbox
            finally:
                await sandbox.close()
        finally:
            await choice.rung.close()


async def stopped(sandbox: Sandbox, running: str) -> str:
    """End everything in a sandbox, in which this command runs. Raises ``StepFailed`` where it took too long."""
    began = time.monotonic()
    ended = await sandbox.kill_all()
    state = await sandbox.poll(running)
    took = time.monotonic() - began
    if state.running or not ended:
        raise StepFailed("the command still runs", "please report this, with the row “sandbox” of threadwright doctor")
    if took > STOP_SECONDS:
        raise StepFailed(f"it took {took:.1f} s; {STOP_SECONDS:g} s are promised", "is this machine overloaded?")
    return f"no process left after {took:.2f} s"


async def try_sandbox(trials: Trials, settings: Settings) -> None:
    """Take the steps."""
    makes = f"starts one sandbox on this machine (THREADWRIGHT_SANDBOX={settings.sandbox}) and ends it. Costs nothing."
    if await trials.begin("sandbox", makes):
        await trials.step("sandbox", _used(trials, settings))


async def _used(trials: Trials, settings: Settings) -> str:
    began = time.monotonic()
    async with trial_sandbox(settings) as (name, sandbox):
        trials.show(
            "start", "ok", f"{name} in {time.monotonic() - began:.1f} s, Python {sandbox.python_version} inside"
        )
        await trials.step("command", _command(sandbox))
        await trials.step("kill", _kill(sandbox))
        how = await sandbox.close()
    if sandbox.lost is None or "could not be removed" in how:
        raise StepFailed(f"it is not gone: {how}", "end it by hand, or restart the machine")
    return "gone"


async def _command(sandbox: Sandbox) -> str:
    result = await sandbox.own("echo $((6 * 7))", timeout=SECONDS)
    if not result.ok or result.text.strip() != "42":
        raise StepFailed(f"it answered {result.text.strip()[:200]!r} {result.killed_reason}".strip())
    return "ran"


async def _kill(sandbox: Sandbox) -> str:
    return await stopped(sandbox, await sandbox.start(COMMAND))
