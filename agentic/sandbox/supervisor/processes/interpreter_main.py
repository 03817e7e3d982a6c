"""The program of the persistent interpreter: reads code, runs it in one namespace, says how it went and what it drew.

It runs as a command of its own, under the same rules as any other; ``interpreter.py`` is the supervisor's side.
"""
# ruff: noqa: S102, S307, BLE001
# running what the agent wrote is its purpose, whatever that raises

from __future__ import annotations

import ast
import io
import json
import linecache
import os
import sys
import traceback
from pathlib import Path
from types import CodeType
from typing import Any, NoReturn, TextIO

FOLDER = "figures"
MOST = 6
"""Pictures of one piece of code."""
BYTES, PIXELS, DOTS = 3_500_000, 2_000, 100


class Figures:
    """What a piece of code drew: the figures that are open at its end, and what it displays, as PNG files."""

    def __init__(self) -> None:
        self._folder = Path.cwd() / FOLDER
        self.drawn: list[str] = []

    def display(self, *values: object) -> None:
        """Show values as pictures where they are some, else as text."""
        for value in values:
            if not self.draws(value):
                print(repr(value))  # noqa: T201 - this is what a console does

    def draws(self, value: object) -> bool:
        """Keep a value that draws itself, as pictures of PIL do; whether it is one."""
        drawing = None if isinstance(value, type) else getattr(value, "_repr_png_", None)
        content = drawing() if callable(drawing) else None
        if not isinstance(content, bytes):
            return False
        self._keep(content)
        return True

    def collect(self) -> None:
        """Draw the figures that are open, and close them: what is not drawn now would be drawn at every later call."""
        pyplot: Any = sys.modules.get("matplotlib.pyplot")
        if pyplot is None:
            return
        numbers: list[int] = pyplot.get_fignums()
        for number in numbers:
            figure, drawn = pyplot.figure(number), io.BytesIO()
            longest = max(1.0, *map(float, figure.get_size_inches()))
            figure.savefig(drawn, format="png", dpi=min(DOTS, PIXELS / longest))
            self._keep(drawn.getvalue())
        if numbers:
            pyplot.close("all")

    def _keep(self, content: bytes) -> None:
        if len(self.drawn) == MOST or len(content) > BYTES:
            print("(A picture is not shown: it is too large, or there are too many at once.)")  # noqa: T201
            return
        self._folder.mkdir(exist_ok=True)
        number = 1
        while True:
            try:
                with (self._folder / f"figure-{number}.png").open("xb") as file:
                    file.write(content)
                break
            except FileExistsError:
                number += 1
        self.drawn.append(f"{FOLDER}/figure-{number}.png")


class Console:
    """One namespace, kept between pieces of code."""

    def __init__(self) -> None:
        self._figures = Figures()
        self._names: dict[str, object] = {
            "__name__": "__main__", "__builtins__": __builtins__, "display": self._figures.display,
        }  # fmt: skip
        self._count = 0

    def run(self, source: str) -> tuple[str, list[str]]:
        """Run a piece of code and show its last expression: the traceback, '' if it went well, and what was drawn."""
        self._figures.drawn = []
        error = self._ran(source)
        return error, self._figures.drawn

    def _ran(self, source: str) -> str:
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
                    self._figures.draws(value)
                    print(repr(value))  # noqa: T201 - this is what a console does
            self._figures.collect()
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
            error, figures = console.run(json.loads(line))
            _flush()
            if os.getpid() != own:
                _leave(error)
            answers.write(json.dumps([error, figures]) + "\n")
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
