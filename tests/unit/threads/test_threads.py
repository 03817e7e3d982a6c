"""Threads: what people do reaches the right execution, one at a time, and nothing is lost when something breaks."""

from __future__ import annotations

import asyncio
from pathlib import Path

from agentic.core.events.execution_events import (
    Exposure,
    Finished,
    InputReceived,
    Started,
    ToolStarted,
)
from agentic.models.scripted.model import Asked, ScriptedModel, answer
from agentic.ports.errors import SandboxLost, SandboxUnavailable
from agentic.ports.runtime import Answer, ToolSpec
from agentic.stores.sqlite.store import SQLiteStore
from tests.unit.threads.house import Bench, house
from tests.waiting import eventually

FINISH = answer("", ("finish", {"answer": "done"}))
WORK = answer("", ("work", {}))
ASK = answer("", ("ask", {}))


def told(model: ScriptedModel, which: int = -1) -> str:
    prompt = model.asked[which].prompt
    return "\n".join([prompt.system, *(message.text for message in prompt.messages), prompt.tail])


def finishing_after(calls: int) -> list[Answer]:
    return [WORK] * calls + [FINISH]


async def test_a_task_runs_to_its_end_and_the_thread_is_idle_again() -> None:
    async with house(finishing_after(1)) as home:
        await home.say("fix it")
        assert home.threads.state("100") in ("busy", "idle")
        await home.threads.idle("100")
        assert home.threads.state("100") == "idle"
        assert await home.reasons() == ["done"], await home.texts()
        assert await home.store.pending("100") == []
        assert home.bench.settled >= 1


async def test_what_is_said_first_in_a_thread_makes_it_a_session_in_the_same_commit(tmp_path: Path) -> None:
    store = SQLiteStore.open(tmp_path / "state.db")
    async with house([FINISH], store=store) as home:
        before = store.counters.commits
        await home.say("fix it")
        assert store.counters.commits == before + 1
        assert await store.session("100") is not None
        await home.threads.idle("100")
    await store.close()


async def test_a_thread_that_was_never_spoken_in_is_unknown() -> None:
    async with house([]) as home:
        assert home.threads.state("999") == "unknown"
        assert not await home.threads.knows("999")
        assert (await home.threads.status("999")).state == "unknown"


async def test_a_message_to_a_busy_thread_is_guidance_in_the_next_request() -> None:
    bench = Bench()
    bench.hold = asyncio.Event()
    async with house([WORK, FINISH], bench=bench) as home:
        await home.say("fix it")
        await bench.began.wait()
        await home.say("use tabs, not spaces")  # the cog thought that the thread was idle
        bench.hold.set()
        await home.threads.idle("100")
        assert "use tabs, not spaces" in told(home.model)
        assert await home.reasons() == ["done"], "guidance is no second task"


async def test_a_queued_task_begins_when_the_first_has_ended_and_knows_of_it() -> None:
    bench = Bench()
    bench.hold = asyncio.Event()
    script = [WORK, answer("", ("finish", {"answer": "the answer is 7491"})), FINISH]
    async with house(script, bench=bench) as home:
        await home.say("first")
        await bench.began.wait()
        await home.say("second", sort="queue")
        assert (await home.threads.status("100")).queued == 1
        bench.hold.set()
        await home.threads.idle("100")
        assert await home.reasons() == ["done", "done"]
        assert "7491" in told(home.model)


async def test_a_stop_ends_the_execution_and_drops_the_queue_with_a_word() -> None:
    bench = Bench()
    bench.hold = asyncio.Event()
    async with house([WORK, FINISH, FINISH], bench=bench) as home:
        await home.say("first")
        await bench.began.wait()
        await home.say("write the poem", sort="queue")
        await home.say("", sort="stop")
        await home.threads.idle("100")
        assert await home.reasons() == ["stopped"]
        assert bench.ended.is_set()
        assert any("write the poem" in text for text in await home.texts())


async def test_a_stop_where_nothing_runs_says_so_and_is_not_kept_for_the_next_task() -> None:
    async with house([FINISH, FINISH]) as home:
        await home.say("first")
        await home.threads.idle("100")
        item = await home.say("", sort="stop")
        assert item.id not in [one.id for one in await home.store.pending("100")]
        await home.say("second")
        await home.threads.idle("100")
        assert await home.reasons() == ["done", "done"]


async def test_an_item_that_was_ever_delivered_changes_nothing() -> None:
    async with house([FINISH, FINISH]) as home:
        item = await home.say("once")
        await home.threads.idle("100")
        receipt = await home.threads.deliver(item, guild="1")
        await home.threads.idle("100")
        assert not receipt.accepted
        assert await home.reasons() == ["done"], await home.texts()


async def test_an_answer_reaches_the_question_and_the_thread_says_that_it_asks() -> None:
    async with house([ASK, FINISH]) as home:
        await home.say("do one of two")
        await home.threads.settled("100")
        assert home.threads.state("100") == "asking"
        question = (await home.threads.status("100")).question
        assert question
        await home.say("that", sort="answer", target=question)
        await home.threads.idle("100")
        assert await home.reasons() == ["done"], await home.texts()
        assert any("that" in a.text for m in home.model.asked[-1].prompt.messages for a in m.answers)


async def test_who_waits_for_a_person_keeps_nobody_from_working() -> None:
    async with house([ASK, FINISH, FINISH], limit=1) as home:
        await home.say("asks", thread="100")
        await home.threads.settled("100")
        await home.say("works", thread="200")
        await home.threads.idle("200")
        assert await home.reasons("200") == ["done"]


async def test_who_was_paused_while_it_asks_still_keeps_nobody_from_working_when_the_pause_is_over() -> None:
    async with house([ASK, FINISH, FINISH], limit=1) as home:
        await home.say("asks", thread="100")
        await home.threads.settled("100")
        await home.say("", thread="100", sort="pause")
        await eventually(lambda: home.threads.state("100") == "paused")
        await home.say("", thread="100", sort="resume")
        await eventually(lambda: home.threads.state("100") == "asking")
        await home.say("works", thread="200")
        await home.threads.idle("200")
        assert await home.reasons("200") == ["done"]


async def test_more_threads_than_slots_all_get_their_turn() -> None:
    running: list[int] = []
    most: list[int] = []

    class Counting(Bench):
        def __init__(self) -> None:
            super().__init__(self._count)
            self.hold = asyncio.Event()

        def _count(self) -> None:
            running.append(1)
            most.append(len(running))
            assert self.hold is not None
            asyncio.get_running_loop().call_later(0.01, self._leave)

        def _leave(self) -> None:
            running.pop()
            assert self.hold is not None
            self.hold.set()

    def script(asked: Asked) -> Answer:
        return FINISH if any(message.answers for message in asked.prompt.messages) else WORK

    async with house(script, limit=3, toolbox=lambda _: Counting()) as home:
        threads = [str(number) for number in range(100, 120)]
        for thread in threads:
            await home.say("work", thread=thread)
        for thread in threads:
            await home.threads.idle(thread)
        assert [await home.reasons(thread) for thread in threads] == [["done"]] * 20
        assert max(most) <= 3


async def test_a_fault_of_ours_is_told_as_ours_and_the_next_message_goes_on() -> None:
    def fail() -> None:
        bench.work = None
        raise ZeroDivisionError("a bug")

    bench = Bench(fail)
    async with house([WORK, FINISH], bench=bench) as home:
        await home.say("fix it")
        await home.threads.idle("100")
        assert home.threads.state("100") == "paused", "it is open: it can be steered, stopped and gone on with"
        assert any("bug in Threadwright" in text for text in await home.texts())
        free = await home.store.acquire("100", "another")
        assert free is not None, "the lease was not given back"
        await home.store.release(free)
        await home.say("go on")
        await home.threads.idle("100")
        assert await home.reasons() == ["done"], "the same execution, not a second one"
        assert [type(e.event) for e in await home.log()].count(ToolStarted) == 2, (
            "work, whose outcome is unknown; finish"
        )
        assert "go on" in told(home.model)


async def test_no_sandbox_is_told_with_what_to_do() -> None:
    def fail() -> None:
        raise SandboxUnavailable("install bubblewrap")

    async with house([WORK], bench=Bench(fail)) as home:
        await home.say("fix it")
        await home.threads.idle("100")
        texts = await home.texts()
        assert any("install bubblewrap" in text and "doctor" in text for text in texts)


async def test_a_lost_sandbox_is_made_anew_and_the_work_goes_on() -> None:
    def fail() -> None:
        bench.work = None
        raise SandboxLost("the container is gone")

    bench = Bench(fail)
    async with house([WORK, FINISH], bench=bench) as home:
        await home.say("fix it")
        await home.threads.idle("100")
        assert await home.reasons() == ["done"]
        assert "unknown" in home.model.asked[-1].prompt.messages[-1].answers[0].text


async def test_a_sandbox_that_is_lost_again_and_again_is_told_to_a_person() -> None:
    def fail() -> None:
        raise SandboxLost("the container is gone")

    async with house([WORK] * 5, bench=Bench(fail)) as home:
        await home.say("fix it")
        await home.threads.idle("100")
        assert await home.reasons() == [""]
        assert sum("The sandbox stopped while" in text for text in await home.texts()) == 1
        assert len(home.model.asked) == 3


async def test_a_vote_on_a_finished_execution_is_kept_with_it_and_starts_nothing() -> None:
    async with house([FINISH]) as home:
        await home.say("fix it")
        await home.threads.idle("100")
        await home.say("up", sort="feedback")
        execution = (await home.store.executions("100"))[-1].execution
        await home.outcome(execution, "feedback_given")
        assert await home.reasons() == ["done"], await home.texts()
        await home.emptied()


async def test_an_execution_begins_with_who_asked_what_may_be_used_and_which_message_it_was() -> None:
    async with house([FINISH]) as home:
        item = await home.say("fix it")
        await home.threads.idle("100")
        log = await home.log()
        started = log[0].event
        assert isinstance(started, Started)
        assert (started.requester.name, started.inbox, started.task) == ("Ann", item.id, "fix it")
        assert [tool.name for tool in started.tools] == ["work", "ask", "finish"]
        assert isinstance(log[-1].event, Finished)
        assert not any(isinstance(e.event, InputReceived) for e in log)


class Mailbox(Bench):
    """With a tool that shows what is not public."""

    @property
    def specs(self) -> tuple[ToolSpec, ...]:
        return (*super().specs, ToolSpec("mail", "Read mail.", {"type": "object"}, "read", "read", private=True))


async def test_what_its_tools_can_show_that_is_not_public_is_at_hand_from_the_beginning() -> None:
    async with house([FINISH], bench=Mailbox()) as home:
        await home.say("fix it")
        await home.threads.idle("100")
        started = (await home.log())[0].event
        assert isinstance(started, Started)
        assert started.exposure == Exposure(private=("what mail answers",))


async def test_what_nobody_asked_for_changes_nothing_while_no_plan_was_agreed_to() -> None:
    async with house([FINISH, FINISH, FINISH]) as home:
        for text, unspoken, planning in (
            ("plan: fix it", False, True),
            ("go on", True, True),
            ("fix it", False, False),
        ):
            await home.say(text, unspoken=unspoken)
            await home.threads.idle("100")
            started = (await home.log())[0].event
            assert isinstance(started, Started)
            assert started.planning is planning, text


async def test_a_message_of_the_bot_belongs_to_its_thread() -> None:
    async with house([FINISH]) as home:
        await home.say("fix it")
        await home.threads.idle("100")
        row = (await home.store.undelivered("100"))[0]
        await home.store.delivered(row.item.key, ["5551"])
        assert await home.threads.thread_of_message("5551") == "100"
        assert await home.threads.thread_of_message("100") == "100"
        assert await home.threads.thread_of_message("5552") is None
