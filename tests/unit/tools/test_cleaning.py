"""Output of commands becomes plain text, whatever they wrote."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentic.tools.base.terminal_text import (
    StreamCleaner,
    clean,
    clean_bytes,
    one_line,
    visible,
)

PIECES = st.sampled_from(
    ["\x1b", "[", "]", "31", "m", "0;", "\x07", "\\", "P", "\x9b", "\x9d", "\r", "\n", "\x08", "a", "é", "\0", "\ud800"]
)
WILD = st.lists(st.one_of(PIECES, st.text(max_size=3)), max_size=40).map("".join)


@pytest.mark.parametrize(
    ("raw", "plain"),
    [
        ("\x1b[31mred\x1b[0m", "red"),
        ("\x1b[1;38;5;200mx\x1b[K", "x"),
        ("\x1b]0;title\x07text", "text"),
        ("\x1b]8;;http://x\x1b\\link\x1b]8;;\x1b\\", "link"),
        ("\x1b]52;c;c2VjcmV0\x07after", "after"),
        ("\x1b]never ended\nnext line", "\nnext line"),
        ("\x1bPdevice\x1b\\x", "x"),
        ("\x9b31mx", "x"),
        ("\x1b(Bx\x1b=y", "xy"),
        ("10%\r50%\r100%\n", "100%\n"),
        ("one\r\ntwo\r\n", "one\ntwo\n"),
        ("one\r\r\ntwo", "one\ntwo"),
        ("ab\x08c", "ac"),
        ("line\n\x08x", "line\nx"),
        ("nul\0here", "nul\N{REPLACEMENT CHARACTER}here"),
        ("bell\x07, tab\t", "bell, tab\t"),
        ("end with return\r", "end with return"),
    ],
)
def test_what_a_terminal_would_have_drawn_is_left(raw: str, plain: str) -> None:
    assert clean(raw) == plain


@given(WILD)
def test_nothing_that_acts_on_a_terminal_is_left_and_cleaning_twice_changes_nothing(raw: str) -> None:
    once = clean(raw)
    assert not [c for c in once if (ord(c) < 32 and c not in "\n\t") or 0x7F <= ord(c) <= 0x9F]
    assert clean(once) == once
    once.encode()


@given(st.text(st.characters(min_codepoint=32, exclude_characters="\x7f", exclude_categories=["Cs", "Cc"])))
def test_plain_text_is_left_as_it_is(text: str) -> None:
    assert clean(text) == text
    assert visible(text) == text


@given(st.binary(max_size=200))
def test_any_bytes_become_text_that_can_be_encoded(data: bytes) -> None:
    clean_bytes(data).encode()


@pytest.mark.parametrize("piece", ["\x1b]", "\x1b[", "\x1b[1;", "\r", "\x08", "\x1bP", "x\r", "\x9b"])
def test_broken_sequences_without_end_are_cleaned_in_linear_time(piece: str) -> None:
    started = time.process_time()
    clean(piece * 200_000)
    assert time.process_time() - started < 2


@given(WILD, st.integers(1, 5))
def test_a_stream_in_pieces_never_shows_a_control_character(raw: str, size: int) -> None:
    cleaner = StreamCleaner()
    shown = "".join(cleaner.clean(raw[at : at + size]) for at in range(0, len(raw), size))
    assert "\x1b" not in shown


def test_a_colour_split_over_two_pieces_is_not_shown() -> None:
    cleaner = StreamCleaner()
    assert cleaner.clean("ok \x1b[3") + cleaner.clean("1mred\x1b[0m done\n") == "ok red done\n"


@given(WILD)
def test_a_name_is_one_line_whatever_is_in_it(raw: str) -> None:
    assert not set(one_line(raw)) & set("\n\t\r\x1b")


@given(WILD)
def test_a_file_shows_its_control_characters_as_signs_of_the_same_number(raw: str) -> None:
    shown = visible(raw)
    assert len(shown) == len(raw)
    assert not [c for c in shown if (ord(c) < 32 and c not in "\n\t") or 0x7F <= ord(c) <= 0x9F]
