"""Where real `threadwright` processes are born quickly: ``python -m tests.chaos.cradle DESCRIPTOR``.

Starting one costs a second or two of imports, and the tests start hundreds.  So this process imports what they import,
starts no thread and no event loop, and forks: each child then runs the real command with arguments, an environment, a
folder and standard streams of its own, and dies like any other process, by a real signal.

On the socket that it is given, a birth comes with four descriptors: standard input, output and error of the child, and
one that gets the wait status when it is over.  The answer is the process's number.
"""

from __future__ import annotations

import ctypes
import gc
import importlib
import io
import json
import os
import selectors
import signal
import socket
import sys
import threading
from collections.abc import Sequence
from typing import NoReturn, TypedDict

PR_SET_PDEATHSIG = 1
NEEDED = (
    "anthropic", "openai", "httpx2", "docker", "agentic.models.anthropic.client", "agentic.models.openai.http_transport",
    "bot.app.app", "bot.cli.main", "bot.cli.run", "bot.cli.doctor", "bot.cli.replay.replay", "bot.cli.setup.wizard",
    "bot.cli.task_command.command", "bot.local_discord.redirect", "tests.chaos.sabotage", "agentic.mcp_client.servers",
)  # fmt: skip
LONGEST = 1 << 17
"""Bytes of one birth."""


class Birth(TypedDict):
    """What a child is given beside its descriptors."""

    arguments: list[str]
    env: dict[str, str]
    cwd: str
    sabotage: str
    machine: str
    """The name of the machine that it is to take itself to be on, '' for this one."""


def load() -> None:
    """Import what the commands import on their way to the first answer, and work out what is kept once it is."""
    for name in NEEDED:
        importlib.import_module(name)
    from agentic.models.providers.prices import read_map
    from agentic.tools.toolbox import STANDARD
    from bot.app.client import COGS

    for name in COGS:
        importlib.import_module(name)
    assert read_map()
    assert all(tool.spec for tool in STANDARD)
    assert threading.active_count() == 1, "a process with threads cannot be forked safely"
    gc.collect()
    gc.freeze()


def born(birth: Birth, streams: Sequence[int]) -> NoReturn:
    """The child: from here on it is `threadwright`."""
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    signal.set_wakeup_fd(-1)
    for number in (signal.SIGCHLD, signal.SIGINT):
        signal.signal(number, signal.SIG_DFL if number != signal.SIGINT else signal.default_int_handler)
    for target, source in enumerate(streams):
        os.dup2(source, target)
    os.closerange(3, 256)
    sys.stdin = sys.__stdin__ = open(0, encoding="utf-8")  # noqa: SIM115 - a descriptor, for life
    sys.stdout = sys.__stdout__ = _written(1, "strict")
    sys.stderr = sys.__stderr__ = _written(2, "backslashreplace")
    os.environ.clear()
    os.environ.update(birth["env"])
    os.chdir(birth["cwd"])
    sys.argv = ["threadwright", *birth["arguments"]]
    code = 1
    try:
        from bot.cli.main import main
        from tests.chaos.sabotage import apply

        apply(birth["sabotage"])
        if birth["machine"]:
            be_elsewhere(birth["machine"])
        main()
        code = 0
    except SystemExit as ended:
        code = int(ended.code or 0)
    except BaseException:  # noqa: BLE001 - it must not go on as a second cradle
        sys.excepthook(*sys.exc_info())
    finally:
        os._exit(code)


def be_elsewhere(machine: str) -> None:
    """Have leases bear the name of another machine, where nobody can see whether this process has died."""
    from agentic.stores import process_identity

    process_identity._boot = lambda: machine


def _written(descriptor: int, errors: str) -> io.TextIOWrapper:
    """A stream of which nothing waits in a buffer."""
    return io.TextIOWrapper(os.fdopen(descriptor, "wb", 0), encoding="utf-8", errors=errors, write_through=True)


def main() -> None:
    """Give birth and tell of ends, until the other side of the socket is closed."""
    load()
    reading, writing = os.pipe()
    os.set_blocking(writing, False)
    signal.set_wakeup_fd(writing)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    children: dict[int, int] = {}
    with socket.socket(fileno=int(sys.argv[1])) as line, selectors.DefaultSelector() as selector:
        line.send(b"ready")
        selector.register(line, selectors.EVENT_READ)
        selector.register(reading, selectors.EVENT_READ)
        while True:
            for key, _ in selector.select():
                if key.fd == reading:
                    os.read(reading, 4096)
                    reap(children)
                    continue
                told, descriptors, _, _ = socket.recv_fds(line, LONGEST, 4)
                if not told:
                    return
                birth: Birth = json.loads(told)
                pid = os.fork()
                if pid == 0:
                    born(birth, descriptors[:3])
                for descriptor in descriptors[:3]:
                    os.close(descriptor)
                children[pid] = descriptors[3]
                line.send(str(pid).encode())


def reap(children: dict[int, int]) -> None:
    """Wait for those that have ended, and say so."""
    while children:
        pid, status = os.waitpid(-1, os.WNOHANG)
        if not pid:
            return
        if (ended := children.pop(pid, None)) is not None:
            os.write(ended, str(status).encode())
            os.close(ended)


if __name__ == "__main__":
    main()
