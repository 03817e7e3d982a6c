"""What a command destroyed, by what stood there before it and what does after it."""

from __future__ import annotations

import base64
import bz2
import codecs
import gzip
import json
import lzma
import os
import random
import tracemalloc

import pytest

from agentic.workspace.snapshots import likeness
from agentic.workspace.snapshots.likeness import MOST_UNPACKED, carried, is_left, is_written_anew, unpacked
from agentic.workspace.snapshots.losses import (
    GitContents,
    LookedInto,
    Losses,
    Shown,
    Suspects,
    additions,
    blob_of,
    branches,
    gits_of,
    ids_in,
    judged,
    leading,
    marks,
    moved_away,
    put_back,
    suspects,
)
from agentic.workspace.snapshots.manifest import Entry, Manifest
from agentic.workspace.snapshots.scan import HIDDEN, UNREADABLE

ID = "a" * 40
TEXT = b"".join(b"In line %d somebody tells of thing %d, and of nothing else.\n" % (n, n * n) for n in range(60))
SHUFFLED = b" ".join(random.Random(1).sample(TEXT.split(), len(TEXT.split())))
PICTURE = b"\x89PNG\r\n\x1a\n" + random.Random(2).randbytes(3_000) + b"\0\0\0\0IEND\xaeB`\x82"
OTHER = random.Random(3).randbytes(3_000)
GIT = {".git": "", ".git/objects": "", ".git/refs": "", ".git/HEAD": "ref"}


def manifest(
    files: dict[str, str], left_out: dict[str, str] | None = None, modes: dict[str, int] | None = None
) -> Manifest:
    """Files by content; '' is a folder."""
    entries = {
        path: Entry("file", (modes or {}).get(path, 0o644), len(text), text)
        if text
        else Entry("dir", (modes or {}).get(path, 0o755))
        for path, text in files.items()
    }
    return Manifest(entries, left_out or {})


def found(before: dict[str, str], now: dict[str, str], may_go: tuple[str, ...] = ()) -> Suspects:
    return suspects(manifest(before), manifest(now), lambda path, _: path in may_go)


def test_a_file_that_is_gone_or_rewritten_is_suspect_unless_its_content_stands_elsewhere() -> None:
    before = {"a": "1", "b": "2", "c": "3", "d": "4", "e": "5"}
    seen = found(before, {"a": "other", "moved/b": "2", "e": "5"}, may_go=("d",))
    assert (seen.gone, seen.changed, seen.moved, bool(seen)) == (("c",), ("a",), ("b",), True)
    assert not found(before, {**before, "new": "6"})


def test_an_emptied_file_is_gone_and_an_empty_one_is_no_loss() -> None:
    before = Manifest({"a": Entry("file", 0o644, 5, "1"), "empty": Entry("file", 0o644, 0, "0")})
    now = Manifest({"a": Entry("file", 0o644, 0, "0")})
    assert suspects(before, now, lambda _, __: False).gone == ("a",)


def test_a_file_in_whose_place_a_folder_stands_is_gone() -> None:
    assert found({"a": "1"}, {"a": ""}).gone == ("a",)


def test_what_is_hidden_is_neither_looked_at_nor_put_back() -> None:
    before, now = manifest({"a": "1"}), manifest({}, {"a": HIDDEN})
    assert not suspects(before, now, lambda _, __: False)
    assert put_back(before, now) == {}


def test_what_its_owner_can_no_longer_use_is_locked() -> None:
    before = manifest({"src": "", "src/a": "1", "b": "2"})
    by_mode = suspects(
        before, manifest({"src": "", "src/a": "1", "b": "2"}, modes={"src": 0, "b": 0o444}), lambda _, __: False
    )
    assert by_mode.locked == ("src", "b")
    unreadable = suspects(before, manifest({"b": "2"}, {"src": UNREADABLE}), lambda _, __: False)
    assert (unreadable.locked, unreadable.gone) == (("src",), ())


def test_of_git_counts_what_leads_to_commits_and_not_its_files() -> None:
    before = {**GIT, ".git/refs/heads/x": ID, ".git/objects/aa": "obj"}
    assert found(before, {**GIT, ".git/index": "i"}).repositories == (".git",)
    assert not found({**before, ".git/COMMIT_EDITMSG": "1", ".git/hooks/x.sample": "2"}, before)
    settings = {".git/config": "1", ".git/hooks/pre-commit": "2", ".git/info/exclude": "3"}
    assert found({**before, **settings}, before).gone == tuple(settings)
    assert found(before, {**GIT, ".git/refs/heads/x": ID}).objects == {".git"}
    assert found(before, {}).repositories == (".git",)
    assert gits_of(manifest({"objects": "", "x/objects": ""})) == frozenset()


@pytest.mark.parametrize(
    ("lost", "was", "over"),
    [
        ((), {}, False), (("a",), {}, True), (("a", "b", "c"), {"a": "h", "b": "h", "c": "h"}, False),
        (("a", "b", "c", "d"), {"a": "h", "b": "h", "c": "h", "d": "h"}, True), (("a", "b", "c"), {"a": "h", "b": "h"}, True),
        (("a", "b", "c", "d"), dict.fromkeys("abcd", "r"), False),
    ],
)  # fmt: skip
def test_more_than_ordinary_work_takes_away_is_over(lost: tuple[str, ...], was: dict[str, str], over: bool) -> None:
    known = GitContents(frozenset("hr"), frozenset("h"))
    assert judged(Suspects(lost), manifest(dict.fromkeys("abcd", "1")), LookedInto(lost, was), known, ()).over is over


def test_uncommitted_work_over_which_a_committed_version_came_back_is_lost() -> None:
    into = LookedInto((), {"a": "w1", "b": "w2", "c": "r"}, {"a": "h", "b": "h", "c": "h"})
    losses = judged(
        Suspects(changed=("a", "b", "c")), manifest({}), into, GitContents(frozenset("rh"), frozenset("h")), ()
    )
    assert (losses.lost, losses.over) == (("a", "b"), True)


def test_a_locked_folder_and_lost_history_are_over_and_a_few_locked_files_are_not() -> None:
    before = manifest({"src": "", "a": "1"})
    assert judged(Suspects(locked=("src",)), before, LookedInto(), GitContents(), ()).over
    assert not judged(Suspects(locked=("a",)), before, LookedInto(), GitContents(), ()).over
    assert Losses(history=(".git",)).over
    assert Losses().with_root(locked=True).words == "locked “.”"
    assert not Losses().with_root(locked=False).over


def test_what_it_did_is_said_in_one_line_whatever_the_names_are() -> None:
    lost = Losses(lost=("a`\n", "b"), taken=("b", "c", "d"), locked=("x", "y"), history=(".git",)).words
    assert lost == (
        "deleted or overwrote 4 files that it had not made, among them “a??”, “b”, “c” and locked “x” and 1 more"
        " and destroyed history of git in “.git”"
    )
    assert "“a”" in Losses(lost=("a",)).words
    assert len(Losses(lost=("y" * 500,)).words) < 150


@pytest.mark.parametrize(
    ("before", "now", "left"),
    [
        (b"one two three four", b"one two three 4", True), (b"a b c d", b"a", False), (b"x", b"", False),
        (b'{"a":1,"b":2}', b'{\n "a": 1,\n "b": 2\n}', True),
        (b"word " * 50, b"WORD " * 50, False), (b"\0" * 100, b"\1" * 60, True), (b"\0" * 100, b"\1" * 40, False),
        (TEXT, SHUFFLED, False), (TEXT, bytes(len(TEXT)), False),
        (TEXT, codecs.encode(TEXT.decode(), "rot13").encode(), False),
        (TEXT, base64.b64encode(TEXT), False), (gzip.compress(TEXT), TEXT, True), (gzip.compress(TEXT), TEXT[:99], False),
        (TEXT, gzip.compress(TEXT), True), (TEXT, TEXT.replace(b"line", b"row"), True),
        (TEXT, b"\n".join(sorted(TEXT.splitlines())), True), (TEXT, TEXT.decode().encode("utf-16"), True),
        (TEXT, TEXT.replace(b"\n", b" "), True), (TEXT, b"x" * len(TEXT), False), (TEXT, TEXT[: len(TEXT) // 3], False),
        (PICTURE, PICTURE[:8] + OTHER + PICTURE[-12:], True), (PICTURE, OTHER, False), (PICTURE, bytes(len(PICTURE)), False),
        (PICTURE, PICTURE[:8] + bytes(len(PICTURE)) + PICTURE[-12:], False), (PICTURE, PICTURE[: len(PICTURE) // 4], False),
        (PICTURE, PICTURE + b"more", True), (PICTURE, PICTURE[:8] + OTHER, False),
    ],
)  # fmt: skip
def test_a_change_that_leaves_half_of_the_words_is_an_edit(before: bytes, now: bytes, left: bool) -> None:
    assert is_left(before, now) is left


def held(gone: dict[str, bytes], fresh: dict[str, bytes]) -> set[str]:
    return set(carried(gone, fresh, {path: tuple(fresh) for path in gone}))


def test_what_several_files_or_a_packed_one_hold_is_left() -> None:
    text = b"one two three four five six seven eight"
    assert held({"a": text}, {"x": b"one two three", "y": b"four five six"}) == {"a"}
    assert not held({"a": text}, {"x": b"one two", "y": b"else"})
    packed = (gzip.compress(text), bz2.compress(text), lzma.compress(text))
    assert [unpacked(each) for each in packed] == [text] * 3
    assert all(held({"a": text}, {"x": b"", "y": each}) == {"a"} for each in packed)
    assert unpacked(b"BZh no archive") == b"BZh no archive"
    assert unpacked(b"\x1f\x8b") == b""
    assert len(unpacked(gzip.compress(bytes(MOST_UNPACKED * 4)))) == MOST_UNPACKED
    assert all(held({"a.gz": each}, {"a": text}) == {"a.gz"} for each in packed)
    pair = {"a.gz": packed[0], "b.gz": gzip.compress(text.upper())}
    assert held(pair, {"a": text}) == {"a.gz"}


def test_a_new_file_vouches_for_no_more_than_it_holds() -> None:
    pages = {f"p{number}.md": b"the same title and the same foot of page %d here" % number for number in range(4)}
    assert held(pages, {"decoy.md": pages["p0.md"]}) == {"p0.md"}
    assert held(pages, {"all.md": b"\n".join(pages.values())}) == set(pages)
    pictures = {"a.png": PICTURE, "b.png": PICTURE[:8] + OTHER + PICTURE[-12:]}
    assert held(pictures, {"c.png": PICTURE + b"more"}) == {"a.png"}
    table = b"name,age,town\n" + b"".join(b"n%d,%d,t%d\n" % (n, n + 20, n * 7) for n in range(30))
    rows = [
        dict(zip(("name", "age", "town"), line.split(","), strict=True)) for line in table.decode().splitlines()[1:]
    ]
    assert held({"t.csv": table}, {"t.json": json.dumps(rows, indent=2).encode()}) == {"t.csv"}


def test_only_what_may_hold_a_content_is_read_until_the_time_is_over() -> None:
    read: list[str] = []

    class Files(dict[str, bytes]):
        """Files that know which of them were read."""

        def __getitem__(self, path: str) -> bytes:
            read.append(path)
            return super().__getitem__(path)

        def items(self):
            read.extend(self)
            return super().items()

    fresh = Files({f"n{number}": TEXT.upper() for number in range(9)} | {"x": TEXT})
    assert set(carried({"a": TEXT}, fresh, {"a": ("x", "n1", "n2")})) == {"a"}
    assert set(read) == {"x"}
    left = [False, False, True]
    assert set(carried(dict.fromkeys("abcd", TEXT), dict.fromkeys("efgh", TEXT), {
        each: (other,) for each, other in zip("abcd", "efgh", strict=True)
    }, lambda: left.pop(0))) == {"a", "b"}  # fmt: skip


def test_what_is_read_of_many_new_files_is_kept_of_some(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of many logs, all of which may hold a content, what was compared is in memory of some at once."""
    logs = {f"{n}.log": b" ".join(b"%x" % (n << 32 | i * 2654435761) for i in range(4_000)) for n in range(16)}
    gone = {"a.log": logs["0.log"][:-9][::-1]}
    peaks: list[int] = []
    for most in (1 << 17, 1 << 22):
        monkeypatch.setattr(likeness, "MOST_READ", most)
        tracemalloc.start()
        assert not carried(gone, logs, {"a.log": (*logs,)})
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    assert peaks[0] * 2 < peaks[1]


def test_a_report_is_written_anew_and_nonsense_is_none() -> None:
    report = b"3 of 9 on Monday\n"
    assert is_written_anew(report, b"today: eight\n")
    other = b"".join(b"On day %d the team wrote %d pages of the handbook.\n" % (n, n * 3) for n in range(40))
    assert is_written_anew(TEXT, other)
    for nonsense in (
        bytes(len(TEXT)), b"x" * len(TEXT), base64.b64encode(TEXT), SHUFFLED, TEXT.hex().encode(), b"x x x\n" * 900,
        codecs.encode(other.decode(), "rot13").encode(), other[:20], os.urandom(len(TEXT)),
    ):  # fmt: skip
        assert not is_written_anew(TEXT, nonsense), nonsense[:40]


def test_a_yes_counts_for_what_was_shown_with_its_content_and_for_nothing_else() -> None:
    before = manifest({**GIT, "a": "1", "b": "2", "src/c": "3", ".git/refs/heads/x": ID})
    losses = Losses(("a",), ("b",), history=(".git",))
    shown = Shown(marks(losses, before))
    assert not shown.beyond(losses, before)
    assert not shown.beyond(Losses(("b",)), before)
    assert shown.beyond(Losses(("a", "src/c")), before) == Losses(("src/c",))
    assert shown.beyond(losses, manifest({**GIT, "a": "else", "b": "2", ".git/refs/heads/x": ID})) == Losses(("a",))
    assert shown.beyond(losses, manifest({**GIT, "a": "1", "b": "2", ".git/refs/heads/x": "b" * 40})).history == (
        ".git",
    )
    assert shown.beyond(Losses(locked=("a",), folders=1), before).over
    named = Shown(named=("src/**", "*.md", "docs/*"))
    assert named.beyond(
        Losses(("a", "src/c", "src/d/.e", "x.md", ".x.md", "docs/x", "docs/a/x"), locked=("src",)), before
    ) == Losses(("a", ".x.md", "docs/a/x"))
    many = Losses(tuple(f"m{number}" for number in range(3_000)))
    assert len(marks(many, before)) == 1
    assert not Shown(marks(many, before)).beyond(many, before)
    assert len(Shown(marks(many, before)).beyond(Losses(many.lost[1:]), before).lost) == 2_999


def test_many_lost_repositories_are_told_apart_in_one_pass() -> None:
    """A workspace of many repositories is read once, not once for each."""
    files = {f"r{n}/{path}": text for n in range(400) for path, text in {**GIT, ".git/refs/heads/x": f"{n}"}.items()}
    passes: list[int] = []

    class Counted(dict[str, Entry]):
        """Entries that know how often somebody went through all of them."""

        def items(self):
            passes.append(1)
            return super().items()

    gits = tuple(f"r{n}/.git" for n in range(400))
    before, losses = Manifest(Counted(manifest(files).entries)), Losses(history=gits)
    shown = marks(losses, before)
    assert len(shown) == 400
    edited = Manifest(Counted(manifest({**files, "r7/.git/refs/heads/x": "else"}).entries))
    assert Shown(shown).beyond(losses, edited).history == ("r7/.git",)
    assert len(passes) == 2
    assert leading(before, ("r1/.git",)) == {
        "r1/.git": {path: before.entries[path] for path in ("r1/.git/HEAD", "r1/.git/refs/heads/x")}
    }


def test_what_was_moved_away_from_its_place_is_known_wherever_it_stands() -> None:
    before = manifest({"a": "1", "b": "2", "c": "3", "d": "4"})
    now = manifest({"build/a": "1", "b": "new", "b.bak": "2", "c": "edited", "c.bak": "3", "e": "4"})
    seen = suspects(before, now, lambda path, _: path == "a")
    assert (seen.gone, set(seen.changed), set(seen.moved), seen.copied) == ((), {"b", "c"}, {"a", "d"}, {"b", "c"})
    into = LookedInto(("b",))
    assert moved_away(seen, before, now, into, lambda path, _: path == "d") == {"1", "2"}
    assert not judged(seen, before, into, GitContents(), ())
    into = LookedInto(held={"b": ("b.bak",), "c": ("c",)})
    assert moved_away(seen, before, now, into, lambda path, _: path == "d") == {"1", "2"}


def test_one_file_that_was_written_anew_is_no_loss_and_two_or_one_beside_another_are() -> None:
    def over(lost: str, rewritten: str) -> bool:
        into = LookedInto(tuple(lost), rewritten=tuple(rewritten))
        return judged(Suspects(tuple(lost)), manifest({}), into, GitContents(), ()).over

    assert not over("a", "a")
    assert over("a", "")
    assert over("ab", "a")
    assert over("ab", "ab")


def test_what_came_to_stand_there_stays_but_for_gits_own_state() -> None:
    before = manifest({**GIT, "a": "1", ".git/objects/o": "x"})
    now = manifest({**GIT, "new": "2", ".git/MERGE_HEAD": "m", ".git/objects/p": "y", "a": "other", "folder": ""})
    assert put_back(before, now) == {
        "a": before.entries["a"], ".git/objects/o": before.entries[".git/objects/o"], ".git/MERGE_HEAD": None,
    }  # fmt: skip
    assert list(additions(before, now)) == ["new"]


def test_a_branch_stands_where_its_own_file_says_or_else_the_packed_ones() -> None:
    packed = f"# pack-refs\n{ID} refs/heads/a\n{ID} refs/heads/b\n{ID} refs/tags/t\n".encode()
    found = branches(".git", {".git/packed-refs": packed, ".git/refs/heads/b": b"1\n", ".git/logs/HEAD": b"x"})
    assert found == {"refs/heads/a": ID, "refs/heads/b": "1"}


def test_ids_and_blobs_are_gits() -> None:
    assert ids_in(f"{'0' * 40} {ID} me <m@x> 1 +0000\tcommit\n".encode()) == {ID}
    assert blob_of(b"hello\n") == "ce013625030ba8dba906f756967f9e9ca394464a"
