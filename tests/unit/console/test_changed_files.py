"""Which files a task changed, and what of them is known."""

from __future__ import annotations

import hashlib
from datetime import UTC, datetime, timedelta

import pytest
from pydantic import JsonValue

from agentic.core.events.execution_events import (
    Envelope,
    Event,
    FileChange,
    ModelRequested,
    Person,
    ToolFinished,
    ToolStarted,
    WorkspaceFound,
    WorkspaceRestored,
)
from bot.console.views.changed_files import (
    DIFF_LINES,
    TEXT_BYTES,
    ChangedFile,
    ChangedFiles,
    FileFolder,
    FileVersion,
    compared,
    follows,
    is_inside,
    put_back,
    tree,
)

BEGUN = datetime(2026, 11, 26, 9, tzinfo=UTC)


def sha(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def turn(number: int) -> Event:
    return ModelRequested(request=f"r{number}", turn=number, tier=1, model="m")


def call(name: str, tool: str, *changes: tuple[str, str, str, str]) -> list[Event]:
    told = tuple(
        FileChange.model_validate({"path": path, "kind": kind, "sha_before": before, "sha_after": after})
        for path, kind, before, after in changes
    )
    return [
        ToolStarted(call=name, provider_id=name, tool=tool, effect="unkeyed", arguments={}, args_sha=""),
        ToolFinished(call=name, outcome="ok", preview="", changes=told),
    ]


def of(*log: Event) -> ChangedFiles:
    changed = ChangedFiles()
    for seq, event in enumerate(log, 1):
        changed.take(Envelope(execution="e", seq=seq, at=BEGUN + timedelta(seconds=seq), fence=1, event=event))
    return changed


def test_each_file_has_its_changes_by_turn_and_what_came_of_it_in_all() -> None:
    changed = of(
        turn(1), *call("a", "write", ("x.py", "added", "", "1"), ("y.py", "modified", "1", "2")),
        turn(2), *call("b", "shell", ("y.py", "modified", "2", "1"), ("z.py", "deleted", "3", "")),
        turn(3), *call("c", "shell", ("x.py", "deleted", "1", ""), ("w.py", "modified", "1", "2")),
        WorkspaceFound(changes=(FileChange(path="w.py", kind="deleted", sha_before="2"),)),
    )  # fmt: skip
    assert {path: (file.kind, file.turns) for path, file in changed.files.items()} == {
        "x.py": ("", [1, 3]), "y.py": ("", [1, 2]), "z.py": ("deleted", [2]), "w.py": ("deleted", [3]),
    }  # fmt: skip
    assert {number: list(paths) for number, paths in changed.by_turn.items()} == {
        1: ["x.py", "y.py"], 2: ["y.py", "z.py"], 3: ["x.py", "w.py"],
    }  # fmt: skip
    assert [(one.by, one.call) for one in changed.files["x.py"].versions] == [("write", 2), ("shell", 0)]


@pytest.mark.parametrize("path", ["", "/etc/passwd", "../x", "a/../../x", "a//b", "a/./b", "a/..", "a\0b", "a/"])
def test_what_leads_out_of_the_workspace_is_no_file_of_it(path: str) -> None:
    assert not is_inside(path)
    assert of(*call("a", "shell", (path, "modified", "1", "2"))).files == {}


def test_a_tree_has_folders_in_order_and_bounded_depth() -> None:
    deep = "/".join(["d"] * 500) + "/f"
    root = tree(
        list(
            of(
                *call("a", "shell", ("b/c/x", "added", "", "1"), ("a", "added", "", "1"), (deep, "added", "", "1"))
            ).files.values()
        )
    )
    assert ([file.name for file in root.files], list(root.folders)) == (["a"], ["b", "d"])
    assert [file.path for file in root.folders["b"].folders["c"].files] == ["b/c/x"]

    def depth(folder: FileFolder[ChangedFile]) -> int:
        return 1 + max(map(depth, folder.folders.values()), default=0)

    assert depth(root) < 30


def restored(*files: str, way: str = "undo", turn: int = 0) -> Event:
    ann = Person(id="7", name="Ann", level="owner")
    return WorkspaceRestored.model_validate({"manifest": "m", "files": files, "way": way, "turn": turn, "by": ann})


@pytest.mark.parametrize(
    ("outcome", "told"),
    [
        ([], {}),
        ([restored("a", ".git")], {"a": "put back since by Ann", ".git/x": "put back since by Ann"}),
        ([restored("a", ".git"), restored("a", way="redo")], {".git/x": "put back since by Ann"}),
        ([restored("a", way="rewind", turn=3)], {"a": "put back since as of turn 3 by Ann"}),
        ([restored("a"), restored("a", "other", way="clean")], {"a": "deleted since by Ann"}),
    ],
)
def test_what_was_put_back_after_the_end_is_told_until_that_is_undone_too(
    outcome: list[Event], told: dict[str, str]
) -> None:
    log = [Envelope(execution="e", seq=seq, at=BEGUN, fence=1, event=event) for seq, event in enumerate(outcome, 1)]
    assert put_back(log, ["a", ".git/x", "b"]) == told


def version(after: str, before: str = "") -> FileVersion:
    return FileVersion(2, 1, BEGUN, "modified", before and sha(before), sha(after), "edit", 1)


@pytest.mark.parametrize(
    ("before", "arguments", "after"),
    [
        ("", {"content": "whole\n"}, "whole\n"),
        ("a b a", {"old": "a", "new": "c"}, "c b a"),
        ("a b a", {"old": "a", "new": "c", "replace_all": True}, "c b c"),
        ("a b", {"edits": [{"old": "a", "new": "b b"}, {"old": "b b b", "new": "x"}]}, "x"),
    ],
)
def test_a_version_follows_from_what_a_call_wrote(before: str, arguments: dict[str, JsonValue], after: str) -> None:
    assert follows(version(after), before.encode(), arguments) == after.encode()


@pytest.mark.parametrize(
    ("before", "arguments"),
    [
        (b"a", {"content": "something else"}),
        (b"a", {"old": "missing", "new": "x"}),
        (None, {"old": "a", "new": "b"}),
        (b"\xff", {"old": "a", "new": "b"}),
        (b"a", {"edits": "nonsense"}),
        (b"a", {"edits": ["nonsense", {"old": 1}]}),
        (b"a", {}),
    ],
)
def test_what_the_hash_does_not_prove_is_not_claimed(before: bytes | None, arguments: dict[str, JsonValue]) -> None:
    assert follows(version("b and more"), before, arguments) is None


def test_a_difference_shows_lines_with_their_signs_and_no_secret() -> None:
    one = compared(
        b"a\nkey=SECRET1\nc\n",
        b"a\nkey=SECRET2\nd\n",
        lambda text: text.replace("SECRET1", "*").replace("SECRET2", "*"),
    )
    assert one.lines == ("@@ -1,3 +1,3 @@", " a", " key=*", "-c", "+d")
    assert compared(None, b"new\n", str).lines == ("@@ -0,0 +1 @@", "+new")
    assert compared(b"x", b"x", str).note == "No line of it differs."


def test_what_cannot_be_compared_is_said_plainly() -> None:
    assert "no text" in compared(b"a", b"\0\1", str).note
    assert "no text" in compared(b"\xff\xfe", b"a", str).note
    assert "too large" in compared(b"a" * (TEXT_BYTES + 1), b"", str).note
    long = compared(None, b"line\n" * (DIFF_LINES + 10), str)
    assert (len(long.lines), long.cut) == (DIFF_LINES, True)
    assert "\x1b" not in "".join(compared(None, b"\x1b[31mred\n", str).lines)
