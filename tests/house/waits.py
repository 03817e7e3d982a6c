"""Finds what waits for time to pass in the tests, and bounds that a busy machine breaks: ``python -m tests.house.waits``.

A test waits for what must happen (``tests.waiting.eventually``) or in virtual time.  Found are: each mention of
``time.sleep`` and ``asyncio.sleep`` under whatever name, but ``sleep(0)``; ``wait(t)`` of an event and ``select`` with a
short time; commands and scripts that sleep for less than a minute; a page's ``wait_for_function``, which a page's own
rules refuse unless it holds at once; and each bound below a minute on ``timeout``, ``wait_for``, ``wait``, ``join``,
``get`` and subprocesses.  A bound that is what a test is about is ``promised(…)``.
"""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterator
from fnmatch import fnmatch
from itertools import pairwise
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
LEAST = 60.0
EXCEPTIONS = {
    "tests/waiting.py": "holds the one real sleep",
    "tests/house/*": "names what it looks for",
    "tests/unit/test_waits.py": "holds each form that is found",
    "tests/chaos/*": "kills processes at moments that are drawn, or runs on a loop whose time is virtual",
    "tests/conformance/target.py": "speaks with the real Discord too, whose limits and heartbeats take real time",
}
"""Files, with the reason; at most ten."""
READ_ONLY = ("tests/unit/core/*", "tests/unit/bash/*", "tests/golden/*")
"""Here commands are text that is read and never run."""

_SLEEPS = {("time", "sleep"), ("asyncio", "sleep"), ("trio", "sleep"), ("anyio", "sleep")}
_BOUND_CALLS = {"timeout": 0, "wait_for": 1, "timeout_at": None}
_WAITING = {
    "wait",
    "join",
    "get",
    "run",
    "check_output",
    "check_call",
    "communicate",
    "wait_for",
    "result",
    "acquire",
}
_SLEEPING_TEXT = re.compile(r"\bsleep(?:\(|\s)\s*(\d*\.?\d+)")
_UNKNOWN_SLEEP = re.compile(r"\bsleep(?:\(|\s)\s*$")


class Waits(ast.NodeVisitor):
    """The findings of one file."""

    def __init__(self, tree: ast.Module, commands: bool) -> None:
        self.found: list[tuple[int, str]] = []
        self._commands = commands
        self._modules: dict[str, str] = {}
        self._sleeps: set[str] = set()
        self._numbers: dict[str, float] = {}
        self._prose = {
            id(node.body[0].value)
            for node in ast.walk(tree)
            if isinstance(node, ast.Module | ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef)
            and node.body and isinstance(node.body[0], ast.Expr)
        }  # fmt: skip
        for node in tree.body:
            match node:
                case ast.Assign(targets=[ast.Name(id=name)], value=ast.Constant(value=int() | float() as number)):
                    self._numbers[name] = float(number)
        self.visit(tree)

    def visit_Import(self, node: ast.Import) -> None:
        for name in node.names:
            self._modules[name.asname or name.name] = name.name

    def visit_ImportFrom(self, node: ast.ImportFrom) -> None:
        for name in node.names:
            if (node.module, name.name) in _SLEEPS:
                self._sleeps.add(name.asname or name.name)

    def visit_Call(self, node: ast.Call) -> None:
        if self._is_sleep(node.func) and [ast.unparse(one) for one in node.args] == ["0"]:
            return
        name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
        if name == "wait_for_function":
            self.found.append((node.lineno, "a page may refuse to wait for a function: ask it with evaluate"))
        bounds = [one.value for one in node.keywords if one.arg == "timeout" and name in {*_WAITING, *_BOUND_CALLS}]
        at = _BOUND_CALLS.get(name)
        if at is not None and len(node.args) > at:
            bounds.append(node.args[at])
        if name in ("wait", "join", "result") and isinstance(node.func, ast.Attribute) and len(node.args) == 1:
            bounds.append(node.args[0])
        if name == "select" and len(node.args) == 4:
            bounds.append(node.args[3])
        for bound in bounds:
            seconds = self._number(bound)
            if seconds is not None and 0 < seconds < LEAST:
                self.found.append((node.lineno, f"a bound of {seconds:g} s: {ast.unparse(node.func)}"))
        self.generic_visit(node)

    def visit_Attribute(self, node: ast.Attribute) -> None:
        if self._is_sleep(node):
            self.found.append((node.lineno, f"waits for time to pass: {ast.unparse(node)}"))
        self.generic_visit(node)

    def visit_Name(self, node: ast.Name) -> None:
        if self._is_sleep(node):
            self.found.append((node.lineno, f"waits for time to pass: {node.id}"))

    def visit_Constant(self, node: ast.Constant) -> None:
        if self._commands and isinstance(node.value, str) and id(node) not in self._prose:
            for seconds in _SLEEPING_TEXT.findall(node.value):
                if 0 < float(seconds) < LEAST:
                    self.found.append((node.lineno, f"what it runs sleeps for {seconds} s"))

    def visit_JoinedStr(self, node: ast.JoinedStr) -> None:
        parts = [str(part.value) if isinstance(part, ast.Constant) else None for part in node.values]
        for one, other in pairwise(parts):
            if self._commands and one is not None and other is None and _UNKNOWN_SLEEP.search(one):
                self.found.append((node.lineno, "what it runs sleeps"))
        self.generic_visit(node)

    def _is_sleep(self, node: ast.expr) -> bool:
        match node:
            case ast.Name(id=name):
                return name in self._sleeps
            case ast.Attribute(value=ast.Name(id=module), attr=name):
                return (self._modules.get(module, ""), name) in _SLEEPS
            case ast.Attribute(
                value=ast.Call(func=ast.Name(id="__import__"), args=[ast.Constant(value=str(module))]), attr=name
            ):
                return (module, name) in _SLEEPS
            case _:
                return False

    def _number(self, node: ast.expr) -> float | None:
        match node:
            case ast.Constant(value=int() | float() as number):
                return float(number)
            case ast.Name(id=name):
                return self._numbers.get(name)
            case ast.BinOp(left=left, op=ast.Mult(), right=right):
                one, other = self._number(left), self._number(right)
                return None if one is None or other is None else one * other
            case _:
                return None


def waits(paths: list[str] | None = None) -> Iterator[str]:
    """One line a finding: file, line, what waits."""
    for path in sorted((ROOT / "tests").rglob("*.py")):
        name = path.relative_to(ROOT).as_posix()
        if any(fnmatch(name, pattern) for pattern in EXCEPTIONS) or (paths and not name.startswith(tuple(paths))):
            continue
        tree = ast.parse(path.read_text("utf-8"))
        commands = not any(fnmatch(name, pattern) for pattern in READ_ONLY)
        yield from (f"{name}:{line}: {what}" for line, what in sorted(set(Waits(tree, commands).found)))


if __name__ == "__main__":
    assert len(EXCEPTIONS) <= 10, "at most ten exceptions"
    found = list(waits(sys.argv[1:]))
    print("\n".join([*found, f"waits: {len(found)} found, {len(EXCEPTIONS)} exceptions"]))
    sys.exit(bool(found))
