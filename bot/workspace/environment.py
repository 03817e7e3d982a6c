"""Facts about the sandbox for an execution: date, platform, shell, network, installed programs, one line each.

They are collected once when an execution begins and recorded, so that its prompt stays the same.
"""

from __future__ import annotations

import platform
import shutil
from datetime import datetime
from functools import cache

from agentic.egress.host_list import PACKAGES
from agentic.sandbox.limits import IMAGE

PROGRAMS = (
    "python3", "pip3", "uv", "uvx", "pipx", "node", "npm", "npx", "git", "make", "gcc", "cargo", "go", "java", "ruby",
    "php", "perl", "curl", "wget", "jq", "rg", "sqlite3", "psql", "ffmpeg", "pandoc", "unzip",
)  # fmt: skip
"""The programs that are looked for; others may be installed too."""
IN_OUR_IMAGE = (
    "python3", "pip3", "uv", "uvx", "pipx", "node", "npm", "npx", "git", "make", "curl", "jq", "sqlite3", "unzip",
)  # fmt: skip
"""Those of them that deploy/sandbox/Dockerfile puts into the image."""
SYSTEM_PATH = "/usr/local/bin:/usr/bin:/bin"
"""The program search path of a sandbox on this machine's own system."""
NO_NETWORK = (
    "Network: none. Use what is installed. If a task really needs a host, ask for it with the tool `network`; else say what "
    "is missing."
)
LISTED = (
    "Network: only {hosts}, on ports 80 and 443, through the proxy that HTTPS_PROXY and HTTP_PROXY name (pip, npm, cargo, go, "
    "git and curl read them; names are not resolved here). Any other host is refused: ask for it with the tool `network`. "
    "Take packages for a single use through uvx, pipx run or npx."
)
NETWORK = (
    "Network: that of this machine. Take packages for a single use through uvx, pipx run or npx: do not install them."
)


def environment(place: str, now: datetime, image: str = IMAGE) -> tuple[str, ...]:
    """Return the lines; ``place`` says where commands run (``Workshop.place``), '' while that is unknown."""
    rung = place.partition(",")[0]
    lines = [f"Date: {now:%A, %Y-%m-%d} (UTC).", "Shell: bash."]
    if rung == "docker":
        ours = image == IMAGE
        lines.append("Platform: Linux, Debian 12." if ours else "Platform: Linux, in a container.")
        installed = IN_OUR_IMAGE if ours else ()
    elif rung:
        lines.append(f"Platform: {_platform()}.")
        installed = _installed(None if rung == "host" else SYSTEM_PATH)
    else:
        installed = ()
    if installed:
        lines.append(f"Installed: {', '.join(installed)}.")
    if rung:
        lines.append(NETWORK if rung == "host" else _network(place.partition(", network: ")[2]))
    return tuple(lines)


def _network(hosts: str) -> str:
    named = ["the usual package indexes" if each == PACKAGES else each for each in hosts.split()]
    return LISTED.format(hosts=", ".join(named)) if named else NO_NETWORK


@cache
def _platform() -> str:
    try:
        return f"{platform.system()}, {platform.freedesktop_os_release()['PRETTY_NAME']}"
    except (OSError, KeyError):
        return platform.system()


@cache
def _installed(path: str | None) -> tuple[str, ...]:
    return tuple(name for name in PROGRAMS if shutil.which(name, path=path))
