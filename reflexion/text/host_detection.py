"""Names of hosts in a text: what could be reached over a network, told from files and from names in code.  Pure.

A dotted name is a host's where its last label is a top-level domain (there is a list of all) or one that only networks of
their own have.  Some of these are endings of files, too (``setup.py``, ``lib.rs``), and some are words that code ends
with (``app.run``, ``user.id``): such a name is a file's, or code's, where nothing else says that it is a host's.
"""

from __future__ import annotations

import re
import sys
from functools import cache
from pathlib import Path
from typing import Final

_LIST: Final = Path(__file__).parent.parent / "vocabulary" / "top-level-domains.txt"
_OWN_NETWORKS: Final = frozenset((
    "arpa", "corp", "example", "home", "intern", "internal", "intra", "intranet", "invalid", "lan", "local", "localdomain",
    "onion", "priv", "private", "svc", "test",
))  # fmt: skip
_ENDINGS: Final = frozenset((
    "bz", "cab", "cc", "cfg", "in", "map", "md", "ml", "mm", "ms", "pl", "pm", "ps", "pub", "py", "rs", "sh",
    "so", "st", "tf", "zip",
))  # fmt: skip
"""Top-level domains that files end with."""
_MIDDLES: Final = frozenset(("css", "config", "h", "html", "js", "json", "tar", "test", "ts", "txt", "yaml", "yml"))
_COMMON: Final = frozenset(("com", "de", "edu", "fr", "gov", "mil", "net", "org", "uk"))
"""Top-level domains with which hardly any code or file ends."""
_BEFORE: Final = frozenset((
    "app", "array", "buffer", "bufio", "button", "bytes", "cell", "client", "cls", "col", "column", "config",
    "console", "context", "ctx", "cursor", "data", "date", "db", "df", "dialog", "django", "document", "element",
    "entry", "err", "error", "errors", "event", "express", "field", "file", "flask", "fmt", "frame", "fs", "graph",
    "i", "image", "index", "item", "j", "key", "line", "list", "locator", "lodash", "log", "logger", "map", "math",
    "menu", "message", "mock", "model", "module", "my", "next", "node", "np", "null", "number", "numpy", "obj",
    "object", "option", "order", "os", "page", "pandas", "params", "path", "pd", "person", "pg", "player", "plt",
    "point", "post", "process", "product", "project", "promise", "prop", "props", "pytest", "query", "queue", "react",
    "record", "ref", "req", "request", "requests", "res", "response", "result", "root", "row", "rule", "schema",
    "scipy", "screen", "self", "series", "server", "session", "settings", "shape", "state", "store", "str", "string",
    "strings", "super", "sync", "table", "target", "task", "tensor", "tf", "this", "thread", "token", "torch", "user",
    "util", "utils", "val", "value", "view", "vue", "widget", "window", "word", "worker", "workers",
)) | frozenset(name.lower() for name in sys.stdlib_module_names)  # fmt: skip
"""Names that code has before a dot: modules, and what variables are called."""
_DOTTED: Final = re.compile(
    r"(?i)(?<![\w/\\.-])((?:[a-z0-9_](?:[\w-]*\w)?[.。])+)([a-z][a-z0-9-]+)(?![\w-])(?=(\(|[/:]\w)?)"
)


_SPOKEN: Final = re.compile(
    r"(?i)(?<![\w-])(?!(?:a|an|the|one|no|each|every|leading|trailing)\s)[\w-]+\s+dot\s+([a-z]{2,})\b"
)


def names_host(text: str) -> bool:
    """Whether a name of a host stands in it; the text as it is read, without look-alikes."""
    spoken = {each[1].lower() for each in _SPOKEN.finditer(text)}
    if any(last in _top_level() and (len(last) > 2 or last in _COMMON) for last in spoken):
        return True
    return any(
        _is_host(each[1].replace("。", ".").lower(), each[2].lower(), each[3] or "") for each in _DOTTED.finditer(text)
    )


def _is_host(before: str, last: str, after: str) -> bool:
    if last not in _OWN_NETWORKS and last not in _top_level():
        return False
    labels = before.rstrip(".").split(".")
    if "_" in labels[-1] or (after == "(" and last not in _COMMON):
        return False
    if after or last in _COMMON:
        return True
    if last in _ENDINGS:
        return len(labels) > 1 and not _is_ending(labels[-1])
    return len(labels) > 1 or labels[0] not in _BEFORE


def _is_ending(label: str) -> bool:
    """``bundle.js.map``, ``setup.cfg.in``."""
    return label in _ENDINGS or label in (
        "js",
        "css",
        "ts",
        "tar",
        "json",
        "yml",
        "yaml",
        "txt",
        "html",
        "h",
        "config",
        "test",
    )


@cache
def _top_level() -> frozenset[str]:
    return frozenset(_LIST.read_text(encoding="ascii").split("\n")[1:])
