"""Reads the syntax of files in a process beside this one (``syntax_process``), which is made anew whenever one was its end."""

from __future__ import annotations

import json
import os
import select
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import cast

from agentic.code_index.chunks import Chunk, by_lines, line_count
from agentic.code_index.grammars import grammar_of, unreadable

LONGEST = 400_000
"""Bytes of a file whose syntax is read: code that people write is shorter."""
ANSWER_SECONDS = 20.0
"""The process ends itself long before, by its own time; a machine may be slow to let it run."""
MOST_ANSWERED = 4_000_000
PIECE = 65_536
_ROOT = Path(__file__).parents[2]


class SyntaxReader:
    """One reader, for one thread at a time; ``close`` may be called from any other, and ends what is being read."""

    def __init__(self) -> None:
        self._process: subprocess.Popen[bytes] | None = None
        self._lock = threading.Lock()
        self._reading = self._closed = False

    def chunks(self, path: str, source: bytes) -> tuple[Chunk, ...]:
        """The chunks of a file: along its syntax where that is known and can be read, else by lines."""
        grammar = "" if unreadable(path) else grammar_of(path)
        if grammar and 0 < len(source) <= LONGEST and (found := self._ask(grammar, source)) is not None:
            return found
        return by_lines(line_count(source))

    def close(self) -> None:
        """End the process; whoever is reading sees its end, and lets go of its pipes."""
        with self._lock:
            self._closed = True
            if self._process is not None:
                self._process.kill()
            if not self._reading:
                self._end()

    def _ask(self, grammar: str, source: bytes) -> tuple[Chunk, ...] | None:
        """None where the process did not live to answer."""
        request = json.dumps({"grammar": grammar, "size": len(source)}).encode() + b"\n" + source
        lost = True
        try:
            process = self._begun()
            if process is None or process.stdin is None or process.stdout is None:
                return None
            found = _read(_exchange(process.stdin.fileno(), process.stdout.fileno(), request))
            lost = False
            return found
        except (OSError, ValueError):
            return None
        finally:
            with self._lock:
                self._reading = False
                if lost or self._closed:
                    self._end()

    def _begun(self) -> subprocess.Popen[bytes] | None:
        with self._lock:
            if self._closed:
                return None
            if self._process is None:
                self._process = _started()
            self._reading = True
            return self._process

    def _end(self) -> None:
        process, self._process = self._process, None
        if process is None:
            return
        process.kill()
        process.wait()
        for pipe in (process.stdin, process.stdout):
            if pipe is not None:
                pipe.close()


def _started() -> subprocess.Popen[bytes]:
    """The process; it hears nothing of this one's environment, and no signal of its terminal."""
    process = subprocess.Popen(
        [sys.executable, "-P", "-m", "agentic.code_index.syntax_process"],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, bufsize=0, cwd="/",
        env={"PYTHONPATH": str(_ROOT)}, start_new_session=True,
    )  # fmt: skip
    for pipe in (process.stdin, process.stdout):
        assert pipe is not None
        os.set_blocking(pipe.fileno(), False)
    return process


def _exchange(to: int, of: int, request: bytes) -> bytes:
    """Write all of a request while its answer is read, up to the end of a line; raises ``OSError`` where none comes."""
    until, answer, rest = time.monotonic() + ANSWER_SECONDS, bytearray(), memoryview(request)
    waiting = select.poll()
    waiting.register(of, select.POLLIN)
    waiting.register(to, select.POLLOUT)
    while not answer.endswith(b"\n"):
        left = until - time.monotonic()
        if left <= 0 or len(answer) > MOST_ANSWERED:
            raise TimeoutError
        ready = dict(waiting.poll(left * 1_000))
        if rest and to in ready:
            rest = rest[os.write(to, rest[:PIECE]) :]
            if not rest:
                waiting.unregister(to)
        if of in ready:
            piece = os.read(of, PIECE)
            if not piece:
                raise BrokenPipeError
            answer += piece
    return bytes(answer)


def _read(answer: bytes) -> tuple[Chunk, ...]:
    rows = cast("list[tuple[int, int, list[str], list[str]]]", json.loads(answer))
    return tuple(Chunk(first, last, tuple(names), tuple(within)) for first, last, names, within in rows)
