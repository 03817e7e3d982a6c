"""The scripted tour."""

from __future__ import annotations

import asyncio

import pytest

from agentic.core.events.execution_events import (
    CallBlock,
    TextBlock,
)
from agentic.models.scripted.tour import FIRST, HOW, TourModel
from agentic.ports.runtime import (
    Message,
    Prompt,
    ToolAnswer,
    ToolCall,
    ToolSpec,
)
from agentic.tools.toolbox import STANDARD

SPECS: tuple[ToolSpec, ...] = tuple(tool.spec for tool in STANDARD)


async def go(task: str, specs: tuple[ToolSpec, ...] = SPECS, *, failing: str = "", before: tuple[Message, ...] = ()):
    """Answer until the tour ends; every tool answers at once."""
    model = TourModel(pace=0)
    messages = (*before, Message("user", task))
    answers = []
    async with asyncio.timeout(60):
        for _ in range(10):
            answer = await model.answer("scripted/tour", Prompt("s", specs, messages), max_tokens=1, timeout=5)
            answers.append(answer)
            calls = [block for block in answer.blocks if isinstance(block, CallBlock)]
            if not calls or calls[0].tool == "finish":
                return answers
            text = next((b.text for b in answer.blocks if isinstance(b, TextBlock)), "")
            messages += (
                Message("assistant", text, calls=tuple(ToolCall(c.provider_id, c.tool, c.arguments) for c in calls)),
                Message(
                    "user", answers=tuple(ToolAnswer(c.provider_id, c.tool, "done", c.tool == failing) for c in calls)
                ),
            )
    raise AssertionError("the tour never ends")


def calls(answers) -> list[CallBlock]:
    return [block for answer in answers for block in answer.blocks if isinstance(block, CallBlock)]


async def test_it_runs_a_command_writes_a_file_reads_it_and_finishes_without_a_claim():
    answers = await go("Please fix my printer")
    made = calls(answers)
    assert [call.tool for call in made] == ["shell", "write", "read", "finish"]
    file = made[1].arguments["path"]
    assert made[2].arguments["path"] == file
    assert "> Please fix my printer" in made[1].arguments["content"]
    assert made[3].arguments["files"] == [file]
    assert "claims" not in made[3].arguments, "it is no answer"
    assert len({call.provider_id for call in made}) == 4


async def test_its_calls_are_ones_the_real_tools_take():
    known = {tool.spec.name: tool.spec for tool in STANDARD}
    for call in calls(await go("hello")):
        schema = known[call.tool].parameters
        assert set(call.arguments) <= set(schema["properties"])
        assert set(schema["required"]) <= set(call.arguments)


async def test_its_first_and_last_words_say_that_it_is_scripted_and_how_to_get_a_model():
    answers = await go("hello")
    assert answers[0].blocks[0].text.startswith(FIRST)
    final = answers[-1].blocks[-1].arguments["answer"]
    assert final.startswith(FIRST)
    assert HOW in final
    assert "> hello" in final
    assert all(answer.usd == 0 for answer in answers)


async def test_where_a_tool_fails_it_says_so():
    final = (await go("hello", failing="shell"))[-1].blocks[-1].arguments
    assert "failed" in final["answer"]


async def test_without_tools_it_still_answers_what_was_written():
    (answer,) = await go("What is the capital of France?", ())
    assert answer.stop == "end"
    assert "> What is the capital of France?" in answer.blocks[0].text
    assert "Paris" not in answer.blocks[0].text


async def test_a_second_task_in_a_thread_gets_a_tour_of_its_own():
    before = (
        Message("user", "first"),
        Message("assistant", calls=(ToolCall("a", "shell", {"command": "ls"}),)),
        Message("user", answers=(ToolAnswer("a", "shell", "ok"),)),
        Message("assistant", "The end."),
    )
    assert [call.tool for call in calls(await go("second", before=before))] == ["shell", "write", "read", "finish"]


NOTE = "[Note from Threadwright] So far: shell OK. What is the next step to the goal? Take it."
GUIDANCE = "[User guidance from ann]\nUse a list.\n\n[Note from Threadwright] Look before you change something."


@pytest.mark.parametrize(("meanwhile", "beside"), [(NOTE, False), (NOTE, True), (GUIDANCE, False), (GUIDANCE, True)])
async def test_what_is_said_in_the_middle_of_a_tour_does_not_begin_it_anew(meanwhile: str, beside: bool):
    """It came with the results of a turn (``beside``), or in a message of its own."""
    answers, messages = [], (Message("user", "[Task from ann]\nFix my printer."),)
    while len(answers) < 6 and "finish" not in [call.tool for call in calls(answers)]:
        prompt = Prompt("s", SPECS, messages)
        answers.append(await TourModel(pace=0).answer("scripted/tour", prompt, max_tokens=1, timeout=5))
        (call,) = calls(answers[-1:])
        result = (ToolAnswer(call.provider_id, call.tool, "done"),)
        messages += (
            Message("assistant", calls=(ToolCall(call.provider_id, call.tool, call.arguments),)),
            *((Message("user", meanwhile, answers=result),) if beside else (Message("user", answers=result),)),
            *(() if beside else (Message("user", meanwhile),)),
        )
    made = calls(answers)
    assert [call.tool for call in made] == ["shell", "write", "read", "finish"]
    file = made[1].arguments["path"]
    assert made[2].arguments["path"] == file
    assert made[3].arguments["files"] == [file]
    last = "Use a list." if meanwhile == GUIDANCE else "Fix my printer."
    assert f"You wrote:\n> {last}\nI cannot" in made[3].arguments["answer"]


@pytest.mark.parametrize("task", ["", "x" * 5000, "line one\nline two\n> quote\n```fence"])
async def test_whatever_was_written_is_quoted_and_bounded(task: str):
    content = calls(await go(task))[1].arguments["content"]
    assert len(content) < 1500
    quoted = content.split("You wrote:\n\n")[1].split("\n\nTo work")[0]
    assert all(line.startswith("> ") for line in quoted.splitlines())


async def test_it_is_streamed_in_pieces():
    pieces: list[str] = []
    await TourModel(pace=0).answer(
        "scripted/tour", Prompt("s", SPECS, (Message("user", "x"),)), max_tokens=1, timeout=5, on_text=pieces.append
    )
    assert len(pieces) > 3
    assert "".join(pieces).startswith(FIRST)
