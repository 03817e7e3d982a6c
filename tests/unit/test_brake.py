"""The brake: figures of the house that may only fall, counted over whatever is shipped."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.house import figures
from tests.house.__main__ import main
from tests.house.collaborators import bags
from tests.house.figures import judged, lower
from tests.house.mention_path import MentionPath
from tests.house.raw_events import readers
from tests.house.shipped import packages, shipped

PROJECT = '[tool.setuptools]\npackages.find.include = ["bot*", "agentic*"]\n'


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / "pyproject.toml").write_text(PROJECT)
    for place, text in {
        "bot/__init__.py": "",
        "bot/one.py": "a = 1\nb = 2\n",
        "agentic/__init__.py": "",
        "agentic/core/events/turn_events.py": 'class ToolFinished:\n    kind: Literal["tool_finished"] = "tool_finished"\n',
        "agentic/aws/table.py": "x = 1\n",
        "tests/__init__.py": "not shipped\n",
    }.items():
        path = tmp_path / place
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return tmp_path


def measured(root: Path) -> figures.Figures:
    return figures.measured(root, MentionPath())


def test_whatever_the_wheel_carries_is_counted_wherever_it_stands(root: Path) -> None:
    before = measured(root)
    (root / "bot_stand_in").mkdir()
    (root / "bot_stand_in/__init__.py").write_text("")
    (root / "bot/one.py").rename(root / "bot_stand_in/one.py")
    assert packages(root) == ("agentic", "bot", "bot_stand_in")
    assert measured(root)["lines of all shipped Python"] == before["lines of all shipped Python"]


def test_what_stands_apart_counts_to_all_and_not_to_the_house(root: Path) -> None:
    before = measured(root)
    (root / "agentic/aws/more.py").write_text("y = 1\n" * 5)
    (root / "bot/local_discord").mkdir()
    (root / "bot/local_discord/model.py").write_text("y = 1\n" * 5)
    (root / "agentic/aws_doorbell.py").write_text("y = 1\n" * 5)
    after = measured(root)
    assert after["lines of all shipped Python"] == before["lines of all shipped Python"] + 15
    assert after["lines of the house"] == before["lines of the house"]


def test_a_figure_that_grew_or_was_never_written_down_does_not_hold() -> None:
    verdicts = {verdict.name: verdict.holds for verdict in judged({"a": 3, "b": 2, "c": 1}, {"a": 2, "b": 2})}
    assert verdicts == {"a": False, "b": True, "c": False}


def test_lowering_never_raises_a_figure() -> None:
    assert lower({"a": 3, "b": 1, "c": 7}, {"a": 2, "b": 2}) == {"a": 2, "b": 1, "c": 7}


@pytest.mark.parametrize("arguments", [(), ("--lower",)])
def test_the_command_fails_where_a_figure_grew(
    root: Path, arguments: tuple[str, ...], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    async def untraced() -> MentionPath:
        return MentionPath()

    monkeypatch.setattr("tests.house.__main__.ROOT", root)
    monkeypatch.setattr("tests.house.__main__.trace_mention", untraced)
    monkeypatch.setattr(figures, "WRITTEN_DOWN", root / "figures.json")
    figures.write(measured(root))
    assert main(*arguments) == 0
    (root / "bot/one.py").write_text("a = 1\n" * 3)
    assert main(*arguments) == 1
    assert "lines of all shipped Python" in capsys.readouterr().out.splitlines()[-1]
    assert main("--lower") == 1


def test_a_class_is_a_bag_by_what_it_is_given_a_dataclass_too(root: Path) -> None:
    (root / "bot/bags.py").write_text(
        "class Port(Protocol): ...\n"
        "class Acts:\n    async def act(self): ...\n"
        "@dataclass\nclass Bag:\n    one: Port\n    two: Acts\n    three: Callable[[], int]\n    four: str\n"
        "@dataclass\nclass Data:\n    one: Port\n    a: str\n    b: str\n    c: Acts\n    d: int\n    e: Tell\n    f: int\n"
        "class Made:\n    def __init__(self, one: Bag, two: Port, three: Tell): ...\n"
        "Tell = Callable[[str], None]\n"
    )
    assert [(bag.name, bag.fields) for bag in bags(shipped(root))] == [
        ("bot/bags.py: Bag", 4),
        ("bot/bags.py: Made", 3),
    ]


def test_who_names_an_event_outside_its_definition_reads_the_log(root: Path) -> None:
    (root / "bot/view.py").write_text("from x import ToolFinished\nmatch event:\n    case ToolFinished(): pass\n")
    (root / "bot/words.py").write_text('"""Says nothing but ToolFinished."""\n')
    assert readers(shipped(root)) == ["bot/view.py"]
    assert readers(shipped(root), "ToolFinished") == ["bot/view.py"]
