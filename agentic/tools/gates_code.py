"""What stands in code and scripts that a command line hands to a program: deleted files, emptied ones, whole tables."""

from __future__ import annotations

import ast
import re

SQL_TOOLS = frozenset(("sqlite3", "psql", "mysql", "mariadb", "duckdb"))
_SQL = re.compile(
    r"\b(?:drop\s+(?:table|database|schema)|truncate\s+(?:table\s)?|delete\s+from|update\s+\w)", re.IGNORECASE
)
_SCRIPTED = {
    "perl": (
        re.compile(r"rmtree|remove_tree|unlink\b(?!\s*(?:\(\s*)?['\"][^*'\"\n]{1,200}['\"])"),
        re.compile(r"\b(?:system|exec|qx)\b"),
    ),
    "ruby": (
        re.compile(r"rm_rf?\b|rmtree|remove_dir|remove_entry|Dir\.glob[^\n]{0,200}delete"),
        re.compile(r"\b(?:system|exec)\b"),
    ),
    "node": (
        re.compile(r"rmSync|rmdirSync|rimraf|\brm\(|unlinkSync\(\s*[^'\"\s]"),
        re.compile(r"\b(?:execSync|exec|spawnSync)\b"),
    ),
    "php": (
        re.compile(r"array_map\(['\"]unlink|unlink\(\$"),
        re.compile(r"\b(?:system|exec|passthru|shell_exec)\b"),
    ),
}
"""Of each program, what in its code deletes, and what runs commands."""
_PROGRAMS = {"nodejs": "node", "deno": "node", "bun": "node", "jruby": "ruby"}
_TEXT = re.compile(r"'([^'\n]{1,2000})'|\"([^\"\n]{1,2000})\"")
_CODE_AFTER = re.compile(r"-[A-Za-z0-9]*[eEpr]|--eval|--print")
_SYSTEM = re.compile(r"system\s*(?:\(\s*)?\"((?:[^\"\\]|\\.){1,2000})\"")
_EMPTIES = re.compile(r"d|[0-9,$]*d|s(.)\.\*\1[^*]{0,20}\1g?")
_FINDS = frozenset(("glob", "iglob", "rglob", "walk", "iterdir", "listdir", "scandir"))
_REMOVES = frozenset(("remove", "unlink", "rmdir", "removedirs", "rmtree"))


def deletes_rows(sql: str) -> bool:
    """Whether a statement drops a table, or deletes or rewrites all its rows."""
    found = _SQL.search(sql)
    kept = (
        found is not None
        and found[0].lower().startswith(("delete", "update"))
        and "where" in sql[found.end() :].lower()
    )
    return found is not None and not kept and (not found[0].lower().startswith("update") or " set " in sql.lower())


def run_by(name: str, words: list[str]) -> tuple[list[str], list[str]]:
    """What code on the command line deletes, '.' where it cannot be told; and the commands that it runs."""
    known = _SCRIPTED.get(_PROGRAMS.get(name, name))
    if known is None:
        return [], []
    codes = [words[at + 1] for at, word in enumerate(words[:-1]) if _CODE_AFTER.fullmatch(word)]
    paths: list[str] = []
    commands: list[str] = []
    for code in codes:
        texts = [one or two for one, two in _TEXT.findall(code)]
        if known[0].search(code):
            paths += [text for text in texts if text not in ("fs", "node:fs", "fileutils", "rimraf")] or ["."]
        if known[1].search(code):
            commands += texts
    return paths, commands


def of_awk(code: str) -> list[str]:
    """The commands that awk code runs."""
    return [command.replace('\\"', '"') for command in _SYSTEM.findall(code)]


def of_sed(words: list[str]) -> list[str]:
    """The files of which a script of sed in place would leave nothing."""
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
    if not scripts:
        scripts, rest = rest[:1], rest[1:]
    return rest if any(_EMPTIES.fullmatch(script) for script in scripts) else []


def of_tar(words: list[str]) -> list[str]:
    """What is packed, and taken away by ``--remove-files``."""
    return [word for word in words if "." not in word.rpartition("/")[2] or "*" in word] and [
        word for word in words[1:] if not word.startswith("-") and ".tar" not in word and ".tgz" not in word
    ]


def looks_for_files(tree: ast.AST) -> list[str] | None:
    """The patterns of files that code looks for, if it deletes or empties what it finds; None where it does not."""
    calls = [node for node in ast.walk(tree) if isinstance(node, ast.Call)]
    finds = [call for call in calls if _called(call) in _FINDS]
    if not finds or not any(_takes_away(call) for call in calls):
        return None
    return [
        arg.value for call in finds for arg in call.args if isinstance(arg, ast.Constant) and isinstance(arg.value, str)
    ]


def _takes_away(call: ast.Call) -> bool:
    name, first = _called(call), call.args[0] if call.args else None
    if name in ("write_text", "write_bytes"):
        return isinstance(first, ast.Constant) and not first.value
    if name not in _REMOVES or isinstance(first, ast.Constant):
        return False
    owner = call.func.value if isinstance(call.func, ast.Attribute) else None
    return name != "remove" or (isinstance(owner, ast.Name) and owner.id == "os") or owner is None


def _called(call: ast.Call) -> str:
    return call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", "")


def texts_in(tree: ast.AST, name: str) -> list[str]:
    """The first arguments of all calls of a name, where they are plain."""
    calls = (node for node in ast.walk(tree) if isinstance(node, ast.Call) and _called(node) == name and node.args)
    firsts = (call.args[0] for call in calls)
    return [first.value for first in firsts if isinstance(first, ast.Constant) and isinstance(first.value, str)]


def empties_with(tree: ast.AST, call: ast.Call) -> bool:
    """Whether a file is opened for writing and closed at once."""
    mode = call.args[1] if len(call.args) > 1 else None
    writes = isinstance(mode, ast.Constant) and isinstance(mode.value, str) and mode.value.startswith("w")
    closed = (node.value for node in ast.walk(tree) if isinstance(node, ast.Attribute) and node.attr == "close")
    return writes and any(value is call for value in closed)
