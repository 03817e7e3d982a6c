"""What an execution is told of where it works: date, platform, shell, network, what is installed, a line each.

It is found out once an execution begins and recorded, so that the prompt stays the same all through it.
"""

from __future__ import annotations

import platform
import shutil
from datetime import datetime
from functools import cache

from agentic.sandbox.limits import IMAGE

PROGRAMS = (
    "python3", "pip3", "uv", "uvx", "pipx", "node", "npm", "npx", "git", "make", "gcc", "cargo", "go", "java", "ruby",
    "php", "perl", "curl", "wget", "jq", "rg", "sqlite3", "psql", "ffmpeg", "pandoc", "unzip",
)  # fmt: skip
"""What one looks for first; other programs may be there too."""
IN_OUR_IMAGE = ("python3", "pip3", "git", "make", "curl", "jq", "sqlite3", "unzip")
"""Those of them that deploy/sandbox puts into the image."""
SYSTEM_PATH = "/usr/local/bin:/usr/bin:/bin"
"""Where a sandbox on this machine's own system looks for programs."""
NO_NETWORK = "Network: none. No package can be fetched: use what is installed, or say what is missing."
NETWORK = (
    "Network: that of this machine. Take packages for a single use through uvx, pipx run or npx: do not install them."
)


def environment(place: str, now: datetime, image: str = IMAGE) -> tuple[str, ...]:
    """The lines; ``place`` is where commands run in words (``Workshop.place``), '' while nobody knows."""
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
        lines.append(NETWORK if rung == "host" else NO_NETWORK)
    return tuple(lines)


@cache
def _platform() -> str:
    try:
        return f"{platform.system()}, {platform.freedesktop_os_release()['PRETTY_NAME']}"
    except (OSError, KeyError):
        return platform.system()


@cache
def _installed(path: str | None) -> tuple[str, ...]:
    return tuple(name for name in PROGRAMS if shutil.which(name, path=path))
