"""What a machine refuses bubblewrap, in words, and the one command that mends it.

bubblewrap's last words name a system call; the reason lies in a setting of the kernel, which is looked up here.
"""

from __future__ import annotations

import platform
import shlex
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from agentic.ports.errors import SandboxRefused

INSTALL = {
    "alpine": "apk add bubblewrap",
    "arch": "pacman -S bubblewrap",
    "debian": "apt-get install bubblewrap",
    "fedora": "dnf install bubblewrap",
    "suse": "zypper install bubblewrap",
}
"""What installs it, by the names that systems give themselves or what they are like."""
OPEN = "--user 1000:1000 " + " ".join(
    f"--security-opt {wall}=unconfined" for wall in ("seccomp", "apparmor", "systempaths")
)
"""What lets a container's processes make namespaces and mount a /proc of their own; a container's root may not."""
CONTAINERS = ("/.dockerenv", "/run/.containerenv", "/run/systemd/container")
ENOUGH = 15_000
APPARMOR = ("setting up uid map: Permission denied", "Failed RTM_NEWADDR")
"""What bubblewrap says where AppArmor took the rights out of its namespace."""
NO_NAMESPACE = ("new namespace", "unshare failed")
NO_PROC = ("mount proc",)
CHANGED_SETTING = "until the next restart; a file in /etc/sysctl.d keeps it"


@dataclass(frozen=True, slots=True)
class Machine:
    """What this machine says of itself."""

    most_namespaces: int = ENOUGH
    unprivileged: bool = True
    apparmor: bool = False
    """AppArmor takes the rights out of user namespaces of programs without a profile (Ubuntu since 23.10)."""
    container: bool = False
    kinds: tuple[str, ...] = ()
    """What its system calls itself and says it is like, as in os-release."""

    @classmethod
    def here(cls) -> Machine:
        """This one."""
        return cls(
            most_namespaces=_number("user/max_user_namespaces", ENOUGH),
            unprivileged=_number("kernel/unprivileged_userns_clone", 1) != 0,
            apparmor=_number("kernel/apparmor_restrict_unprivileged_userns", 0) != 0,
            container=any(Path(mark).exists() for mark in CONTAINERS),
            kinds=_kinds(),
        )


def refused(words: str, machine: Machine) -> SandboxRefused:
    """Why a bubblewrap that said this did not start, and what to do."""
    if machine.most_namespaces == 0:
        return _setting("user.max_user_namespaces", "0", str(ENOUGH))
    if not machine.unprivileged:
        return _setting("kernel.unprivileged_userns_clone", "0", "1")
    if _any(APPARMOR, words) or (machine.apparmor and _any(("Permission denied", "Operation not permitted"), words)):
        said = "AppArmor refuses user namespaces to programs without a profile, as Ubuntu does since 23.10"
        return SandboxRefused(said, f"run: sudo {own_command()} doctor --mend", mendable=True)
    if _any(NO_PROC, words):
        said = "parts of /proc are hidden here, so no sandbox can have one of its own"
        return SandboxRefused(said, f"start the container with: {OPEN}")
    if _any(NO_NAMESPACE, words):
        if machine.container:
            said = "this container lets its processes make no user namespaces"
            return SandboxRefused(said, f"start the container with: {OPEN}")
        said = "the kernel lets this process make no user namespaces (it runs in a chroot, or its service forbids them)"
        return SandboxRefused(said, "run it outside of that, or start Docker")
    return SandboxRefused(f"bubblewrap did not start: {words}", "start Docker")


def unusable(troubles: Iterable[str], machine: Machine) -> SandboxRefused:
    """Why no bubblewrap of this machine can be used, and what to do."""
    said = "; ".join(troubles) or "no bubblewrap came with this program for this machine, and none is installed"
    installs = next((INSTALL[kind] for kind in machine.kinds if kind in INSTALL), "")
    return SandboxRefused(said, f"run: sudo {installs}" if installs else "install bubblewrap 0.8 or newer")


def own_command() -> str:
    """How this program is called from anywhere, also by sudo, which has a PATH of its own."""
    called = Path(sys.argv[0])
    return shlex.quote(str(called.absolute())) if called.name == "threadwright" else "threadwright"


def _setting(name: str, now: str, wanted: str) -> SandboxRefused:
    said = f"user namespaces are switched off on this machine ({name} is {now})"
    return SandboxRefused(said, f"run: sudo sysctl -w {name}={wanted} ({CHANGED_SETTING})")


def _any(phrases: Iterable[str], words: str) -> bool:
    return any(phrase in words for phrase in phrases)


def _number(name: str, otherwise: int) -> int:
    try:
        return int(Path("/proc/sys", name).read_text())
    except (OSError, ValueError):
        return otherwise


def _kinds() -> tuple[str, ...]:
    try:
        told = platform.freedesktop_os_release()
    except OSError:
        return ()
    return (told.get("ID", ""), *told.get("ID_LIKE", "").split())
