"""Commits, merges and deletions with real git in a real sandbox: what they leave alone, and what they refuse."""

from __future__ import annotations

import os
import subprocess
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from agentic.core.events.execution_events import CommitCreated
from agentic.workspace.git_repository import GitProblem, Offered, Repository
from agentic.workspace.workspace import RealWorld
from tests.integration.world.rungs import Ground, docker_url, ground, rung_name
from tests.integration.world.test_masks import world_on

__all__ = ["docker_url", "ground", "rung_name"]

BRANCH = "threadwright/round-prices-abcd1234"


@pytest.fixture
async def world(ground: Ground) -> AsyncIterator[RealWorld]:
    """A repository on `main` with two files, and the world around it."""
    sandboxes, world = world_on(ground)
    ground.file("price.py", "a = 1\nb = 2\nc = 3\n")
    ground.file("other.py", "other\n")
    script = (
        "git init -q -b main . && git config user.name P && git config user.email p@example.org"
        " && git add . && git commit -qm first"
    )
    assert (await world.exec(script, timeout=20)).ok
    try:
        yield world
    finally:
        await sandboxes.close()


async def sh(world: RealWorld, command: str) -> str:
    result = await world.exec(command, timeout=20)
    assert result.ok, result.text
    return result.text.strip()


async def offered(world: RealWorld, text: str = "a = 1\nb = 20\nc = 3\n", *more: str) -> CommitCreated:
    """A change of the agent to price.py, offered."""
    (world.workspace / "price.py").write_text(text)
    return (await commit(world, "price.py", *more)).created


async def commit(world: RealWorld, *files: str) -> Offered:
    return await Repository(world).commit("offer-1", BRANCH, 'Round prices\n\nIt\'s "quoted" $(touch x)', files)


async def test_a_commit_leaves_the_persons_branch_index_and_other_files_alone(world: RealWorld) -> None:
    """The branch holds the change; what else was edited or staged stays edited and staged."""
    (world.workspace / "other.py").write_text("a person's edit\n")
    await sh(world, "git add other.py && mkdir -p new/deep && echo n > new/deep/n.py && rm -f gone")
    head = await sh(world, "git rev-parse HEAD")
    done = await offered(world, "a = 1\nb = 20\nc = 3\n", "new/deep/n.py")
    assert (done.base, done.base_commit) == ("main", head)
    assert set(done.files) == {"price.py", "new/deep/n.py"}
    assert (done.insertions, done.deletions) == (2, 1)
    assert "price.py" in done.diffstat
    assert await sh(world, "git rev-parse HEAD; git symbolic-ref --short HEAD") == f"{head}\nmain"
    assert await sh(world, "git status --porcelain") == "M  other.py"
    assert (world.workspace / "price.py").read_text() == "a = 1\nb = 2\nc = 3\n"
    assert not (world.workspace / "new").exists()
    assert await sh(world, f"git show {BRANCH}:price.py") == "a = 1\nb = 20\nc = 3"
    assert await sh(world, f"git log -1 --format=%an:%B {BRANCH}") == (
        'Threadwright:Round prices\n\nIt\'s "quoted" $(touch x)'
    )
    assert not (world.workspace / "x").exists()


async def test_a_commit_that_was_cut_off_is_finished_and_not_made_twice(world: RealWorld) -> None:
    """The same call again finds its branch, also where the work tree had not been put back."""
    first = await offered(world)
    (world.workspace / "price.py").write_text("a = 1\nb = 20\nc = 3\n")
    again = (await commit(world, "price.py")).created
    assert again == first
    assert await sh(world, "git status --porcelain") == ""
    assert await sh(world, "git rev-list --all --count") == "2"


async def test_a_merge_is_a_commit_of_its_own_and_done_once(world: RealWorld) -> None:
    """No fast-forward; the second time it says the same."""
    done = await offered(world)
    merged = await Repository(world).merge(done)
    assert await sh(world, "git log -1 --format=%H:%P:%s main") == (
        f"{merged}:{done.base_commit} {done.commit}:Merge branch '{BRANCH}'"
    )
    assert (world.workspace / "price.py").read_text() == "a = 1\nb = 20\nc = 3\n"
    assert await sh(world, "git status --porcelain") == ""
    assert await Repository(world).merge(done) == merged
    with pytest.raises(GitProblem, match="was merged"):
        await Repository(world).delete(done)


async def test_a_conflict_changes_nothing_and_names_the_files(world: RealWorld) -> None:
    """The merge is called off; the branch stays."""
    done = await offered(world)
    await sh(world, "sed -i 's/b = 2/b = 99/' price.py && git commit -qam theirs")
    head = await sh(world, "git rev-parse HEAD")
    with pytest.raises(GitProblem, match=r"conflicts with `main` in `price.py`.*nothing was changed"):
        await Repository(world).merge(done)
    assert await sh(world, "git rev-parse HEAD && git status --porcelain") == head
    assert await sh(world, f"git rev-parse {BRANCH}") == done.commit


async def test_uncommitted_changes_in_the_way_are_not_overwritten(world: RealWorld) -> None:
    """They are named; what is not in the way does not matter; what a cut-off commit left is no change of theirs."""
    done = await offered(world)
    (world.workspace / "price.py").write_text("a person's edit\n")
    with pytest.raises(GitProblem, match=r"not committed.*`price.py`"):
        await Repository(world).merge(done)
    assert (world.workspace / "price.py").read_text() == "a person's edit\n"
    (world.workspace / "price.py").write_text("a = 1\nb = 20\nc = 3\n")
    (world.workspace / "other.py").write_text("a person's edit\n")
    await Repository(world).merge(done)
    assert (world.workspace / "other.py").read_text() == "a person's edit\n"


async def test_an_interrupted_merge_of_ours_is_called_off_before_the_next(world: RealWorld) -> None:
    """Somebody else's merge is not."""
    done = await offered(world)
    await sh(world, "echo more >> other.py && git commit -qam theirs")
    await sh(world, f"git merge -q --no-ff --no-commit {done.commit}")
    merged = await Repository(world).merge(done)
    assert await sh(world, "git rev-parse HEAD") == merged
    await sh(
        world, "git checkout -q -b side HEAD~1 && echo x > x && git add x && git commit -qm x && git checkout -q main"
    )
    other = await offered_again(world)
    await sh(world, "git merge -q --no-ff --no-commit side")
    with pytest.raises(GitProblem, match="Another merge"):
        await Repository(world).merge(other)


async def offered_again(world: RealWorld) -> CommitCreated:
    (world.workspace / "other.py").write_text("second\n")
    done = await Repository(world).commit("offer-2", BRANCH.replace("abcd", "dcba"), "Second", ("other.py",))
    return done.created


async def test_only_the_offered_commit_is_merged_or_deleted(world: RealWorld) -> None:
    """A branch that moved is left alone; one that is gone is said to be; deleting it again is no error."""
    done = await offered(world)
    await sh(world, f"git branch -f {BRANCH} main")
    for act in (Repository(world).merge, Repository(world).delete):
        if act.__name__ == "merge":
            with pytest.raises(GitProblem, match="has moved"):
                await act(done)
    with pytest.raises(GitProblem, match="has moved"):
        await Repository(world).delete(done)
    await sh(world, f"git branch -f {BRANCH} {done.commit}")
    await Repository(world).delete(done)
    assert BRANCH not in await sh(world, "git branch --list 'threadwright/*'")
    await Repository(world).delete(done)
    with pytest.raises(GitProblem, match="is gone"):
        await Repository(world).merge(done)


async def test_another_branch_checked_out_is_said(world: RealWorld) -> None:
    """Nothing is merged into a branch that the offer was not for."""
    done = await offered(world)
    await sh(world, "git checkout -q -b elsewhere")
    with pytest.raises(GitProblem, match=r"on `elsewhere`.*on `main`"):
        await Repository(world).merge(done)


@pytest.mark.parametrize(
    ("before", "files", "words"),
    [
        ("true", ("price.py",), "nothing to commit"),
        ("true", ("missing.py",), "missing.py"),
        ("echo x > price.py && git checkout -q --detach", ("price.py",), "No branch"),
        ("rm -rf .git && git init -q -b main .", ("price.py",), "no commit yet"),
        ("rm -rf .git", ("price.py",), "not the root of a git repository"),
        ("echo x > '--all'", ("--al",), "did not match"),
    ],
)
async def test_what_cannot_be_committed_is_said(
    world: RealWorld, before: str, files: tuple[str, ...], words: str
) -> None:
    await sh(world, before)
    with pytest.raises(GitProblem, match=words):
        await commit(world, *files)


@pytest.mark.parametrize("branch", ["main", "threadwright/../../HEAD"])
async def test_a_branch_that_is_not_ours_is_never_touched(world: RealWorld, branch: str) -> None:
    done = (await offered(world)).model_copy(update={"branch": branch})
    for act in (Repository(world).merge, Repository(world).delete):
        with pytest.raises(GitProblem, match="no branch of mine"):
            await act(done)
    with pytest.raises(GitProblem, match="no commit"):
        await Repository(world).merge(done.model_copy(update={"branch": BRANCH, "commit": "--all"}))


async def test_odd_file_names_are_only_names(world: RealWorld, ground: Ground) -> None:
    """Options, globs, quotes, spaces, other alphabets."""
    names = ("-f", "*.py", "a'b\"c $(touch hit)", "ä/ö ü.txt", ":(top)x")
    for name in names:
        ground.file(name, "odd\n")
    done = (await commit(world, *names)).created
    assert set(done.files) == set(names)
    assert not any((world.workspace / name).exists() for name in names)
    assert not (world.workspace / "hit").exists()
    await Repository(world).merge(done)
    assert all((world.workspace / name).read_text() == "odd\n" for name in names)


async def test_nothing_of_a_hostile_repository_runs_on_the_host(
    world: RealWorld, ground: Ground, tmp_path: Path
) -> None:
    """Hooks, fsmonitor, editors and external diffs do not run at all; a filter runs in the sandbox, where it belongs."""
    canary = tmp_path / "canary"
    evil = f"#!/bin/sh\necho ran >> {canary} 2>/dev/null; echo ran >> /workspace/%s\ncat 2>/dev/null\n"
    for hook in ("pre-commit", "post-merge", "pre-merge-commit", "reference-transaction", "post-checkout"):
        ground.file(f".git/hooks/{hook}", evil % "by-hook").chmod(0o755)
    ground.file("evil.sh", evil % "by-setting").chmod(0o755)
    ground.file("filter.sh", evil % "by-filter").chmod(0o755)
    for setting in ("core.fsmonitor", "core.editor", "diff.external", "core.pager"):
        await sh(world, f"git config {setting} /workspace/evil.sh")
    await sh(world, "git config filter.e.clean /workspace/filter.sh")
    ground.file(".git/info/attributes", "price.py filter=e\n")
    await Repository(world).merge(await offered(world))
    assert (world.workspace / "by-filter").exists()
    assert not (world.workspace / "by-hook").exists()
    assert not (world.workspace / "by-setting").exists()
    assert not canary.exists()


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can be in the way of its own rights")
async def test_files_of_the_repository_stay_the_sandboxs(world: RealWorld, ground: Ground) -> None:
    """Nothing was done on the host: everything belongs to the sandbox's user."""
    await Repository(world).merge(await offered(world))
    found = subprocess.run(
        ["find", str(world.workspace), "!", "-uid", str(ground.rung.owner[0])], capture_output=True, text=True
    )
    assert found.stdout == ""
