"""`threadwright doctor --mend`: lets sandboxes run where AppArmor keeps them from it, after a yes.

The distribution's bubblewrap is installed.  Where AppArmor refuses that one too, the bundled binary is copied to a path that
root owns, and a profile names exactly that path: never one in an environment that others can write.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from agentic.sandbox.backends import bwrap_programs
from agentic.sandbox.backends.bwrap_programs import BINARY, COPY, bundled_folder, copy_wheel, held_by_root
from agentic.sandbox.backends.bwrap_refusals import own_command
from bot.cli.console import fail, say
from bot.config.settings import Settings

if TYPE_CHECKING:
    from agentic.sandbox.pool import Choice

PROFILE_FILE = Path("/etc/apparmor.d/threadwright-bwrap")
PROFILE = f"""\
# Written by `threadwright doctor --mend`. This one program, which only root can change, may make user namespaces:
# the sandboxes that commands run in are made of them.
abi <abi/4.0>,
include <tunables/global>

profile threadwright-bwrap {COPY / BINARY} flags=(unconfined) {{
  userns,
}}
"""
APT = ("apt-get", "install", "--yes", "--no-install-recommends", "bubblewrap")
LOAD = ("apparmor_parser", "--replace", str(PROFILE_FILE))
SEE = "see what AppArmor refused: sudo dmesg | grep -i apparmor; or start Docker"
QUESTION = "Go on? [y/N] "


class NotMended(Exception):
    """A step did not work; the message says what to do."""


async def mend(settings: Settings, *, yes: bool) -> int:
    """Make sandboxes run here; 0 if they do."""
    choice = await _tried(settings)
    if choice.rung is not None:
        say(f"Nothing to mend: commands run in {choice.rung.said}.")
        return 0
    if choice.refused is None or not choice.refused.mendable:
        return fail(f"--mend can't change this: {choice.why}.\n→ {choice.todo or 'start Docker'}")
    if os.geteuid() != 0:
        return fail(f"This changes the system, so it needs root:\n  sudo {own_command()} doctor --mend")
    say(f"{choice.why}.\nTo mend it, one after the other until a sandbox runs:")
    for step in _steps():
        say(f"  • {step}")
    if not yes and not _agreed():
        return fail("Nothing was changed. Without a terminal, say --yes.")
    try:
        choice = await _mended(settings)
    except NotMended as error:
        return fail(f"Not mended: {error}.")
    if choice.rung is None:
        return fail(
            f"Not mended: {choice.why}.\n→ {SEE if choice.refused is None or choice.refused.mendable else choice.todo}"
        )
    say(f"Mended: commands run in {choice.rung.said}. A bot that runs uses it from its next task on.")
    return 0


def _steps() -> list[str]:
    steps = [" ".join(APT)] if _installs() else []
    if bundled_folder() is not None:
        steps.append(f"copy the bundled bubblewrap to {COPY}, write {PROFILE_FILE} for that path alone, and load it")
    return steps


def _installs() -> bool:
    return shutil.which(APT[0]) is not None and shutil.which(bwrap_programs.COMMAND) is None


def _agreed() -> bool:
    if not sys.stdin.isatty():
        return False
    sys.stdout.write(QUESTION)
    sys.stdout.flush()
    return sys.stdin.readline().strip().lower() in ("y", "yes")


async def _mended(settings: Settings) -> Choice:
    """Go through the steps, up to the first after which a sandbox runs."""
    if _installs():
        try:
            _run(APT)
        except NotMended as error:
            say(f"{error}; going on.")
        else:
            choice = await _tried(settings)
            if choice.rung is not None:
                return choice
    copy_bundled()
    PROFILE_FILE.parent.mkdir(parents=True, exist_ok=True)
    _write(PROFILE_FILE, PROFILE)
    _run(LOAD)
    return await _tried(settings)


async def _tried(settings: Settings) -> Choice:
    from agentic.sandbox.backends.selection import choose

    with tempfile.TemporaryDirectory(prefix="threadwright-mend-", ignore_cleanup_errors=True) as folder:
        choice = await choose("bubblewrap", Path(folder), image=settings.sandbox_image)
        if choice.rung is not None:
            await choice.rung.close()
        return choice


def copy_bundled() -> None:
    """Copy the bundled binary with its library to where only root can change them; raises ``NotMended``."""
    source = bundled_folder()
    if source is None:
        raise NotMended("no bubblewrap came with this program for this machine; install the distribution's")
    try:
        fresh = Path(tempfile.mkdtemp(prefix="threadwright-", dir=_parent()))
        try:
            copy_wheel(source, fresh)
            shutil.rmtree(COPY, ignore_errors=True)
            fresh.rename(COPY)
        finally:
            shutil.rmtree(fresh, ignore_errors=True)
    except OSError as error:
        raise NotMended(f"the bundled bubblewrap can't be copied to {COPY}: {error.strerror}") from error


def _parent() -> Path:
    parent = COPY.parent
    if not parent.is_dir():
        parent.mkdir(parents=True)
        parent.chmod(0o755)
    open_to_others = [each for each in (parent, *parent.parents) if not held_by_root(each)]
    if open_to_others:
        place = open_to_others[-1]
        raise NotMended(
            f"others than root can write {place}: make it root's (chown root:root {place}; chmod go-w {place})"
        )
    return parent


def _write(path: Path, text: str) -> None:
    try:
        path.write_text(text)
        path.chmod(0o644)
    except OSError as error:
        raise NotMended(f"{path} can't be written: {error.strerror}") from error


def _run(command: tuple[str, ...]) -> None:
    say(f"$ {' '.join(command)}")
    environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    try:
        done = subprocess.run(command, env=environment, stdin=subprocess.DEVNULL, check=False)
    except FileNotFoundError:
        raise NotMended(f"{command[0]} is not installed") from None
    if done.returncode:
        raise NotMended(f"{command[0]} failed (exit code {done.returncode})")
