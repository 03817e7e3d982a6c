"""Watchers as files: the shipped ones are good, one's own take their place, and each mistake is named with its line."""

from __future__ import annotations

from pathlib import Path

import pytest

from agentic.core.events.execution_events import Watched, Watcher
from bot.equipment.watcher_files import FOLDER, MOST_FILES, MOST_TEXT, SHIPPED, WatcherFiles, watcher_of
from bot.equipment.watcher_text import said, shown

GOOD = """---
name: spend
when: before action
may: veto
tools: [shell, mcp__*]
matching: buy, pay
tier: 2
if it fails: ask
---
Does it buy?
"""


def test_two_are_shipped_and_what_they_ask_is_cheap() -> None:
    found = WatcherFiles(Path("/nowhere")).read()
    assert (found.mistakes, found.own) == ((), frozenset())
    drift, safety = found.watchers
    assert (drift.name, drift.when, drift.may, drift.every, drift.tier) == ("drift", "before model", "note", 5, 1)
    assert (safety.name, safety.when, safety.may, safety.if_it_fails) == ("safety", "before action", "veto", "go on")
    assert {"shell", "python", "http", "publish", "mcp__*"} <= set(safety.tools)
    assert {"rm", "curl", ".env", "token"} <= set(safety.matching)
    assert all(path.suffix == ".md" for path in SHIPPED.iterdir())


async def test_a_setting_names_none_all_or_some_and_ones_own_takes_the_place_of_a_shipped_one(tmp_path: Path) -> None:
    folder = tmp_path / FOLDER
    folder.mkdir()
    (folder / "spend.md").write_text(GOOD)
    (folder / "drift.md").write_text("\ufeff---\r\nwhen: before model\r\nevery: 2\r\n---\r\nIs it still there?")
    (folder / "README.txt").write_text("no watcher")
    files = WatcherFiles(tmp_path)
    assert await files.chosen("off") == ()
    assert [one.name for one in await files.chosen("on")] == ["drift", "safety", "spend"]
    (spend,) = await files.chosen("spend gone")
    assert spend == Watcher(
        name="spend", when="before action", may="veto", tools=("shell", "mcp__*"), matching=("buy", "pay"), tier=2,
        if_it_fails="ask", instruction="Does it buy?",
    )  # fmt: skip
    found = await files.found()
    assert (found.own, found.missing("spend gone"), found.missing("on")) == ({"spend", "drift"}, ("gone",), ())
    assert next(one for one in found.watchers if one.name == "drift").every == 2


@pytest.mark.parametrize(
    ("head", "line", "said_"),
    [
        ("when: before action\ntools: [shell", 3, "expected"),
        ("when: sometimes", 2, "when is one of: before model, before action"),
        ("name: spend", 1, "when is one of"),
        ("when: before model\nmay: veto", 3, "only calls can be vetoed"),
        ("when: before model\nif it fails: ask", 3, "only a watcher with “may: veto”"),
        ("when: before model\nmay: [note]", 3, "may is a word"),
        ("when: before model\ntools: [shell]", 3, "tools is for watchers with “when: before action”"),
        ("when: before action\ntools: [shell]\nevery: 2", 4, "every is for watchers with “when: before model”"),
        ("when: before action", 1, "name the tools"),
        ("when: before action\ntools: [sh ell]", 3, "“sh ell” is not the name of a tool"),
        ("when: before action\ntools: 7", 3, "tools is a list"),
        ("when: before action\ntools: [shell]\nmatching: [404]", 4, "put numbers in quotes"),
        ("when: before model\nevery: 0", 3, "every is a whole number from 1 to 50"),
        ("when: before model\ntier: true", 3, "tier is a whole number from 1 to 4"),
        ("when: before model\nname: On it", 3, "name: small letters"),
        ("when: before model\nname: 'on'", 3, "neither “on” nor “off”"),
        ("when: before model\ncolour: red", 3, "there is no field “colour”. There are: name, when"),
        ("when: before model\nwhen: before model", 3, "stands twice"),
    ],
)
def test_a_mistake_is_named_with_its_line_and_the_others_go_on(
    tmp_path: Path, head: str, line: int, said_: str
) -> None:
    folder = tmp_path / FOLDER
    folder.mkdir()
    (folder / "bad.md").write_text(f"---\n{head}\n---\nText.")
    (folder / "spend.md").write_text(GOOD)
    found = WatcherFiles(tmp_path).read()
    (mistake,) = found.mistakes
    assert (mistake.file, mistake.line) == ("bad.md", line)
    assert said_ in mistake.said
    assert str(mistake).startswith(f"bad.md, line {line}: ")
    assert [one.name for one in found.watchers] == ["drift", "safety", "spend"]


def test_files_that_are_no_text_too_long_or_too_many_are_named(tmp_path: Path) -> None:
    folder = tmp_path / FOLDER
    folder.mkdir()
    (folder / "a.md").write_bytes(b"\xff\xfe")
    (folder / "b.md").write_text("---\nwhen: before model\n---\n")
    (folder / "c.md").write_text(f"---\nwhen: before model\n---\n{'x' * (MOST_TEXT + 1)}")
    (folder / "d.md").write_text("x" * 40_000)
    (folder / "e.md").mkdir()
    (folder / "f.md").write_text("No head.")
    for number in range(MOST_FILES):
        (folder / f"g{number:02}.md").write_text("---\nwhen: before model\n---\nText.")
    said_ = [str(mistake) for mistake in WatcherFiles(tmp_path).read().mistakes]
    for part in ("first 20 files", "a.md: it is not UTF-8", "b.md, line 3: write below the head", "at most 4,000",
                 "larger than", "e.md: it cannot be read", "f.md, line 1: when is one of"):  # fmt: skip
        assert any(part in each for each in said_), (part, said_)


def test_the_example_of_the_guide_is_a_good_file() -> None:
    guide = (Path(__file__).parents[3] / "docs" / "user-guide.md").read_text()
    example = guide.partition("`watchers/spending.md`:\n\n```markdown\n")[2].partition("```")[0]
    spending = watcher_of("spending", example)
    assert (spending.may, spending.tools, spending.if_it_fails) == ("veto", ("shell", "mcp__*"), "ask")
    assert spending.instruction.startswith("Would one of the calls spend money")


def test_what_people_read_of_them() -> None:
    one = Watcher(
        name="spend", when="before action", may="veto", tools=tuple("abcdefgh"), matching=("x",), instruction="Look."
    )
    assert "**spend** (✅ on here, own file): looks on before calls of `a`" in shown(one, on=True, own=True)
    assert "and 2 more with certain words, asks a person if it objects (tier 1)" in shown(one, on=True, own=True)
    strict = one.model_copy(update={"if_it_fails": "ask"})
    assert "asks a person if it objects or gives no answer" in shown(strict, on=False, own=False)
    drift = Watcher(name="drift", instruction="Look.")
    assert "(off here): looks on every 5 turns, tells me what looks wrong" in shown(drift, on=False, own=False)
    assert said(Watched(watcher="drift", turn=1, text="It bakes.")) == "Drift watcher: It bakes."
    assert said(Watched(watcher="drift", turn=1)) == ""
    assert said(Watched(watcher="x", turn=1, problem="down")) == "X watcher: no answer (down); continuing without it"
    assert "a person is asked" in said(Watched(watcher="x", turn=1, problem="down", held=("c",)))
