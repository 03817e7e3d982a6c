"""The file tools: read before write, nothing overwritten unseen, plain words for what is no text."""

from __future__ import annotations

import asyncio

from .bench import Bench


async def test_a_file_is_read_with_line_numbers_and_can_be_paged(bench: Bench) -> None:
    bench.put("a.txt", "".join(f"line {n}\n" for n in range(1, 2001)))
    whole = await bench.call("read", path="a.txt")
    assert whole.preview.startswith("1\tline 1\n2\tline 2\n")
    assert "lines 1-1000 of 2000; go on with offset 1001" in whole.preview
    part = await bench.call("read", path="a.txt", offset=1999)
    assert part.preview == "1999\tline 1999\n2000\tline 2000"
    assert "no line 5000" in (await bench.call("read", path="a.txt", offset=5000)).preview


async def test_a_file_of_long_lines_stays_within_the_limit(bench: Bench) -> None:
    bench.put("wide.txt", ("x" * 3_000 + "\n") * 100)
    seen = await bench.call("read", path="wide.txt")
    assert len(seen.preview) <= 50_000
    assert "1000 more characters in this line" in seen.preview
    assert "go on with offset" in seen.preview


async def test_what_is_no_text_is_told_in_plain_words(bench: Bench) -> None:
    bench.put("empty.txt", "")
    bench.put("sub/x.txt", "x")
    (bench.workspace / "bin.dat").write_bytes(b"\x7fELF\0\0\0")
    (bench.workspace / "latin.txt").write_bytes(b"caf\xe9\n")
    bench.put("esc.txt", "a\x1b[31mb\r\nc\r\n")
    assert "is empty" in (await bench.call("read", path="empty.txt")).preview
    assert "is a folder. Use list" in (await bench.call("read", path="sub")).preview
    assert "binary" in (await bench.call("read", path="bin.dat")).preview
    assert "no UTF-8" in (await bench.call("read", path="latin.txt")).preview
    control = (await bench.call("read", path="esc.txt")).preview
    assert "\x1b" not in control
    assert "CR LF" in control


async def test_a_huge_file_is_not_read_as_a_whole(bench: Bench) -> None:
    await bench.call("shell", command="truncate -s 9M huge.txt")
    seen = await bench.call("read", path="huge.txt")
    assert seen.outcome == "failed"
    assert "too many to read as a whole" in seen.preview


async def test_a_missing_file_is_told_with_names_that_are_alike(bench: Bench) -> None:
    bench.put("src/cart.py", "x = 1\n")
    seen = await bench.call("read", path="src/carts.py")
    assert seen.outcome == "failed"
    assert "Similar names there: cart.py" in seen.preview
    assert "neither does the folder nowhere" in (await bench.call("read", path="nowhere/a.py")).preview


async def test_a_new_file_is_written_with_its_folders(bench: Bench) -> None:
    seen = await bench.call("write", path="new/deep/a.txt", content="one\ntwo\n")
    assert seen.outcome == "ok"
    assert "added new/deep/a.txt (2 lines, 8 bytes)" in seen.preview
    assert (bench.workspace / "new/deep/a.txt").read_text() == "one\ntwo\n"
    assert [(change.path, change.kind) for change in seen.changes] == [("new/deep/a.txt", "added")]


async def test_names_in_any_script_and_with_odd_blanks_work(bench: Bench) -> None:
    for name in ("Größe 日本.txt", "shot 3.00\u202fPM.txt", "👩‍💻.txt", "-rf", "$HOME", "a'b\"c", "*"):
        assert (await bench.call("write", path=name, content=f"{name}\n")).outcome == "ok"
        assert (bench.workspace / name).read_text() == f"{name}\n"
        assert (await bench.call("read", path=name)).preview == f"1\t{name}"


async def test_an_existing_file_is_not_overwritten_before_it_was_read(bench: Bench) -> None:
    path = bench.put("a.txt", "theirs\n")
    refused = await bench.call("write", path="a.txt", content="mine\n")
    assert refused.outcome == "refused"
    assert "Read it first" in refused.preview
    assert path.read_text() == "theirs\n"
    await bench.call("read", path="a.txt")
    assert (await bench.call("write", path="a.txt", content="mine\n")).outcome == "ok"
    assert path.read_text() == "mine\n"


async def test_ones_own_writes_are_not_stale(bench: Bench) -> None:
    await bench.call("write", path="a.txt", content="one\n")
    await bench.call("edit", path="a.txt", old="one", new="two")
    seen = await bench.call("edit", path="./a.txt", old="two", new="three")
    assert seen.outcome == "ok", seen.preview
    assert "-two\n+three" in seen.preview
    assert (await bench.toolbox.perceive()).stale == ()


async def test_an_edit_before_reading_is_refused(bench: Bench) -> None:
    bench.put("a.txt", "one\n")
    seen = await bench.call("edit", path="a.txt", old="one", new="two")
    assert seen.outcome == "refused"
    assert "Read it first" in seen.preview


async def test_an_edit_of_a_file_that_another_changed_is_refused_with_the_diff(bench: Bench) -> None:
    path = bench.put("a.txt", "one\ntwo\nthree\n")
    await bench.call("read", path="a.txt")
    path.write_text("one\nTWO\nthree\n")
    refused = await bench.call("edit", path="a.txt", old="three", new="3")
    assert refused.outcome == "refused"
    assert "-two\n+TWO" in refused.preview
    assert path.read_text() == "one\nTWO\nthree\n"
    assert (await bench.call("edit", path="a.txt", old="three", new="3")).outcome == "ok"
    assert path.read_text() == "one\nTWO\n3\n"


async def test_an_edit_after_ones_own_shell_command_changed_the_file_is_refused_with_the_diff(bench: Bench) -> None:
    path = bench.put("a.txt", "one\ntwo\n")
    await bench.call("read", path="a.txt")
    changed = await bench.call("shell", command="sed -i s/one/ONE/ a.txt")
    assert "modified a.txt" in changed.preview
    refused = await bench.call("edit", path="a.txt", old="two", new="2")
    assert refused.outcome == "refused"
    assert "-one\n+ONE" in refused.preview
    assert path.read_text() == "ONE\ntwo\n"


async def test_a_file_that_was_deleted_meanwhile_is_missing(bench: Bench) -> None:
    path = bench.put("a.txt", "one\n")
    await bench.call("read", path="a.txt")
    path.unlink()
    assert "does not exist" in (await bench.call("edit", path="a.txt", old="one", new="two")).preview


async def test_an_edit_must_fit_once(bench: Bench) -> None:
    path = bench.put("a.txt", "x = 1\ny = 1\n")
    await bench.call("read", path="a.txt")
    assert "found 2 times (lines 1, 2)" in (await bench.call("edit", path="a.txt", old="= 1", new="= 2")).preview
    assert "nearest lines" in (await bench.call("edit", path="a.txt", old="x == 1", new="x")).preview
    assert path.read_text() == "x = 1\ny = 1\n"
    await bench.call("edit", path="a.txt", old="= 1", new="= 2", replace_all=True)
    assert path.read_text() == "x = 2\ny = 2\n"


async def test_several_edits_are_made_all_or_not_at_all(bench: Bench) -> None:
    path = bench.put("a.txt", "one\ntwo\n")
    await bench.call("read", path="a.txt")
    broken = [{"old": "one", "new": "1"}, {"old": "nothing like it", "new": "x"}]
    seen = await bench.call("multi_edit", path="a.txt", edits=[dict[str, object](edit) for edit in broken])  # pyright: ignore
    assert seen.outcome == "failed"
    assert "edit 2 of 2" in seen.preview
    assert path.read_text() == "one\ntwo\n"
    await bench.call("multi_edit", path="a.txt", edits=[{"old": "one", "new": "1"}, {"old": "two", "new": "2"}])
    assert path.read_text() == "1\n2\n"


async def test_a_file_that_is_not_all_text_is_not_edited(bench: Bench) -> None:
    path = bench.put("latin.txt", "")
    path.write_bytes(b"caf\xe9 one\n")
    await bench.call("read", path="latin.txt")
    assert "damage" in (await bench.call("edit", path="latin.txt", old="one", new="two")).preview
    assert path.read_bytes() == b"caf\xe9 one\n"


async def test_an_edited_script_stays_executable(bench: Bench) -> None:
    path = bench.put("run.sh", "#!/bin/sh\necho one\n")
    path.chmod(0o777)
    await bench.call("read", path="run.sh")
    await bench.call("edit", path="run.sh", old="one", new="two")
    assert "two" in (await bench.call("shell", command="./run.sh")).preview


async def test_a_write_that_is_made_again_with_the_same_content_changes_nothing(bench: Bench) -> None:
    await bench.call("write", path="a.txt", content="one\n")
    later = bench.another_agent("agent-after-a-restart")
    seen = await later.call("write", path="a.txt", content="one\n")
    assert seen.outcome == "ok"
    assert seen.changes == ()


async def test_two_agents_that_edit_one_file_at_the_same_time_lose_no_change(bench: Bench) -> None:
    path = bench.put("count.txt", "0\n")
    made = await asyncio.gather(*(_count_up(bench.another_agent(name), 25) for name in ("one", "two", "three")))
    assert sum(made)
    assert path.read_text() == f"{sum(made)}\n"


async def _count_up(agent: Bench, times: int) -> int:
    """How many of its edits were made; the others were refused, because another was faster."""
    made = 0
    for _ in range(times):
        seen = await agent.call("read", path="count.txt")
        number = int(seen.preview.split("\t")[1])
        edited = await agent.call("edit", path="count.txt", old=f"{number}\n", new=f"{number + 1}\n")
        assert edited.outcome in ("ok", "refused"), edited
        made += edited.outcome == "ok"
    return made
