"""Code that a command line hands to a program (Perl, Node, sed, awk, make, SQL): what it deletes, empties and runs."""

from __future__ import annotations

import re
from collections.abc import Iterator

from agentic.bash.command_output import UNKNOWN
from agentic.tools.approval.file_rules import INPLACE
from agentic.tools.approval.gated_command import Found, GatedCommand, Runs, flags_of, values_of

SQL_TOOLS = frozenset((
    "sqlite3", "psql", "mysql", "mariadb", "duckdb", "cqlsh", "clickhouse-client", "influx", "cockroach", "sqlcmd",
))  # fmt: skip
_STRING = re.compile(r"'[^']*'|--[^\n]*|/\*[^*]*\*/")
_STATEMENT = re.compile(
    r"\s*(?:drop\s+(?:table|database|schema|keyspace)|truncate\b|delete\s+from|update\s+\S+\s+set\b|update\s+\w|alter\s+table\s+\S+\s+drop\b"
    r"|\.restore\b|\.read\b)",
    re.IGNORECASE,
)
_KEPT = re.compile(r"\s*drop\s+table\s+(?:if\s+exists\s+)?(?:temp\.|tmp|temp_|staging)", re.IGNORECASE)
_WHERE = re.compile(r"\bwhere\b(.*)", re.IGNORECASE | re.DOTALL)
_EVERY = re.compile(r"\s*(?:1\s*=\s*1|1|true|''\s*=\s*''|\w+\s*>\s*-?\d|\w+\s+is\s+not\s+null)\s*", re.IGNORECASE)
_SCRIPTED = {
    "perl": (
        re.compile(
            r"rmtree|remove_tree|truncate\b|rename\b|\bmove\(|unlink\b(?!\s*(?:\(\s*)?['\"][^$*'\"\n]{1,200}['\"])"
            r"|open\b[^;]{1,100}['\"]\s*>(?!>)"
        ),
        re.compile(r"\b(?:system|exec|qx)\b|`"),
    ),
    "ruby": (
        re.compile(
            r"rm_rf?\b|rmtree|remove_dir|remove_entry|File\.(?:delete|unlink)\s*(?:\(\s*)?\w+\s*[)}]|File\.write\([^,]{1,200},\s*(?:''|\"\")"
        ),
        re.compile(r"\b(?:system|exec|spawn)\b|`|%x"),
    ),
    "node": (
        re.compile(
            r"rmSync|rmdirSync|rimraf|\brm\(|removeSync|unlinkSync\(\s*[^'\"\s]|unlinkSync\([^)]{1,200}\+|truncateSync|renameSync\("
            r"|writeFileSync\([^,]{1,200},\s*(?:''|\"\")"
        ),
        re.compile(r"\b(?:execSync|exec|spawnSync|spawn|execFileSync|execFile)\b"),
    ),
    "php": (
        re.compile(r"array_map\(['\"]unlink|unlink\(\$|file_put_contents\([^,]{1,200},\s*(?:''|\"\")"),
        re.compile(r"\b(?:system|exec|passthru|shell_exec)\b|`"),
    ),
    "lua": (re.compile(r"os\.remove"), re.compile(r"os\.execute|io\.popen")),
    "Rscript": (re.compile(r"unlink\("), re.compile(r"\bsystem2?\(")),
    "tclsh": (re.compile(r"file\s+delete"), re.compile(r"\bexec\b")),
    "julia": (re.compile(r"\brm\("), re.compile(r"\brun\(")),
}
"""Of each program, what in its code deletes or empties, and what runs commands."""
_ALSO = {"nodejs": "node", "deno": "node", "bun": "node", "jruby": "ruby", "R": "Rscript", "luajit": "lua"}
PROGRAMS = frozenset((*_SCRIPTED, *_ALSO))
_NO_PATHS = frozenset(
    ("fs", "node:fs", "fs/promises", "fileutils", "rimraf", ">", "w", "unlink", "child_process", "os")
)
_TEXT = re.compile(
    r"'([^'\n]{1,2000})'|\"([^\"\n]{1,2000})\"|`([^`\n]{1,2000})`|(?:qx|%x|%w|q)[(\[{]([^)\]}\n]{1,200})[)\]}]"
)
_SHOWN = re.compile(r"\s*(?:print|puts|say|echo|console\.log)\b")
_CODE_AFTER = re.compile(r"-[A-Za-z0-9]*[eEpr]|--eval|--print|eval")
_SYSTEM = re.compile(r"system\s*(?:\(\s*)?\"((?:[^\"\\]|\\.){1,2000})\"\s*(\$?\w?)")
_PIPED = re.compile(r"\"((?:[^\"\\]|\\.){1,200})\"[^|;{}\n]{0,60}\|\s*(?:getline|\"(?:ba|da|z)?sh\")")
_TO_FILE = re.compile(r"printf?\s*\"\"\s*>\s*\"([^\"]{1,200})\"")
_OVER_INPUT = re.compile(r">\s*(?:FILENAME|ARGV\[\w{1,20}\])\s*[;}]|=\s*FILENAME\s*[;}]")
_EMPTIES = re.compile(
    r"d|[1-5],\$d|1,[0-9]{3,9}d|1!d|/(?:\^|\.\*?|\[a-z\])/d|[0-9]?[qQ]|s(.)\^?(?:\.|\[a-zA-Z0-9\]|\[a-z\])[*+]\$?\1[^*]{0,20}\1g?"
    r"|s(.)(?:\.|\[a-z\])\2[^*]{0,20}\2g"
)
_RUNS = re.compile(r"[0-9$]*e\s+(\S.*)|s(.)(?:(?!\2).)*\2((?:(?!\2).)*)\2[a-z]*e")
_FILTERS = re.compile(
    r"\s*|\s*print\s+if\b.*|\s*print\s+unless\s+/\.[*+]?/\s*|\s*\$_\s*=\s*(?:\"\"|'')\s*;?|\s*s(.)\.[*+]\1\1[a-z]*\s*"
)
_RECIPE = re.compile(r"\$[({](\w+)[)}]")
_ASSIGNED = re.compile(r"(\w+)\s*[:?+]?=\s*(.*)")


ROWS = "deletes or rewrites whole database tables"
_BY_NAME = "runs a target that, by its name, deletes more than it made"
_WIPES = frozenset((
    "reset", "distclean", "realclean", "mrproper", "maintainer-clean", "clobber", "pristine", "nuke", "wipe", "purge",
    "destroy", "clean-all", "cleanall", "clean:all", "reset-db", "db-reset", "reset_db", "db:reset", "db:drop", "drop-db",
    "dropdb", "drop",
))  # fmt: skip
_OF_TESTS = re.compile(r"(?:^|[_/.=-])tests?(?:[_/.-]|$)")
_BASE = frozenset(("-d", "--dbname", "-D", "--database"))


def script(command: GatedCommand) -> Iterator[Found]:
    """A program that is given code, on the line or in a file that was written on it."""
    text = next((text for word in command.words[1:2] if (text := command.text_of(word))), "")
    paths, commands = run_by(command.name, command.words[1:], command.simple.stdin or text)
    if any(path not in command.created and not command.passes(path) for path in paths):
        yield "deletes or empties files in its code, which this task didn't create"
    yield from map(Runs, commands)
    if command.name in ("perl", "ruby"):
        yield command.empties(empties_in_place(command.words[1:]))


def sed(command: GatedCommand) -> Iterator[Found]:
    """``sed``: the commands that its script runs, and files of which it leaves nothing."""
    words, fed = command.words[1:], command.simple.piped_from
    yield from map(Runs, sed_runs(words))
    if not flags_of(words)[0] & INPLACE:
        return
    if command.piped and fed[:1] == ["find"] and not {"-name", "-iname", "-path"} & set(fed):
        yield "rewrites every file named in a list"
    else:
        yield command.empties([path for path in of_sed(words) if path])


def awk(command: GatedCommand) -> Iterator[Found]:
    """``awk``: the commands that its code runs, and files of which it leaves nothing."""
    words = command.words
    if "inplace" in words and not any("{" in word or word.startswith("!") for word in words):
        yield command.empties(flags_of(words[1:])[1][2:])
    else:
        yield from (Runs(each) for word in words[1:] for each in of_awk(word))


def make(command: GatedCommand) -> Iterator[Found]:
    """``make``: targets by their name, and the recipes of a makefile that was written on the same line."""
    words = command.words
    if {"-n", "--dry-run", "--just-print", "--recon"} & set(words):
        return
    if _WIPES & set(words[1:]):
        yield _BY_NAME
    files = values_of(words, "-f", "--file")
    texts = [command.simple.stdin if path in ("-", UNKNOWN) else command.text_of(path) for path in files]
    texts += [word.partition("=")[2] for word in words if word.startswith("--eval=")]
    texts += values_of(words, "--eval")
    yield from (Runs(of_make(text)) for text in texts if text)


def named_task(command: GatedCommand) -> Iterator[Found]:
    """Tasks of ``npm run``, ``just`` …, by their name."""
    yield _BY_NAME if _WIPES & set(command.words[1:4]) else ""


def sql(command: GatedCommand) -> Iterator[Found]:
    """Programs for SQL, on databases other than those of tests."""
    words, simple = command.words, command.simple
    base = next((word for word in words[1:] if not word.startswith("-")), "")
    if command.name == "sqlite3" and "-cmd" in words[:-1]:
        base = next((word for word in words[words.index("-cmd") + 2 :] if not word.startswith("-")), base)
    text = command.text_of(simple.stdin_file) if simple.stdin_file else ""
    if not any(deletes_rows(word) for word in (*words[1:], simple.stdin, text)):
        return
    bases = [base, *values_of(words, *_BASE), *(word for word in words if word.startswith("-d"))]
    scratch = ":memory:" in base or any(_OF_TESTS.search(each) for each in bases)
    if not scratch and not command.passes(base):
        yield ROWS


def deletes_rows(sql: str) -> bool:
    """Whether a text of SQL drops a table, or deletes or rewrites all its rows."""
    plain = _STRING.sub(lambda found: "''" if found[0][0] == "'" else " ", sql)
    if "rollback" in plain.lower():
        return False
    return any(_deletes(statement) for statement in plain.split(";"))


def _deletes(statement: str) -> bool:
    found = _STATEMENT.match(statement)
    if found is None or _KEPT.match(statement):
        return False
    said = found[0].lower().strip()
    if said.startswith("update") and " set " not in statement.lower():
        return False
    where = _WHERE.search(statement) if said.startswith(("delete", "update")) else None
    return said != ".read" and (where is None or bool(_EVERY.fullmatch(where[1])))


def run_by(name: str, words: list[str], given: str = "") -> tuple[list[str], list[str]]:
    """What code on the command line deletes, '.' where it cannot be told; and the commands that it runs."""
    known = _SCRIPTED.get(_ALSO.get(name, name))
    if known is None:
        return [], []
    codes = [words[at + 1] for at, word in enumerate(words[:-1]) if _CODE_AFTER.fullmatch(word)]
    codes = codes or ([given] if given else [])
    modules = " ".join(word for word in words if word.startswith(("-M", "-r")))
    paths: list[str] = []
    commands: list[str] = []
    for code in codes:
        code = f"{modules} {code}" if modules and not _SHOWN.match(code) else code
        if _SHOWN.match(code) and "`" not in code:
            continue
        texts = [found[found.lastindex or 0] for found in _TEXT.finditer(code)]
        if found := known[0].search(code):
            named = [text for text in texts if text not in _NO_PATHS]
            named = (
                [text for text in named if "/" in text or "." in text] or named
                if found[0].startswith("open")
                else named
            )
            paths += named or ["."]
        if known[1].search(code):
            commands += [*texts, " ".join(text for text in texts if text not in _NO_PATHS)]
    return paths, commands


def of_awk(code: str) -> list[str]:
    """The commands that awk code runs; with what they are given where that is a field."""
    run = [f"{text} {'$field' if after else ''}" for text, after in _SYSTEM.findall(code)]
    emptied = [f": > {path}" for path in _TO_FILE.findall(code)]
    emptied += [': > "$each"'] if _OVER_INPUT.search(code) else []
    return [
        command.replace('\\"', '"')
        for command in (*run, *(f"{text} $field" for text in _PIPED.findall(code)), *emptied)
    ]


def of_make(text: str) -> str:
    """The recipes of a makefile, as a script of a shell."""
    lines: list[str] = []
    for line in text.replace("\\\n", " ").splitlines():
        recipe = line[1:] if line.startswith("\t") else line.partition(";")[2] if ":" in line else ""
        if recipe:
            lines.append(recipe.strip().lstrip("@-+"))
        elif assigned := _ASSIGNED.fullmatch(line.strip()):
            lines.append(f"{assigned[1]}={assigned[2]}")
    return _RECIPE.sub(r"${\1}", "\n".join(lines)).replace("$$", "$")


def _of_scripts(words: list[str]) -> tuple[list[str], list[str]]:
    """The scripts of a sed and its files."""
    rest: list[str] = []
    scripts: list[str] = []
    at = 0
    while at < len(words):
        word = words[at]
        if word in ("-e", "--expression"):
            scripts += words[at + 1 : at + 2]
            at += 1
        elif word and not word.startswith("-"):
            rest.append(word)
        at += 1
    return (scripts, rest) if scripts else (rest[:1], rest[1:])


def of_sed(words: list[str]) -> list[str]:
    """The files of which a script of sed in place would leave nothing, or little."""
    scripts, rest = _of_scripts(words)
    quiet = any(word.startswith("-") and not word.startswith("--") and "n" in word.partition("i")[0] for word in words)
    parts = [part.strip() for script in scripts for part in script.split(";")]
    return (
        rest
        if any(_EMPTIES.fullmatch(part) for part in parts) or (quiet and not any("!p" in part for part in parts))
        else []
    )


def sed_runs(words: list[str]) -> list[str]:
    """The commands that a script of sed runs."""
    parts = [part.strip() for script in _of_scripts(words)[0] for part in script.split(";")[:60]]
    return [found[1] or found[3] for part in parts if len(part) < 2_000 and (found := _RUNS.fullmatch(part))]


def empties_in_place(words: list[str]) -> list[str]:
    """The files of which perl or ruby, which edit them in place, would leave nothing, or what matches."""
    if not any(word.startswith("-") and word[1:2] not in ("-", "M", "I") and "i" in word[:6] for word in words):
        return []
    for at, word in enumerate(words[:-1]):
        if word.startswith("-") and word.endswith("e"):
            return (
                [each for each in words[at + 2 :] if not each.startswith("-")]
                if _FILTERS.fullmatch(words[at + 1])
                else []
            )
    return []
