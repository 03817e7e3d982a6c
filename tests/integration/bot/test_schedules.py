"""Tasks at set times: made, listed, begun once each, paused and deleted, over the local guild with a clock that is set."""

from __future__ import annotations

from datetime import timedelta
from functools import partial
from pathlib import Path

from agentic.core.events.execution_events import Started
from bot.local_discord.faults.rules import ErrorAnswer, Rule
from bot.local_discord.local_discord import LocalGuild
from bot.local_discord.model.permission_flags import Permission
from tests.integration.bot.timed import Mind, timed
from tests.integration.bot.whole import SECONDS
from tests.waiting import eventually


async def test_a_schedule_of_a_channel_opens_a_thread_each_time_and_works_there(
    tmp_path: Path, guild: LocalGuild
) -> None:
    guild.add_member("ann")
    async with timed(tmp_path, guild) as at:
        said = await at.adds("every day at 9", "look for failing tests", author="ann", zone="europe/berlin")
        assert "⏰ **look for failing tests** · every day at 9 (Europe/Berlin)" in said.content
        assert said.content.count("<t:") == 3
        assert said.content.count(":F>") == 3
        assert said.ephemeral
        for times in (1, 2):
            await at.until_next()
            opening = at.opened("look for failing tests")
            assert len(opening) == times
            await at.answered(opening[-1].id)
        first, second = at.opened("look for failing tests")
        assert [one.name for one in guild.threads()] == ["look for failing tests"] * 2
        for thread in (first.id, second.id):
            (execution,) = await at.bot.executions(thread)
            started = (await at.bot.log(execution))[0]
            assert isinstance(started, Started)
            assert (started.task, started.requester.name, started.requester.level) == (
                "look for failing tests", "ann", "executor",
            )  # fmt: skip
            assert any("Looked at it." in m.content for m in at.bot.of_bot(thread))
        assert len(at.mind.asked) == 2


async def test_a_schedule_made_in_a_thread_works_in_that_thread(tmp_path: Path, guild: LocalGuild) -> None:
    async with timed(tmp_path, guild) as at:
        thread = await at.bot.task("begin here")
        said = await at.adds("every 2 hours", "look again", thread)
        assert "Works in this thread" in said.content
        await at.until_next()
        await at.answered(thread, 2)
        told = [m.content for m in at.bot.of_bot(thread)]
        assert any(text.startswith("⏰ **look again**") for text in told)
        assert "begin here" in at.mind.asked[-1].text(), "it knows what was before in its thread"
        assert not at.opened("look again")


async def test_a_time_that_comes_while_the_task_before_is_open_is_skipped_and_that_is_said_once(
    tmp_path: Path, guild: LocalGuild
) -> None:
    mind = Mind()
    async with timed(tmp_path, guild, mind) as at:
        await at.adds("every 10 minutes", "hold on")
        await at.until_next()
        (opening,) = at.opened("hold on")
        for _ in range(3):
            await at.until_next()
        await at.bot.says(opening.id, "⏰ Skipped “hold on”")
        assert len(at.opened("hold on")) == 1
        await at.bot.app.delivered(str(opening.id), 1.0)
        assert sum("Skipped" in m.content for m in at.bot.of_bot(opening.id)) == 1
        mind.go.set()
        await at.answered(opening.id)
        await at.until_next()
        assert len(at.opened("hold on")) == 2


async def test_what_was_missed_while_the_bot_was_away_happens_once_if_it_is_not_old(
    tmp_path: Path, guild: LocalGuild
) -> None:
    async with timed(tmp_path, guild) as at:
        await at.adds("every 20 minutes", "look often")
        await at.adds("every 1 day at noon", "look daily")
        (often, daily) = await at.schedules()
        assert daily.next is not None
        assert often.next is not None
        away = max(daily.next - at.clock.now() + timedelta(hours=8), timedelta(hours=9))
        await at.passes(away)
        (opening,) = at.opened("look often")
        assert "more times passed while I was away" in opening.content
        await at.bot.says(at.general, "I was away when “look daily” was due")
        assert not [m for m in at.opened("look daily") if m.content.startswith("⏰ **")]
        after = await at.schedules()
        assert all(one.next is not None and one.next > at.clock.now() for one in after)


async def test_a_list_has_buttons_that_run_pause_resume_and_delete(tmp_path: Path, guild: LocalGuild) -> None:
    guild.add_member("ann")
    async with timed(tmp_path, guild) as at:
        await at.adds("every Monday at 9", "first thing", author="ann")
        await at.adds("every Tuesday at 9", "second thing", author="ann")
        shown = await at.uses(at.general, "schedule list", author="ann")
        assert "**1. first thing**" in shown.content
        assert "**2. second thing**" in shown.content
        assert [str(each["label"]) for each in shown.interactive()] == [
            "1 · Run now", "1 · Pause", "1 · Delete", "2 · Run now", "2 · Pause", "2 · Delete",
        ]  # fmt: skip
        await at.presses(shown, "2 · Pause", "ann", says="⏸ Paused “second thing”")
        shown = await guild.wait_for(
            lambda here: next(
                (m for m in here.messages(at.general, viewer="ann") if m.id == shown.id and "Paused: ann" in m.content), None
            ),
            SECONDS,
        )  # fmt: skip
        await at.presses(shown, "1 · Run now", "ann", says="▶ “first thing” begins now.")
        await at.settles()
        (opening,) = at.opened("first thing")
        await at.answered(opening.id)
        await at.passes(timedelta(days=8))
        assert len(at.opened("first thing")) >= 1
        assert not at.opened("second thing"), "it is paused"
        await at.presses(shown, "2 · Resume", "ann", says="▶ Resumed “second thing”")
        assert all(one.next and one.next > at.clock.now() for one in await at.schedules())
        await at.presses(shown, "2 · Delete", "ann", says="🗑️ Deleted “second thing”")
        assert [one.title for one in await at.schedules()] == ["first thing"]


async def test_buttons_of_a_list_work_after_a_restart_and_only_for_those_who_may(
    tmp_path: Path, guild: LocalGuild
) -> None:
    guild.add_member("ann")
    guild.add_member("bob")
    ops = guild.add_role("ops")
    guild.add_member("olga", [ops.id])
    async with timed(tmp_path, guild, operators=(str(ops.id),)) as at:
        await at.adds("every Monday at 9", "first thing", author="ann")
        shown = await at.uses(at.general, "schedule list", author="ann")
        other = await at.uses(at.general, "schedule list", author="bob")
        assert "no schedules of yours" in other.content
        refused = await at.uses(at.general, "schedule delete", {"schedule": "1"}, author="bob")
        assert "There is no schedule `1` here that is yours" in refused.content
        of_all = await at.uses(at.general, "schedule list", author="olga")
        assert "by ann" in of_all.content
    async with timed(tmp_path, guild, operators=(str(ops.id),)) as at:
        await at.presses(shown, "1 · Run now", "ann", says="begins now")
        await at.settles()
        assert len(at.opened("first thing")) == 1
        done = await at.uses(at.general, "schedule delete", {"schedule": "1"}, author="olga")
        assert "Deleted “first thing”" in done.content


async def test_a_restart_in_between_begins_it_once_and_a_once_is_gone_afterwards(
    tmp_path: Path, guild: LocalGuild
) -> None:
    async with timed(tmp_path, guild) as at:
        await at.adds("in 30 minutes", "look once")
    async with timed(tmp_path, guild) as at:
        await at.until_next()
        (opening,) = at.opened("look once")
        await at.answered(opening.id)
        assert await at.schedules() == []
    async with timed(tmp_path, guild) as at:
        at.clock.shift += timedelta(hours=2)
        await at.settles()
        assert len(at.opened("look once")) == 1


async def test_a_set_clock_doubles_nothing_and_loses_nothing(tmp_path: Path, guild: LocalGuild) -> None:
    async with timed(tmp_path, guild) as at:
        await at.adds("every 1 hour", "look hourly")
        await at.until_next()
        (opening,) = at.opened("look hourly")
        await at.answered(opening.id)
        for back in (timedelta(minutes=-50), timedelta(minutes=49)):
            await at.passes(back)
            assert len(at.opened("look hourly")) == 1
        await at.until_next()
        assert len(at.opened("look hourly")) == 2
        (one,) = await at.schedules()
        assert one.next is not None
        await at.passes(timedelta(days=400))
        await at.passes(timedelta(days=-400))

        async def within_the_hour() -> bool:
            (one,) = await at.schedules()
            return one.next is not None and one.next - at.clock.now() <= timedelta(hours=1)

        await eventually(within_the_hour, "a year that was wrong is not waited for")


async def test_the_time_zone_of_a_server_is_a_setting(tmp_path: Path, guild: LocalGuild) -> None:
    async with timed(tmp_path, guild) as at:
        done = await at.uses(
            at.general, "settings set", {"name": "timezone", "value": "australia/lord howe", "scope": "server"}
        )
        assert "is now **Australia/Lord_Howe**" in done.content
        said = await at.adds("every day at 9", "look")
        assert "(Australia/Lord_Howe)" in said.content
        wrong = await at.adds("every day at 9", "look", zone="Middle Earth")
        assert "no time zone `Middle Earth`" in wrong.content
        assert "`Australia/Lord_Howe`" in wrong.content


async def test_words_that_are_no_time_and_what_may_not_be_are_answered_plainly(
    tmp_path: Path, guild: LocalGuild
) -> None:
    quiet = guild.add_role("quiet")
    guild.add_member("ann")
    async with timed(tmp_path, guild) as at:
        assert "don't understand “blue” after “every”" in (await at.adds("every blue moon", "look")).content
        assert "more often than every 5 minutes" in (await at.adds("* * * * *", "look")).content
        assert "needs a schedule that works in one thread" in (await at.adds("hourly", "look", gate="true")).content
        assert "I can ping" in (await at.adds("hourly", "look", ping="@everyone")).content
        refused = await at.adds("hourly", "look", author="ann", ping=f"<@&{quiet.id}>")
        assert "may not mention that role" in refused.content
        assert "ping" in (await at.adds("hourly", "look", ping="<@123456789012345678>")).content
        assert await at.schedules() == []
        for number in range(20):
            await at.adds("hourly", f"look {number}")
        assert "There are 20 schedules already" in (await at.adds("hourly", "one more")).content
        shown = await at.uses(at.general, "schedule list", {"page": 4})
        assert "**16. look 15**" in shown.content
        assert "Page 4 of 4" in shown.content


async def test_a_schedule_in_a_direct_message_works_there(tmp_path: Path, guild: LocalGuild) -> None:
    async with timed(tmp_path, guild) as at:
        direct = await guild.open_dm()
        said = await at.adds("every 2 hours", "look at my files", direct.id)
        assert "Works in this conversation" in said.content
        await at.until_next()
        await at.answered(direct.id)
        assert any("Looked at it." in m.content for m in at.bot.of_bot(direct.id))


async def test_a_schedule_is_stored_of_a_person_and_erased_with_them(tmp_path: Path, guild: LocalGuild) -> None:
    async with timed(tmp_path, guild) as at:
        await at.adds("hourly", "look")
        asked = await at.uses(at.general, "privacy")
        assert "1 schedule of yours" in asked.content
        for label in ("Erase my data", "Erase for good"):
            button = await guild.wait_for(partial(_button, asked.id, label), SECONDS)
            await guild.click(asked.id, button)

        async def none() -> bool:
            return not await at.schedules()

        await eventually(none, "there is no schedule any more")


def _button(message: int, label: str, here: LocalGuild) -> str | None:
    """The button of a message with this label, once it stands there."""
    shown = next((m for m in here.messages(here.channel().id, viewer=None) if m.id == message), None)
    found = [each for each in shown.interactive() if each["label"] == label] if shown is not None else []
    return str(found[0]["custom_id"]) if found else None


async def test_a_gate_begins_the_task_only_with_exit_code_0_and_costs_nothing(
    tmp_path: Path, guild: LocalGuild
) -> None:
    async with timed(tmp_path, guild) as at:
        thread = await at.bot.task("begin here")
        asked = len(at.mind.asked)
        said = await at.adds("every 1 hour", "read the news", thread, gate="echo looked >> tries; test -e news")
        assert "Begins only if" in said.content
        for tries in (1, 2):
            await at.until_next()
            await at.bot.app.threads.idle(str(thread))
            assert (at.bot.workspace(thread) / "tries").read_text() == "looked\n" * tries
        assert len(at.mind.asked) == asked
        assert not any("read the news" in m.content for m in at.bot.of_bot(thread) if not m.ephemeral)
        listed = await at.uses(thread, "schedule list")
        assert "last: closed (exit 1)" in listed.content
        (at.bot.workspace(thread) / "news").touch()
        await at.until_next()
        await at.answered(thread, 2)
        assert len(at.mind.asked) == asked + 1
        assert any(m.content.startswith("⏰ **read the news**") for m in at.bot.of_bot(thread) if not m.ephemeral)
        assert "last: open (exit 0)" in (await at.uses(thread, "schedule list")).content


async def test_a_gate_in_the_thread_of_somebody_else_is_for_operators(tmp_path: Path, guild: LocalGuild) -> None:
    guild.add_member("ann")
    async with timed(tmp_path, guild) as at:
        thread = await at.bot.task("begin here")
        refused = await at.adds("hourly", "look", thread, author="ann", gate="rm -rf .")
        assert "An operator of this server can make this schedule" in refused.content
        assert await at.schedules() == []


async def test_the_schedule_of_somebody_who_left_is_paused_and_that_is_said_where_it_was_made(
    tmp_path: Path, guild: LocalGuild
) -> None:
    guild.add_member("ann")
    async with timed(tmp_path, guild) as at:
        await at.adds("every 1 hour", "look hourly", author="ann")
        guild.remove_member("ann")
        await at.until_next()
        await at.bot.says(at.general, "⏸ The schedule “look hourly” is paused: ann has left this server")
        await at.passes(timedelta(hours=5))
        assert not at.opened("look hourly")
        assert at.mind.asked == []
        (one,) = await at.schedules()
        assert "has left" in one.paused
        shown = await at.uses(at.general, "schedule list")
        assert "by ann" in shown.content
        await at.presses(shown, "1 · Delete", says="Deleted")
        assert await at.schedules() == []


async def test_a_schedule_whose_maker_lost_the_right_is_paused_and_goes_on_once_they_have_it_again(
    tmp_path: Path, guild: LocalGuild
) -> None:
    looks = guild.add_role("looks")
    guild.add_member("ann")
    async with timed(tmp_path, guild, viewers=(str(looks.id),)) as at:
        await at.adds("every 1 hour", "look hourly", author="ann")
        guild.set_roles("ann", [looks.id])
        await at.until_next()
        await at.bot.says(at.general, "is paused: ann may no longer start tasks here")
        assert at.mind.asked == []
        guild.set_roles("ann", [])
        shown = await at.uses(at.general, "schedule list", author="ann")
        await at.presses(shown, "1 · Resume", "ann", says="Resumed")
        await at.until_next()
        (opening,) = at.opened("**look hourly**")
        await at.answered(opening.id)


async def test_a_schedule_whose_channel_or_thread_is_gone_is_paused_and_its_maker_told(
    tmp_path: Path, guild: LocalGuild
) -> None:
    guild.add_member("ann")
    channel = guild.add_channel("news").id
    async with timed(tmp_path, guild) as at:
        thread = await at.bot.task("begin here")
        await at.adds("every 1 hour", "read the news", channel, author="ann")
        await at.adds("every 1 hour", "go on there", thread, author="ann")
        await guild.delete_channel(channel)
        await guild.delete_channel(thread)
        await at.until_next()
        direct = await guild.open_dm("ann")
        await at.bot.says(direct.id, "⏸ The schedule “read the news” is paused: its channel is gone")
        await at.bot.says(direct.id, "⏸ The schedule “go on there” is paused: its thread is gone")
        assert all(one.paused for one in await at.schedules())


async def test_a_schedule_where_the_bot_may_not_write_any_more_is_paused_and_its_maker_told_what_to_grant(
    tmp_path: Path, guild: LocalGuild
) -> None:
    guild.add_member("ann")
    async with timed(tmp_path, guild) as at:
        await at.adds("every 1 hour", "look hourly", author="ann")
        guild.deny(at.general, Permission.CREATE_PUBLIC_THREADS)
        await at.until_next()
        direct = await guild.open_dm("ann")
        await at.bot.says(direct.id, "grant me “View Channel”")
        guild.deny(at.general)
        shown = await at.uses(at.general, "schedule list", author="ann")
        await at.presses(shown, "1 · Resume", "ann", says="Resumed")
        await at.until_next()
        assert len(at.opened("**look hourly**")) == 1


async def test_whoever_is_to_be_told_is_pinged_with_the_answer(tmp_path: Path, guild: LocalGuild) -> None:
    ann, news = guild.add_member("ann"), guild.add_role("news", mentionable=True)
    async with timed(tmp_path, guild) as at:
        for ping in ("me", "nobody", f"<@{ann.id}>", f"<@&{news.id}>"):
            await at.adds("in 10 minutes", f"look for {ping.strip('<@&>')}", ping=ping)
        await at.passes(timedelta(minutes=11))
        you = f"<@{guild.you.id}>"
        for ping, called in (
            ("me", you),
            ("nobody", ""),
            (str(ann.id), f"<@{ann.id}>"),
            (str(news.id), f"<@&{news.id}>"),
        ):
            (opening,) = at.opened(f"look for {ping}**")
            await at.answered(opening.id)
            answer = await at.bot.says(opening.id, "Looked at it.")
            assert called in answer.content if called else "<@" not in answer.content, (ping, answer.content)


async def test_while_discord_is_away_nothing_is_lost_and_nothing_doubled(tmp_path: Path, guild: LocalGuild) -> None:
    async with timed(tmp_path, guild) as at:
        await at.adds("every 1 hour", "look hourly")
        guild.misbehave(Rule("POST */messages", ErrorAnswer(503, landed=True), times=2))
        await at.until_next()
        (opening,) = at.opened("look hourly")
        await at.answered(opening.id)
        assert len(await at.bot.executions(opening.id)) == 1
