"""What a sandbox may use, and where things are inside it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

IMAGE = "threadwright-sandbox:local"


MB = 1024 * 1024


@dataclass(frozen=True, slots=True)
class Limits:
    """What a sandbox may use.  Sizes in bytes; ``heartbeat`` in seconds without a sign of the owner."""

    memory: int = 2048 * MB
    processes: int = 256
    open_files: int = 4096
    file_size: int = 1024 * MB
    workspace: int = 4096 * MB
    inodes: int = 300_000
    tmp: int = 512 * MB
    cpus: float = 2.0
    output: int = 64 * MB
    heartbeat: float = 3.0
    grace: float = 0.06


DOOR = "/opt/threadwright/door"
COMMANDS = "/opt/threadwright/bin"
"""Where a sandbox sees our own commands, read-only and last on its PATH."""
SKILLS = "/opt/threadwright/skills"
"""Where a sandbox sees the skills that its thread's tasks have read, read-only."""
PROXY_PORT = 17080
"""Where, on the sandbox's own loopback, what leads to the door is found."""
_PROXY = f"http://127.0.0.1:{PROXY_PORT}"
PROXY_ENVIRONMENT: Mapping[str, str] = {
    **{name: _PROXY for each in ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY") for name in (each, each.lower())},
    **dict.fromkeys(("NO_PROXY", "no_proxy"), "localhost,127.0.0.1,::1"),
    "NODE_USE_ENV_PROXY": "1",
}
"""What programs read to find it."""


@dataclass(frozen=True, slots=True)
class Place:
    """Where things are as the sandbox sees them, and the rung it stands on."""

    rung: str
    workspace: str = "/workspace"
    home: str = "/home/agent"
    namespaced: bool = True
    """PID 1 of its own process namespace; without (the host rung) strays are found by their tag only."""
    counts_processes: bool = True
    """The limit on processes is ours to set; without, the rung sets it (Docker, where one user has many sandboxes)."""
    environment: Mapping[str, str] = field(default_factory=dict[str, str])
    commands: str = COMMANDS
    """A folder at the end of the PATH."""
    door: str = ""
    """The way out, a Unix socket; '' where there is none."""
