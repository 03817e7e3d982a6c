"""codebase_search in a real sandbox: what it shows, in which words, and what it never shows."""

from __future__ import annotations

import shutil
import sys
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import pytest

from agentic.code_index.code_search import CodeSearch
from agentic.ports.runtime import Refused
from agentic.tools.files.codebase_search import codebase_search_tool
from agentic.tools.toolbox import STANDARD, StandardToolbox
from agentic.workspace.workspace import RealWorld

from .bench import Bench, open_bench

CART = '''import math


class Cart:
    """What somebody buys."""

    def roundedPrice(self, rate):
        cents = sum(item.price for item in self.items) * rate
        return math.floor(cents) / 100
'''
KEY = "ghp_0123456789abcdefghijABCDEFGHIJ012345"


@pytest.fixture
async def bench(tmp_path: Path) -> AsyncIterator[Bench]:
    """A bench whose toolbox searches code."""
    async with open_bench() as opened:
        search = CodeSearch(tmp_path / "index")

        async def world() -> RealWorld:
            return opened.world

        yield replace(opened, toolbox=StandardToolbox(world, (*STANDARD, codebase_search_tool(search))))
        await search.close()


async def test_places_are_shown_with_their_lines_best_first(bench: Bench) -> None:
    bench.put("shop/cart.py", CART)
    bench.put("shop/notes.md", "The price is discussed here.\n")
    bench.put("other/x.go", "package x\n\nfunc Sleep() {\n}\n")
    bench.put("data.bin", "a\0b")
    seen = await bench.call("codebase_search", query="Where is the price of a cart rounded?")
    assert seen.outcome == "ok"
    assert seen.preview.split("\n") == [
        "shop/cart.py:1-9  (Cart, roundedPrice)",
        "1\timport math",
        "4\tclass Cart:",
        '5\t    """What somebody buys."""',
        "7\t    def roundedPrice(self, rate):",
        "8\t        cents = sum(item.price for item in self.items) * rate",
        "9\t        return math.floor(cents) / 100",
        "",
        "shop/notes.md:1-1",
        "1\tThe price is discussed here.",
        "",
        "… 3 files were searched.",
        "… Not searched: 1 file, binary (such as data.bin).",
    ]
    one = await bench.call("codebase_search", query="price", limit=1)
    assert one.preview.count("\t") < 8
    assert "notes.md" not in one.preview
    below = await bench.call("codebase_search", query="price sleep", path="/workspace/other/")
    assert below.preview.startswith("other/x.go:1-4  (Sleep)\n")
    assert "cart.py" not in below.preview


async def test_what_was_just_written_is_found(bench: Bench) -> None:
    await bench.call("write", path="a.py", content="def before():\n    return 1\n")
    assert "a.py:1-2  (before)" in (await bench.call("codebase_search", query="before")).preview
    await bench.call("shell", command="sed -i s/before/afterwards/ a.py && mv a.py b.py")
    seen = await bench.call("codebase_search", query="afterwards")
    assert "b.py:1-2  (afterwards)" in seen.preview
    assert "a.py" not in seen.preview


async def test_what_cannot_be_searched_is_said_with_what_to_do(bench: Bench, tmp_path: Path) -> None:
    bench.put("a.py", "x = 1\n")
    assert "grep" in (await bench.call("codebase_search", query="?!")).preview
    assert "Nothing has to do with" in (await bench.call("codebase_search", query="zebra")).preview
    assert "does not exist" in (await bench.call("codebase_search", query="x", path="nowhere")).preview
    assert (await bench.call("codebase_search", query="x", path="../..")).outcome == "refused"
    for wrong in ({}, {"query": ""}, {"query": "x", "limit": 0}, {"query": "x", "limit": 21}, {"query": "x" * 1_001}):
        refused = bench.toolbox.prepare("codebase_search", wrong)
        assert isinstance(refused, Refused)
        assert "Example:" in refused.text
    shutil.rmtree(tmp_path / "index")
    (tmp_path / "index").write_text("a file in its place")
    seen = await bench.call("codebase_search", query="x")
    assert seen.outcome == "failed"
    assert seen.preview.startswith("The code cannot be searched now: its index cannot be kept: ")


@pytest.mark.wall("aiignore")
async def test_nothing_hidden_or_secret_is_shown(bench: Bench) -> None:
    """Also where the name is in the index already, where the file moved, and of a secret that begins above the lines shown."""
    bench.put("secret.py", "def canary():\n    return 'hidden words'\n")
    bench.put("keys/deep/k.py", "canary = 'hidden words'\n")
    bench.put("open.py", f"def canary():\n    token = '{KEY}'\n    return token\n")
    assert "hidden words" in (await bench.call("codebase_search", query="canary")).preview
    bench.put(".aiignore", "secret.py\nkeys/\n")
    await bench.call("shell", command="true")
    for query in ("canary", "hidden words", "k secret keys"):
        seen = await bench.call("codebase_search", query=query, limit=20)
        assert "hidden words" not in seen.preview.replace(query, "")
        assert not [line for line in seen.preview.split("\n") if line.startswith(("secret.py:", "keys/"))]
    shown = (await bench.call("codebase_search", query="canary token")).preview
    assert "open.py:1-3" in shown
    assert "[secret: GitHub token]" in shown
    assert KEY not in shown
    inner = "".join(f"MIIEpAIBAAKCAQEA{number:048}\n" for number in range(60))
    bench.put("pem.txt", f"-----BEGIN RSA PRIVATE KEY-----\n{inner}-----END RSA PRIVATE KEY-----\nparakeet\n")
    parts = (await bench.call("codebase_search", query="parakeet")).preview
    assert parts.startswith("pem.txt:41-63")
    assert "63\tparakeet" in parts
    assert "MIIEpAIB" not in parts
    for path in ("secret.py", "keys", "keys/deep"):
        refused = await bench.call("codebase_search", query="canary", path=path)
        assert refused.outcome == "refused"
        assert ".aiignore" in refused.preview
    await bench.call("shell", command="mv secret.py elsewhere.py; mv keys folder; true")
    moved = await bench.call("codebase_search", query="canary", limit=20)
    assert "hidden words" not in moved.preview
    (bench.workspace / "link.py").symlink_to("/etc/passwd")
    assert "root:" not in (await bench.call("codebase_search", query="root bin bash", limit=20)).preview
    assert "link.py" not in (await bench.call("codebase_search", query="link", limit=20)).preview


async def test_a_language_whose_grammar_is_not_installed_is_said(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "tree_sitter_go", None)
    bench.put("shop/cart.py", CART)
    seen = await bench.call("codebase_search", query="where is the price rounded")
    assert "cut by lines" not in seen.preview, "no file of that language was found"
    bench.put("shop/cart.go", "package shop\n\nfunc roundedPrice() {\n}\n")
    seen = await bench.call("codebase_search", query="where is the price rounded")
    assert (
        "… Files in go are cut by lines, not along their syntax: threadwright[code] is not installed. Add"
        in seen.preview
    )
    assert "shop/cart.go:1-4\n" in seen.preview
