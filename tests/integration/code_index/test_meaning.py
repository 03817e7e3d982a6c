"""Meaning beside words: an extra that is made in small pieces, kept by content, and missed without harm."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from pathlib import Path

import pytest

from agentic.code_index import code_search
from agentic.code_index.code_search import CodeFound, CodeSearch
from agentic.code_index.score_fusion import fused
from agentic.ports.errors import EmbeddingUnavailable
from tests.waiting import eventually

SECONDS = 60.0
TOPICS = (("rain", "umbrella", "weather"), ("invoice", "payment", "bill"))


class TopicModel:
    """A model of meaning that knows two topics: a vector has a component for each, and one for all else."""

    def __init__(self, name: str = "topics", broken: bool = False) -> None:
        self.name = name
        self.broken = broken
        self.texts: list[str] = []
        self.gate = asyncio.Event()
        self.gate.set()

    async def embed(self, texts: Sequence[str]) -> tuple[bytes, ...]:
        await self.gate.wait()
        if self.broken:
            raise EmbeddingUnavailable("it is broken")
        self.texts += texts
        return tuple(map(self._vector, texts))

    def _vector(self, text: str) -> bytes:
        about = [any(word in text.lower() for word in topic) for topic in TOPICS]
        return bytes([127 * each for each in about] + [0 if any(about) else 127])


def put(workspace: Path) -> None:
    """Twelve files, of which one is about rain and one about bills, in other words than are asked."""
    workspace.mkdir()
    for number in range(10):
        (workspace / f"m{number}.py").write_text(f"def plain_{number}():\n    return {number}\n")
    (workspace / "a.py").write_text("def open_umbrella():\n    return 'up'\n")
    (workspace / "b.py").write_text("def bill():\n    return 'sent'\n")


Opened = Callable[[TopicModel], CodeSearch]


@pytest.fixture
async def opened(tmp_path: Path) -> AsyncIterator[Opened]:
    """Opens searches over the same folder, and closes them."""
    searches: list[CodeSearch] = []

    def open_one(model: TopicModel) -> CodeSearch:
        searches.append(CodeSearch(tmp_path / "index", model))
        return searches[-1]

    yield open_one
    for search in searches:
        await search.close()


async def found_by(search: CodeSearch, workspace: Path, question: str) -> CodeFound:
    async with asyncio.timeout(SECONDS):
        return await search.search("t1", workspace, (), question, most=5)


async def until_embedded(search: CodeSearch, workspace: Path, question: str) -> CodeFound:
    async def whole() -> CodeFound | None:
        found = await found_by(search, workspace, question)
        return found if found.embedded >= found.to_embed else None

    found = await eventually(whole, "all is embedded")
    assert found is not None
    return found


async def test_what_shares_no_word_is_found_by_meaning_and_each_text_is_embedded_once(
    tmp_path: Path, opened: Opened
) -> None:
    workspace, model = tmp_path / "workspace", TopicModel()
    put(workspace)
    search = opened(model)
    found = await until_embedded(search, workspace, "weather")
    assert (found.embedded, found.to_embed) == (12, 12)
    assert found.places[0].path == "a.py"
    assert (await found_by(search, workspace, "payment")).places[0].path == "b.py"
    assert (await found_by(search, workspace, "plain_7")).places[0].path == "m7.py"
    code = [text for text in model.texts if "\n" in text]
    assert len(code) == len(set(code)) == 12
    (workspace / "a.py").rename(workspace / "moved.py")
    (workspace / "b.py").write_text("\n\ndef bill():\n    return 'posted'\n")
    renamed = await until_embedded(search, workspace, "weather")
    assert renamed.places[0].path == "moved.py"
    assert len([text for text in model.texts if "\n" in text]) == 13  # the changed one alone
    await search.close()
    other = TopicModel("other")  # vectors of two models are never compared
    search = opened(other)
    await until_embedded(search, workspace, "weather")
    assert len([text for text in other.texts if "\n" in text]) == 12


async def test_what_was_found_by_words_is_embedded_before_the_answer(
    tmp_path: Path, opened: Opened, monkeypatch: pytest.MonkeyPatch
) -> None:
    workspace, model = tmp_path / "workspace", TopicModel()
    put(workspace)
    monkeypatch.setattr(code_search, "EMBEDDED_AT_ONCE", 1)
    search = opened(model)
    await found_by(search, workspace, "umbrella")
    assert "open_umbrella" in model.texts[1]


@pytest.mark.parametrize("trouble", ["broken", "slow"])
async def test_without_meaning_words_find(
    tmp_path: Path, opened: Opened, trouble: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    workspace, model = tmp_path / "workspace", TopicModel(broken=trouble == "broken")
    put(workspace)
    if trouble == "slow":
        model.gate.clear()
        monkeypatch.setattr(code_search, "EMBED_SECONDS", 0.05)
    search = opened(model)
    for _ in range(2):
        found = await found_by(search, workspace, "umbrella")
        assert [place.path for place in found.places] == ["a.py"]
        assert (found.embedded, found.to_embed) == (0, 12)
    await search.close()  # also what waits for the model
    assert caplog.text.count("code is found by its words alone") == 1


def test_what_both_measures_like_comes_before_what_one_likes_best() -> None:
    assert fused({1: 10.0, 2: 9.0, 3: 1.0}, {4: 0.5, 2: 0.4, 1: -0.1}) == [2, 1, 4, 3]
    assert fused({3: 2.0, 1: 1.0}, {}) == [3, 1]
    assert fused({}, {1: 0.1, 2: 0.2}) == [2, 1]
    assert fused({}, {}) == []
    assert fused({}, {1: -0.5, 2: -0.2}) == [2, 1]
