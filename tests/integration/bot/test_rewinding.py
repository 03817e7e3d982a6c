"""Going on from earlier: once for each act, by who may, with what was spent; where there is no place for a fork."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from agentic.core.events.execution_events import (
    InboxItem,
    Level,
    Person,
    Policy,
    PolicyChanged,
    Started,
    WorkspaceRestored,
)
from agentic.core.fold.fold import fold
from agentic.core.fold.people import MACHINE
from agentic.core.rules.decide import decide
from agentic.core.state.actions import Finish
from agentic.ports.runtime import Saved, SessionRow
from bot.actions.rerun import extension, written
from bot.actions.restore_files import Wish
from bot.history.log_positions import Cut, copied
from bot.history.run_history import family, pasts_after
from bot.local_discord.local_discord import LocalGuild
from bot.local_discord.model.permission_flags import Permission
from bot.ports.actions import NotDone
from tests.integration.bot.commanding import desk, words
from tests.integration.bot.test_undoing import ANN, BEN, Scene
from tests.unit.core.building import YOU, Log


@pytest.fixture
def scene(tmp_path: Path) -> Scene:
    made = Scene(tmp_path)
    (made.files / "a.txt").write_text("old")
    return made


async def names(scene: Scene) -> list[str]:
    return [row.execution for row in await scene.store.executions("100")]


async def test_a_retry_that_is_done_again_after_a_crash_changes_nothing_more(scene: Scene) -> None:
    await scene.executed("x1", ("a.txt", "new"))
    told = await scene.act("retry", "", id="77")
    assert "Starting that task over. The files are back as they were before it." in told
    assert "1 file was restored: `a.txt`" in told
    (_, again) = await names(scene)
    (scene.files / "a.txt").write_text("what it did by then")
    assert await scene.act("retry", "", id="77") == told
    assert (scene.files / "a.txt").read_text() == "what it did by then"
    assert await names(scene) == ["x1", again]
    assert "was already undone by Ann" in await scene.undo("x1")


async def test_a_crash_after_the_files_were_put_back_loses_neither_the_state_before_nor_the_retry(scene: Scene) -> None:
    await scene.executed("x1", ("a.txt", "new"))
    item = InboxItem(id="77", thread="100", sort="retry", author=ANN, at=datetime.now(UTC))
    (past,) = [past async for past in pasts_after(scene.store, "100", "x1")]
    restoring = scene.acts.rewinding.restoring
    await restoring.put_back(item, Wish(past, [], past.before, "undo"))
    assert "1 file was restored: `a.txt`" in await scene.act("retry", "", id="77")
    (restored,) = [e.event for e in await scene.store.read_outcome("x1") if isinstance(e.event, WorkspaceRestored)]
    assert await scene.snapshots.content("100", restored.kept, "a.txt") == b"new"


async def test_what_was_put_back_half_way_is_finished_and_the_whole_state_before_is_kept(scene: Scene) -> None:
    """A process that died between two files: the copy of the state before is the one of the first time."""
    (scene.files / "b.txt").write_text("old")
    await scene.executed("x1", ("a.txt", "new"), ("b.txt", "new"))
    item = InboxItem(id="77", thread="100", sort="undo", author=ANN, at=datetime.now(UTC), target="x1")
    (past,) = [past async for past in pasts_after(scene.store, "100", "x1")]
    saved = await scene.workshop.save("100")
    restoring = scene.acts.rewinding.restoring
    await restoring._keep(item, past, saved.manifest)  # pyright: ignore[reportPrivateUsage] - as far as it came
    (scene.files / "a.txt").write_text("old")
    told = await scene.act("undo", "x1", id="77")
    assert "restored 2 files" in told
    (restored,) = [e.event for e in await scene.store.read_outcome("x1") if isinstance(e.event, WorkspaceRestored)]
    assert restored.kept == saved.manifest
    assert "Redone: restored 2 files" in await scene.act("redo", "x1")
    assert [(scene.files / name).read_text() for name in ("a.txt", "b.txt")] == ["new", "new"]


async def test_a_trial_of_the_machine_is_numbered_and_yields_to_whoever_says_something_new(scene: Scene) -> None:
    await scene.executed("x1", ("a.txt", "new"))
    waits = InboxItem(id="55", thread="100", sort="task", author=ANN, at=datetime.now(UTC), text="leave it")
    await scene.store.put(waits)
    assert "Somebody wrote something new here" in await scene.act("trial", "x1/result", MACHINE, id="trial.x1")
    assert await names(scene) == ["x1"]
    await scene.store.discard([waits.id])
    told = await scene.act("trial", "x1/result", MACHINE, id="trial.x1")
    assert told.startswith(
        "Its check still fails, so I'm trying again with what I learned (attempt 2 of 3). 🛑 stops it."
    )
    assert (scene.files / "a.txt").read_text() == "old"
    assert await scene.act("trial", "x1/result", MACHINE, id="trial.x1") == told, "after a crash it is the same one"
    (_, second) = await names(scene)
    pasts = [past async for past in pasts_after(scene.store, "100", "x1", running=True)]
    assert [past.execution for past in family(pasts[0], pasts[1:])] == [second], "a used “Try again” goes"
    (row,) = [one for one in await scene.store.undelivered("100") if one.item.key == "trial.x1.done"]
    assert row.item.text == told, "said in the transaction that began it"
    (started, *_) = [e.event async for e in scene.store.read(second)]
    assert isinstance(started, Started)
    assert (started.requester.id, started.trial_of, started.attempt) == (ANN.id, "x1", 2)


async def test_what_a_person_undid_is_not_tried_again_by_the_machine(scene: Scene) -> None:
    await scene.executed("x1", ("a.txt", "new"))
    await scene.undo("x1")
    assert "Somebody wrote something new here" in await scene.act("trial", "x1/result", MACHINE, id="trial.x1")
    assert await names(scene) == ["x1"]


@pytest.mark.parametrize(("level", "allowed"), [("executor", False), ("operator", True)])
async def test_only_operators_run_again_what_others_asked_for(scene: Scene, level: Level, allowed: bool) -> None:
    await scene.executed("x1", ("a.txt", "new"))
    told = await scene.act("retry", "x1/result", BEN.model_copy(update={"level": level}))
    assert ("Starting that task over" in told) is allowed
    assert len(await names(scene)) == 1 + allowed
    if allowed:  # it stays hers
        (_, again) = await names(scene)
        (started, *_) = [e.event async for e in scene.store.read(again)]
        assert isinstance(started, Started)
        assert started.requester.id == ANN.id


async def test_without_a_copy_of_before_a_task_is_not_run_again_from_its_beginning(scene: Scene) -> None:
    await scene.executed("x1", ("a.txt", "new"), saved=Saved(problem="the disk is full"))
    assert "can't start that task over, because there is no copy" in await scene.act("retry", "")
    assert (scene.files / "a.txt").read_text() == "new"
    assert "This thread has no checkpoint `abc123`" in await scene.act("rewind", "abc123")
    assert "No task has ended here yet" in await scene.act("retry", "", thread="200")


def test_a_budget_that_is_used_up_is_given_once_more_by_who_may_raise_it() -> None:
    """Money and time; whoever may not is told who can, and that it can be begun anew."""
    log = Log(max_usd=0.01, max_minutes=1.0, attended=False)
    log.answer(("shell", {}), usd=0.02)
    log.use()
    log.now += timedelta(minutes=2)
    log.say("guidance", "still there?")
    first = log.envelopes[0].event
    assert isinstance(first, Started)
    cut = Cut(log.execution.seq, "m", 1)
    copy = copied(log.envelopes, cut, first, "x2", 1)
    now = log.now + timedelta(hours=3)
    item = InboxItem(id="1", thread="100", sort="rewind", author=YOU, at=now)
    with pytest.raises(NotDone, match=r"budget of \$0\.0100 and its time of 1 minutes is used up.*An operator can"):
        extension(copy, cut, item, now)
    boss = item.model_copy(update={"author": Person(id="8", name="boss", level="operator")})
    late = [
        copy[0].model_copy(update={"event": first.model_copy(update={"policy": Policy(max_minutes=1.0)})}),
        *copy[1:],
    ]
    assert [event.add_minutes for event in extension(late, cut, item, now)] == [1.0], "time is one's own to give"
    (more,) = extension(copy, cut, boss, now)
    assert isinstance(more, PolicyChanged)
    assert (more.add_usd, more.add_minutes, more.add_tokens) == (0.01, 1.0, 0)
    back = WorkspaceRestored(manifest="m", way="rewind", turn=1)
    assert isinstance(decide(fold(written(copy, [back], "x2", 1, now, ""))), Finish)
    again = more.model_copy(update={"add_usd": 1.0})
    assert not isinstance(decide(fold(written(copy, [back, again], "x2", 1, now, ""))), Finish)


async def test_where_there_is_no_place_for_a_fork_it_is_said_and_nothing_is_kept(guild: LocalGuild) -> None:
    async with desk(guild) as one:
        thread = await one.worked()
        here = one.scenery.general
        before = len(one.scenery.talk.got)
        guild.add_member("eve")
        private = await guild.create_thread(here, "quiet corner", private=True)
        await one.scenery.talk.store.save_session(SessionRow(str(private.id), str(here), str(guild.guild_id), "quiet"))
        one.scenery.talk.threads[str(private.id)] = []
        assert "That thread is private" in words(await one.slash(private.id, "fork"))
        guild.deny(here, Permission.CREATE_PUBLIC_THREADS, member="eve")
        assert "someone else's task" in words(await one.slash(thread, "fork", author="eve"))
        guild.deny(here, Permission.CREATE_PUBLIC_THREADS)
        assert "I'm not allowed to open threads in" in words(await one.slash(thread, "fork"))
        assert len(one.scenery.talk.got) == before
