"""Words before a task: a plan, approaches, a model; in any order, and ordinary sentences stay what they are."""

from __future__ import annotations

import pytest

from agentic.core.text.task_words import TaskWords, bounded, read

MODELS = ("anthropic/claude-opus-5-5", "claude-opus-5-5", "deepseek/deepseek-chat", "deepseek-chat")


@pytest.mark.parametrize(
    ("task", "words"),
    [
        ("fix it", TaskWords("fix it")),
        ("plan: fix it", TaskWords("fix it", plan=True)),
        ("Plan first : fix it", TaskWords("fix it", plan=True)),
        ("try 3 ways: fix it", TaskWords("fix it", approaches=3)),
        ("Try two different approaches: fix it", TaskWords("fix it", approaches=2)),
        ("approaches: 2 fix it", TaskWords("fix it", approaches=2)),
        ("approaches: fix it", TaskWords("fix it", approaches=3)),
        ("approaches: 0 fix it", TaskWords("fix it", approaches=1)),
        ("try 9 ways: fix it", TaskWords("fix it", approaches=9)),
        ("try 3 ways to fix it", TaskWords("try 3 ways to fix it")),
        ("model: claude-opus-5-5 fix it", TaskWords("fix it", model="claude-opus-5-5")),
        ("model: deepseek-chat, fix it", TaskWords("fix it", model="deepseek-chat")),
        ("model: Deepseek-chatt fix it", TaskWords("fix it", model="Deepseek-chatt")),
        ("model: strongest: fix it", TaskWords("fix it", model="strongest")),
        ("model: auto fix it", TaskWords("fix it", model="auto")),
        ("model: acme/big fix it", TaskWords("fix it", model="acme/big")),
        ("model: the user table needs a column", TaskWords("model: the user table needs a column")),
        ("model: tier3 plan: try 2 ways: fix it", TaskWords("fix it", True, 2, "tier3")),
        ("try 2 ways: plan: model: tier3\nfix it", TaskWords("fix it", True, 2, "tier3")),
        ("plan: plan: fix it", TaskWords("plan: fix it", plan=True)),
        ("approaches: 2 approaches: 3 fix it", TaskWords("approaches: 3 fix it", approaches=2)),
        ("model: tier3 model: tier4 fix it", TaskWords("model: tier4 fix it", model="tier3")),
    ],
)
def test_what_is_written_before_a_task_is_read_and_the_task_is_what_is_left(task: str, words: TaskWords) -> None:
    assert read(task, MODELS) == words


def test_so_many_approaches_are_tried() -> None:
    assert [bounded(number) for number in (0, 1, 2, 3, 4, 9)] == [0, 2, 2, 3, 4, 4]
