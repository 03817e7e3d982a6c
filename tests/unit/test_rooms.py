"""The rules that keep rooms as they are: how modules are named, who imports whom."""

from __future__ import annotations

import ast
from collections import defaultdict
from functools import cache
from pathlib import Path

from tests.unit.test_house import PACKAGES, ROOT, place, sources

MIRRORED = ("agentic/models/", "agentic/sandbox/supervisor/", "agentic/stores/aws/", "bot/local_discord/")
"""Adapters that mirror each other, and programs that run by themselves."""
MIRRORED_CLASSES = tuple(name for name in MIRRORED if "aws" not in name) + tuple(
    f"agentic/stores/aws/{folder}/" for folder in ("subjects", "followers")
)


@cache
def modules() -> dict[str, ast.Module]:
    """Each module of the product by its dotted name."""
    return {_dotted(path): ast.parse(path.read_text("utf-8")) for path in sources(*PACKAGES)}


def _dotted(path: Path) -> str:
    return ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")


def _imported(name: str, tree: ast.Module) -> set[str]:
    """The modules of the product that it imports, also those imported for types alone."""
    found = set[str]()
    package = name if (ROOT / name.replace(".", "/")).is_dir() else name.rpartition(".")[0]
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            above = package.split(".")[: len(package.split(".")) - node.level + 1] if node.level else []
            source = ".".join([*above, *([node.module] if node.module else [])])
            found |= {f"{source}.{alias.name}" for alias in node.names}
    return {_known(each) for each in found} - {"", name}


def _known(name: str) -> str:
    while name and name not in modules():
        name = name.rpartition(".")[0]
    return name


def test_a_base_name_stands_once_in_a_distribution() -> None:
    held = defaultdict[tuple[str, str], list[str]](list)
    for path in sources(*PACKAGES):
        name = place(path)
        if path.name not in {"__init__.py", "__main__.py"} and not name.startswith(MIRRORED):
            held[name.split("/")[0], path.stem].append(name)
    assert [names for names in held.values() if len(names) > 1] == []


def test_the_name_of_a_public_class_stands_once() -> None:
    held = defaultdict[tuple[str, str], list[str]](list)
    for name, tree in modules().items():
        if not name.replace(".", "/").startswith(MIRRORED_CLASSES):
            for node in tree.body:
                if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                    held[name.split(".")[0], node.name].append(name)
    assert [(key[1], names) for key, names in held.items() if len(names) > 1] == []


def test_no_modules_import_each_other() -> None:
    """Neither directly nor in a circle, types included."""
    left = {name: _imported(name, tree) for name, tree in modules().items()}
    while free := [name for name, needs in left.items() if not needs & left.keys()]:
        for name in free:
            del left[name]
    while unused := [name for name in left if not any(name in needs for needs in left.values())]:
        for name in unused:
            del left[name]
    assert {name: sorted(needs & left.keys()) for name, needs in sorted(left.items())} == {}
