"""The commit flow in the whole product: a branch is offered, and merged or deleted by those who may."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from agentic.core.events.execution_events import BranchMerged, BranchRejected, CommitCreated
from agentic.models.scripted.endpoint import ScriptedEndpoint
from agentic.models.scripted.replies import Reply
from bot.local_discord.local_discord import LocalGuild
from bot.local_discord.model.records import Member, Message
from tests.integration.bot.whole import SECONDS, Whole, engine_for, finishes, uses, whole
from tests.integration.world.rungs import docker_url, rung_name

__all__ = ["docker_url", "rung_name"]

AS_SOMEBODY = "git -c user.name=P -c user.email=p@example.org"
SETUP = f"git init -q -b main . && printf 'a = 1\\nb = 2\\n' > price.py && git add . && {AS_SOMEBODY} commit -qm first"
FIRST = [uses("shell", command=SETUP), finishes("A repository.")]
SECOND = [
    uses("shell", command="printf 'a = 1\\nb = 20\\n' > price.py; mkdir new; echo n > new/n.py"),
    uses("commit", message="Round prices", files=["price.py", "new/n.py"]),
    finishes("Offered."),
]


async def offered(running: Whole) -> tuple[int, Message]:
    """A thread with an offered branch, and the offer's message."""
    thread = await running.task("make a repository")
    await running.task("change the price on a branch", thread)
    return thread, await running.says(thread, "A branch for you")


def git(running: Whole, thread: int, *arguments: str) -> str:
    """What git says of the thread's repository, asked from outside."""
    folder = str(running.workspace(thread))
    done = subprocess.run(
        ["git", "-c", f"safe.directory={folder}", "-C", folder, *arguments],
        capture_output=True,
        text=True,
        timeout=SECONDS,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def member(guild: LocalGuild, name: str, *roles: str) -> Member:
    return guild.add_member(name, [guild.add_role(role).id for role in roles])


def button(message: Message, verdict: str) -> str:
    """The custom id of one of the two buttons."""
    return next(i for i in (str(b["custom_id"]) for b in message.interactive()) if i.startswith(f"tw:offer:{verdict}:"))


@pytest.mark.wall("rights")
async def test_an_operator_merges_by_a_sign_and_nobody_else_can(
    guild: LocalGuild, tmp_path: Path, rung_name: str, request: pytest.FixtureRequest
) -> None:
    """The person's branch stays as it is until then; the message tells what became of it; the next task knows."""
    ann, oz = member(guild, "ann"), member(guild, "oz", "lead")
    settings = {"operators": ("lead",), "sandbox": rung_name, "engine": engine_for(rung_name, request)}
    script = [*FIRST, *SECOND, uses("shell", command="ls"), finishes("Seen.")]
    async with (
        ScriptedEndpoint.start(script) as endpoint,
        whole(tmp_path / "home", endpoint, guild, **settings) as running,
    ):
        thread, offer = await offered(running)
        branch = git(running, thread, "branch", "--list", "threadwright/*").lstrip("* ")
        head = git(running, thread, "rev-parse", "main")
        assert f"`{branch}`" in offer.content
        assert "For `main` · 2 files · +2 −1" in offer.content
        assert "> Round prices" in offer.content
        assert "+b = 20" in offer.content
        assert (running.workspace(thread) / "price.py").read_text() == "a = 1\nb = 2\n"
        card = await running.says(thread, "Offered.")
        assert "What I changed" not in card.content
        assert "Not attached" not in card.content
        assert not card.attachments
        assert any(one.startswith("tw:undo:") for one in card.custom_ids())
        await guild.react(offer.id, "👍", author=ann)
        await guild.click(offer.id, button(offer, "merge"), author=ann)
        await guild.wait_for(
            lambda g: next(
                (m for m in g.messages(thread, viewer="ann") if m.ephemeral and "operator" in m.content), None
            )
        )
        assert git(running, thread, "rev-parse", "main") == head
        await guild.react(offer.id, "👍", author=oz)
        await running.says(thread, f"Merged `{branch}` into `main` as")
        assert git(running, thread, "log", "-1", "--format=%P", "main").split()[0] == head
        assert (running.workspace(thread) / "price.py").read_text() == "a = 1\nb = 20\n"
        closed = await running.says(thread, "✅ oz merged it into `main`")
        assert closed.id == offer.id
        assert all(one.get("disabled") for one in closed.interactive())
        await guild.react(offer.id, "👎", author=oz)
        await running.says(thread, "was merged already by oz")
        execution = (await running.executions(thread))[1]
        assert [type(event) for event in await running.outcome(execution) if isinstance(event, BranchMerged)] == [
            BranchMerged
        ]
        await running.task("look", thread)
        assert f"oz merged its branch {branch} into main" in endpoint.requests[-1].text()


async def test_a_branch_is_turned_down_after_a_restart(guild: LocalGuild, tmp_path: Path) -> None:
    """The offer outlives the process; 👎 deletes the branch and nothing else."""
    async with ScriptedEndpoint.start([*FIRST, *SECOND]) as endpoint:
        async with whole(tmp_path / "home", endpoint, guild) as running:
            thread, offer = await offered(running)
            branch = git(running, thread, "branch", "--list", "threadwright/*").lstrip("* ")
        async with whole(tmp_path / "home", endpoint, guild) as running:
            await guild.click(offer.id, button(offer, "reject"))
            await running.says(thread, f"Deleted `{branch}`")
            await running.says(thread, "rejected it; the branch was deleted")
            assert git(running, thread, "branch", "--format=%(refname:short)") == "main"
            execution = (await running.executions(thread))[1]
            assert any(isinstance(event, BranchRejected) for event in await running.outcome(execution))


async def test_a_conflict_is_told_and_changes_nothing(guild: LocalGuild, tmp_path: Path) -> None:
    """With the files that conflict and what to do; the offer stays open."""
    theirs = "printf 'a = 1\\nb = 99\\n' > price.py; git -c user.name=P -c user.email=p commit -qam theirs"
    script = [*FIRST, *SECOND, uses("shell", command=theirs), finishes("Committed.")]
    async with ScriptedEndpoint.start(script) as endpoint, whole(tmp_path / "home", endpoint, guild) as running:
        thread, offer = await offered(running)
        await running.task("commit mine", thread)
        head = git(running, thread, "rev-parse", "main")
        await guild.click(offer.id, button(offer, "merge"))
        told = await running.says(thread, "conflicts with `main` in `price.py`")
        assert "nothing was changed" in told.content
        assert git(running, thread, "rev-parse", "main") == head
        assert git(running, thread, "status", "--porcelain") == ""
        still = next(message for message in guild.messages(thread) if message.id == offer.id)
        assert not any(one.get("disabled") for one in still.interactive())


async def test_a_long_diff_is_a_file(guild: LocalGuild, tmp_path: Path) -> None:
    """And the message still says which files and how much."""
    script = [
        *FIRST,
        uses("shell", command="seq 1 2000 > long.txt"),
        uses("commit", message="Many lines\n\nBecause.", files=["long.txt"]),
        finishes("Offered."),
    ]
    async with ScriptedEndpoint.start(script) as endpoint, whole(tmp_path / "home", endpoint, guild) as running:
        _, offer = await offered(running)
    assert "· 1 file · +2000 −0" in offer.content
    assert "> Because." in offer.content
    (attached,) = offer.attachments
    assert attached.filename.endswith(".diff")
    assert guild.file(attached.id).count(b"\n+") == 2001


async def test_the_tool_is_only_there_where_a_repository_is(guild: LocalGuild, tmp_path: Path) -> None:
    """In the first task there is none; in the second, what cannot be committed is told to the agent."""
    script: list[Reply] = [
        *FIRST,
        uses("commit", message="x", files=["missing.py"]),
        finishes("Not offered."),
    ]
    async with ScriptedEndpoint.start(script) as endpoint, whole(tmp_path / "home", endpoint, guild) as running:
        thread = await running.task("make a repository")
        await running.task("commit something that is not there", thread)
        assert "commit" not in endpoint.requests[0].tools
        assert "commit" in endpoint.requests[2].tools
        assert "missing.py" in endpoint.requests[3].answers[-1].text
        execution = (await running.executions(thread))[1]
        assert not any(isinstance(event, CommitCreated) for event in await running.log(execution))


async def test_an_undo_takes_a_commit_and_an_offer_back(guild: LocalGuild, tmp_path: Path) -> None:
    """The repository is whole and as it was; what was offered on the branch says that it is gone."""
    own = f"echo c >> price.py && {AS_SOMEBODY} commit -qam own && echo d >> price.py"
    script = [
        *FIRST,
        uses("shell", command=own),
        uses("commit", message="On a branch", files=["price.py"]),
        finishes("Committed twice."),
    ]
    async with ScriptedEndpoint.start(script) as endpoint, whole(tmp_path / "home", endpoint, guild) as running:
        thread = await running.task("make a repository")
        head = git(running, thread, "rev-parse", "main")
        await running.task("commit twice", thread)
        assert git(running, thread, "rev-list", "--count", "--all") == "3"
        card = await running.says(thread, "Committed twice")
        ids = [str(one["custom_id"]) for one in card.interactive()]
        await guild.click(card.id, next(one for one in ids if one.startswith("tw:undo:")))
        await running.says(thread, "Undone: restored 1 file (`price.py`) and git's commits and branches. Redo")
        assert git(running, thread, "rev-parse", "main") == head
        assert git(running, thread, "branch", "--format=%(refname:short)") == "main"
        assert git(running, thread, "status", "--porcelain") == ""
        git(running, thread, "fsck", "--strict")
        offer = await running.says(thread, "A branch for you")
        await guild.click(offer.id, button(offer, "merge"))
        await running.says(thread, "is gone. Ask me to make the change again.")
