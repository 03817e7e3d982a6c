"""The processes of a local AWS: MiniStack, and microburst before it where faults are wished."""

from __future__ import annotations

import errno
import os
import socket
import subprocess
import time
import urllib.error
import urllib.request
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

ROOT = Path(__file__).parent.parent.parent
PYTHON = ROOT / ".venv-aws/bin/python"
PROGRAM = Path(__file__).with_name("emulator_process.py")
LOOPBACK = "127.0.0.1"
SERVICES = "dynamodb,sqs,s3,sts"
STARTED_WITHIN = 60.0
ENDED_WITHIN = 5.0
DIRECT = urllib.request.build_opener(urllib.request.ProxyHandler({}))
"""Asks loopback, whatever proxy the environment names."""


class CannotEmulate(Exception):
    """The local AWS could not be started; the message says why and what to do."""


@contextmanager
def mini_stack(port: int = 0, services: str = SERVICES, errors: int | None = None) -> Generator[str]:
    """Run MiniStack on a port of loopback, 0 for one that is free; gives its address.  ``errors`` is a file for its words.

    The socket is made here and handed over: nobody can take the port in between, and requests wait in it until the
    process answers.
    """
    with _listening(port) as handed:
        port = handed.getsockname()[1]
        environment = {
            "GATEWAY_PORT": str(port),
            "MINISTACK_HOST": LOOPBACK,
            "SERVICES": services,
            "LOG_LEVEL": "ERROR",
        }
        started = _started(("ministack", str(handed.fileno())), environment, handed.fileno(), errors=errors)
        with started as process:
            handed.close()
            address = f"http://{LOOPBACK}:{port}"
            _wait_for(process, f"{address}/_ministack/health")
            yield address


@contextmanager
def micro_burst(upstream: str, port: int = 0) -> Generator[str]:
    """Run microburst before an address; faults are then set by requests to its own paths. Gives its address."""
    with _listening(port) as free:
        port = free.getsockname()[1]
    options = ("--host", LOOPBACK, "--port", str(port), "--upstream", upstream)
    with _started(("microburst", *options), {}) as process:
        address = f"http://{LOOPBACK}:{port}"
        _wait_for(process, f"{address}/_microburst/health")
        yield address


def _listening(port: int) -> socket.socket:
    try:
        return socket.create_server((LOOPBACK, port))
    except OSError as error:
        why = "is taken" if error.errno == errno.EADDRINUSE else f"can't be listened on ({error.strerror})"
        raise CannotEmulate(
            f"Port {port} {why}. Name another one (PORT=4567), or PORT=0 for any that is free."
        ) from None


@contextmanager
def _started(
    command: tuple[str, ...], environment: dict[str, str], *handed: int, errors: int | None = None
) -> Generator[subprocess.Popen[bytes]]:
    """Run a program that ends when its standard input does; Ctrl-C reaches only us, so that we end it in order."""
    if not PYTHON.exists():
        raise CannotEmulate(f"{PYTHON.parent.parent.name} is missing. Set it up once (700 MB): make aws")
    process = subprocess.Popen(
        [PYTHON, "-I", PROGRAM, *command],
        env={"PATH": os.defpath, "TMPDIR": os.environ.get("TMPDIR", "/tmp"), **environment},  # noqa: S108
        stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=errors, pass_fds=handed,
        start_new_session=True,
    )  # fmt: skip
    try:
        yield process
    finally:
        assert process.stdin is not None
        process.stdin.close()
        try:
            process.wait(ENDED_WITHIN)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def _wait_for(process: subprocess.Popen[bytes], address: str) -> None:
    """Return once the address answers."""
    deadline = time.monotonic() + STARTED_WITHIN
    while time.monotonic() < deadline:
        try:
            with DIRECT.open(address, timeout=STARTED_WITHIN):
                return
        except (urllib.error.URLError, OSError):
            if process.poll() is not None:
                raise CannotEmulate(
                    f"It ended at once (exit code {process.returncode}); its words are above. Try: make aws"
                ) from None
            time.sleep(0.05)
    raise CannotEmulate(f"Nothing answered at {address} within {STARTED_WITHIN:g} s.")
