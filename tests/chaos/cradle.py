"""Where real `threadwright run` processes are born quickly: ``python -m tests.chaos.cradle``.

Starting one costs a second of imports, and a run of chaos starts hundreds.  So this process imports what they import,
starts no thread and no event loop, and forks: each child then runs the real command with an environment, a folder and
a log of its own, and dies like any other process, by a real signal.

One JSON line in is one birth: ``{"id", "env", "cwd", "log", "sabotage"}``; lines out: ``{"id", "pid"}``, and
``{"id", "ended"}`` with the wait status when it is over.
"""

from __future__ import annotations

import ctypes
import gc
import importlib
import json
import os
import selectors
import signal
import sys
import threading
from typing import NoReturn, TypedDict

PR_SET_PDEATHSIG = 1
NEEDED = (
    "anthropic", "httpx2", "agentic.models.anthropic.client", "bot.app.app", "bot.cli.main", "bot.cli.run", "bot.cli.doctor",
    "bot.local_discord.redirect", "bot.cogs.commands", "tests.chaos.sabotage",
)  # fmt: skip


class Birth(TypedDict):
    """What a child is given."""

    id: int
    env: dict[str, str]
    cwd: str
    log: str
    sabotage: str


def load() -> None:
    """Import what `threadwright run` imports on its way to the first answer."""
    for name in NEEDED:
        importlib.import_module(name)
    assert threading.active_count() == 1, "a process with threads cannot be forked safely"
    gc.collect()
    gc.freeze()


def born(birth: Birth) -> NoReturn:
    """The child: from here on it is `threadwright run`."""
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    signal.set_wakeup_fd(-1)
    for number in (signal.SIGCHLD, signal.SIGINT):
        signal.signal(number, signal.SIG_DFL if number != signal.SIGINT else signal.default_int_handler)
    log = os.open(birth["log"], os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    nothing = os.open(os.devnull, os.O_RDONLY)
    for source, target in ((nothing, 0), (log, 1), (log, 2)):
        os.dup2(source, target)
    os.closerange(3, 256)
    os.environ.clear()
    os.environ.update(birth["env"])
    os.chdir(birth["cwd"])
    sys.argv = ["threadwright", "run"]
    code = 1
    try:
        from bot.cli.main import main
        from tests.chaos.sabotage import apply

        apply(birth["sabotage"])
        main()
        code = 0
    except SystemExit as ended:
        code = int(ended.code or 0)
    except BaseException:  # noqa: BLE001 - it must not go on as a second cradle
        sys.excepthook(*sys.exc_info())
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)


def main() -> None:
    """Give birth and tell of ends, until standard input is closed."""
    load()
    reading, writing = os.pipe()
    os.set_blocking(writing, False)
    signal.set_wakeup_fd(writing)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    children: dict[int, int] = {}
    waiting = b""
    print(json.dumps({"ready": True}), flush=True)
    with selectors.DefaultSelector() as selector:
        selector.register(0, selectors.EVENT_READ)
        selector.register(reading, selectors.EVENT_READ)
        while True:
            for key, _ in selector.select():
                if key.fd == reading:
                    os.read(reading, 4096)
                    reap(children)
                    continue
                block = os.read(0, 1 << 16)
                if not block:
                    return
                *lines, waiting = (waiting + block).split(b"\n")
                for line in lines:
                    birth: Birth = json.loads(line)
                    pid = os.fork()
                    if pid == 0:
                        born(birth)
                    children[pid] = birth["id"]
                    print(json.dumps({"id": birth["id"], "pid": pid}), flush=True)


def reap(children: dict[int, int]) -> None:
    """Wait for those that have ended, and say so."""
    while children:
        pid, status = os.waitpid(-1, os.WNOHANG)
        if not pid:
            return
        if (number := children.pop(pid, None)) is not None:
            print(json.dumps({"id": number, "ended": status}), flush=True)


if __name__ == "__main__":
    main()
