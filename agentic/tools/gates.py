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

from agentic.tools.commandline import UNKNOWN, Budget, Line, Simple, TooDeep, inside
from agentic.tools.gates_code import (
    SQL_TOOLS,
    deletes_rows,
    empties_with,
    looks_for_files,
    of_awk,
    of_sed,
    of_tar,
    run_by,
    texts_in,
)
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
    "env": frozenset(("-u", "-C")), "nice": frozenset(("-n",)), "ionice": frozenset(("-c", "-n", "-p")),
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
_BEFORE_VALUE = frozenset(("--rcfile", "--init-file", "-O", "+O", "-o", "+o"))
"""Options of a shell that take the next word."""
_DESTROYS = frozenset(
    ("-delete", "--delete", "--force", "--hard", "--recursive", "--mirror", "--remove-files", "--purge")
)
_CODE_GIVEN = re.compile(r"-[A-Za-z]*c")
_SETS = re.compile(r"(?<!\w)[A-Za-z_]\w*\+?=")
_SPLITS = re.compile(r"(?:-[a-zA-Z]*S|--split-string=?)(.*)", re.DOTALL)
DEPTH = 5
MOST_PATHS = 40
LONGEST_REASON = 300
LONGEST_COMMAND, LONGEST_PATH = 100_000, 4_096
TOO_LONG = "is too long to be read"
DEEP = "runs commands inside of commands, deeper than can be read"


def gate(
    command: str, created: frozenset[str] = frozenset(), cwd: str = ".", depth: int = 0, budget: Budget | None = None
) -> str:
    """Why a person must approve the command, as the end of "It …"; '' where it may run."""
    if len(command) > LONGEST_COMMAND:
        return TOO_LONG
    if depth > DEPTH:
        return DEEP
    try:
        for simple in Line(command, cwd, budget).commands():
            why = _gate_simple(simple, created, depth)
            if why:
                return bounded(why)
    except (TooDeep, RecursionError):
        return DEEP
    return ""


def gate_code(code: str, created: frozenset[str] = frozenset()) -> str:
    """The same of Python code: folders that it deletes, and commands that it runs, as far as they stand in it."""
    if len(code) > LONGEST_COMMAND:
        return TOO_LONG
    try:
        tree = ast.parse(code)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return ""
    many = looks_for_files(tree)
    if many is not None and not (many and all(_passes(_name(path) or path, Simple(), created) for path in many)):
        return "deletes or empties every file that its code finds"
    for call in (node for node in ast.walk(tree) if isinstance(node, ast.Call)):
        name = call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", "")
        first = _literal(call.args[0]) if call.args else None
        if name == "rmtree" and isinstance(first, str):
            why = _deletes([first], Simple(), created)
        elif name in ("system", "popen", "run", "call", "check_call", "check_output", "Popen", "getoutput"):
            why = gate(first if isinstance(first, str) else shlex.join(first), created) if first else ""
        elif name in ("execute", "executescript") and isinstance(first, str) and deletes_rows(first):
            bases = [path for path in texts_in(tree, "connect") if not _passes(path, Simple(), created)]
            why = _ROWS if bases else ""
        elif name == "open" and isinstance(first, str) and empties_with(tree, call):
            why = _empties([first], Simple(), created)
        else:
            why = ""
        if why:
            return bounded(why)
    return ""


def bounded(reason: str) -> str:
    """The beginning of a reason, as long as a person reads: what a command names may be as long as it likes."""
    return reason if len(reason) <= LONGEST_REASON else f"{reason[: LONGEST_REASON - 2]} …"


def targets(command: str, cwd: str = ".") -> tuple[str, ...]:
    """The paths that stand in a command, as seen from the workspace: what an approval of it looks at."""
    try:
        commands = list(Line(command, cwd).commands()) if len(command) <= LONGEST_COMMAND else []
    except (TooDeep, RecursionError):
        return ()
    words = ((inside(each.cwd, word), word) for each in commands for word in (*each.words[1:], *each.writes))
    known = dict.fromkeys(path for path, word in words if word and UNKNOWN not in path and word[0] not in "-+")
    return tuple(path for path in known if len(path) <= LONGEST_PATH)


def look(command: str, cwd: str = ".") -> str:
    """A script of ours (``RealWorld.own``) with a hash of what a gated command would touch: its files, and where git stands.

    It writes nothing, for what is looked at twice must come out the same.  A time of change cannot be set back by a
    command, unlike the other times; no name is taken for an option, or for two.
    """
    named = [path for path in targets(command, cwd)[:MOST_PATHS] if not path.startswith("~")]
    paths = " ".join(shlex.quote(path if path.startswith("/") else f"./{path}") for path in named)
    files = f"find {paths} -printf '%p %y %s %m %i %T@ %C@ %l\\0' | sort -z; " if paths else ""
    git = f"git -C {shlex.quote(cwd if cwd.startswith('/') else f'./{cwd}')}"
    status = f"{git} status --porcelain -z --ignore-submodules=all"
    return f"exec 2>/dev/null; {{ {files}{git} rev-parse HEAD; {git} for-each-ref; {status}; }} | sha256sum"


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
    why = _gate_words(simple.words, simple, created, depth)
    if not why and any(UNKNOWN in word for word in simple.words):  # what is not set stands for nothing
        bare = [word.replace(UNKNOWN, "") for word in simple.words]
        name = _bare([word for word in bare if word])[0]
        if name[:1] != _bare(simple.words)[0][:1]:
            why = _gate_words([word for word in bare if word], simple, created, depth)
    return why


def _gate_words(said: list[str], simple: Simple, created: frozenset[str], depth: int) -> str:
    if depth > DEPTH:
        return DEEP
    words, piped = _bare(said)
    if simple.writes and (words[:1] in ([], [":"], ["true"]) or words[:2] == ["cat", "/dev/null"]):
        return _empties(simple.writes, simple, created)
    if simple.writes and words in (["echo"], ["printf", ""]) and any("*" in path for path in simple.writes):
        return _empties(simple.writes, simple, created)
    if not words:
        return ""
    name = _name(words[0])
    if UNKNOWN in name:
        return _unknown(words, simple)
    if name in _SHELLS or name in ("eval", "source", "."):
        return _gate_inner(name, words, simple, created, piped, depth)
    if name == "alias":
        bodies = (word.partition("=")[2] for word in words[1:])
        return next((why for body in bodies if (why := gate(body, created, simple.cwd, depth + 1, simple.budget))), "")
    return _gate_named(name, words, simple, created, piped, depth)


def _gate_named(name: str, words: list[str], simple: Simple, created: frozenset[str], piped: bool, depth: int) -> str:
    if name.startswith("python"):
        return _gate_python(words, simple, created)
    if name.startswith(_DISKS):
        return f"runs {name}, which overwrites what it is given for good"
    if name in SQL_TOOLS:
        base = next((word for word in words[1:] if not word.startswith("-")), "")
        rows = any(deletes_rows(word) for word in (*words[1:], simple.given))
        return _ROWS if rows and not _passes(base, simple, created) else ""
    code, commands = run_by(name, words[1:])
    if any(not _passes(path, simple, created) for path in code):
        return "deletes or empties files in its code"
    for command in commands:
        if why := gate(command, created, simple.cwd, depth + 1, simple.budget):
            return why
    found = _TOOLS.get(name)
    return found(words, simple, created, piped, depth) if found is not None else ""


_ROWS = "deletes or rewrites whole tables of a database"


def _unknown(words: list[str], simple: Simple) -> str:
    """A command whose name is not known asks where its words look as if they destroyed, or it is all that is known."""
    flags, _ = flags_of(words[1:])
    recursive = bool(flags & {"-r", "-R"}) and "-f" in flags
    if simple.computed or recursive or flags & _DESTROYS or _DESTROYS & set(words):
        return "runs a command whose name is not known before"
    return ""


def _gate_python(words: list[str], simple: Simple, created: frozenset[str]) -> str:
    for place, word in enumerate(words[:-1]):
        if _CODE_GIVEN.fullmatch(word):
            return gate_code(words[place + 1], created)
    return gate_code(simple.given, created) if simple.given else ""


def _gate_inner(name: str, words: list[str], simple: Simple, created: frozenset[str], piped: bool, depth: int) -> str:
    if name == "eval":
        return gate(" ".join(words[1:]), created, simple.cwd, depth + 1, simple.budget)
    place = 1
    strict = ""
    while name in _SHELLS and place < len(words) and words[place][:1] in ("-", "+"):
        word = words[place]
        short = word.startswith("-") and not word.startswith("--")
        strict = "set -e\n" if short and "e" in word else strict
        place += 2 if word in _BEFORE_VALUE else 1
        if short and "c" in word:
            while place < len(words) - 1 and words[place].startswith(("-", "+")):
                place += 2 if words[place] in _BEFORE_VALUE else 1
            text = words[place] if place < len(words) else ""
            if piped and text == UNKNOWN:
                return gate(simple.given, created, simple.cwd, depth + 1, simple.budget) or "runs whatever a list names"
            return gate(strict + text, created, simple.cwd, depth + 1, simple.budget)
    return gate(simple.given, created, simple.cwd, depth + 1, simple.budget) if simple.given else ""


def _bare(words: list[str]) -> tuple[list[str], bool]:
    """The command itself without sudo, env, timeout, xargs …; and whether its arguments come from elsewhere."""
    piped = False
    while words and "=" in words[0] and _SETS.match(words[0]):
        words = words[1:]
    while words and (_name(words[0]) in _PREFIXES or (words[0] in _RUNNERS and words[1:2] == ["run"])):
        name, words = _name(words[0]), words[2 if words[0] in _RUNNERS else 1 :]
        piped = piped or name in ("xargs", "parallel")
        while words and (words[0].startswith("-") or "=" in words[0]):
            if name == "env" and (split := _SPLITS.match(words[0])):
                words = [*_split(split[1]), *words[1:]] if split[1] else [*_split("".join(words[1:2])), *words[2:]]
                continue
            words = words[2:] if words[0] in _WITH_VALUE.get(name, ()) else words[1:]
        if name in ("timeout", "flock"):
            words = words[1:]
    return [word.replace("{}", UNKNOWN) for word in words] if piped else words, piped


def _split(text: str) -> list[str]:
    try:
        return shlex.split(text)
    except ValueError:
        return text.split()


# --- what may go --------------------------------------------------------------------------------------------------


def _passes(word: str, simple: Simple, created: frozenset[str]) -> bool:
    """Whether a path is scratch, derived, or this execution's own."""
    path = inside(simple.cwd, word)
    if path in created or path in simple.made or any(path.startswith(f"{folder}/") for folder in simple.made):
        return True
    if path.startswith(_SCRATCH):
        return True
    if path.startswith(("/", "~", "..")) or UNKNOWN in path.partition("/")[0]:
        return False
    segments = path.split("/")
    known = [segment for segment in segments if segment in DERIVED_FOLDERS]
    return bool(known) or any(fnmatch.fnmatch(segments[-1], pattern) for pattern in DERIVED_FILES)


def _deletes(paths: list[str], simple: Simple, created: frozenset[str]) -> str:
    left = [bounded(path) for path in paths if not _passes(path, simple, created)]
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
        listed = simple.fed[:1] == ["find"] and _derived(simple.fed, simple, created)
        return "" if listed and not paths else "deletes whatever a list names"
    if flags & {"-r", "-R"} or any(flag.startswith("--r") for flag in flags):
        return _deletes(paths, simple, created)
    many = [path for path in paths if any(sign in path for sign in "*?[") or UNKNOWN in path]
    left = [path for path in many if not _passes(path, simple, created)]
    return f"deletes every file that {left[0].replace(UNKNOWN, '…')} names" if left else ""


def _rimraf(words: list[str], simple: Simple, created: frozenset[str], piped: bool, depth: int) -> str:
    return _deletes(flags_of(words[1:])[1], simple, created)


def _derived(words: list[str], simple: Simple, created: frozenset[str]) -> bool:
    """Whether all that a find names is derived or scratch."""
    named = [words[place + 1] for place, word in enumerate(words[:-1]) if word in ("-name", "-iname", "-path")]
    each = len(named) > sum(word in ("-o", "-or", ",") for word in words) and not {"!", "-not"} & set(words)
    if each and all(_passes(_name(name.rstrip("/*")) or name, simple, created) for name in named):
        return True
    return all(_passes(root, simple, created) for root in list(_before_tests(words[1:])) or ["."])


def _find(words: list[str], simple: Simple, created: frozenset[str], piped: bool, depth: int) -> str:
    roots = list(_before_tests(words[1:])) or ["."]
    if "-delete" in words and not _derived(words[: words.index("-delete")], simple, created):
        return f"deletes every file that find finds below {', '.join(roots)}"
    for place, word in enumerate(words):
        if word in ("-exec", "-execdir", "-ok", "-okdir") and not _derived(words, simple, created):
            inner = [UNKNOWN if each == "{}" else each for each in words[place + 1 :] if each not in (";", "+")]
            if (
                inner[:1] == ["sed"]
                and not {"-name", "-iname", "-path"} & set(words)
                and flags_of(inner[1:])[0] & _INPLACE
            ):
                return f"rewrites every file that find finds below {', '.join(roots)}"
            why = _gate_simple(Simple(inner, simple.cwd, budget=simple.budget), created, depth + 1)
            if why:
                return why
    return ""


_INPLACE = frozenset(("-i", "--in-place"))


def _sed(words: list[str], simple: Simple, created: frozenset[str], piped: bool, depth: int) -> str:
    flags, _ = flags_of(words[1:])
    if not flags & _INPLACE:
        return ""
    fed = simple.fed[:1] == ["find"] and not {"-name", "-iname", "-path"} & set(simple.fed)
    if piped and fed:
        return "rewrites every file that a list names"
    return _empties([path for path in of_sed(words[1:]) if path], simple, created)


def _tar(words: list[str], simple: Simple, created: frozenset[str], piped: bool, depth: int) -> str:
    return _deletes(of_tar(words[1:]), simple, created) if "--remove-files" in words else ""


def _moves(words: list[str], simple: Simple, created: frozenset[str], piped: bool, depth: int) -> str:
    _, paths = flags_of(words[1:])
    sources, target = paths[:-1], inside(simple.cwd, paths[-1]) if paths else ""
    if words[0].endswith("cp"):
        return _empties(paths[-1:], simple, created) if sources == ["/dev/null"] else ""
    away = target == "/dev/null" or target.startswith(_SCRATCH) or target in ("/tmp", "/var/tmp")  # noqa: S108
    whole = [path for path in sources if "*" in path or "." not in _name(path.strip("./")) or target == "/dev/null"]
    left = [path for path in whole if not _passes(path, simple, created)]
    return f"moves {', '.join(left[:3]).replace(UNKNOWN, '…')} out of the workspace" if away and left else ""


def _tee(words: list[str], simple: Simple, created: frozenset[str], piped: bool, depth: int) -> str:
    flags, paths = flags_of(words[1:])
    nothing = simple.reads == "/dev/null" or simple.fed in (["cat", "/dev/null"], [":"], ["true"])
    return _empties(paths, simple, created) if nothing and not flags & {"-a", "--append"} else ""


def _awk(words: list[str], simple: Simple, created: frozenset[str], piped: bool, depth: int) -> str:
    inner = (gate(each, created, simple.cwd, depth + 1, simple.budget) for word in words[1:] for each in of_awk(word))
    return next((why for why in inner if why), "")


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
    aliases: dict[str, str] = {}
    while rest and rest[0].startswith("-"):
        if rest[0] == "-c" and len(rest) > 1 and rest[1].lower().startswith("alias."):
            name, _, body = rest[1][6:].partition("=")
            aliases[name] = body
        rest = rest[2:] if rest[0] in ("-C", "-c", "--git-dir", "--work-tree", "--namespace") else rest[1:]
    if not rest:
        return ""
    flags, names = flags_of(rest[1:])
    if rest[0] in aliases:
        return _git_alias(f"{aliases[rest[0]]} {shlex.join(rest[1:])}", simple, created, depth)
    if rest[0] == "config" and len(names) > 1 and names[0].startswith("alias."):
        return _git_alias(names[1], simple, created, depth)
    if "--help" in flags or (flags & {"-n", "--dry-run"} and rest[0] in ("clean", "push", "rm")):
        return ""
    if rest[0] == "rm" and flags & {"-r"} and "--cached" not in flags:
        return _deletes(names, simple, created)
    if rest[0] in ("checkout", "restore") and "--" in rest:
        flags.add("--")
    return why_git(rest[0], flags, names)


def _git_alias(body: str, simple: Simple, created: frozenset[str], depth: int) -> str:
    command = body[1:] if body.startswith("!") else f"git {body}"
    return gate(command, created, simple.cwd, depth + 1, simple.budget)


_Look = Callable[[list[str], Simple, frozenset[str], bool, int], str]
_TOOLS: dict[str, _Look] = {
    "rm": _rm, "unlink": _rm, "find": _find, "chmod": _rights, "chown": _rights, "chgrp": _rights, "truncate": _truncate,
    "dd": _dd, "rsync": _rsync, "git": _git, "git-filter-repo": _rewrites, "bfg": _rewrites, "rimraf": _rimraf,
    "sed": _sed, "gsed": _sed, "tar": _tar, "mv": _moves, "cp": _moves, "tee": _tee, "awk": _awk, "gawk": _awk, "mawk": _awk,
}  # fmt: skip
