"""What Python code deletes, empties and runs, as far as its values stand in it."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import replace

from agentic.bash.command_output import UNKNOWN
from agentic.bash.parser import LONGEST
from agentic.tools.approval.file_rules import LOCKS, move
from agentic.tools.approval.gated_command import Found, GatedCommand, Runs
from agentic.tools.approval.script_rules import ROWS, deletes_rows

TOO_LONG = "is too long to be checked"

MANY = "\x05"
"""Stands for every file that the code looks for."""
MOST_VALUES = 20
LONGEST_VALUE = 4_000
MOST_DEPTH = 12
_FINDS = frozenset(("glob", "iglob", "rglob", "walk", "iterdir", "listdir", "scandir"))
_REMOVES = frozenset(("remove", "unlink", "rmdir", "removedirs", "rmtree"))
_RUNS = frozenset((
    "system", "popen", "run", "call", "check_call", "check_output", "Popen", "getoutput", "getstatusoutput",
    "create_subprocess_shell",
))  # fmt: skip
_RUNS_WORDS = frozenset(
    ("execv", "execvp", "execl", "execlp", "spawnl", "spawnlp", "spawnv", "spawnvp", "create_subprocess_exec")
)
_WRITES = frozenset(("write", "writelines", "dump", "writerow", "writerows"))
_MOVES = frozenset(("move", "rename", "renames"))
_FINDS_FILES = "deletes or empties every file its code finds"
_CODE_GIVEN = re.compile(r"-[A-Za-z]*c")
Done = tuple[str, str]


def python(command: GatedCommand) -> Iterator[Found]:
    """A Python that is given code: on the line, in a file that was written on it, or by a pipe."""
    words, given = command.words, command.simple.stdin
    for place, word in enumerate(words[:-1]):
        if _CODE_GIVEN.fullmatch(word):
            yield from python_code(words[place + 1], command, words[place + 2 :])
            return
    for place, word in enumerate(words[1:], 1):
        if text := command.text_of(word):
            yield from python_code(text, command, words[place + 1 :])
            return
    rest = [word for word in words[1:] if word == "-" or not word.startswith("-")]
    if given and rest[:1] in ([], ["-"]):
        yield from python_code(given, command, rest[1:])


def python_code(code: str, command: GatedCommand, words: list[str]) -> Iterator[Found]:
    """What code deletes, empties, moves or locks, and the commands that it runs."""
    if len(code) > LONGEST:
        yield TOO_LONG
        return
    for kind, value in done_by(code, words):
        match kind:
            case "delete" | "empty" if value == MANY:
                yield _FINDS_FILES
            case "delete":
                yield command.deletes([value])
            case "unlink":
                yield _FINDS_FILES if "*" in value and not command.passes(value) else ""
            case "empty":
                yield command.empties([value])
            case "move":
                yield from move(replace(command, words=["mv", *value.split("\n")], piped=False))
            case "lock":
                yield LOCKS if not command.passes(value) else ""
            case "rows":
                yield ROWS if not command.passes(value) else ""
            case "code":
                yield from python_code(value, command, [])
            case _:
                yield Runs(value)


def done_by(code: str, words: list[str]) -> Iterator[Done]:
    """What code does that a person may have to approve: a kind, and the path, command or code that it is done to.

    ``words`` are what the code is started with.
    """
    try:
        tree = ast.parse(code)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return
    reader = _Reader(tree, words)
    yield from reader.found()
    for call in reader.calls:
        yield from reader.done(call)


class _Reader:
    """Reads a module once: the values of its names, then its calls."""

    def __init__(self, tree: ast.Module, words: list[str]) -> None:
        nodes = list(ast.walk(tree))
        self.calls = [node for node in nodes if isinstance(node, ast.Call)]
        self._words = words
        self._aliases = {
            alias.asname: alias.name
            for node in nodes
            if isinstance(node, ast.ImportFrom)
            for alias in node.names
            if alias.asname
        }
        self._values: dict[str, list[str | list[str]]] = {}
        self._scratch: set[str] = set()
        self._closed = {id(call) for node in nodes if (call := _closed_by(node)) is not None}
        functions = {node.name: node for node in nodes if isinstance(node, ast.FunctionDef)}
        for node in nodes:
            self._bind(node)
        for call in self.calls:
            if (function := functions.get(self._name(call))) and isinstance(call.func, ast.Name):
                for place, arg in zip(function.args.args, call.args, strict=False):
                    self._values.setdefault(place.arg, []).extend(self._of(arg))
        writes = [call for call in self.calls if self._name(call) in _WRITES]
        self._constants = bool(writes) and all(call.args and _is_constant(call.args[0]) for call in writes)
        connects = [call for call in self.calls if self._name(call) == "connect" and call.args]
        self._bases = list(dict.fromkeys(text for call in connects for text in self._texts(call.args[0])))[:MOST_VALUES]

    def _bind(self, node: ast.AST) -> None:
        if isinstance(node, ast.Assign) and len(node.targets) == 1 and isinstance(node.targets[0], ast.Name):
            name = node.targets[0].id
            self._values.setdefault(name, []).extend(self._of(node.value))
            made = (each for each in ast.walk(node.value) if isinstance(each, ast.Call))
            if any(self._name(each) in ("mkdtemp", "TemporaryDirectory", "mkstemp", "gettempdir") for each in made):
                self._scratch.add(name)
        elif isinstance(node, ast.With):
            for item in node.items:
                calls = isinstance(item.context_expr, ast.Call) and self._name(item.context_expr)
                if calls in ("TemporaryDirectory", "NamedTemporaryFile") and isinstance(item.optional_vars, ast.Name):
                    self._scratch.add(item.optional_vars.id)
        elif isinstance(node, ast.For | ast.comprehension) and isinstance(node.target, ast.Name):
            values = self._of(node.iter)
            each = [one for value in values for one in (value if isinstance(value, list) else [value])]
            self._values.setdefault(node.target.id, []).extend(each[:MOST_VALUES])

    def _name(self, call: ast.Call) -> str:
        name = call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", "")
        return self._aliases.get(name, name)

    # --- values ---------------------------------------------------------------------------------------------------

    def _of(self, node: ast.expr | None, depth: int = 0) -> list[str | list[str]]:
        """What an expression may be, texts and lists of texts; nothing where that is unknown."""
        if depth > MOST_DEPTH:
            return []
        match node:
            case ast.Constant(value=str() as text):
                return [text[:LONGEST_VALUE]]
            case ast.Constant(value=bytes() as raw):
                return [raw[:LONGEST_VALUE].decode("utf-8", "replace")]
            case ast.List(elts=parts) | ast.Tuple(elts=parts) | ast.Set(elts=parts):
                return [[text for part in parts[:MOST_VALUES] for text in self._texts(part, depth) or [UNKNOWN]]]
            case ast.Name(id=name):
                return self._values.get(name, [])[:MOST_VALUES]
            case ast.JoinedStr(values=parts):
                return [
                    "".join((self._texts(self._inner(part), depth) or [UNKNOWN])[0] for part in parts)[:LONGEST_VALUE]
                ]
            case ast.BinOp(left=left, op=ast.Add() | ast.Div() | ast.Mod() as op, right=right):
                sign = "/" if isinstance(op, ast.Div) else ""
                after = self._texts(right, depth) or [UNKNOWN]
                adds = not isinstance(op, ast.Mod)
                return [f"{one}{sign}{after[0]}"[:LONGEST_VALUE] if adds else one for one in self._texts(left, depth)]
            case ast.Subscript(value=ast.Attribute(attr="argv"), slice=ast.Constant(value=int() as place)):
                return [*self._words[place - 1 : place]] if place > 0 else []
            case ast.Subscript(value=ast.Attribute(attr="argv")):
                return [list(self._words)]
            case ast.Call():
                return self._of_call(node, depth)
            case _:
                return []

    @staticmethod
    def _inner(part: ast.expr) -> ast.expr:
        return part.value if isinstance(part, ast.FormattedValue) else part

    def _texts(self, node: ast.expr | None, depth: int = 0) -> list[str]:
        return [value for value in self._of(node, depth + 1) if isinstance(value, str)]

    def _of_call(self, call: ast.Call, depth: int) -> list[str | list[str]]:
        name = self._name(call)
        first = call.args[0] if call.args else None
        match name:
            case "Path" | "PurePath" | "abspath" | "resolve" | "str" | "fspath" | "expanduser" | "sorted" | "list" if (
                first
            ):
                return self._of(first, depth + 1)
            case "Path":
                return ["."]
            case "getcwd" | "cwd":
                return ["."]
            case "join":
                known = [self._texts(arg, depth) or [UNKNOWN] for arg in call.args[:MOST_VALUES]]
                return ["/".join(each[0] for each in known)]
            case "get" if len(call.args) == 2:  # os.environ.get(name, default)
                return self._of(call.args[1], depth + 1)
            case "split" if isinstance(call.func, ast.Attribute) and self._texts(first, depth):
                return [text.split()[:MOST_VALUES] for text in self._texts(first, depth)]
            case "format" if isinstance(call.func, ast.Attribute):
                after = (self._texts(first, depth) or [UNKNOWN])[0]
                return [text.replace("{}", after) for text in self._texts(call.func.value, depth)]
            case _ if name in _FINDS and name != "walk":
                return [list(self._patterns(call))]
            case "split" if isinstance(call.func, ast.Attribute) and not call.args:
                return [text.split()[:MOST_VALUES] for text in self._texts(call.func.value, depth)]
            case "read" | "read_text" | "strip" | "resolve" | "absolute" if isinstance(call.func, ast.Attribute):
                return self._of(call.func.value, depth + 1) if name in ("strip", "resolve", "absolute") else []
            case _:
                return []

    def _flat(self, node: ast.expr | None) -> list[str]:
        return [text for value in self._of(node) for text in (value if isinstance(value, list) else [value])]

    # --- what is done ---------------------------------------------------------------------------------------------

    def found(self) -> Iterator[Done]:
        """What is deleted or emptied of the files that the code looks for: their patterns."""
        finds = [call for call in self.calls if self._name(call) in _FINDS and not self._in_scratch(call)]
        if not finds or not any(self._takes_away(call) for call in self.calls):
            return
        ends = [
            text
            for call in self.calls
            if self._name(call) == "endswith"
            for arg in call.args
            for text in self._flat(arg)
        ]
        patterns = [f"found{end}" for end in ends] or [pattern for call in finds for pattern in self._patterns(call)]
        for pattern in patterns or [MANY]:
            yield "unlink" if "*" in pattern else "delete", pattern.replace("**/", "") if pattern != MANY else MANY

    def _patterns(self, call: ast.Call) -> list[str]:
        """The files that a call looks for."""
        names = [text for arg in call.args for text in self._texts(arg)]
        owner = call.func.value if isinstance(call.func, ast.Attribute) else None
        bases = self._texts(owner) if self._name(call) in ("glob", "rglob", "iterdir") else []
        return [f"{base}/{name}" for base in bases or ["."] for name in names or ["*"]] if bases or not names else names

    def _in_scratch(self, call: ast.Call) -> bool:
        return any(isinstance(node, ast.Name) and node.id in self._scratch for node in ast.walk(call))

    def _takes_away(self, call: ast.Call) -> bool:
        name, first = self._name(call), call.args[0] if call.args else None
        if name in ("write_text", "write_bytes"):
            return isinstance(first, ast.Constant)
        if name == "open":
            return self._writes(call) and not isinstance(first, ast.Constant) and self._leaves_constants(call)
        if name == "truncate":
            return not isinstance(first, ast.Constant) or isinstance(call.func, ast.Attribute)
        if name not in _REMOVES or isinstance(first, ast.Constant) or self._in_scratch(call):
            return False
        owner = call.func.value if isinstance(call.func, ast.Attribute) else None
        return name != "remove" or owner is None or (isinstance(owner, ast.Name) and owner.id == "os")

    def _writes(self, call: ast.Call) -> bool:
        given = call.args[1:2] or [word.value for word in call.keywords if word.arg == "mode"]
        return bool(given) and isinstance(given[0], ast.Constant) and str(given[0].value).startswith("w")

    def _leaves_constants(self, call: ast.Call) -> bool:
        """Whether nothing is written but what stands in the code."""
        return self._constants or id(call) in self._closed

    def done(self, call: ast.Call) -> Iterator[Done]:
        """What one call does."""
        name, first = self._name(call), call.args[0] if call.args else None
        if name == "map" and len(call.args) > 1 and getattr(first, "attr", "") in _REMOVES:
            kind = "delete" if getattr(first, "attr", "") == "rmtree" else "unlink"
            yield from ((kind, text) for text in self._flat(call.args[1]))
        elif name == "rmtree":
            path = (
                first if first is not None else next((word.value for word in call.keywords if word.arg == "path"), None)
            )
            yield from (("delete", text) for text in self._flat(path))
        elif name in _RUNS or name in _RUNS_WORDS:
            yield from self._run(call, name)
        elif name in ("exec", "eval") and isinstance(call.func, ast.Name):
            yield from (("code", text) for text in self._texts(first))
        elif name in ("execute", "executescript"):
            yield from self._rows(first)
        elif name in _MOVES and len(call.args) > 1:
            into = self._texts(call.args[1])[:1]
            yield from (("move", f"{text}\n{into[0]}") for text in self._flat(first) if into)
        elif name in _MOVES and len(call.args) == 1 and isinstance(call.func, ast.Attribute):
            into = self._texts(first)[:1]
            yield from (("move", f"{text}\n{into[0]}") for text in self._flat(call.func.value) if into)
        elif name == "chmod" and call.args and isinstance(call.args[-1], ast.Constant) and call.args[-1].value == 0:
            owner = call.func.value if isinstance(call.func, ast.Attribute) else None
            yield from (("lock", text) for text in self._flat(first if len(call.args) > 1 else owner) or [MANY])
        else:
            yield from (("empty", text) for text in self._emptied(call, name, first))

    def _run(self, call: ast.Call, name: str) -> Iterator[Done]:
        if name in _RUNS_WORDS:
            words = [text for arg in call.args for text in self._flat(arg)]
            yield "run", _joined(words[1:] if name.startswith(("exec", "spawn")) else words)
            return
        for value in self._of(call.args[0] if call.args else None):
            yield "run", _joined(value) if isinstance(value, list) else value.replace(UNKNOWN, "${value}")

    def _rows(self, first: ast.expr | None) -> Iterator[Done]:
        if any(deletes_rows(text.replace(UNKNOWN, "name")) for text in self._texts(first)):
            yield from (("rows", base) for base in self._bases if base != ":memory:")

    def _emptied(self, call: ast.Call, name: str, first: ast.expr | None) -> list[str]:
        """The files that are left without anything."""
        owner = call.func.value if isinstance(call.func, ast.Attribute) else None
        if name in ("write_text", "write_bytes") and isinstance(first, ast.Constant) and not first.value:
            return self._texts(owner)
        if name == "copyfile" and self._texts(first)[:1] == ["/dev/null"]:
            return self._texts(call.args[1])
        if name == "truncate":
            opened = owner if isinstance(owner, ast.Call) and self._name(owner) == "open" else None
            return self._texts(opened.args[0]) if opened and opened.args else self._texts(first)
        if name == "open" and self._writes(call) and id(call) in self._closed:
            return self._texts(first)
        return []


def _closed_by(node: ast.AST) -> ast.expr | None:
    """The call that opens a file, where a piece of code opens one and writes nothing to it."""
    match node:
        case ast.Expr(value=value) | ast.Attribute(value=value, attr="close"):
            return value
        case ast.Call(func=ast.Attribute(value=value, attr="write"), args=[ast.Constant(value=text)]) if not text:
            return value
        case ast.With(items=[ast.withitem(context_expr=value)], body=[ast.Pass()]):
            return value
        case _:
            return None


def _is_constant(node: ast.expr) -> bool:
    return all(isinstance(each, ast.Constant | ast.List | ast.Tuple | ast.Dict | ast.Load) for each in ast.walk(node))


def _joined(words: list[str]) -> str:
    """Words as a shell would read them, the unknown ones as a variable that is not set."""
    return " ".join('"${value}"' if UNKNOWN in word else "'" + word.replace("'", "'\\''") + "'" for word in words)
