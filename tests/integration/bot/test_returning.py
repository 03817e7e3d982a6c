"""Going back, in the whole product: retry, resume from a checkpoint, fork, redo, and the lists of what there is."""

from __future__ import annotations

import re
from pathlib import Path

from agentic.core.audit.verification import verify
from agentic.core.events.execution_events import CheckpointSaved, Started, WorkspaceRestored
from agentic.models.scripted.endpoint import ScriptedEndpoint
from agentic.models.scripted.replies import Reply
from bot.cli.replay.invariants import broken_promises
from bot.history.log_positions import id_in_log
from bot.local_discord.local_discord import LocalGuild
from bot.local_discord.model.records import Message, MessageFlag
from tests.integration.bot.whole import SECONDS, Whole, finishes, held, uses, whole


def adds(number: int) -> Reply:
    """A turn that writes a line."""
    return uses("shell", command=f"echo {number} >> log.txt")


WAITING = f"echo seven >> log.txt; {held('go')}"
SEVEN = [*(adds(number) for number in range(1, 8)), finishes("Seven lines.")]


async def slash(running: Whole, channel: int, name: str, author: str | None = None, **options: object) -> str:
    """Use a slash command; what answers it."""
    guild = running.guild
    id = await guild.slash(channel, name, options, author=author)  # type: ignore[arg-type]

    def answer(here: LocalGuild) -> Message | None:
        original = here.interaction(id).original_id
        shown = next((m for m in here.messages(channel, viewer=author) if m.id == original), None)
        return shown if shown is not None and not shown.flags & MessageFlag.LOADING else None

    return (await guild.wait_for(answer, SECONDS)).content


def lines(running: Whole, thread: int) -> list[str]:
    return (running.workspace(thread) / "log.txt").read_text().split()


async def checkpoint(running: Whole, execution: str, why: str) -> str:
    """The name of the last checkpoint of a sort in an execution's log."""
    found = [
        envelope.seq
        async for envelope in running.app.store.read(execution)
        if isinstance(envelope.event, CheckpointSaved) and envelope.event.why == why
    ]
    return id_in_log(execution, found[-1])


async def holds(running: Whole, execution: str) -> None:
    """The log is one that an execution could have written, and everything in it appears once."""
    store = running.app.store
    log = [envelope async for envelope in store.read(execution)]
    assert broken_promises(log, await store.read_outcome(execution)) == ()
    assert verify(log).divergence is None


async def test_a_task_is_run_again_from_its_beginning_from_a_turn_and_from_a_checkpoint(
    guild: LocalGuild, tmp_path: Path
) -> None:
    script = [
        *SEVEN,
        uses("shell", command="cat log.txt; echo again > log.txt"), finishes("Again."),  # 🔄
        uses("shell", command="echo seven >> log.txt"), finishes("Seven."),  # from turn 6
        uses("shell", command="echo eight >> log.txt"), finishes("Eight."),  # from the checkpoint after turn 6
        uses("shell", command="echo nine >> log.txt"), finishes("Nine."),
    ]  # fmt: skip
    async with ScriptedEndpoint.start(script) as endpoint, whole(tmp_path / "home", endpoint, guild) as running:
        thread = await running.task("write seven lines")
        (first,) = await running.executions(thread)
        assert lines(running, thread) == list("1234567")

        card = await running.says(thread, "Seven lines.")
        await guild.react(card.id, "🔄")
        receipt = await running.says(thread, "Starting that task over.")
        assert "1 file was restored: `log.txt`" in receipt.content
        second = await running.ended(thread, 2)
        assert lines(running, thread) == ["again"]
        assert "had undone" in endpoint.requests[8].text() or "undid it" in endpoint.requests[8].text()
        (started, *_) = await running.log(second)
        assert isinstance(started, Started)
        assert (started.trial_of, started.task) == (first, "write seven lines")

        assert "no turn 99" in await retried(running, thread, second, turn=99)
        await slash(running, thread, "retry", turn=2)
        receipt = await running.says(thread, "Continuing from turn 2 of")
        assert "The files are back as they were after turn 1" in receipt.content
        third = await running.ended(thread, 3)
        assert lines(running, thread) == ["again", "seven"]
        for execution in (first, second, third):
            row = await running.app.store.outbox_row(f"{execution}.1.0")
            assert row is not None
            assert row.delivered, "each has a card of its own"
        await holds(running, third)

        after_six = await checkpoint(running, first, "turns")
        told = await slash(running, thread, "checkpoints")
        assert f"`{after_six}`" in told
        assert "after turn 6" in told
        assert "Not in any of them: files in /tmp" in told
        assert after_six in [str(c.value) for c in await guild.autocomplete(thread, "resume", "checkpoint", "")]
        await slash(running, thread, "resume", checkpoint=after_six)
        await running.says(thread, "The files are back as they were after turn 6")
        await running.ended(thread, 4)
        assert lines(running, thread) == [*"123456", "eight"], "what further attempts at it changed is put back too"
        await running.task("something else", thread)
        await slash(running, thread, "resume", checkpoint=after_six)
        await running.says(thread, "A later task changed the same files (`log.txt`): “something else”. Undo that one")
        assert lines(running, thread)[-1] == "nine"


async def retried(running: Whole, thread: int, execution: str, turn: int) -> str:
    await slash(running, thread, "retry", turn=turn)
    return (await running.says(thread, f"no turn {turn}")).content


async def test_what_was_stopped_goes_on_from_where_it_was_and_what_is_not_there_any_more_is_told(
    guild: LocalGuild, tmp_path: Path
) -> None:
    """From its end, with the stop forgotten; from the checkpoint after turn 4 with the files of then."""
    script = [
        uses("python", code="kept = 41"), *(adds(number) for number in range(1, 6)),
        uses("shell", command="echo cut >> log.txt; sleep 60"),
        uses("shell", command="wc -l log.txt"), finishes("Went on."),
        uses("shell", command="cat log.txt"), finishes("From turn 5."),
    ]  # fmt: skip
    async with ScriptedEndpoint.start(script) as endpoint, whole(tmp_path / "home", endpoint, guild) as running:
        posted = await guild.post(guild.channel().id, f"{guild.bot.mention} count")
        thread = posted.id
        await guild.wait_for(lambda _: "cut" in _read(running.workspace(thread) / "log.txt") or None, SECONDS)
        assert "working on it" in await slash(running, thread, "retry")
        await slash(running, thread, "stop")
        first = await running.ended(thread, 1)
        told = await slash(running, thread, "checkpoints")
        at_end = re.search(r"`([0-9a-f]{6})` \S+ at the end", told)
        assert at_end is not None, told
        await slash(running, thread, "resume", checkpoint=at_end[1])
        await running.says(thread, "Continuing “count”.")
        second = await running.ended(thread, 2)
        assert lines(running, thread) == [*"12345", "cut"]
        restored = [event for event in await running.log(second) if isinstance(event, WorkspaceRestored)]
        assert "files in /tmp" in restored[0].lost
        assert "lets this go on from here" in endpoint.requests[-2].text()
        assert not [m for m in running.of_bot(thread) if "I was interrupted" in m.content]
        await holds(running, second)

        await slash(running, thread, "resume", checkpoint=await checkpoint(running, first, "turns"))
        receipt = await running.says(thread, "The files are back as they were after turn 4")
        assert "the Python interpreter's variables" in receipt.content
        third = await running.ended(thread, 3)
        assert lines(running, thread) == list("123")
        await holds(running, third)
        started = (await running.log(third))[0]
        assert isinstance(started, Started)
        assert started.forked_from is not None
        assert started.forked_from[0] == first


def _read(path: Path) -> str:
    return path.read_text() if path.exists() else ""


async def test_a_fork_goes_on_in_a_thread_of_its_own_while_the_other_works(guild: LocalGuild, tmp_path: Path) -> None:
    """Once from the middle of what runs, with guidance; once from its end, idle, with a task."""
    script = [
        *(adds(number) for number in range(1, 7)), uses("shell", command=WAITING),
        uses("shell", command="echo forked >> log.txt"), finishes("In the fork."),
        finishes("In the first."),
        finishes("Read in the third fork."),
        uses("shell", command="cat log.txt"), finishes("Read in the second fork."),
    ]  # fmt: skip
    async with ScriptedEndpoint.start(script) as endpoint, whole(tmp_path / "home", endpoint, guild) as running:
        posted = await guild.post(guild.channel().id, f"{guild.bot.mention} count")
        thread = posted.id
        await guild.wait_for(lambda _: "seven" in _read(running.workspace(thread) / "log.txt") or None, SECONDS)
        await slash(running, thread, "fork", text="try it another way")
        receipt = await running.says(thread, "Forked as it was")
        fork = int(re.findall(r"<#(\d+)>", receipt.content)[0])
        copy = await running.ended(fork, 1)
        assert lines(running, fork) == [*"1234", "forked"]
        assert lines(running, thread)[-1] == "seven"
        welcome = await running.says(fork, f"This is a fork of <#{thread}>")
        assert "files in /tmp" in welcome.content
        assert "wrote with it: “try it another way”" in welcome.content
        assert "try it another way" in endpoint.requests[7].text()
        assert "echo 4 >> log.txt" in endpoint.requests[7].text()
        await running.says(fork, "In the fork.")
        await holds(running, copy)
        assert running.app.threads.state(str(thread)) == "busy"
        await running.let_go(thread, "go")
        first = await running.ended(thread, 1)
        assert len(await running.executions(thread)) == 1

        await slash(running, thread, "fork", text="read it first")
        receipt = await running.says(thread, "it starts there with what you wrote")
        third = int(re.findall(r"<#(\d+)>", receipt.content)[0])
        welcome = await running.says(third, "wrote with it: “read it first”")
        assert "Write what I should do next" not in welcome.content
        assert [one.name for one in guild.threads() if one.id == third] == ["read it first (fork)"]
        await running.says(third, "Read in the third fork.")

        await slash(running, thread, "fork")
        receipt = await running.says(thread, "it's waiting there for a task")
        second = int(re.findall(r"<#(\d+)>", receipt.content)[0])
        await running.says(second, "Write what I should do next")
        await running.task("read it", second)
        await running.says(second, "Read in the second fork.")
        assert lines(running, second)[-1] == "seven"
        assert "Earlier in this thread" in endpoint.requests[-2].text()
        (known, _) = await running.executions(second)
        assert await running.app.store.read_outcome(known)
        await holds(running, known)
        seen = await slash(running, guild.channel().id, "sessions")
        assert all(f"<#{one}>" in seen for one in (thread, fork, second))
        assert "count" in seen
        opened = [m.content for m in guild.messages(guild.channel().id) if "forked" in m.content]
        assert len(opened) == 3
        assert f"forked <#{thread}> as it was at the end, after turn 8: “count”" in opened[1]
        assert all("`" not in words for words in (*opened, receipt.content)), "no id that nobody can use"
        assert first


async def test_an_undo_is_taken_back_by_its_receipts_button(guild: LocalGuild, tmp_path: Path) -> None:
    script = [uses("shell", command="printf new > a.txt; mkdir d; printf x > d/x.txt"), finishes("Made.")]
    async with ScriptedEndpoint.start(script) as endpoint, whole(tmp_path / "home", endpoint, guild) as running:
        thread = await running.task("make them")
        folder = running.workspace(thread)
        card = await running.says(thread, "Made.")
        await guild.click(card.id, next(one for one in card.custom_ids() if one.startswith("tw:undo:")))
        told = "Undone: removed 2 files this task had created: `a.txt`, `d/x.txt`. Redo brings them back."
        receipt = await running.says(thread, told)
        assert not list(folder.iterdir())
        (redo,) = [one for one in receipt.custom_ids() if one.startswith("tw:redo:")]
        await guild.click(receipt.id, redo)
        await running.says(thread, "Redone: restored 2 files: `a.txt`, `d/x.txt`.")
        assert (folder / "a.txt").read_text() == "new"
        assert (folder / "d/x.txt").read_text() == "x"
        await guild.wait_for(
            lambda g: all(b.get("disabled") for b in g.state.find_message(receipt.id).interactive()) or None, SECONDS
        )
        await pressed(guild, card.id, "tw:undo:")
        await guild.wait_for(lambda _: not (folder / "a.txt").exists() or None, SECONDS)


async def test_an_answer_shows_that_its_changes_are_undone_and_redoes_them(guild: LocalGuild, tmp_path: Path) -> None:
    script = [uses("shell", command="printf new > a.txt"), finishes("Made.")]
    async with ScriptedEndpoint.start(script) as endpoint:
        async with whole(tmp_path / "home", endpoint, guild) as running:
            thread = await running.task("make it")
            card = await running.says(thread, "Made.")
            await pressed(guild, card.id, "tw:undo:")
            await running.says(thread, "Undone: removed 1 file")
            await has_button(guild, card.id, "tw:redo:")
            assert not any(one.startswith("tw:undo:") for one in guild.state.find_message(card.id).custom_ids())
        async with whole(tmp_path / "home", endpoint, guild) as running:
            await pressed(guild, card.id, "tw:redo:")
            await running.says(thread, "Redone: restored 1 file")
            assert (running.workspace(thread) / "a.txt").read_text() == "new"
            await has_button(guild, card.id, "tw:undo:")


async def has_button(guild: LocalGuild, message: int, kind: str) -> str:
    """The id of a message's button of a kind, once it is there."""
    ids = await guild.wait_for(
        lambda g: [one for one in g.state.find_message(message).custom_ids() if one.startswith(kind)] or None, SECONDS
    )
    return ids[0]


async def pressed(guild: LocalGuild, message: int, kind: str) -> None:
    """Press the button of a kind under a message, once it is there."""
    await guild.click(message, await has_button(guild, message, kind))


async def has_no_button(guild: LocalGuild, message: int, kind: str) -> None:
    """Wait until a message has no button of a kind, but others still."""
    await guild.wait_for(
        lambda g: (ids := g.state.find_message(message).custom_ids()) and not any(one.startswith(kind) for one in ids),
        SECONDS,
    )


async def test_a_continue_that_was_used_is_gone(guild: LocalGuild, tmp_path: Path) -> None:
    script = [uses("shell", command="sleep 600"), finishes("Went on.")]
    async with ScriptedEndpoint.start(script) as endpoint, whole(tmp_path / "home", endpoint, guild) as running:
        thread = (await guild.post(guild.channel().id, f"{guild.bot.mention} run the long script")).id
        await running.says(thread, "sleep 600")
        await guild.post(thread, "stop")
        stopped = await running.says(thread, "🛑 Stopped by")
        await pressed(guild, stopped.id, "tw:run:continue:")
        await running.says(thread, "Went on.")
        await has_no_button(guild, stopped.id, "tw:run:continue:")
