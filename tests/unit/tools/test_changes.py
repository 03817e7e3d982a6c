"""Changes of several commands count as one."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentic.core.events.execution_events import FileChange
from agentic.ports.errors import OutputGone
from agentic.tools.base.observation import tell_changes
from agentic.tools.base.stored_outputs import KeptOutputs
from agentic.tools.files.read_output import whole_characters
from agentic.tools.shell.shell import merge_changes


def change(path: str, before: str, after: str) -> FileChange:
    kind = "added" if not before else "modified" if after else "deleted"
    return FileChange(path=path, kind=kind, sha_before=before, sha_after=after)


def test_a_file_added_and_then_changed_was_added() -> None:
    assert merge_changes((change("a", "", "1"), change("a", "1", "2"))) == (change("a", "", "2"),)


def test_a_file_added_and_deleted_again_did_not_change() -> None:
    assert merge_changes((change("a", "", "1"), change("a", "1", ""))) == ()


def test_many_changes_are_named_up_to_a_number() -> None:
    said = tell_changes([change(f"f{n}", "", "1") for n in range(30)], more=5)
    assert "added f0" in said
    assert "and 15 more" in said


def test_kept_outputs_give_way_oldest_first_and_say_so() -> None:
    outputs = KeptOutputs(capacity=100)
    first, second = outputs.keep("a" * 60), outputs.keep("b" * 60)
    assert outputs.page(second, 10, 20, "").data == b"b" * 20
    with pytest.raises(OutputGone):
        outputs.page(first, 0, 20, "")
    assert outputs.keep("c" * 101) == ""


def test_kept_outputs_are_searched_line_by_line() -> None:
    outputs = KeptOutputs()
    page = outputs.page(outputs.keep("one\ntwo\nthree"), 0, 100, "t")
    assert [(hit.line, hit.text) for hit in page.hits] == [(2, "two"), (3, "three")]


@given(st.text(min_size=1), st.integers(1, 40))
def test_a_page_never_ends_within_a_character(text: str, size: int) -> None:
    data = text.encode("utf-8", "replace")
    page = whole_characters(data[:size])
    assert page
    if len(data[:size]) >= 4:
        page.decode()
