"""Tables, which Discord does not draw."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from bot.rendering.code_blocks import FENCE
from bot.rendering.tables import (
    COLUMNS,
    aligned,
    width,
    with_tables,
)


def test_a_narrow_table_is_aligned_in_a_code_block() -> None:
    text, wide = with_tables("Before\n| step | s |\n|:---|---:|\n| parse | 0.1 |\n| 解析 | 2 |\nafter")
    assert text.split("\n") == [
        "Before",
        FENCE,
        "step   s",
        "─────  ───",
        "parse  0.1",
        "解析   2",
        FENCE,
        "after",
    ]
    assert wide == ()


def test_wide_tables_are_files_in_order() -> None:
    long = "x" * COLUMNS
    table = f"| {long} | b |\n|---|---|\n| 1 | 2 |"
    text, wide = with_tables(f"{table}\nbetween\n{table}")
    assert text == "*(table: see `table-1.md`)*\nbetween\n*(table: see `table-2.md`)*"
    assert wide == (table + "\n", table + "\n")


def test_bars_in_prose_in_code_and_escaped_in_cells_are_left_alone() -> None:
    for text in ("a | b", "|lonely|", f"{FENCE}\n| a | b |\n| 1 | 2 |\n{FENCE}"):
        assert with_tables(text) == (text, ())
    assert aligned([r"| a \| b | c |", "| 1 | 2 |"]) == ["a | b  c", "1      2"]


def test_rows_of_uneven_length_are_filled_up() -> None:
    assert aligned(["| a | b | c |", "|---|", "| 1 |"]) == ["a  b  c", "─  ─  ─", "1"]


@given(st.lists(st.lists(st.text(alphabet="ab 解`|\\-", max_size=12), min_size=1, max_size=4), min_size=2, max_size=6))
def test_any_table_comes_out_as_balanced_code_or_as_a_file(cells: list[list[str]]) -> None:
    rows = ["|" + "|".join(row) + "|" for row in cells]
    text, wide = with_tables("\n".join(rows))
    assert text.count(FENCE) % 2 == 0 or any(FENCE in row for row in rows)
    if not wide:
        assert all(width(line) <= COLUMNS for line in text.split("\n")[1:-1])
