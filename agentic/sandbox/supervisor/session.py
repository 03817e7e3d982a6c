"""What the supervisor holds once its owner has said hello: the workspace, the commands, the limits."""
# ruff: noqa: PTH110

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Callable

from . import seccomp
from .event_loop import Reactor
from .files.background_walk import Walks
from .files.change_scan import Scanner
from .files.confined_paths import Confined
from .files.operations import Files
from .forked_jobs import Jobs
from .frames import Fault, Json, Request
from .limits import Limits, Watch
from .processes.commands import Commands
from .processes.interpreter import Interpreter
from .processes.output import Outputs
from .relay import Relay


class Session:
    """What exists once the owner has said hello."""

    def __init__(self, request: Request, reactor: Reactor) -> None:
        self.heartbeat = request.seconds("heartbeat", 3.0)
        self.workspace = Confined(request.text("workspace"))
        home_path = request.text("home")
        home = Confined(home_path, "the saved outputs")
        namespaced = request.flag("namespaced", True)
        self.filtered = namespaced and _filtered()  # before there is any thread, which would be without
        numbers = request.mapping("limits")
        limits = Limits(numbers)
        self.scanner = Scanner(self.workspace)
        self._scans = Walks(reactor, "scans")
        self.files = Files(self.workspace, self.scanner.note)
        self.outputs = Outputs(home)
        self.jobs = Jobs(reactor)
        self.commands = Commands(reactor, self.jobs, self.outputs, os.urandom(8).hex(), namespaced)
        self.commands.grace = request.seconds("grace", 0.06)
        self.commands.output_limit = Request(numbers, b"").integer("output", 64 * 1024 * 1024)
        self.interpreter = Interpreter(reactor, self.commands, sys.argv[0])
        self.watch = Watch(
            limits, [self.workspace.root, home_path], Walks(reactor, "watch"), self.workspace.hidden_places
        )
        self.environment = _environment(home_path, request.text("commands")) | request.environment("environment")
        self.shell = next(path for path in ("/bin/bash", "/bin/sh") if os.path.exists(path))
        limits.apply()
        if door := request.text("door"):
            Relay(door, request.integer("door_port")).start()

    def changes(self, told: Callable[[dict[str, Json]], None]) -> Callable[[], bool]:
        """Look for what changed in the workspace, and tell it as fields of a header.

        Returns how to call that off: True where nothing will be told, and all that changed is told by the next look.
        """
        once = threading.Lock()  # taken by whoever comes first, and never given back

        def first() -> bool:
            return once.acquire(blocking=False)

        def tell(found: dict[str, Json] | None) -> None:
            if found is not None:
                told(found)

        self._scans.do(lambda: self.scanner.scan(first), tell)
        return first

    def set_masks(self, request: Request) -> tuple[dict[str, Json], bytes]:
        """These paths are hidden from now on."""
        self.workspace.hidden = frozenset(request.texts("paths"))
        return {}, b""


def _filtered() -> bool:
    """Under a system call filter from now on; False where there is none for this machine."""
    try:
        return seccomp.install()
    except OSError as error:
        raise Fault("failed", f"{error.strerror}, so nothing runs") from error


def _environment(home: str, commands: str) -> dict[str, str]:
    """All that a command sees of an environment: nothing here asks questions or pages; ``commands`` is a folder of ours."""
    return {
        "PATH": f"{home}/.local/bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin:{commands}",
        "HOME": home,
        "USER": "agent",
        "LOGNAME": "agent",
        "SHELL": "/bin/sh",
        "LANG": "C.UTF-8",
        "LC_ALL": "C.UTF-8",
        "TERM": "dumb",
        "TMPDIR": "/tmp",  # noqa: S108 - the sandbox's own
        "PAGER": "cat",
        "GIT_PAGER": "cat",
        "GIT_TERMINAL_PROMPT": "0",
        "DEBIAN_FRONTEND": "noninteractive",
        "PYTHONUNBUFFERED": "1",
        "PYTHONDONTWRITEBYTECODE": "1",  # an edit of the same size in the same second would run the old module
        "PIP_BREAK_SYSTEM_PACKAGES": "1",  # the system is read-only: what pip installs goes into the home, and goes with it
        "NO_COLOR": "1",
    }
