"""What somebody looks for, read from what they typed, and where it stands in a text."""

from __future__ import annotations

import time

import pytest

from agentic.text.word_query import LONGEST, WordQuery, composed, folded


@pytest.mark.parametrize(
    ("typed", "phrases"),
    [
        ("Fix Tests", (("fix",), ("tests",))),
        ('"fix the tests" now', (("fix", "the", "tests"), ("now",))),
        ("src/main.py", (("src", "main", "py"),)),
        ('an "open', (("an",), ("open",))),
        ("a a", (("a",),)),
        ('!? _ \0 ""', ()),
        ("", ()),
        ("É e\u0301", (("e",),)),
    ],
)
def test_words_and_quoted_phrases_are_read_and_signs_are_not(typed: str, phrases: tuple[tuple[str, ...], ...]) -> None:
    assert WordQuery.of(typed).phrases == phrases


@pytest.mark.parametrize(
    ("typed", "text", "found"),
    [
        ("test", "Run the Tests, test it", ["Tests", "test"]),
        ("main.py src", "src/main.py", ["src", "main.py"]),
        ('"the tests"', "the many tests", []),
        ("cafe", "Café", ["Café"]),
        ("one two", "only one", []),
        ("est", "tests", []),
        ("отчет", "Новый Отчёт", ["Отчёт"]),
        ("한국", "한국어", ["한국어"]),
        ("", "text", []),
    ],
)
def test_places_are_where_every_phrase_stands(typed: str, text: str, found: list[str]) -> None:
    text = composed(text)
    assert [text[begin:end] for begin, end in WordQuery.of(typed).places(text)] == found


def test_folding_takes_capitals_and_accents_away() -> None:
    assert [folded(word) for word in ("ABC", "Ärger", "İ", "ß", "Йод")] == ["abc", "arger", "i", "ß", "иод"]
    assert [folded(word) for word in ("한국", "が")] == ["한국", "が"], "composed, and no other letter"


def test_what_is_beyond_the_longest_query_is_not_read() -> None:
    assert len(WordQuery.of("ab " * 4_000).phrases) == 1
    assert sum(len(word) for phrase in WordQuery.of("x" * 4_000).phrases for word in phrase) == LONGEST


@pytest.mark.parametrize("typed", ["a " * 100, '"' + "a " * 99 + '"', "a/" * 100, '"' * 200])
def test_a_foreign_text_takes_time_in_proportion_to_its_length(typed: str) -> None:
    query = WordQuery.of(typed)

    def seconds(length: int) -> float:
        began = time.process_time()
        query.places("a " * length)
        return time.process_time() - began

    short, long = (min(seconds(length) for _ in range(3)) for length in (1_000, 10_000))
    assert long < 30 * max(short, 0.001)
