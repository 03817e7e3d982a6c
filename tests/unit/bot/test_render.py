"""What foreign text becomes before it is shown."""

from __future__ import annotations

import re

from hypothesis import given, settings
from hypothesis import strategies as st

from bot.rendering.code_blocks import FENCE
from bot.rendering.discord_text import (
    LIMIT,
    clean,
    cut,
    fenced,
    inline,
    length,
    plain,
    render,
    split,
    spoiler,
)

ODD = st.text(alphabet=st.sampled_from("ab `\n|x😀\x1b[\x00\u202e\ud800~ "), max_size=6_000)
WORDY = st.lists(
    st.one_of(st.text(max_size=120), st.just("```python"), st.just("```"), st.just("x" * 2_500)), max_size=60
).map("\n".join)


@settings(max_examples=40)
@given(st.one_of(ODD, WORDY))
def test_every_part_fits_and_closes_its_fences(text: str) -> None:
    for part in split(clean(text)):
        assert 0 < length(part) <= LIMIT
        assert part.count(FENCE) % 2 == 0


@given(st.one_of(ODD, WORDY))
def test_splitting_loses_nothing_but_blanks_and_fence_marks(text: str) -> None:
    cleaned = clean(text)

    def kept(value: str) -> str:
        return re.sub(r"`+(python)?|\s", "", value)

    assert kept("".join(split(cleaned))) == kept(cleaned)


@given(st.one_of(ODD, WORDY), st.text(max_size=300))
def test_a_rendering_is_never_empty_and_never_too_long(text: str, footer: str) -> None:
    rendered = render(text, footer=footer)
    assert 1 <= len(rendered.parts) <= 4
    assert all(part.strip() and length(part) <= LIMIT for part in rendered.parts)


def test_a_fence_across_a_seam_is_closed_and_reopened_with_its_language() -> None:
    first, second = split("```python\n" + "x = 1\n" * 500 + "```")[:2]
    assert first.endswith("\n```")
    assert second.startswith("```python\nx = 1\n")


def test_what_is_too_long_for_three_messages_is_a_file_with_a_beginning() -> None:
    text = "\n".join(f"line {number}" for number in range(2_000))
    rendered = render(text, footer="-# foot")
    assert len(rendered.parts) == 1
    assert rendered.parts[0].startswith("line 0\n")
    assert rendered.parts[0].endswith("-# foot")
    assert [file.name for file in rendered.files] == ["answer.md"]
    assert rendered.files[0].content.decode() == text


def test_terminal_sequences_are_stripped() -> None:
    assert clean("\x1b[31mred\x1b[0m \x1b]8;;http://x\x07link\x1b]8;;\x07 \x1b]0;title\x1b\\end") == "red link end"
    assert clean("a\x9b31mb\x1bc!") == "ab!"


def test_nul_and_lone_surrogates_are_replaced_and_text_can_be_encoded() -> None:
    assert clean("a\x00b\ud800c") == "a\ufffdb\ufffdc"
    clean("\udfff\x00").encode()


def test_what_hides_or_reorders_is_removed_and_emoji_and_scripts_stay() -> None:
    assert clean("@every\u200bone \u202eabc\u2066 tag\U000e0041") == "@everyone abc tag"
    assert clean("👩\u200d💻 نمی\u200cخواهم") == "👩\u200d💻 نمی\u200cخواهم"
    assert clean("st\u200dop") == "stop"


@given(st.text(alphabet=st.sampled_from("`a\n~\u200b"), max_size=200))
def test_nothing_leaves_the_code_block_it_was_put_into(text: str) -> None:
    assert fenced(text).count(FENCE) == 2
    assert inline(text).count("`") in (0, 2)


@given(st.text(alphabet=st.sampled_from("|\\a"), max_size=200))
def test_nothing_leaves_the_spoiler_it_was_put_into(text: str) -> None:
    assert "||" not in spoiler(text)[2:-2]


def test_markdown_of_foreign_text_is_shown_and_not_obeyed() -> None:
    assert plain("**bold** [x](http://e)\nnext") == r"\*\*bold\*\* \[x\](http://e) next"


@given(st.text(max_size=400), st.integers(2, 100))
def test_cut_text_fits(text: str, limit: int) -> None:
    assert length(cut(text, limit)) <= limit


def test_a_heading_goes_with_what_stands_under_it() -> None:
    above = "x" * 1_700
    for heading in ("## What is left", "**What is left**", "## What is left\n\n### First"):
        first, second = split(f"{above}\n\n{heading}\n\n{'y' * 300}")
        assert first.strip() == above
        assert second.strip().startswith(heading)
    for size in range(100, 4_000, 37):
        parts = split(f"{above}\n## {'h' * 120}\n{'y' * size}")
        assert all(length(part) <= LIMIT for part in parts)
        assert "".join("".join(parts).split()) == f"{above}##{'h' * 120}{'y' * size}"


def test_a_remark_in_code_is_no_heading() -> None:
    first, _ = split("```\n" + "x = 1\n" * 331 + "# why\n" + "y = 2\n" * 30 + "```")
    assert first.endswith("# why\n```")
