"""Which commands a person must approve first: what deletes or rewrites more than the task's own files.

The sandbox bounds what a command can reach; this gate guards the people's own work inside the workspace, and what they
share with others by git, against slips and against advice that came from a file or a page.  It reads the command as
bash would (``agentic/bash``), also inside of substitutions, ``bash -c``, ``xargs`` and ``find -exec``.  It does not look
into scripts and programs; for those, the checkpoint before the first change leads back.

What passes although it deletes:
  single files that are named       they are few and seen in the command, and the checkpoint brings them back
  files this execution has made     its own to delete; folders only if they were made on the same line
  derived folders and files         node_modules, build, __pycache__, *.pyc …: whatever made them makes them again
  scratch                           /tmp, what ``mktemp`` made, caches in the home of the sandbox
  work of git that git can undo     a commit amended, a merged branch deleted (-d), a rebase given up (--abort)
"""

from __future__ import annotations

import fnmatch
import re
import shlex
from collections.abc import Callable, Iterator

from agentic.bash.command_output import UNKNOWN
from agentic.bash.evaluation import SCRATCHES as _SCRATCH
from agentic.bash.evaluation import Evaluation, Simple, commands, inside
from agentic.bash.parser import LONGEST as LONGEST_COMMAND
from agentic.bash.parser import TooDeep, TooLong, parse
from agentic.tools.approval.git_rules import (
    AWAY,
    HISTORY,
    flags_of,
    values_of,
    why_git,
)
from agentic.tools.approval.python_rules import MANY, done_by
from agentic.tools.approval.script_rules import (
    SQL_TOOLS,
    deletes_rows,
    empties_in_place,
    of_awk,
    of_make,
    of_sed,
    of_tar,
    run_by,
    sed_runs,
)
from agentic.tools.approval.service_rules import service

DERIVED_FOLDERS = frozenset((
    "node_modules", "bower_components", "build", "dist", "target", "out", "_build", ".next", ".nuxt", ".turbo",
    ".parcel-cache", "coverage", "htmlcov", ".nyc_output", ".tox", ".nox", ".venv", "venv", ".cache", ".gradle",
    ".terraform", "tmp", "temp", "__pycache__", ".pytest_cache", ".mypy_cache", ".ruff_cache", ".hypothesis", ".eggs",
    "cmake-build-debug", "cmake-build-release", "CMakeFiles", "site", "scratch", ".svelte-kit", ".vite", ".angular",
    ".docusaurus", ".ipynb_checkpoints", "storybook-static", "test-results", "playwright-report", "lcov-report", "_cacache",
))  # fmt: skip
DERIVED_FILES = (
    "*.pyc", "*.pyo", "*.o", "*.obj", "*.a", "*.so", "*.class", "*.log", "*.tmp", "*.bak", "*.orig", "*.rej", "*.swp", "*~",
    "*.egg-info", ".coverage*", ".DS_Store", "core", "core.*", "*.out", "*.tsbuildinfo", "*.pid", "CMakeCache.txt",
    "*.dist-info", "*.egg", "*.gcda", "*.gcno", "*.profraw", "lcov.info", "coverage.xml", "coverage.json", "junit.xml",
    "*.log.*", ".eslintcache", ".stylelintcache", "*.swo", "*.stamp", "*.prof", "perf.data", "Thumbs.db", "desktop.ini",
    "npm-debug.log*",
)  # fmt: skip
DERIVED_FILE = re.compile("|".join(map(fnmatch.translate, DERIVED_FILES)))
_PREFIXES = frozenset((
    "sudo", "doas", "env", "nohup", "nice", "ionice", "time", "timeout", "stdbuf", "setsid", "command", "builtin", "exec",
    "busybox", "chronic", "xargs", "parallel", "watch", "unbuffer", "eatmydata", "coproc", "toybox", "npx", "flock", "taskset",
    "chrt", "prlimit", "strace", "ltrace", "unshare", "setarch", "shx", "bunx", "uvx", "fakeroot", "proot", "dbus-run-session",
))  # fmt: skip
_WITH_VALUE: dict[str, frozenset[str]] = {
    "sudo": frozenset(("-u", "-g", "-h", "-p", "-C", "-T", "-R", "-D")), "doas": frozenset(("-u", "-C")),
    "nice": frozenset(("-n",)), "ionice": frozenset(("-c", "-n", "-p")),
    "timeout": frozenset(("-s", "-k", "--signal", "--kill-after")), "stdbuf": frozenset(("-i", "-o", "-e")),
    "xargs": frozenset(("-a", "-d", "-E", "-I", "-L", "-n", "-P", "-s")), "parallel": frozenset(("-j", "-a", "-n", "-I")),
    "npx": frozenset(("-p", "--package")), "flock": frozenset(("-w", "-E", "--timeout")),
    "strace": frozenset(("-e", "-o", "-s", "-p")), "chrt": frozenset(("-T", "-P", "-D")), "env": frozenset(("-u", "-C")),
    "watch": frozenset(("-n",)), "exec": frozenset(("-a",)), "time": frozenset(("-f", "-o")),
}  # fmt: skip
"""Options of a prefix that take the next word."""
_RUNNERS = frozenset((
    ("uv", "run"), ("poetry", "run"), ("pipenv", "run"), ("pdm", "run"), ("hatch", "run"), ("rye", "run"), ("npm", "exec"),
    ("pnpm", "exec"), ("pnpm", "dlx"), ("yarn", "exec"), ("yarn", "dlx"), ("bundle", "exec"),
))  # fmt: skip
"""They run what follows these words."""
_SHELLS = frozenset(("bash", "sh", "zsh", "dash", "ksh", "ash", "su", "runuser", "script", "fish", "xonsh"))
_FORM = frozenset(
    ("sed", "awk", "gawk", "perl", "python3", "python", "tr", "rev", "xxd", "base64", "base32", "openssl", "gpg")
)
"""They form a text out of another."""
_SETTINGS = ("GIT_", "PAGER", "EDITOR", "VISUAL", "PROMPT_COMMAND", "BASH_ENV", "PS4", "ENV")
"""Variables that hold commands."""
_GROWING = ("/var/lib/apt/lists/", "/var/cache/", "~/.npm/_cacache", "~/.cache")
_SINGLE = re.compile(
    r"(?:[^/*?\[\x00]*/)*[^/*?\[\x00]+\.(?:json|lock|txt|md|rst|py|js|ts|tsx|jsx|css|html|ya?ml|toml|zip|gz|tgz|tar|xz|csv|sh|cfg|ini|"
    r"xml|c|h|cpp|go|rs|java|rb|php|png|jpe?g|svg|pdf|patch|diff|whl|jar|ipynb)"
)
"""The name of a single file."""
_EMPTY = ("__init__.py", ".gitkeep", ".keep", ".nojekyll", "py.typed", "conftest.py")
"""Files that are made empty."""
_DISKS = ("mkfs", "wipefs", "shred", "blkdiscard", "fdisk", "sfdisk", "parted", "mkswap", "badblocks", "srm")
_BEFORE_VALUE = frozenset(("--rcfile", "--init-file", "-O", "+O", "-o", "+o"))
"""Options of a shell that take the next word."""
_DESTROYS = frozenset(
    ("-delete", "--delete", "--force", "--hard", "--recursive", "--mirror", "--remove-files", "--purge")
)
_CODE_GIVEN = re.compile(r"-[A-Za-z]*c")
_SETS = re.compile(r"(?<!\w)[A-Za-z_]\w*\+?=")
_SPLITS = re.compile(r"(?:-[a-zA-Z]*S|--split-string=?)(.*)", re.DOTALL)
_PLACEHOLDER = re.compile(r"-I|--replace=?")
_BY_LINES = frozenset(("-d", "-0", "--null", "-L", "-L1", "-d\\n", "-d\n"))
_OF_TESTS = re.compile(r"(?:^|[_/.=-])tests?(?:[_/.-]|$)")
_BASE = frozenset(("-d", "--dbname", "-D", "--database"))
_FINDS = "deletes or empties every file that its code finds"
_LOCKS = "takes away the rights to read or change files"
MOST_LINES = 8
DEPTH = 5
MOST_PATHS = 40
LONGEST_REASON = 300
LONGEST_PATH = 4_096
TOO_LONG = "is too long to be read"
UNREADABLE = "cannot be read for certain, and names a program that may destroy"
_NAMED = re.compile(
    r"(?<![\w.-])(?:rm|rmdir|unlink|git|find|dd|truncate|shred|rsync|chmod|chown|mv|rimraf|mkfs|sh|bash|eval|xargs)(?![\w-])"
)
"""Programs for which a line asks that only its shell can read: a grammar that fails may fail at their arguments."""
DEEP = "runs commands inside of commands, deeper than can be read"


def gate(
    command: str,
    created: frozenset[str] = frozenset(),
    cwd: str = ".",
    depth: int = 0,
    reading: Evaluation | None = None,
    variables: dict[str, str] | None = None,
) -> str:
    """Why a person must approve the command, as the end of "It …"; '' where it may run."""
    if depth > DEPTH:
        return DEEP
    try:
        script = parse(command)
        for simple in commands(script, cwd, reading or Evaluation(text=command), variables):
            why = _gate_simple(simple, created, depth)
            if why:
                return bounded(why)
    except TooLong:
        return TOO_LONG
    except (TooDeep, RecursionError):
        return DEEP
    return UNREADABLE if not script.sound and _NAMED.search(command) else ""


def gate_code(
    code: str, created: frozenset[str] = frozenset(), simple: Simple | None = None, words: list[str] | None = None
) -> str:
    """The same of Python code: what it deletes or empties, and commands that it runs, as far as they stand in it."""
    if len(code) > LONGEST_COMMAND:
        return TOO_LONG
    simple = simple or Simple()
    for kind, value in done_by(code, words or []):
        match kind:
            case "delete" | "empty" if value == MANY:
                why = _FINDS
            case "delete":
                why = _deletes([value], simple, created)
            case "unlink":
                why = _FINDS if "*" in value and not _passes(value, simple, created) else ""
            case "empty":
                why = _empties([value], simple, created)
            case "move":
                why = _moves(["mv", *value.split("\n")], simple, created, False, 0)
            case "lock":
                why = _LOCKS if not _passes(value, simple, created) else ""
            case "rows":
                why = _ROWS if not _passes(value, simple, created) else ""
            case "code":
                why = gate_code(value, created, simple)
            case _:
                why = gate(value, created, simple.cwd, 1, simple.reading, simple.variables)
        if why:
            return bounded(why)
    return ""


def bounded(reason: str) -> str:
    """The beginning of a reason, as long as a person reads: what a command names may be as long as it likes."""
    return reason if len(reason) <= LONGEST_REASON else f"{reason[: LONGEST_REASON - 2]} …"


def targets(command: str, cwd: str = ".") -> tuple[str, ...]:
    """The paths that stand in a command, as seen from the workspace: what an approval of it looks at."""
    try:
        found = list(commands(parse(command), cwd))
    except (TooLong, TooDeep, RecursionError):
        return ()
    words = ((inside(each.cwd, word), word) for each in found for word in (*each.words[1:], *each.writes))
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
    for name, value in _set_before(said):
        body = f"git {value}" if name.startswith("GIT_CONFIG_VALUE") else value
        if name.startswith(_SETTINGS) and (why := _gate_inside(body, simple, created, depth)):
            return why
    words, piped = _bare(said)
    if simple.writes and (why := _overwrites(words, simple, created)):
        return why
    if not words:
        return ""
    if piped:
        filled = _filled(said, words, simple)
        return next((why for each in filled if (why := _gate_bare(each, simple, created, True, depth))), "")
    return _gate_bare(words, simple, created, False, depth)


def _gate_bare(words: list[str], simple: Simple, created: frozenset[str], piped: bool, depth: int) -> str:
    name = _name(words[0])
    if UNKNOWN in name:
        return _unknown(words, simple)
    if (text := simple.reading.texts.get(inside(simple.cwd, words[0]))) and "/" in words[0]:
        name, words = ("python3" if "python" in text.partition("\n")[0] else "bash"), ["sh", *words]
    if name in _SHELLS or name in ("eval", "source", "."):
        return _gate_shell(name, words, simple, created, piped, depth)
    if name == "alias":
        bodies = (word.partition("=")[2] for word in words[1:])
        return next((why for body in bodies if (why := _gate_inside(body, simple, created, depth))), "")
    return _gate_named(name, words, simple, created, piped, depth)


def _gate_inside(
    text: str, simple: Simple, created: frozenset[str], depth: int, variables: dict[str, str] | None = None
) -> str:
    """The same of a text that a command runs."""
    return gate(text, created, simple.cwd, depth + 1, simple.reading, simple.variables | (variables or {}))


def _set_before(words: list[str]) -> list[tuple[str, str]]:
    """The variables that are set for a command."""
    found: list[tuple[str, str]] = []
    for word in words:
        name, sign, value = word.partition("=")
        if sign and _SETS.match(word):
            found.append((name, value))
        elif word != "env":
            break
    return found


def _filled(said: list[str], words: list[str], simple: Simple) -> list[list[str]]:
    """A command with the arguments that xargs gives it, as far as they are known."""
    given = next((at for at, word in enumerate(said) if _PLACEHOLDER.match(word)), -1)
    sign = _PLACEHOLDER.sub("", said[given]) or said[given + 1 : given + 2][0] if 0 <= given < len(said) - 1 else "{}"
    if ":::" in words:
        at = words.index(":::")
        return [[*words[:at], *words[at + 1 :]]] if at else [["sh", "-c", each] for each in words[1:MOST_PATHS]]
    if sign and any(sign in word for word in words):
        lines = list(dict.fromkeys(simple.given.splitlines())) or [UNKNOWN]
        lines = lines if len(lines) <= MOST_LINES else [UNKNOWN]
        return [[word.replace(sign, line) for word in words] for line in lines]
    whole = _BY_LINES & set(said)
    listed = simple.given.splitlines() if whole else simple.given.split()
    return [[*words, *(listed[:MOST_PATHS] or [UNKNOWN])]]


def _overwrites(words: list[str], simple: Simple, created: frozenset[str]) -> str:
    """Whether a redirection leaves nothing of a file."""
    prints_nothing = words[:1] in ([], [":"], ["true"]) or words[:2] == ["cat", "/dev/null"]
    prints_nothing |= words in (["echo"], ["echo", "-n"], ["echo", ""], ["echo", "-n", ""], ["printf", ""])
    prints_nothing |= words == ["cat"] and simple.reads == "/dev/null"
    if prints_nothing:
        grown = [path for path in simple.writes if not _grows(path, simple)]
        return _empties(grown, simple, created)
    if any(inside(simple.cwd, path).startswith(_OF_REFS) for path in simple.writes):
        return _OF_GIT
    if every := [path for path in simple.writes if _EVERY_FILE.fullmatch(_name(path))]:
        return _empties(every, simple, created)
    if words[0] in ("echo", "printf"):
        return ""
    read = {inside(simple.cwd, word) for word in (*words[1:], *simple.chain[1:], simple.reads) if word}
    itself = [path for path in simple.writes if inside(simple.cwd, path) in read]
    return _empties(itself, simple, created)


def _grows(path: str, simple: Simple) -> bool:
    """Whether something is appended later on the same line."""
    text = simple.reading.text
    simple.reading.take(len(text) // 50)
    name = _name(path)
    return any(f">>{sign}{each}" in text for sign in (" ", "", ' "', '"') for each in {path, name} if each)


def _gate_named(name: str, words: list[str], simple: Simple, created: frozenset[str], piped: bool, depth: int) -> str:
    if why := service(name, words[1:], simple.given or simple.reads):
        return why
    if name.startswith(("python", "pypy", "ipython")):
        return _gate_python(words, simple, created)
    if name.startswith(_DISKS):
        left = [path for path in flags_of(words[1:])[1] if not path.startswith(_SCRATCH)]
        return f"runs {name}, which overwrites what it is given for good" if left or not words[1:] else ""
    if name in SQL_TOOLS:
        return _gate_sql(words, simple, created)
    if name in ("just", "task", "rake") or words[1:2] == ["run"]:
        return _BY_NAME if _WIPES & set(words[1:4]) else ""
    if name in ("make", "gmake"):
        return _gate_make(words, simple, created, depth)
    if name in ("docker", "podman", "docker-compose") and "exec" in words:
        inner = words[words.index("exec") + 1 :]
        places = (
            at for at, word in enumerate(inner) if _name(word) in SQL_TOOLS or _name(word) in ("sh", "bash", "dropdb")
        )
        return next((_gate_bare(inner[at:], simple, created, False, depth + 1) for at in places), "")
    script = next((text for word in words[1:2] if (text := simple.reading.texts.get(inside(simple.cwd, word)))), "")
    code, commands = run_by(name, words[1:], simple.given or script)
    if any(path not in created and not _passes(path, simple, created) for path in code):
        return "deletes or empties files in its code"
    for command in commands:
        if why := _gate_inside(command, simple, created, depth):
            return why
    found = _TOOLS.get(name)
    return found(words, simple, created, piped, depth) if found is not None else ""


_WIPES = frozenset((
    "reset", "distclean", "realclean", "mrproper", "maintainer-clean", "clobber", "pristine", "nuke", "wipe", "purge",
    "destroy", "clean-all", "cleanall", "clean:all", "reset-db", "db-reset", "reset_db", "db:reset", "db:drop", "drop-db",
    "dropdb", "drop",
))  # fmt: skip
_BY_NAME = "runs a target that by its name takes away more than it made"


def _gate_sql(words: list[str], simple: Simple, created: frozenset[str]) -> str:
    base = next((word for word in words[1:] if not word.startswith("-")), "")
    if _name(words[0]) == "sqlite3" and "-cmd" in words[:-1]:
        base = next((word for word in words[words.index("-cmd") + 2 :] if not word.startswith("-")), base)
    script = simple.reading.texts.get(inside(simple.cwd, simple.reads), "") if simple.reads else ""
    rows = any(deletes_rows(word) for word in (*words[1:], simple.given, script))
    bases = [base, *values_of(words, *_BASE), *(word for word in words if word.startswith("-d"))]
    scratch = ":memory:" in base or any(_OF_TESTS.search(each) for each in bases)
    return _ROWS if rows and not scratch and not _passes(base, simple, created) else ""


def _gate_make(words: list[str], simple: Simple, created: frozenset[str], depth: int) -> str:
    if {"-n", "--dry-run", "--just-print", "--recon"} & set(words):
        return ""
    if _WIPES & set(words[1:]):
        return _BY_NAME
    files = values_of(words, "-f", "--file")
    texts = [simple.given if path in ("-", UNKNOWN) else _text(path, simple) for path in files]
    texts += [word.partition("=")[2] for word in words if word.startswith("--eval=")]
    texts += values_of(words, "--eval")
    return next((why for text in texts if text and (why := _gate_inside(of_make(text), simple, created, depth))), "")


def _text(path: str, simple: Simple) -> str:
    """What stands in a file that was written on the same line."""
    return simple.reading.texts.get(inside(simple.cwd, path), "")


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
            return gate_code(words[place + 1], created, simple, words[place + 2 :])
    for place, word in enumerate(words[1:], 1):
        if text := _text(word, simple):
            return gate_code(text, created, simple, words[place + 1 :])
    rest = [word for word in words[1:] if word == "-" or not word.startswith("-")]
    return gate_code(simple.given, created, simple, rest[1:]) if simple.given and rest[:1] in ([], ["-"]) else ""


def _gate_shell(name: str, words: list[str], simple: Simple, created: frozenset[str], piped: bool, depth: int) -> str:
    if name == "eval":
        return _gate_inside(" ".join(words[1:]), simple, created, depth)
    place = 1
    strict = ""
    set_before = dict(_set_before(simple.words))
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
                return _gate_inside(simple.given, simple, created, depth) or "runs whatever a list names"
            return _gate_inside(strict + text, simple, created, depth, set_before | _places(words[place + 1 :]))
    if name == "su" and "-c" in words[:-1]:
        return _gate_inside(words[words.index("-c") + 1], simple, created, depth)
    rest = words[place:]
    if rest and rest[0] != UNKNOWN and (text := _text(rest[0], simple)):
        return _gate_inside(text, simple, created, depth, set_before | _places(rest))
    if simple.given:
        return _gate_inside(strict + simple.given, simple, created, depth, set_before | _places(["bash", *rest]))
    fed = not rest or rest == ["-s"]
    return _gate_fed(simple, created, depth) if fed and simple.chain and name in _SHELLS else ""


def _gate_fed(simple: Simple, created: frozenset[str], depth: int) -> str:
    """A shell that runs what other commands print."""
    if _FORM & {_name(word) for word in simple.chain}:
        return "runs what another command makes out of a text"
    return next(
        (why for word in simple.chain if " " in word and (why := _gate_inside(word, simple, created, depth))), ""
    )


def _places(words: list[str]) -> dict[str, str]:
    """The name and the arguments of a script."""
    return {str(at): word for at, word in enumerate(words[:10])} | {"@": " ".join(words[1:])} if words else {}


def _bare(words: list[str]) -> tuple[list[str], bool]:
    """The command itself without sudo, env, timeout, xargs …; and whether its arguments come from elsewhere."""
    piped = False
    simple_shell = words[:1] == ["sudo"] and bool({"-s", "-i"} & set(words))
    while words and "=" in words[0] and _SETS.match(words[0]):
        words = words[1:]
    while words and (_name(words[0]) in _PREFIXES or tuple(words[:2]) in _RUNNERS):
        name, words = _name(words[0]), words[2 if tuple(words[:2]) in _RUNNERS else 1 :]
        piped = piped or name in ("xargs", "parallel")
        while words and (words[0].startswith("-") or "=" in words[0]):
            if name == "env" and (split := _SPLITS.match(words[0])):
                words = [*_split(split[1]), *words[1:]] if split[1] else [*_split("".join(words[1:2])), *words[2:]]
                continue
            words = words[2:] if words[0] in _WITH_VALUE.get(name, ()) else words[1:]
        if name in ("timeout", "flock", "taskset", "chrt"):
            words = words[1:]
            words = ["sh", *words] if name == "flock" and words[:1] == ["-c"] else words
        if name == "watch" and words:
            words = ["sh", "-c", " ".join(words)]
        if name == "sudo" and not words and simple_shell:
            words = ["sh"]
    return words, piped


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
    if path.startswith((*_SCRATCH, *_GROWING)):
        return True
    if path.startswith(("/", "~", "..")) or ".git" in path.split("/") or UNKNOWN in path.partition("/")[0]:
        return False
    segments = path.split("/")
    known = [segment for segment in segments if segment in DERIVED_FOLDERS]
    return bool(known) or DERIVED_FILE.fullmatch(segments[-1]) is not None


def _deletes(paths: list[str], simple: Simple, created: frozenset[str]) -> str:
    left = [bounded(path) for path in paths if not _passes(path, simple, created)]
    if not left:
        return ""
    shown = ", ".join(path.replace(UNKNOWN, "…") for path in left[:3]) + (" …" if len(left) > 3 else "")
    return f"deletes {shown} with everything in it, whoever made it"


def _empties(paths: list[str], simple: Simple, created: frozenset[str]) -> str:
    known = (path for path in paths if path != "/dev/null" and _name(path) not in _EMPTY)
    left = [path for path in known if not _passes(path, simple, created)]
    return f"empties {', '.join(left[:3]).replace(UNKNOWN, '…')}, which this task did not make" if left else ""


def _rm(words: list[str], simple: Simple, created: frozenset[str], piped: bool, depth: int) -> str:
    flags, paths = flags_of(words[1:])
    if {"--help", "--version"} & flags:
        return ""
    if piped and any(path == UNKNOWN for path in paths):
        return "deletes whatever a list names"
    if flags & {"-r", "-R"} or any(flag.startswith("--r") for flag in flags):
        return _deletes([path for path in paths if not _SINGLE.fullmatch(path)], simple, created)
    named = {inside(simple.cwd, path) for path in paths}
    own = _GIT_OWN & named or any(path.startswith(_OF_REFS) for path in named)
    many = [path for path in paths if any(sign in path for sign in "*?[") or UNKNOWN in path]
    left = [path for path in many if not _passes(path, simple, created)]
    return f"deletes every file that {bounded(left[0]).replace(UNKNOWN, '…')} names" if left else _OF_GIT if own else ""


_GIT_OWN = frozenset((
    ".git", ".git/HEAD", ".git/index", ".git/config", ".git/packed-refs", ".git/objects", ".git/refs", ".git/logs",
))  # fmt: skip
_OF_REFS = (".git/HEAD", ".git/refs/", ".git/objects/", ".git/logs/", ".git/packed-refs")
_EVERY_FILE = re.compile(r"[^*]*\*(?:\.\w{1,5})?")
"""What a loop over files writes to, and not one beside each."""
_OF_GIT = "takes away what git keeps its history in"


def _rimraf(words: list[str], simple: Simple, created: frozenset[str], piped: bool, depth: int) -> str:
    return _deletes(flags_of(words[1:])[1], simple, created)


def _derived(words: list[str], simple: Simple, created: frozenset[str]) -> bool:
    """Whether all that a find names is empty, derived or scratch."""
    named = [words[place + 1] for place, word in enumerate(words[:-1]) if word in ("-name", "-iname", "-path")]
    several = sum(word in ("-o", "-or", ",") for word in words)
    if "-empty" in words and not several:
        return True
    if (
        len(named) > several
        and not {"!", "-not"} & set(words)
        and all(_passes(_name(name.rstrip("/*")) or name, simple, created) for name in named)
    ):
        return True
    return all(_passes(f"{root}/found", simple, created) for root in list(_before_tests(words[1:])) or ["."])


def _find(words: list[str], simple: Simple, created: frozenset[str], piped: bool, depth: int) -> str:
    roots = list(_before_tests(words[1:])) or ["."]
    if "-delete" in words and not _derived(words[: words.index("-delete")], simple, created):
        return f"deletes every file that find finds below {', '.join(roots)}"
    for place, word in enumerate(words):
        if word in ("-exec", "-execdir", "-ok", "-okdir") and not _derived(words, simple, created):
            after = words[place + 1 :]
            end = next((at for at, each in enumerate(after) if each in (";", "+")), len(after))
            inner = [UNKNOWN if each == "{}" else each for each in after[:end]]
            rewrites = f"rewrites every file that find finds below {', '.join(roots)}"
            if (
                inner[:1] == ["sed"]
                and not {"-name", "-iname", "-path"} & set(words)
                and flags_of(inner[1:])[0] & _INPLACE
            ) or (inner[:1] == ["cp"] and inner[-1] == UNKNOWN):
                return rewrites
            if inner[:1] == ["chmod"] and _locks(
                inner[1:], folders="-type d" in " ".join(words[max(place - 6, 0) : place])
            ):
                return _LOCKS
            one = Simple(inner, simple.cwd, reading=simple.reading, variables=simple.variables)
            why = _gate_simple(one, created, depth + 1)
            if why:
                return why
    return ""


_INPLACE = frozenset(("-i", "--in-place"))


def _sed(words: list[str], simple: Simple, created: frozenset[str], piped: bool, depth: int) -> str:
    flags, _ = flags_of(words[1:])
    for command in sed_runs(words[1:]):
        if why := _gate_inside(command, simple, created, depth):
            return why
    if not flags & _INPLACE:
        return ""
    fed = simple.fed[:1] == ["find"] and not {"-name", "-iname", "-path"} & set(simple.fed)
    if piped and fed:
        return "rewrites every file that a list names"
    return _empties([path for path in of_sed(words[1:]) if path], simple, created)


def _awk_inplace(words: list[str]) -> bool:
    return "inplace" in words and not any("{" in word or word.startswith("!") for word in words)


def _script(words: list[str], simple: Simple, created: frozenset[str], piped: bool, depth: int) -> str:
    """A program that edits files in place by a line of code."""
    return _empties(empties_in_place(words[1:]), simple, created)


def _tar(words: list[str], simple: Simple, created: frozenset[str], piped: bool, depth: int) -> str:
    into = (values_of(words, "-C", "--directory") or ["."])[0]
    if "--remove-files" in words:
        packed = [path for path in of_tar(words[1:]) if path != into]
        return _deletes([f"{into}/{path}" for path in packed], simple, created)
    unpacks = any("x" in word.partition("=")[0] for word in words[1:3] if word != into)
    old = unpacks and simple.fed[:2] == ["git", "archive"] and not _passes(f"{into}/found", simple, created)
    return "puts an old version over what is there" if old else ""


def _packs(words: list[str], simple: Simple, created: frozenset[str], piped: bool, depth: int) -> str:
    """A packer that takes away what it has packed."""
    flags, paths = flags_of(words[1:])
    if words[0].endswith("zip") and not words[0].endswith("gzip"):
        return _deletes(paths[1:], simple, created) if flags & {"-m", "--move"} else ""
    if "-sdel" in words:
        return _deletes(paths[2:], simple, created)
    many = [path for path in paths if "*" in path or flags & {"-r", "--recursive"}]
    kept = flags & {"-k", "--keep", "-c", "--stdout", "-t", "-l", "-d"}
    return (
        _deletes(many, simple, created)
        if many and not kept and words[0].endswith(("gzip", "xz", "zstd", "bzip2"))
        else ""
    )


def _moves(words: list[str], simple: Simple, created: frozenset[str], piped: bool, depth: int) -> str:
    _, paths = flags_of(words[1:])
    if "-t" in words[:-1]:
        into = words[words.index("-t") + 1]
        paths = [*(path for path in paths if path != into), f"{into}/"]
    sources, target = paths[:-1], inside(simple.cwd, paths[-1]) if paths else ""
    copies = words[0].endswith(("cp", "install"))
    if words[0].endswith("install"):
        settings = values_of(words, "-m", "-o", "-g")
        sources = [path for path in sources if path not in settings]
    if copies and sources == ["/dev/null"]:
        return _empties(paths[-1:], simple, created)
    if copies and sources and "*" in paths[-1] and _name(sources[0]) not in paths[-1]:
        if _passes(sources[0], simple, created) or UNKNOWN in sources[0]:
            return ""
        return _empties(paths[-1:], simple, created)
    if copies:
        return ""
    if _GIT_OWN & {inside(simple.cwd, path) for path in sources}:
        return _OF_GIT
    if any("*" in path for path in sources) and _SINGLE.fullmatch(paths[-1]):
        return f"moves every file that {bounded(sources[0])} names onto one".replace(UNKNOWN, "…")
    roots = tuple(folder.rstrip("/") for folder in _SCRATCH)
    away = target == "/dev/null" or target.startswith(_SCRATCH) or target in roots
    whole = [path for path in sources if "*" in path or "." not in _name(path.strip("./")) or target == "/dev/null"]
    left = [path for path in whole if not _passes(path, simple, created)]
    if not left or not paths[-1]:
        return ""
    text, first = simple.reading.text, target.partition("/")[0]
    simple.reading.take(len(text) // 10)
    away = away or any(f"rm {flag} {first}" in text for flag in ("-rf", "-fr", "-r"))
    if any(f"mv {sign}{paths[-1].rstrip('/')}" in text for sign in ("", '"')):
        return ""  # and back
    return f"moves {', '.join(left[:3]).replace(UNKNOWN, '…')} out of the workspace" if away and left else ""


def _tee(words: list[str], simple: Simple, created: frozenset[str], piped: bool, depth: int) -> str:
    flags, paths = flags_of(words[1:])
    nothing = simple.reads == "/dev/null" or simple.fed in _PRINT_NOTHING
    emptied = paths if nothing else [path for path in paths if "*" in path]
    return _empties(emptied, simple, created) if not flags & {"-a", "--append"} else ""


_PRINT_NOTHING = (
    ["cat", "/dev/null"], [":"], ["true"], ["echo"], ["echo", "-n"], ["echo", "-n", ""], ["echo", ""], ["printf", ""],
)  # fmt: skip


def _awk(words: list[str], simple: Simple, created: frozenset[str], piped: bool, depth: int) -> str:
    if _awk_inplace(words):
        return _empties(flags_of(words[1:])[1][2:], simple, created)
    inner = (_gate_inside(each, simple, created, depth) for word in words[1:] for each in of_awk(word))
    return next((why for why in inner if why), "")


def _before_tests(words: list[str]) -> Iterator[str]:
    for word in words:
        if word.startswith(("-", "(", "!")):
            return
        yield word


def _rights(words: list[str], simple: Simple, created: frozenset[str], piped: bool, depth: int) -> str:
    flags, rest = flags_of([word for word in words[1:] if not _MODE.fullmatch(word)])
    modes = [word for word in words[1:] if _MODE.fullmatch(word)]
    paths = rest if modes or not words[0].endswith("chmod") else rest[1:]
    left = [path for path in (paths if words[0].endswith("chmod") else rest[1:]) if not _passes(path, simple, created)]
    if not left:
        return ""
    if words[0].endswith("chmod") and modes and _HARMLESS.fullmatch(modes[0]):
        return ""
    if flags & {"-R", "--recursive"} or any(mode.startswith("-R") for mode in modes):
        return f"changes rights or owners of everything in {bounded(left[0]).replace(UNKNOWN, '…')}"
    return _LOCKS if words[0].endswith("chmod") and _locks(modes, folders=False) else ""


_MODE = re.compile(r"[0-7]{1,4}|-[rwxX]{1,4}|[ugoa]*[=+-][ugorwxXst,=+-]*")
_HARMLESS = re.compile(r"0?7(?:55|75|50|00|05)|(?:(?:[ugoa]*\+[rwxXst]+|[go]+[-=][rwxX]*|u=rw[xX])(?:,|$)){1,4}")


def _locks(words: list[str], *, folders: bool) -> bool:
    """Whether a mode takes files, or folders, from their owner."""
    mode = next((word for word in words if _MODE.fullmatch(word)), "")
    if mode.isdigit():
        owner = int(mode[-3:-2] or "0")
        return owner < 4 or (folders and not owner & 1)
    return (mode.endswith("=") and mode[:1] in "ua=") or (
        mode.startswith(("a=", "u=,", "a-r", "u-r")) and "+" not in mode
    )


def _truncate(words: list[str], simple: Simple, created: frozenset[str], piped: bool, depth: int) -> str:
    sizes = values_of(words, "-s", "--size", "-r", "--reference")
    _, paths = flags_of([word for word in words[1:] if word not in sizes])
    return _empties(paths, simple, created)


def _dd(words: list[str], simple: Simple, created: frozenset[str], piped: bool, depth: int) -> str:
    written = [word[3:] for word in words if word.startswith("of=")]
    left = [path for path in written if path != "/dev/null" and not _passes(path, simple, created)]
    return f"overwrites {left[0].replace(UNKNOWN, '…')} with dd" if left else ""


def _rsync(words: list[str], simple: Simple, created: frozenset[str], piped: bool, depth: int) -> str:
    flags, paths = flags_of(words[1:])
    if "--remove-source-files" in flags:
        return _deletes(paths[:-1], simple, created)
    deletes = any(flag.startswith(("--delete", "--del")) for flag in flags)
    return _deletes(paths[-1:], simple, created) if deletes and "--dry-run" not in flags and "-n" not in flags else ""


def _rewrites(words: list[str], simple: Simple, created: frozenset[str], piped: bool, depth: int) -> str:
    return HISTORY


def _git(words: list[str], simple: Simple, created: frozenset[str], piped: bool, depth: int) -> str:
    rest, folder = words[1:], "."
    aliases: dict[str, str] = {}
    unforced = False
    while rest and rest[0].startswith("-"):
        if rest[0] == "-c" and len(rest) > 1:
            name, _, body = rest[1].partition("=")
            unforced = unforced or (name.lower() == "clean.requireforce" and body == "false")
            if name.lower().startswith("alias."):
                aliases[name[6:]] = body
            elif why := _gate_inside(body, simple, created, depth):
                return why
        folder = rest[1] if rest[0] == "-C" and len(rest) > 1 else folder
        rest = rest[2:] if rest[0] in ("-C", "-c", "--git-dir", "--work-tree", "--namespace") else rest[1:]
    if not rest:
        return ""
    if rest[0] in aliases:
        return _git_alias(f"{aliases[rest[0]]} {shlex.join(rest[1:])}", simple, created, depth)
    flags, names = flags_of(rest[1:])
    if "--help" in flags or rest[1:] == ["-h"]:
        return ""
    if unforced and rest[0] == "clean":
        flags.add("-f")
    return _git_command(rest, flags, names, Simple(words, inside(simple.cwd, folder), made=simple.made, given=simple.given,
        fed=simple.fed, reading=simple.reading, variables=simple.variables), created, depth)  # fmt: skip


def _git_command(
    rest: list[str], flags: set[str], names: list[str], simple: Simple, created: frozenset[str], depth: int
) -> str:
    command = rest[0]
    if command == "config" and len(names) > 1:
        if names[0].startswith("alias."):
            return _git_alias(names[1], simple, created, depth)
        if names[0].lower() in _LOOSENS and names[1].startswith(_LOOSENS[names[0].lower()]):
            return "changes what git asks before it destroys"
        return _gate_inside(names[1], simple, created, depth)
    inner = _git_inner(command, rest[1:])
    if inner and (why := _gate_inside(inner, simple, created, depth)):
        return why
    if command == "clean" and names and "-e" not in flags and all(_passes(path, simple, created) for path in names):
        return ""
    committed = not flags & {"-f", "--force"} and "git commit" in simple.reading.text
    if command == "rm" and not committed and not flags & {"--cached", "-n", "--dry-run"}:
        many = names if "-r" in flags else [name for name in names if "*" in name or UNKNOWN in name]
        return _deletes(many, simple, created) if "-r" in flags or many else ""
    if command == "worktree" and all(_passes(path, simple, created) for path in names[1:]):
        return ""
    if command in ("apply", "patch") and {"-R", "--reverse"} & flags and not flags & {"--check", "--stat", "--cached"}:
        return AWAY if simple.fed[:2] == ["git", "diff"] else ""
    if command == "checkout-index" and "--prefix" in flags:
        return ""
    if _is_own(command, flags, names, simple):
        return ""
    after = rest[rest.index("--") + 1 :] if "--" in rest else None
    why = why_git(command, flags, names, after, simple.given)
    own = f"{simple.cwd}/found"
    if why and command != "push" and (simple.cwd in simple.made or (why == AWAY or command == "clean")):
        scratch = simple.cwd in simple.made or own.startswith(_SCRATCH)
        return "" if scratch else why
    return why


_LOOSENS = {"clean.requireforce": "false", "remote.origin.mirror": "true", "remote.origin.push": "+"}


def _git_inner(command: str, words: list[str]) -> str:
    """The command that a command of git runs."""
    if command == "bisect" and words[:1] == ["run"]:
        return shlex.join(words[1:])
    if command == "submodule" and "foreach" in words:
        inner = [word for word in words[words.index("foreach") + 1 :] if word != "--recursive"]
        return inner[0] if len(inner) == 1 else shlex.join(inner)
    after = values_of(words, "-x", "--exec")
    joined = (word.partition("=")[2] for word in words if word.startswith("--exec="))
    return next(iter((*after, *joined)), "") if command == "rebase" else ""


def _is_own(command: str, flags: set[str], names: list[str], simple: Simple) -> bool:
    """Whether what would go was made, or applied, by a command just before."""
    earlier = [words for words in simple.reading.earlier[-MOST_PATHS:] if words[:1] == ["git"]]
    if command == "stash" and names[:1] == ["drop"]:
        return any(words[1:3] == ["stash", "apply"] for words in earlier)
    if command not in ("branch", "tag") or len(names) != 1 or not flags & _TAKES_AWAY:
        return False
    made = (words for words in earlier if names[0] in words[2:] and not flags_of(words[2:])[0] & _TAKES_AWAY)
    return any((words[1] == command and not words[2].startswith("-")) or {"-b", "-c"} & set(words) for words in made)


_TAKES_AWAY = frozenset(("-D", "-d", "--delete", "-f", "--force"))


def _git_alias(body: str, simple: Simple, created: frozenset[str], depth: int) -> str:
    return _gate_inside(body[1:] if body.startswith("!") else f"git {body}", simple, created, depth)


def _patch(words: list[str], simple: Simple, created: frozenset[str], piped: bool, depth: int) -> str:
    back = {"-R", "--reverse"} & flags_of(words[1:])[0] and "--dry-run" not in words
    return AWAY if back and simple.fed[:2] == ["git", "diff"] else ""


_Look = Callable[[list[str], Simple, frozenset[str], bool, int], str]
_TOOLS: dict[str, _Look] = {
    "rm": _rm, "unlink": _rm, "find": _find, "chmod": _rights, "chown": _rights, "chgrp": _rights, "truncate": _truncate,
    "dd": _dd, "rsync": _rsync, "git": _git, "git-filter-repo": _rewrites, "bfg": _rewrites, "rimraf": _rimraf,
    "sed": _sed, "gsed": _sed, "tar": _tar, "mv": _moves, "cp": _moves, "tee": _tee, "awk": _awk, "gawk": _awk, "mawk": _awk,
    "install": _moves, "perl": _script, "ruby": _script, "zip": _packs, "7z": _packs, "gzip": _packs, "xz": _packs,
    "zstd": _packs, "bzip2": _packs, "trash": _rimraf, "trash-put": _rimraf, "trash-cli": _rimraf, "del-cli": _rimraf,
    "patch": _patch,
    "wipe": _rimraf,
}  # fmt: skip
