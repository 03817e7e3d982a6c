"""An agent that has itself woken: in its thread, once, at most ten times, and not after a stop or a new task."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

from agentic.core.events.execution_events import Started, ToolFinished, WakeRequested
from agentic.models.scripted.captured_request import CapturedRequest
from agentic.models.scripted.replies import Reply
from bot.local_discord.local_discord import LocalGuild
from bot.local_discord.model.records import Message
from tests.integration.bot.timed import Mind, Timed, timed
from tests.integration.bot.whole import SECONDS, finishes, uses
from tests.waiting import eventually

WHY = "see whether the import has ended"


def wakes(minutes: int = 30) -> Reply:
    return uses("wake_me", minutes=minutes, why=WHY)


def once(request: CapturedRequest) -> Reply:
    """Ask to be woken in the first task; in the one that it is woken for, look and finish."""
    if "You asked to be woken" in request.messages[0].text:
        return finishes("The import has ended.")
    return finishes("It still runs; I look again.") if request.answers else wakes()


def again(request: CapturedRequest) -> Reply:
    """Ask to be woken in each task."""
    return finishes("I look again.") if request.answers else wakes(5)


def labels(message: Message) -> list[str]:
    return [str(each["label"]) for each in message.interactive() if each.get("label")]


async def until_woken(at: Timed) -> None:
    """The clock goes to the wake-up that waits."""
    due = next(one.due for one in await at.schedules() if one.due is not None)
    await at.passes(due - at.clock.now() + timedelta(seconds=1))


async def test_an_agent_is_woken_in_its_thread_once_and_knows_why(tmp_path: Path, guild: LocalGuild) -> None:
    async with timed(tmp_path, guild, Mind(script=once)) as at:
        thread = await at.bot.task("import the numbers and tell me when it is done")
        answer = await at.bot.says(thread, "It still runs; I look again.")
        assert "⏰ Wakes <t:" in answer.content
        assert WHY in answer.content
        assert "Don't wake" in labels(answer)
        (first,) = await at.bot.executions(thread)
        asked = next(one for one in await at.bot.log(first) if isinstance(one, WakeRequested))
        assert asked.why == WHY
        await at.passes(timedelta(minutes=20))
        assert len(await at.bot.executions(thread)) == 1
        await until_woken(at)
        await at.answered(thread, 2)
        await at.bot.says(thread, f"⏰ I go on as planned: {WHY}")
        await at.bot.says(thread, "The import has ended.")
        started = (await at.bot.log((await at.bot.executions(thread))[1]))[0]
        assert isinstance(started, Started)
        assert started.task.startswith(f"[You asked to be woken: {WHY}]")
        assert started.requester.id == str(guild.you.id)
        assert "import the numbers" in at.mind.asked[-1].text(), "it knows what was asked for before"
        await at.passes(timedelta(hours=30))
        assert len(await at.bot.executions(thread)) == 2


async def test_a_wake_up_outlives_a_restart_and_comes_late_after_an_absence(tmp_path: Path, guild: LocalGuild) -> None:
    async with timed(tmp_path, guild, Mind(script=once)) as at:
        thread = await at.bot.task("import the numbers")
    async with timed(tmp_path, guild, Mind(script=once)) as at:
        await at.passes(timedelta(hours=3))
        await at.answered(thread, 2)
        await at.bot.says(thread, "The import has ended.")
    async with timed(tmp_path, guild, Mind(script=once)) as at:
        await at.passes(timedelta(hours=3))
        assert len(await at.bot.executions(thread)) == 2


async def test_what_was_slept_through_for_long_is_said_and_not_done(tmp_path: Path, guild: LocalGuild) -> None:
    async with timed(tmp_path, guild, Mind(script=once)) as at:
        thread = await at.bot.task("import the numbers")
        await at.passes(timedelta(hours=9))
        await at.bot.says(thread, f"({WHY}), but was away. Write here if I should.")
        assert len(await at.bot.executions(thread)) == 1


async def test_a_stop_in_a_quiet_thread_cancels_the_wake_up_and_says_so(tmp_path: Path, guild: LocalGuild) -> None:
    async with timed(tmp_path, guild, Mind(script=once)) as at:
        thread = await at.bot.task("import the numbers")
        answer = await at.bot.says(thread, "It still runs")
        await guild.react(answer.id, "🛑")
        await at.bot.says(thread, "⏰ I won't go on by myself at <t:")
        await guild.wait_for(lambda here: _bare(at.bot.of_bot(thread), answer.id), SECONDS)
        assert await at.schedules() == []
        await at.passes(timedelta(hours=1))
        assert len(await at.bot.executions(thread)) == 1
        await guild.post(thread, "stop")
        await at.bot.says(thread, "Nothing is running here.")


async def test_a_new_task_cancels_the_wake_up_and_says_so(tmp_path: Path, guild: LocalGuild) -> None:
    mind = Mind(script=once)
    async with timed(tmp_path, guild, mind) as at:
        thread = await at.bot.task("import the numbers")
        mind.script = lambda _: finishes("Done with that.")
        await guild.post(thread, "do something else instead")
        await at.bot.says(thread, "⏰ I won't go on by myself at <t:")
        await at.answered(thread, 2)
        await at.passes(timedelta(hours=1))
        assert len(await at.bot.executions(thread)) == 2


async def test_a_stop_while_it_asks_to_be_woken_leaves_nothing_that_wakes_it(tmp_path: Path, guild: LocalGuild) -> None:
    mind = Mind(script=lambda request: wakes() if not request.answers else None)
    async with timed(tmp_path, guild, mind) as at:
        posted = await guild.post(at.general, f"{guild.bot.mention} hold the import")
        await eventually(at.schedules, "it asked to be woken")
        await guild.post(posted.id, "stop")
        await at.bot.says(posted.id, "⏰ I won't go on by myself at")
        await at.bot.app.threads.idle(str(posted.id))
        await at.passes(timedelta(hours=1))
        assert [row.finished for row in await at.bot.app.store.executions(str(posted.id))] == ["stopped"]
        await at.bot.app.delivered(str(posted.id), SECONDS)
        assert not any("Wakes <t:" in m.content for m in at.bot.of_bot(posted.id))


async def test_the_button_under_the_answer_cancels_it_for_those_who_may(tmp_path: Path, guild: LocalGuild) -> None:
    guild.add_member("ann")
    async with timed(tmp_path, guild, Mind(script=once)) as at:
        thread = await at.bot.task("import the numbers")
        answer = await at.bot.says(thread, "It still runs")
        refused = await at.presses(answer, "Don't wake", "ann")
        assert "operator" in refused.content
    async with timed(tmp_path, guild, Mind(script=once)) as at:
        button = next(str(each["custom_id"]) for each in answer.interactive() if each.get("label") == "Don't wake")
        await guild.click(answer.id, button)
        await at.bot.says(thread, f"{guild.you.name} cancelled it")
        await guild.wait_for(lambda here: _bare(at.bot.of_bot(thread), answer.id), SECONDS)
        await at.passes(timedelta(hours=1))
        assert len(await at.bot.executions(thread)) == 1


async def test_it_wakes_ten_times_between_two_messages_of_a_person(tmp_path: Path, guild: LocalGuild) -> None:
    async with timed(tmp_path, guild, Mind(script=again)) as at:
        thread = await at.bot.task("watch the import")
        for times in range(2, 12):
            await until_woken(at)
            await at.answered(thread, times)
        assert not [one for one in await at.schedules() if one.due is not None]
        last = await at.bot.log((await at.bot.executions(thread))[-1])
        refused = next(one for one in last if isinstance(one, ToolFinished) and one.outcome == "refused")
        assert "woken 10 times since a person last wrote here" in refused.preview
        await guild.post(thread, "go on watching")
        await at.answered(thread, 12)
        assert [one for one in await at.schedules() if one.due is not None], "a person's message counts anew"


async def test_a_wake_up_for_somebody_who_left_does_not_come_and_that_is_said(
    tmp_path: Path, guild: LocalGuild
) -> None:
    guild.add_member("ann")
    async with timed(tmp_path, guild, Mind(script=once)) as at:
        posted = await guild.post(at.general, f"{guild.bot.mention} import the numbers", author="ann")
        await at.answered(posted.id)
        guild.remove_member("ann")
        await until_woken(at)
        await at.bot.says(posted.id, f"⏰ I wanted to go on here ({WHY}), but ann may not start tasks here any more.")
        assert len(await at.bot.executions(posted.id)) == 1


async def test_a_call_that_is_run_again_after_a_crash_finds_its_wake_up_kept(tmp_path: Path, guild: LocalGuild) -> None:
    mind = Mind()
    async with timed(tmp_path, guild, mind) as at:
        posted = await guild.post(at.general, f"{guild.bot.mention} hold the import")
        await eventually(lambda: mind.asked, "the model was asked")
        wakes_ = at.bot.app.bot.wakes
        thread = str(posted.id)
        first = await wakes_.arm(thread, "r1.0", 30, WHY)
        again_ = await wakes_.arm(thread, "r1.0", 30, WHY)
        assert first == again_
        assert not isinstance(first, str)
        later = await wakes_.arm(thread, "r2.0", 60, WHY)
        assert not isinstance(later, str)
        assert later.at > first.at
        assert [one.id for one in await at.schedules() if one.due is not None] == [later.wake], "the later one counts"


def _bare(said: list[Message], id: int) -> bool | None:
    """The message has lost its button."""
    return True if any(m.id == id and "Don't wake" not in labels(m) for m in said) else None
