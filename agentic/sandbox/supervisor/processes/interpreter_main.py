"""The program of the persistent interpreter: reads code, runs it in one namespace, says how it went.

It runs as a command of its own, under the same rules as any other; ``interpreter.py`` is the supervisor's side.
"""
# ruff: noqa: S102, S307, BLE001
# running what the agent wrote is its purpose, whatever that raises

from __future__ import annotations

import ast
import json
import linecache
import os
import sys
import traceback
from types import CodeType
from typing import NoReturn, TextIO


class Console:
    """One namespace, kept between pieces of code."""

    def __init__(self) -> None:
        self._names: dict[str, object] = {"__name__": "__main__", "__builtins__": __builtins__}
        self._count = 0

    def run(self, source: str) -> str:
        """Run a piece of code, show its last expression, and return the traceback, '' if it went well."""
        self._count += 1
        name = f"<cell {self._count}>"
        linecache.cache[name] = (len(source), None, source.splitlines(keepends=True), name)
        try:
            body, last = _compiled(source, name)
            exec(body, self._names)
            if last is not None:
                value = eval(last, self._names)
                if value is not None:
                    self._names["_"] = value
                    print(repr(value))  # noqa: T201 - this is what a console does
        except SystemExit as leaving:
            return f"SystemExit: {leaving.code}" if leaving.code else ""
        except BaseException as error:
            return _traceback(error)
        return ""


def _compiled(source: str, name: str) -> tuple[CodeType, CodeType | None]:
    tree = ast.parse(source, name)
    last: CodeType | None = None
    if tree.body and isinstance(tree.body[-1], ast.Expr):
        last = compile(ast.Expression(tree.body.pop().value), name, "eval")  # type: ignore[attr-defined]
    return compile(tree, name, "exec"), last


def _traceback(error: BaseException) -> str:
    own = error.__traceback__
    while own is not None and own.tb_frame.f_code.co_filename == __file__:
        own = own.tb_next
    return "".join(traceback.format_exception(type(error), error, own))


def _flush() -> None:
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except (OSError, ValueError):
            continue  # the code closed it


def _leave(error: str) -> NoReturn:
    """End a forked child."""
    if error:
        os.write(2, error.encode("utf-8", "replace"))
    os._exit(1 if error else 0)


def serve(requests: TextIO, answers: TextIO) -> None:
    """Answer until the requests end.  An interrupt between two pieces of code is too late to matter.

    A child that the code forked ends with the piece of code: it must neither answer nor take the next.
    """
    console, own = Console(), os.getpid()
    sys.path.insert(0, "")
    while True:
        try:
            line = requests.readline()
            if not line:
                return
            error = console.run(json.loads(line))
            _flush()
            if os.getpid() != own:
                _leave(error)
            answers.write(json.dumps(error) + "\n")
            answers.flush()
        except KeyboardInterrupt:
            if os.getpid() != own:
                _leave("KeyboardInterrupt")


def main(request_fd: int, answer_fd: int) -> None:
    """Serve over two descriptors, which the code's own children do not inherit."""
    for descriptor in (request_fd, answer_fd):
        os.set_inheritable(descriptor, False)
    with open(request_fd, encoding="utf-8") as requests, open(answer_fd, "w", encoding="utf-8") as answers:
        serve(requests, answers)
