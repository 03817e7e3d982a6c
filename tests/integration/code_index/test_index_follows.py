"""The index follows the files: what is new, changed, moved, deleted, ignored or hidden; it survives damage and kills."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from agentic.code_index import code_search, workspace_files
from agentic.code_index.code_search import CodeFound, CodeSearch
from tests.waiting import eventually

SECONDS = 60.0
HOPELESS = b"a|" * 100_000
HALF_WAY = """
import asyncio, sys
from pathlib import Path
from agentic.code_index.code_search import CodeSearch

root, workspace = map(Path, sys.argv[1:])
wal = root / "t1.sqlite-wal"

def stop(event, _):
    if event == "open" and wal.exists() and wal.stat().st_size > 200_000:
        print("half way", flush=True)
        sys.stdin.read()

sys.addaudithook(stop)
asyncio.run(CodeSearch(root).search("t1", workspace, (), "x", most=1))
"""


class Searcher:
    """Searches in one workspace."""

    def __init__(self, folder: Path) -> None:
        self.root = folder / "index"
        self.workspace = folder / "workspace"
        self.workspace.mkdir()
        self.search = CodeSearch(self.root)
        self.hidden: tuple[str, ...] = ()

    def put(self, path: str, text: str | bytes) -> Path:
        place = self.workspace / path
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(text.encode() if isinstance(text, str) else text)
        return place

    async def find(self, question: str, path: str = "") -> CodeFound:
        async with asyncio.timeout(SECONDS):
            return await self.search.search("t1", self.workspace, self.hidden, question, path=path, most=20)

    async def places(self, question: str, path: str = "") -> list[str]:
        return [place.path for place in (await self.find(question, path)).places]


@pytest.fixture
async def searcher(tmp_path: Path) -> AsyncIterator[Searcher]:
    made = Searcher(tmp_path)
    yield made
    await made.search.close()


async def test_only_what_changed_is_read_and_only_other_content_is_cut_again(searcher: Searcher) -> None:
    for number in range(20):
        searcher.put(f"src/m{number}.py", f"def number{number}():\n    return 'common'\n")
    first = await searcher.find("common")
    assert (first.update.files, first.update.cut, len(first.places)) == (20, 20, 20)
    while (again := await searcher.find("common")).update.read:  # its times are believed once the clock has moved on
        assert again.update.cut == 0
    searcher.put("src/m3.py", "def changed():\n    return 'otherwise'\n")
    seen = await searcher.find("otherwise")
    assert (seen.update.cut, [place.path for place in seen.places]) == (1, ["src/m3.py"])
    assert seen.places[0].names == "changed"
    (searcher.workspace / "src/m4.py").rename(searcher.workspace / "moved.py")
    (searcher.workspace / "src/m5.py").unlink()
    assert await searcher.places("number4") == ["moved.py"]
    assert await searcher.places("number5") == []
    assert len(await searcher.places("common")) == 18
    assert len(await searcher.places("common", "src")) == 17
    assert await searcher.places("common", "src/m1.py") == ["src/m1.py"]
    assert await searcher.places("common", "src/m1") == []
    os.utime(searcher.workspace / "moved.py", (1, 1))
    touched = await searcher.find("number4")
    assert touched.update.read >= 1
    assert touched.update.cut == 0


async def test_what_is_ignored_or_hidden_later_leaves_the_index_and_comes_back(searcher: Searcher) -> None:
    searcher.put("a.py", "canary = 1\n")
    searcher.put("deep/b.py", "canary = 2\n")
    searcher.put("deep/c.py", "canary = 3\n")
    assert sorted(await searcher.places("canary")) == ["a.py", "deep/b.py", "deep/c.py"]
    rules = searcher.put(".gitignore", "deep/*\n!c.py\n")
    assert sorted(await searcher.places("canary")) == ["a.py", "deep/c.py"]
    searcher.hidden = ("a.py",)
    assert await searcher.places("canary") == ["deep/c.py"]
    searcher.hidden = ("deep",)
    assert await searcher.places("canary") == ["a.py"]
    searcher.hidden = ()
    rules.unlink()
    assert sorted(await searcher.places("canary")) == ["a.py", "deep/b.py", "deep/c.py"]


async def test_files_are_ignored_as_git_ignores_them(searcher: Searcher) -> None:
    """Held against ``git ls-files``: nested files, exceptions, folders, the repository's own list, a repository in it."""
    git = ["git", "-C", str(searcher.workspace), "-c", "core.excludesFile=", "-c", "safe.directory=*"]
    subprocess.run([*git, "init", "-q", "."], check=True)
    names = ("a.py", "a.log", "keep.log", "build/out.py", "src/build/x.py", "src/a.log", "src/keep.log", "src/deep/a.tmp",
             "src/deep/z.py", "doc/x/y/z.md", "doc/z.md", "own.cfg", "sub/own.cfg", "#sharp", "sp ace ", "[b].py", "b.py",
             "lib/important/kept.py", "lib/other.py")  # fmt: skip
    for name in names:
        searcher.put(name, "canary\n")
    searcher.put(".gitignore", "*.log\n!keep.log\n/build/\ndoc/**/z.md\n\\#sharp\nlib/*\n!lib/important/\n[b].py\n")
    searcher.put("src/.gitignore", "keep.log\n*.tmp\n!/a.log\n")
    searcher.put("src/deep/.gitignore", "!a.tmp\nz.py\n")
    searcher.put(".git/info/exclude", "own.cfg\n!keep.log\n")
    told = subprocess.run([*git, "ls-files", "-coz", "--exclude-standard"], check=True, capture_output=True, text=True)
    expected = sorted(name for name in told.stdout.split("\0") if name in names)
    assert {"keep.log", "src/a.log", "src/deep/a.tmp", "lib/important/kept.py"} <= set(expected)
    assert not {"src/keep.log", "build/out.py", "own.cfg", "b.py", "lib/other.py"} & set(expected)
    assert sorted(await searcher.places("canary")) == expected
    searcher.put("inner/.git/HEAD", "ref: refs/heads/main\n")
    searcher.put("inner/a.log", "canary\n")
    assert "inner/a.log" in await searcher.places("canary", "inner")


async def test_what_is_no_text_or_too_large_or_too_many_is_left_out_and_said(
    searcher: Searcher, monkeypatch: pytest.MonkeyPatch
) -> None:
    searcher.put("a.py", "canary\n")
    searcher.put("b.bin", b"canary\0")
    searcher.put("large.csv", b"canary\n" * 150_000)
    searcher.put("node_modules/c.js", "canary\n")
    searcher.put("crlf.py", "def canary():\r\n    pass\r\n")
    (searcher.workspace / "link.py").symlink_to("a.py")
    os.mkfifo(searcher.workspace / "pipe.py")
    for _ in range(2):  # also where it is known already
        found = await searcher.find("canary")
        assert sorted(place.path for place in found.places) == ["a.py", "crlf.py"]
        assert found.update.left_out.counts == {"binary": 1, "more than 1 MB": 1}
        assert found.update.left_out.examples == {"binary": "b.bin", "more than 1 MB": "large.csv"}
    monkeypatch.setattr(workspace_files, "MOST_FILES", 2)
    searcher.put("z.py", "canary\n")
    assert await searcher.places("canary") == ["a.py"]  # the other one is binary
    assert (await searcher.find("canary")).update.left_out.counts[workspace_files.TOO_MANY] == 2
    monkeypatch.setattr(workspace_files, "MOST_SEEN", 5)
    none = await searcher.find("canary")
    assert (none.places, none.update.left_out.examples) == ((), {workspace_files.TOO_MANY: "."})


async def test_an_update_that_takes_long_goes_on_at_the_next_search(
    searcher: Searcher, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(5):
        searcher.put(f"m{number}.py", "canary\n")
    monkeypatch.setattr(code_search, "UPDATE_SECONDS", -1.0)
    found = await searcher.find("canary")
    assert (found.places, found.update.waiting) == ((), 5)
    monkeypatch.setattr(code_search, "UPDATE_SECONDS", 20.0)
    assert len(await searcher.places("canary")) == 5


async def test_a_damaged_index_is_made_anew_and_a_forgotten_one_is_gone(searcher: Searcher) -> None:
    for number in range(200):
        searcher.put(f"m{number}.py", f"def canary_{number}():\n    return {number}\n" * 10)
    assert (await searcher.places("canary_7"))[0] == "m7.py"
    (file,) = searcher.root.glob("*.sqlite")
    whole = file.read_bytes()
    noise = os.urandom(len(whole) - 4_096)
    for damaged in (b"no database", whole[:5_000], whole[:4_096] + noise, b"", whole[:100] + bytes(4_000)):
        file.write_bytes(damaged)
        found = await searcher.find("canary_7")
        assert found.update.files == 200
        assert found.places[0].path == "m7.py"
    await searcher.search.forget("t1")
    assert list(searcher.root.iterdir()) == []
    assert (await searcher.find("canary_7")).places[0].path == "m7.py"


async def test_a_stop_ends_the_reading_at_once_and_the_next_search_is_whole(searcher: Searcher) -> None:
    hopeless = [searcher.put(f"m{number}.sh", HOPELESS) for number in range(8)]
    searcher.put("z.py", "canary\n")
    searching = asyncio.create_task(searcher.find("canary"))
    await eventually(lambda: list(searcher.root.glob("*.sqlite")))
    searching.cancel()
    async with asyncio.timeout(SECONDS):
        assert (await asyncio.gather(searching, return_exceptions=True))[0].__class__ is asyncio.CancelledError
    for file in hopeless:
        file.unlink()
    assert await searcher.places("canary") == ["z.py"]


async def test_a_kill_in_an_update_leaves_an_index_that_goes_on(searcher: Searcher) -> None:
    for number in range(900):
        searcher.put(f"m{number:03}.txt", f"canary_{number}\n" * 40)
    running = await asyncio.create_subprocess_exec(
        sys.executable, "-c", HALF_WAY, str(searcher.root), str(searcher.workspace),
        stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE,
    )  # fmt: skip
    assert running.stdout is not None
    async with asyncio.timeout(SECONDS):
        assert await running.stdout.readline() == b"half way\n"
    running.kill()
    await running.wait()
    found = await searcher.find("canary_899")
    assert found.places[0].path == "m899.txt"
    assert found.update.files == 900


async def test_a_workspace_that_cannot_be_read_is_said(searcher: Searcher) -> None:
    from agentic.ports.errors import StoreUnavailable

    searcher.workspace.rmdir()
    with pytest.raises(StoreUnavailable, match="the workspace cannot be read"):
        await searcher.find("anything")
