"""Which commands a person must approve first: what deletes or rewrites more than the task's own files.

The sandbox bounds what a command can reach; this gate guards the people's own work inside the workspace, and what they
share with others by git, against slips and against advice that came from a file or a page.  It reads the command as
bash would (``commandline``), also inside of substitutions, ``bash -c``, ``xargs`` and ``find -exec``.  It does not look
into scripts and programs; for those, the checkpoint before the first change leads back.

What passes although it deletes:
  single files that are named       they are few and seen in the command, and the checkpoint brings them back
  files this execution has made     its own to delete; folders only if they were made on the same line
  derived folders and files         node_modules, build, __pycache__, *.pyc …: whatever made them makes them again
  scratch                           /tmp, what ``mktemp`` made, caches in the home of the sandbox
  work of git that git can undo     a commit amended, a merged branch deleted (-d), a rebase given up (--abort)
"""

from __future__ import annotations

import ast
import fnmatch
import re
import shlex
from collections.abc import Callable, Iterator

from agentic.tools.commandline import UNKNOWN, Line, Simple, TooDeep, documents, inside
from agentic.tools.gates_git import HISTORY, flags_of, why_git

DERIVED_FOLDERS = frozenset((
    "node_modules", "bower_components", "build", "dist", "target", "out", "_build", ".next", ".nuxt", ".turbo",
    ".parcel-cache", "coverage", "htmlcov", ".nyc_output", ".tox", ".nox", ".venv", "venv", ".cache", ".gradle",
    ".terraform", "tmp", "temp", "__pycache__", ".pytest_cache", ".mypy_cache", ".ruff_cache", ".hypothesis", ".eggs",
    "cmake-build-debug", "site",
))  # fmt: skip
DERIVED_FILES = (
    "*.pyc", "*.pyo", "*.o", "*.obj", "*.a", "*.so", "*.class", "*.log", "*.tmp", "*.bak", "*.orig", "*.rej", "*.swp", "*~",
    "*.egg-info", ".coverage*", ".DS_Store", "core", "nohup.out", "*.tsbuildinfo",
)  # fmt: skip
_PREFIXES = frozenset((
    "sudo", "doas", "env", "nohup", "nice", "ionice", "time", "timeout", "stdbuf", "setsid", "command", "builtin", "exec",
    "busybox", "chronic", "xargs", "parallel", "watch", "unbuffer", "eatmydata", "coproc", "toybox", "npx", "flock",
))  # fmt: skip
_WITH_VALUE: dict[str, frozenset[str]] = {
    "sudo": frozenset(("-u", "-g", "-h", "-p", "-C", "-T", "-R", "-D")), "doas": frozenset(("-u", "-C")),
    "env": frozenset(("-u", "-C", "-S")), "nice": frozenset(("-n",)), "ionice": frozenset(("-c", "-n", "-p")),
    "timeout": frozenset(("-s", "-k", "--signal", "--kill-after")), "stdbuf": frozenset(("-i", "-o", "-e")),
    "xargs": frozenset(("-a", "-d", "-E", "-I", "-L", "-n", "-P", "-s")), "parallel": frozenset(("-j", "-a", "-n", "-I")),
    "npx": frozenset(("-p", "--package")), "flock": frozenset(("-w", "-E", "--timeout")),
    "watch": frozenset(("-n",)), "exec": frozenset(("-a",)), "time": frozenset(("-f", "-o")),
}  # fmt: skip
"""Options of a prefix that take the next word."""
_RUNNERS = frozenset(("uv", "poetry", "pipenv", "pdm", "hatch", "rye"))
"""They run what follows the word run."""
_SHELLS = frozenset(("bash", "sh", "zsh", "dash", "ksh", "ash"))
_SCRATCH = ("/tmp/", "/var/tmp/", "/dev/shm/", "~/.cache/")  # noqa: S108  # inside the sandbox
_DISKS = ("mkfs", "wipefs", "shred", "blkdiscard", "fdisk", "sfdisk", "parted", "mkswap", "badblocks", "srm")
_PYTHON = re.compile(r"\bpython")
DEPTH = 5
MOST_PATHS, MOST_FILES = 40, 20_000
DEEP = "runs commands inside of commands, deeper than can be read"


def gate(command: str, created: frozenset[str] = frozenset(), cwd: str = ".", depth: int = 0) -> str:
    """Why a person must approve the command, as the end of "It …"; '' where it may run."""
    if depth > DEPTH:
        return DEEP
    try:
        for simple in Line(command, cwd).commands():
            why = _gate_simple(simple, created, depth)
            if why:
                return why
    except (TooDeep, RecursionError):
        return DEEP
    codes = (code for before, code in documents(command) if _PYTHON.search(before))
    return next((why for code in codes if (why := gate_code(code, created))), "")


def gate_code(code: str, created: frozenset[str] = frozenset()) -> str:
    """The same of Python code: folders that it deletes, and commands that it runs, as far as they stand in it."""
    try:
        tree = ast.parse(code)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return ""
    for call in (node for node in ast.walk(tree) if isinstance(node, ast.Call)):
        name = call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", "")
        first = _literal(call.args[0]) if call.args else None
        if name == "rmtree" and isinstance(first, str):
            why = _deletes([first], Simple(), created)
        elif name in ("system", "popen", "run", "call", "check_call", "check_output", "Popen", "getoutput"):
            why = gate(first if isinstance(first, str) else shlex.join(first), created) if first else ""
        else:
            why = ""
        if why:
            return why
    return ""


def targets(command: str, cwd: str = ".") -> tuple[str, ...]:
    """The paths that stand in a command, as seen from the workspace: what an approval of it looks at."""
    try:
        commands = list(Line(command, cwd).commands())
    except (TooDeep, RecursionError):
        return ()
    words = ((inside(each.cwd, word), word) for each in commands for word in (*each.words[1:], *each.writes))
    return tuple(dict.fromkeys(path for path, word in words if word and UNKNOWN not in path and word[0] not in "-+"))


def look(command: str, cwd: str = ".") -> str:
    """A command that lists what a gated command would touch: the files below its paths, and where git stands.

    It writes nothing, for what is looked at twice must come out the same.
    """
    paths = " ".join(shlex.quote(path) for path in targets(command, cwd)[:MOST_PATHS] if not path.startswith("~"))
    files = (
        f"find {paths} -printf '%p %y %s %T@\\n' 2>/dev/null | head -n {MOST_FILES} | LC_ALL=C sort; " if paths else ""
    )
    git = f"git --no-optional-locks -C {shlex.quote(cwd)}"
    return f"{files}exec 2>/dev/null; {git} rev-parse HEAD; {git} for-each-ref; {git} status --porcelain"


def _literal(node: ast.expr) -> str | list[str] | None:
    try:
        value: object = ast.literal_eval(node)
    except (ValueError, TypeError, SyntaxError, RecursionError):
        return None
    if isinstance(value, list | tuple):
        return [str(each) for each in value]  # pyright: ignore[reportUnknownVariableType, reportUnknownArgumentType]
    return value if isinstance(value, str) else None


def _name(path: str) -> str:
    return path.rpartition("/")[2]


def _gate_simple(simple: Simple, created: frozenset[str], depth: int) -> str:
    if depth > DEPTH:
        return DEEP
    words, piped = _bare(simple.words)
    if simple.writes and (words[:1] in ([], [":"], ["true"]) or words[:2] == ["cat", "/dev/null"]):
        return _empties(simple.writes, simple, created)
    if not words:
        return ""
    name = _name(words[0])
    if name in _SHELLS or name == "eval":
        return _gate_inner(name, words, simple, created, depth)
    if name.startswith("python") and "-c" in words[:-1]:
        return gate_code(words[words.index("-c") + 1], created)
    if name.startswith(_DISKS):
        return f"runs {name}, which overwrites what it is given for good"
    found = _TOOLS.get(name)
    return found(words, simple, created, piped, depth) if found is not None else ""


def _gate_inner(name: str, words: list[str], simple: Simple, created: frozenset[str], depth: int) -> str:
    if name == "eval":
        return gate(" ".join(words[1:]), created, simple.cwd, depth + 1)
    for place, word in enumerate(words[:-1]):
        if word.startswith("-") and not word.startswith("--") and word.endswith("c"):
            return gate(words[place + 1], created, simple.cwd, depth + 1)
    return gate(simple.given, created, simple.cwd, depth + 1) if simple.given else ""


def _bare(words: list[str]) -> tuple[list[str], bool]:
    """The command itself without sudo, env, timeout, xargs …; and whether its arguments come from elsewhere."""
    piped = False
    while words and (_name(words[0]) in _PREFIXES or (words[0] in _RUNNERS and words[1:2] == ["run"])):
        name, words = _name(words[0]), words[2 if words[0] in _RUNNERS else 1 :]
        piped = piped or name in ("xargs", "parallel")
        while words and (words[0].startswith("-") or "=" in words[0]):
            words = words[2:] if words[0] in _WITH_VALUE.get(name, ()) else words[1:]
        if name in ("timeout", "flock"):
            words = words[1:]
    return [word.replace("{}", UNKNOWN) for word in words] if piped else words, piped


# --- what may go --------------------------------------------------------------------------------------------------


def _passes(word: str, simple: Simple, created: frozenset[str]) -> bool:
    """Whether a path is scratch, derived, or this execution's own."""
    path = inside(simple.cwd, word)
    if path in created or path in simple.made:
        return True
    if path.startswith(_SCRATCH):
        return True
    if path.startswith(("/", "~", "..")) or UNKNOWN in path.partition("/")[0]:
        return False
    segments = path.split("/")
    known = [segment for segment in segments if segment in DERIVED_FOLDERS]
    return bool(known) or any(fnmatch.fnmatch(segments[-1], pattern) for pattern in DERIVED_FILES)


def _deletes(paths: list[str], simple: Simple, created: frozenset[str]) -> str:
    left = [path for path in paths if not _passes(path, simple, created)]
    if not left:
        return ""
    shown = ", ".join(path.replace(UNKNOWN, "…") for path in left[:3]) + (" …" if len(left) > 3 else "")
    return f"deletes {shown} with everything in it, whoever made it"


def _empties(paths: list[str], simple: Simple, created: frozenset[str]) -> str:
    left = [path for path in paths if path != "/dev/null" and not _passes(path, simple, created)]
    return f"empties {', '.join(left[:3]).replace(UNKNOWN, '…')}, which this task did not make" if left else ""


def _rm(words: list[str], simple: Simple, created: frozenset[str], piped: bool, depth: int) -> str:
    flags, paths = flags_of(words[1:])
    if piped:
        return "deletes whatever a list names"
    if flags & {"-r", "-R"} or any(flag.startswith("--rec") for flag in flags):
        return _deletes(paths, simple, created)
    many = [path for path in paths if any(sign in path for sign in "*?[") or UNKNOWN in path]
    left = [path for path in many if not _passes(path, simple, created)]
    return f"deletes every file that {left[0].replace(UNKNOWN, '…')} names" if left else ""


def _rimraf(words: list[str], simple: Simple, created: frozenset[str], piped: bool, depth: int) -> str:
    return _deletes(flags_of(words[1:])[1], simple, created)


def _find(words: list[str], simple: Simple, created: frozenset[str], piped: bool, depth: int) -> str:
    roots = list(_before_tests(words[1:])) or ["."]
    named = [words[place + 1] for place, word in enumerate(words[:-1]) if word in ("-name", "-iname", "-path")]
    each = len(named) > sum(word in ("-o", "-or", ",") for word in words) and not {"!", "-not"} & set(words)
    derived = each and all(_passes(_name(name.rstrip("/*")) or name, simple, created) for name in named)
    own = derived or all(_passes(root, simple, created) for root in roots)
    if "-delete" in words and not own:
        return f"deletes every file that find finds below {', '.join(roots)}"
    for place, word in enumerate(words):
        if word in ("-exec", "-execdir", "-ok", "-okdir") and not own:
            inner = [UNKNOWN if each == "{}" else each for each in words[place + 1 :] if each not in (";", "+")]
            why = _gate_simple(Simple(inner, simple.cwd), created, depth + 1)
            if why:
                return why
    return ""


def _before_tests(words: list[str]) -> Iterator[str]:
    for word in words:
        if word.startswith(("-", "(", "!")):
            return
        yield word


def _rights(words: list[str], simple: Simple, created: frozenset[str], piped: bool, depth: int) -> str:
    flags, rest = flags_of(words[1:])
    left = [path for path in rest[1:] if not _passes(path, simple, created)]
    if not flags & {"-R", "--recursive"} or not left:
        return ""
    return f"changes rights or owners of everything in {left[0].replace(UNKNOWN, '…')}"


def _truncate(words: list[str], simple: Simple, created: frozenset[str], piped: bool, depth: int) -> str:
    _, paths = flags_of([word for word in words[1:] if word != "0"])
    return _empties(paths, simple, created)


def _dd(words: list[str], simple: Simple, created: frozenset[str], piped: bool, depth: int) -> str:
    written = [word[3:] for word in words if word.startswith("of=")]
    left = [path for path in written if path != "/dev/null" and not _passes(path, simple, created)]
    return f"overwrites {left[0].replace(UNKNOWN, '…')} with dd" if left else ""


def _rsync(words: list[str], simple: Simple, created: frozenset[str], piped: bool, depth: int) -> str:
    flags, paths = flags_of(words[1:])
    deletes = any(flag.startswith(("--delete", "--del", "--remove-source")) for flag in flags)
    return _deletes(paths[-1:], simple, created) if deletes and "--dry-run" not in flags and "-n" not in flags else ""


def _rewrites(words: list[str], simple: Simple, created: frozenset[str], piped: bool, depth: int) -> str:
    return HISTORY


def _git(words: list[str], simple: Simple, created: frozenset[str], piped: bool, depth: int) -> str:
    rest = words[1:]
    while rest and rest[0].startswith("-"):
        rest = rest[2:] if rest[0] in ("-C", "-c", "--git-dir", "--work-tree") else rest[1:]
    if not rest:
        return ""
    flags, names = flags_of(rest[1:])
    if "--help" in flags or (flags & {"-n", "--dry-run"} and rest[0] in ("clean", "push", "rm")):
        return ""
    if rest[0] == "rm" and flags & {"-r"} and "--cached" not in flags:
        return _deletes(names, simple, created)
    return why_git(rest[0], flags, names)


_Look = Callable[[list[str], Simple, frozenset[str], bool, int], str]
_TOOLS: dict[str, _Look] = {
    "rm": _rm, "unlink": _rm, "find": _find, "chmod": _rights, "chown": _rights, "chgrp": _rights, "truncate": _truncate,
    "dd": _dd, "rsync": _rsync, "git": _git, "git-filter-repo": _rewrites, "bfg": _rewrites, "rimraf": _rimraf,
}  # fmt: skip
