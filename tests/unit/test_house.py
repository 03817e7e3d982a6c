"""The rules of the house that no linter knows: names, and what may not stand in a tracked file."""

from __future__ import annotations

import ast
import os
import re
import subprocess
import sys
from functools import cache
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from tests.faults.catalogue import rows

ROOT = Path(__file__).parent.parent.parent
SAYS_NOTHING = {"util", "utils", "helper", "helpers", "common", "manager", "managers", "misc", "stuff"}
"""Names of modules that say nothing of what is inside."""
PACKAGES = ("bot", "agentic", "reflexion")
BINARY = {".png", ".webp", ".jpg", ".gif", ".ico", ".db", ".gz", ".whl"}

# Written so that this file does not hold what it looks for.
OF_A_MACHINE = re.compile(r"(?<![\w./-])/(?:wor[k]/\w|Use[r]s/\w|tmp/brie[f]|home/(?!agent\b|you\b)\w)")
INDEX_OPTION = re.compile(
    r"--(?:extra-)?inde[x]-url|--find-link[s]|--trusted-hos[t]|registr[y]=http|/simpl[e]/?(?:\s|$|['\"])"
)
UNFINISHED = re.compile(r"#.*\b(?:TOD[O]|FIXM[E]|XX[X])\b|\bNotImplementedErro[r]\b")
FAULT_TEST = re.compile(r"^test_f(\d{1,3})_")
IN_BACKTICKS = re.compile(r"`([^`\s]+)`")
OF_THE_TREE = re.compile(r"^(?:bot|agentic|reflexion|tests|docs|deploy|bench|requirements)/[\w./*-]+$")
LINK = re.compile(r"(?:\]\(|(?:src|srcset|href)=\")([^)\s#\"]*)(?:#([^)\s\"]+))?[)\"]")
"""The file and the heading that a document points at; a part of itself where there is no file."""
CODE_BLOCK = re.compile(r"^```.*?^```", re.MULTILINE | re.DOTALL)
HEADING = re.compile(r"^#{1,6} +(.+?)\s*$", re.MULTILINE)


@cache
def tracked() -> tuple[Path, ...]:
    """The files of the repository, as git or, without it, the folders have them."""
    listed = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT, capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip
    names = listed.stdout.splitlines() if listed.returncode == 0 else []
    found = [ROOT / name for name in names] or [
        path for top in (*PACKAGES, "tests") for path in (ROOT / top).rglob("*")
    ]
    return tuple(path for path in found if path.is_file() and "__pycache__" not in path.parts)


def texts() -> list[tuple[Path, str]]:
    return [(path, path.read_text(encoding="utf-8")) for path in tracked() if path.suffix not in BINARY]


SETS = ROOT / "tests/walls/sets/gates"
"""A workspace of somebody, as people leave it."""


def sources(*tops: str) -> list[Path]:
    return [path for path in tracked() if path.suffix == ".py" and path.relative_to(ROOT).parts[0] in tops]


def place(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


def found_in(pattern: re.Pattern[str], files: list[tuple[Path, str]]) -> list[str]:
    return [
        f"{place(path)}:{number}: {line.strip()[:120]}"
        for path, text in files
        for number, line in enumerate(text.splitlines(), 1)
        if pattern.search(line)
    ]


def test_there_is_something_to_look_at() -> None:
    assert len(sources(*PACKAGES)) > 50
    assert len(tracked()) > 100


def test_no_module_has_a_name_that_says_nothing() -> None:
    names = [
        place(path)
        for path in sources(*PACKAGES, "tests", "bench")
        if {*path.stem.split("_"), path.parent.name} & SAYS_NOTHING
    ]
    assert names == []


def test_no_tracked_file_names_a_path_of_somebodys_machine() -> None:
    assert found_in(OF_A_MACHINE, texts()) == []


def test_no_tracked_file_names_a_package_index() -> None:
    assert found_in(INDEX_OPTION, [each for each in texts() if each[0].suffix != ".html"]) == []


def test_no_tracked_file_names_the_index_this_machine_installs_from() -> None:
    listed = subprocess.run(
        [sys.executable, "-m", "pip", "config", "list"], capture_output=True, text=True, timeout=60, check=False
    )
    configured = [listed.stdout, *(value for name, value in os.environ.items() if name.startswith(("PIP_", "UV_")))]
    hosts = {urlsplit(address).hostname for text in configured for address in re.findall(r"https?://[^\s'\"]+", text)}
    for host in hosts - {None, "localhost", "127.0.0.1", "pypi.org"}:
        assert found_in(re.compile(re.escape(str(host))), texts()) == []


def test_nothing_is_left_unfinished() -> None:
    files = [(path, path.read_text()) for path in sources(*PACKAGES, "tests", "bench") if SETS not in path.parents]
    assert found_in(UNFINISHED, files) == []


def test_private_words_go_through_one_place() -> None:
    files = [(path, path.read_text()) for path in sources("bot") if "local_discord" not in path.parts]
    private = found_in(re.compile(r"\bephemeral=|\bctx\.(reply|defer)\("), files)
    assert [line for line in private if not line.startswith("bot/cogs/private_replies.py")] == []


MOST_PARAMETERS = 10
STILL_OVER = {"reflexion/service.py: Reflexion"}
"""Constructors that are given more, until their parts are given together."""


def test_a_constructor_is_given_at_most_ten_things() -> None:
    over = {
        f"{place(path)}: {each.name}"
        for path in sources(*PACKAGES)
        for each in ast.walk(ast.parse(path.read_text()))
        if isinstance(each, ast.ClassDef) and _parameters(each) > MOST_PARAMETERS
    }
    assert over == STILL_OVER


def _parameters(of: ast.ClassDef) -> int:
    made = [each.args for each in of.body if isinstance(each, ast.FunctionDef) and each.name == "__init__"]
    return max((len([*args.posonlyargs, *args.args[1:], *args.kwonlyargs]) for args in made), default=0)


@pytest.mark.parametrize("package", PACKAGES)
def test_each_module_says_what_it_is_for(package: str) -> None:
    bare = [
        place(path)
        for path in sources(package)
        if (text := path.read_text()).strip() and not ast.get_docstring(ast.parse(text))
    ]
    assert bare == []


def test_each_prompt_begins_with_its_reason() -> None:
    prompts = [(path, text) for path, text in texts() if path.parent.name == "prompts" and path.suffix == ".md"]
    assert prompts
    assert [place(path) for path, text in prompts if not text.startswith("<!--")] == []


def test_each_test_of_a_fault_is_named_after_a_row_of_the_catalogue() -> None:
    known = {row.number for row in rows()}
    assert known == set(range(1, 101))
    wrong: list[str] = []
    for path in sources("tests"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name.startswith("test_"):
                row = FAULT_TEST.match(node.name)
                unknown = row is not None and int(row[1]) not in known
                unnamed = row is None and path.parent.name == "faults" and path.name != "test_ledger.py"
                wrong += [f"{place(path)}: {node.name}"] if unknown or unnamed else []
    assert wrong == []


@pytest.mark.parametrize("doc", [path for path in tracked() if path.suffix == ".md"], ids=place)
def test_documents_speak_only_of_what_exists(doc: Path) -> None:
    text = doc.read_text(encoding="utf-8")
    named = [ROOT / name.rstrip("/") for name in IN_BACKTICKS.findall(text) if OF_THE_TREE.match(name)]
    links = [(name, heading) for name, heading in LINK.findall(text) if not re.match(r"[a-z]+:", name)]
    gone = [str(path) for path in (*named, *(doc.parent / name for name, _ in links)) if not _exists(path)]
    assert [name.removeprefix(f"{ROOT}/") for name in gone] == []
    pointed = [(doc.parent / name if name else doc, heading) for name, heading in links if heading]
    assert [heading for path, heading in pointed if heading not in anchors(path)] == []


def anchors(doc: Path) -> set[str]:
    """What a link may point at inside a document: its headings, as GitHub writes them in an address."""
    headings = HEADING.findall(CODE_BLOCK.sub("", doc.read_text(encoding="utf-8")))
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def test_a_heading_is_pointed_at_as_github_writes_it(tmp_path: Path) -> None:
    doc = tmp_path / "page.md"
    doc.write_text("# What it is, and for whom\n```\n# no heading\n```\n## `make run`: start\n")
    assert anchors(doc) == {"what-it-is-and-for-whom", "make-run-start"}
    assert LINK.findall('[a](b.md#c) <img src="d.png"> [e](#f)') == [("b.md", "c"), ("d.png", ""), ("", "f")]


def _exists(path: Path) -> bool:
    if "*" in path.name:
        return any(path.parent.glob(path.name))
    return path.exists()
