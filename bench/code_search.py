"""How well code is found, and how fast it is taken in: the docstrings of rich, each looked for in the code without them.

The code is the package ``rich`` as ``requirements/run.txt`` pins it (so its content is known by a hash), every docstring taken
out.  A question is the first paragraph of a function's docstring, its answer the function's body: found is it where one of the
first five chunks overlaps it.  Which pairs count is said by the rules of CodeSearchNet (Husain et al., 2019): no functions of
less than three lines, no special methods, no tests, nothing said twice; of docstrings, none under five words (there: three).
Nothing else is left out.  All numbers of the ranking were chosen on this package; ``aiohttp``, on which none was, stands
beside it.
"""

from __future__ import annotations

import ast
import asyncio
import importlib.metadata
import os
import resource
import shutil
import tempfile
import time
from collections.abc import AsyncIterator, Awaitable, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from statistics import mean, median

import tree_sitter

from agentic.code_index.code_search import CodeFound, CodeSearch
from agentic.code_index.grammars import loaded
from agentic.ports.lookup import Embedder
from bench.figures import SMALL, Figure, size
from reflexion.retrieval.embedding import embedder

PACKAGE, BESIDE = "rich", "aiohttp"
FIRST = 5
WORDS, LINES = 5, 3
QUESTIONS = size("QUESTIONS", 10_000, 12)
CHANGES = size("CHANGES", 40, 3)
SECONDS = 1_800.0


@dataclass(frozen=True, slots=True)
class Asked:
    """The beginning of a docstring, and where the body of its function stands now."""

    question: str
    path: str
    first: int
    last: int


async def figures() -> AsyncIterator[Figure]:
    """How well, on both packages; then how fast."""
    model = embedder("auto")
    for package in (PACKAGE,) if SMALL else (PACKAGE, BESIDE):
        async for figure in how_well(package, model):
            yield figure
    async for figure in how_fast():
        yield figure


async def how_well(package: str, model: Embedder | None) -> AsyncIterator[Figure]:
    """The share of docstrings whose function is among the first five chunks."""
    aim = package == PACKAGE
    with tempfile.TemporaryDirectory() as folder:
        workspace = Path(folder) / "workspace"
        asked = without_docstrings(package, workspace)[:QUESTIONS]
        note = f"{package} {importlib.metadata.version(package)}, {len(asked)} docstrings"
        words = CodeSearch(Path(folder) / "words")
        share = mean([await _is_found(words, workspace, each) for each in asked])
        await words.close()
        yield Figure(f"code recall@5 by words, {package}", share, "share", ">=", 0.75 if aim else None, note)
        if model is None:
            return
        both = CodeSearch(Path(folder) / "both", model)
        found = await _asked(both, workspace, asked[0].question)
        early = [await _is_found(both, workspace, each) for each in asked[:30]]
        async with asyncio.timeout(SECONDS):
            while found.embedded < found.to_embed:
                await asyncio.sleep(1.0)
                found = await _asked(both, workspace, asked[0].question)
        share = mean([await _is_found(both, workspace, each) for each in asked])
        await both.close()
        much = f"{note}; {found.embedded} chunks embedded"
        yield Figure(f"code recall@5 by both, {package}", share, "share", ">=", 0.85 if aim else None, much)
        note = f"the first {len(early)} docstrings, asked while the chunks are being embedded"
        yield Figure(f"code recall@5 by both while it is made, {package}", mean(early), "share", note=note)


async def how_fast() -> AsyncIterator[Figure]:
    """Taking in a package beside a bare parse of the same bytes, then one changed file of it."""
    with tempfile.TemporaryDirectory() as folder:
        workspace = Path(folder) / "workspace"
        _copied(PACKAGE, workspace)
        sources = [path.read_bytes() for path in workspace.rglob("*.py")]
        lines = sum(source.count(b"\n") for source in sources)
        parser = tree_sitter.Parser(loaded("python")[0])
        bare = min([await _spent(_parsed(parser, sources)) for _ in range(3)])
        runs: list[float] = []
        for number in range(3):  # what only the first one costs, a process and its memory, is no part of it
            one = await _spent(_searched(Path(folder) / f"one{number}", workspace))
            four = await _spent(_searched(Path(folder) / f"four{number}", *[workspace] * 4))
            runs.append((four - one) / 3)
        took = min(runs)
        each, alone = took / lines * 1e6, bare / lines * 1e6
        note = f"processor time, {lines:,} lines of {PACKAGE}: {each:.1f} ms for 1,000, a bare parse {alone:.1f}"
        yield Figure("code index, against a bare parse", took / bare, "times", "<=", 3, note)
        for name, aim in (("table.py", 50), ("console.py", None))[: 1 if SMALL else 2]:
            path = workspace / PACKAGE / name
            clock: list[float] = []
            search = CodeSearch(Path(folder) / f"one-{path.stem}")
            await _asked(search, workspace, "warm")
            count = path.read_text().count("\n")
            before = time.process_time()
            for number in range(CHANGES):
                path.write_text(f"{path.read_text()}\n\ndef added_{number}():\n    return {number}\n")
                began = time.perf_counter()
                found = await _asked(search, workspace, f"added_{number}")
                clock.append((time.perf_counter() - began) * 1_000)
                assert found.update.cut == 1
            own = (time.process_time() - before) / CHANGES * 1_000
            await search.close()
            note = f"{path.name} of {count:,} lines, among {len(sources)}, and a search; {own:.0f} ms of processor time here"
            note = f"{note}, fastest {min(clock):.0f} ms"
            yield Figure(
                f"code index, one changed file of {count:,} lines, median", median(clock), "ms", "<=", aim, note
            )


async def _spent(work: Awaitable[None]) -> float:
    """Seconds of the processor, also of processes that have ended meanwhile."""
    before = _processor()
    await work
    return _processor() - before


def _processor() -> float:
    own, ended = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return own.ru_utime + own.ru_stime + ended.ru_utime + ended.ru_stime


async def _parsed(parser: tree_sitter.Parser, sources: Sequence[bytes]) -> None:
    for source in sources:
        parser.parse(source)


async def _searched(index: Path, *workspaces: Path) -> None:
    """Search each workspace once, in one search that begins and ends."""
    search = CodeSearch(index)
    for number, workspace in enumerate(workspaces):
        await _asked(search, workspace, "console", f"t{number}")
    await search.close()


def without_docstrings(package: str, workspace: Path) -> list[Asked]:
    """Copy a package without its docstrings; what is asked of it, in the order of its files."""
    root = _copied(package, workspace)
    asked: dict[str, list[Asked]] = {}
    for path in sorted(root.rglob("*.py")):
        text = path.read_text("utf-8")
        lines, tree = text.split("\n"), ast.parse(text)
        gone: set[int] = set()
        functions: list[tuple[str, int, int]] = []
        for node in ast.walk(tree):
            if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef | ast.Module):
                continue
            said = ast.get_docstring(node)
            if said is None or (len(node.body) == 1 and not isinstance(node, ast.Module)):
                continue  # without it, nothing would be left
            docstring = node.body[0]
            gone.update(range(docstring.lineno, (docstring.end_lineno or docstring.lineno) + 1))
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and not node.name.startswith(("__", "test")):
                functions.append((_first_paragraph(said), node.body[1].lineno, node.end_lineno or 0))
        kept = [number for number in range(1, len(lines) + 1) if number not in gone]
        places = {old: new for new, old in enumerate(kept, 1)}
        path.write_text("\n".join(lines[number - 1] for number in kept), "utf-8")
        name = str(path.relative_to(workspace))
        for question, first, last in functions:
            if len(question.split()) >= WORDS and last - first + 1 >= LINES:
                asked.setdefault(question, []).append(Asked(question, name, places[first], places[last]))
    return [each for same in asked.values() if len(same) == 1 for each in same]


def _copied(package: str, workspace: Path) -> Path:
    spec = find_spec(package)
    assert spec is not None
    assert spec.origin is not None
    shutil.copytree(os.path.dirname(spec.origin), workspace / package, ignore=shutil.ignore_patterns("*.pyc", "*.so"))
    for path in (workspace / package).rglob("*.py"):
        if SMALL and path.name not in ("bar.py", "table.py"):
            path.unlink()
    return workspace / package


def _first_paragraph(docstring: str) -> str:
    return " ".join(docstring.split("\n\n")[0].split())


async def _is_found(search: CodeSearch, workspace: Path, asked: Asked) -> bool:
    found = await _asked(search, workspace, asked.question)
    return any(
        place.path == asked.path and place.first <= asked.last and asked.first <= place.last for place in found.places
    )


async def _asked(search: CodeSearch, workspace: Path, question: str, thread: str = "t1") -> CodeFound:
    return await search.search(thread, workspace, (), question, most=FIRST)
