"""Cells of notebooks: each change leaves every other byte as it was, however the file was written."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentic.tools.files.notebook_cells import (
    NoCell,
    NoNotebook,
    deleted,
    inserted,
    parsed,
    replaced,
    shown,
)
from agentic.tools.files.notebook_edit import NotebookEditArguments

CELLS = [
    {"cell_type": "markdown", "id": "aa", "metadata": {"x": [1, {"y": "ü"}]}, "source": ["# Title\n", "Words"]},
    {
        "cell_type": "code", "execution_count": 3, "id": "bb", "metadata": {}, "source": "a = 1",
        "outputs": [
            {"name": "stdout", "output_type": "stream", "text": [f"line {n}\n" for n in range(30)]},
            {"data": {"image/png": "AAAA", "text/plain": ["<Figure>"]}, "output_type": "display_data", "metadata": {}},
            {"ename": "E", "evalue": "v", "output_type": "error", "traceback": ["\x1b[31mBad\x1b[0m"]},
        ],
    },
    {"cell_type": "raw", "id": "cc", "metadata": {}, "source": []},
]  # fmt: skip
BOOK = {
    "cells": CELLS, "metadata": {"kernelspec": {"name": "python3"}, "n": 1.50}, "nbformat": 4, "nbformat_minor": 5,
}  # fmt: skip
STYLES = {
    "jupyter": json.dumps(BOOK, indent=1, ensure_ascii=False, sort_keys=True) + "\n",
    "wide": json.dumps(BOOK, indent=4, ensure_ascii=True),
    "tabs": json.dumps(BOOK, indent="\t", ensure_ascii=False) + "\n\n",
    "windows": json.dumps(BOOK, indent=1, ensure_ascii=False).replace("\n", "\r\n"),
    "compact": json.dumps(BOOK, separators=(",", ":")),
    "line": "\ufeff" + json.dumps(BOOK),
}


def around(text: str, edited: str) -> tuple[str, str]:
    """What an edit took out, and what it put there instead."""
    start = next((n for n, (a, b) in enumerate(zip(text, edited, strict=False)) if a != b), min(len(text), len(edited)))
    tail = 0
    while tail < min(len(text), len(edited)) - start and text[-1 - tail] == edited[-1 - tail]:
        tail += 1
    return text[start : len(text) - tail], edited[start : len(edited) - tail]


def loaded(text: str) -> list[dict[str, object]]:
    return json.loads(text.removeprefix("\ufeff"))["cells"]


@pytest.mark.parametrize("style", STYLES)
def test_only_the_cell_that_is_meant_changes_and_as_the_file_is_written(style: str) -> None:
    text = STYLES[style]
    book = parsed(text)
    assert [(cell.kind, cell.id, cell.source) for cell in book.cells] == [
        ("markdown", "aa", "# Title\nWords"), ("code", "bb", "a = 1"), ("raw", "cc", ""),
    ]  # fmt: skip
    edited = replaced(book, 0, "# Other\n\nÄ", None)
    _, put = around(text, edited)
    assert "x" not in put
    assert loaded(edited)[0] == CELLS[0] | {"source": ["# Other\n", "\n", "Ä"]}
    assert loaded(edited)[1:] == CELLS[1:]
    ran = replaced(book, 1, "a = 2\n", None)
    assert loaded(ran) == [CELLS[0], CELLS[1] | {"source": "a = 2\n", "outputs": [], "execution_count": None}, CELLS[2]]
    turned = loaded(replaced(book, 1, "text", "markdown"))[1]
    assert turned == {"cell_type": "markdown", "id": "bb", "metadata": {}, "source": ["text"]}
    for after in range(4):
        more = inserted(book, after, "print('x')\n", "code")
        cells = loaded(more)
        new = cells.pop(after)
        assert cells == CELLS
        assert (new["source"], new["outputs"], new["execution_count"]) == (["print('x')\n"], [], None)
        assert new["id"] not in ("aa", "bb", "cc")
        assert deleted(parsed(more), after) == text, "and taken out again, it is as it was, byte for byte"
    for at in range(3):
        assert loaded(deleted(book, at)) == [cell for number, cell in enumerate(CELLS) if number != at]


@pytest.mark.parametrize("style", ["jupyter", "wide", "windows"])
def test_what_is_written_is_what_the_programs_of_notebooks_would_write(style: str) -> None:
    """A whole rewrite by the same rules changes nothing more."""
    text = STYLES[style]
    indent, escapes, end = {"jupyter": (1, False, "\n"), "wide": (4, True, ""), "windows": (1, False, "")}[style]
    for edited in (
        replaced(parsed(text), 0, "a\nb", None),
        replaced(parsed(text), 1, "a\nb", None),
        inserted(parsed(text), 3, "a", "code"),
        inserted(parsed(text), 0, "", "raw"),
        deleted(parsed(text), 2),
        inserted(parsed(deleted(parsed(deleted(parsed(deleted(parsed(text), 0)), 0)), 0)), 0, "x", "markdown"),
    ):
        again = json.dumps(json.loads(edited), indent=indent, ensure_ascii=escapes) + end
        assert edited == (again.replace("\n", "\r\n") if style == "windows" else again)


@given(st.text(), st.sampled_from(sorted(STYLES)), st.integers(0, 2))
def test_whatever_is_written_into_a_cell_stands_there(source: str, style: str, at: int) -> None:
    source = source.encode("utf-8", "replace").decode()
    book = parsed(STYLES[style])
    assert parsed(replaced(book, at, source, None)).cells[at].source == source
    assert parsed(inserted(book, at, source, "markdown")).cells[at].source == source


def test_cells_are_shown_with_their_numbers_and_outputs_shortened() -> None:
    seen = shown(parsed(STYLES["jupyter"]))
    assert seen.startswith("A notebook (python3): 3 cells")
    assert "[1] markdown id=aa\n# Title\nWords\n[2] code id=bb\na = 1\n  printed:\n    line 0\n" in seen
    assert "line 7 … (" in seen
    assert "line 8" not in seen
    assert "printed (image/png):\n    <Figure>" in seen
    assert "    Bad" in seen
    assert "\x1b" not in seen
    assert "AAAA" not in seen


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "it is no JSON: line 1, column 1"),
        ('{"cells": [1,]}', "it is no JSON: line 1"),
        ('{"cells": []} more', "it is no JSON: line 1, column 15: Extra data"),
        ("[]", "it is no JSON object"),
        ("{}", "no list of cells of nbformat 4"),
        ('{"cells": {}, "nbformat": 4}', "no list of cells of nbformat 4"),
        ('{"worksheets": [], "nbformat": 3}', "it is of nbformat 3; convert it with"),
        ('{"cells": [1], "nbformat": 4}', "its cell 1 is no JSON object"),
        ('{"cells": [{"cell_type": "heading", "source": ""}], "nbformat": 4}', "cell_type 'heading'"),
        ('{"cells": [{"cell_type": "code", "source": [1]}], "nbformat": 4}', "has no source"),
        ('{"cells": [], "cells": [], "nbformat": 4}', "names a key twice"),
        ("[" * 100_000, "nested too deep"),
    ],
)
def test_what_is_no_notebook_is_told_with_what_is_wrong(text: str, said: str) -> None:
    with pytest.raises(NoNotebook) as wrong:
        parsed(text)
    assert said in str(wrong.value)


def test_a_cell_is_named_by_its_number_or_its_id() -> None:
    book = parsed(STYLES["jupyter"])
    assert [book.numbered(name) for name in (1, "3", "bb", "cc")] == [0, 2, 1, 2]
    for wrong in (0, 4, -1, "dd", "", "9" * 40, "²"):
        with pytest.raises(NoCell, match="cells 1 to 3"):
            book.numbered(wrong)
    twice = parsed(STYLES["compact"].replace('"cc"', '"aa"'))
    with pytest.raises(NoCell, match="stands at 2 cells"):
        twice.numbered("aa")
    old = parsed('{"cells":[],"nbformat":4,"nbformat_minor":2}')
    assert "id" not in loaded(inserted(old, 0, "x", "code"))[0]
    with pytest.raises(NoCell, match="it has no cell"):
        old.numbered(1)
    with pytest.raises(ValueError, match="no 'source'"):
        NotebookEditArguments(path="a.ipynb", action="delete", cell=1, source="x")
