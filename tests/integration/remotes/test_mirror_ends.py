"""When the copy of a repository ends: with the last thread that uses it, with its right, and after a while without use."""

from __future__ import annotations

import asyncio
import os
import time
from pathlib import Path
from typing import Any

import pytest

from agentic.ports.errors import RemoteError
from agentic.ports.forge import Remote
from agentic.remotes.host_git import HostGit
from agentic.remotes.mirror import Mirror, Mirrors
from bot.local_forge import LocalForge
from bot.local_forge.forge_records import HostedRepository

from .benches import Checkout


@pytest.fixture
def kind() -> str:
    """One kind of host."""
    return "github"


async def used(bench: Checkout, *threads: str, remote: Remote | None = None) -> Mirror:
    """The mirror, fetched for these threads."""
    hosted = await bench.publisher.forges.forge(bench.remote).repository(remote or bench.remote)
    for thread in threads or ("",):
        await bench.publisher.mirrors.fetched(hosted, thread=thread)
    return bench.publisher.mirrors.of(hosted.remote)


def everything(_: Remote) -> bool:
    return True


async def test_a_mirror_goes_with_the_last_thread_that_uses_it(bench: Checkout) -> None:
    mirror, mirrors = await used(bench, "1", "2"), bench.publisher.mirrors
    assert [known.remote for known in mirrors.all()] == [bench.remote]
    assert await mirrors.leave("1") == ()
    assert await mirrors.leave("3") == ()
    assert mirror.exists
    assert await mirrors.leave("2") == (mirror.folder,)
    assert not mirror.folder.exists()
    assert (await used(bench, "1")).exists  # and is there again when somebody needs it


async def test_a_mirror_that_is_fetched_for_a_thread_is_not_taken_away_by_another_process(
    bench: Checkout, monkeypatch: pytest.MonkeyPatch
) -> None:
    mirror, mirrors = await used(bench, "1"), bench.publisher.mirrors
    other, ends, run = Mirrors(mirror.folder.parent, mirrors.git), list[asyncio.Task[object]](), HostGit.run

    async def fetches(git: HostGit, folder: Path, *arguments: str, **more: Any) -> bytes:
        if arguments[0] == "fetch" and not ends:
            ends.append(asyncio.create_task(other.leave("1")))
            ends.append(asyncio.create_task(other.sweep(0, lambda _: mirror.exists, ())))
            for _ in range(50):
                await asyncio.to_thread(time.time)
            assert not any(end.done() for end in ends)
        return await run(git, folder, *arguments, **more)

    monkeypatch.setattr(HostGit, "run", fetches)
    mirror.hide()
    await used(bench, "2")
    assert [await end for end in ends] == [(), ()]
    assert mirror.exists


async def test_a_thread_that_has_another_repository_now_leaves_the_one_before(
    bench: Checkout, forge: LocalForge
) -> None:
    first = await used(bench, "1")
    forge.create("ada/other", {"a": "b"})
    other = Remote(bench.remote.host, "ada", "other")
    second = await used(bench, "1", remote=other)
    assert await bench.publisher.mirrors.leave("1", but=other) == (first.folder,)
    assert second.exists


async def test_what_nobody_fetched_for_long_and_what_may_not_be_used_any_more_is_swept(
    bench: Checkout, tmp_path: Path
) -> None:
    mirror, mirrors, month = await used(bench, "1"), bench.publisher.mirrors, 30 * 86_400
    long_ago = time.time() - month - 60
    assert await mirrors.sweep(time.time() - month, everything, ()) == ()
    os.utime(mirror.folder / "fetched", (long_ago, long_ago))
    assert (
        await mirrors.sweep(time.time() - month, everything, (mirror.folder,)) == ()
    )  # a sandbox that runs is shown it
    assert await mirrors.sweep(time.time() - month, everything, ()) == (mirror.folder,)
    mirror = await used(bench, "1")
    assert await mirrors.sweep(time.time() - month, lambda remote: remote != bench.remote, ()) == (mirror.folder,)
    assert not mirror.folder.exists()


async def test_a_mirror_of_an_older_version_which_names_no_repository_is_swept_too_once_it_is_old(
    bench: Checkout,
) -> None:
    mirror, mirrors = await used(bench), bench.publisher.mirrors
    (mirror.folder / "repository").unlink()
    assert await mirrors.sweep(time.time() - 60, everything, ()) == ()
    os.utime(mirror.folder / "fetched", (1, 1))
    assert await mirrors.sweep(time.time() - 60, everything, ()) == (mirror.folder,)


async def test_a_publication_counts_as_use(bench: Checkout, shop: HostedRepository) -> None:
    await bench.check_out()
    await bench.fix()
    await bench.publish()
    mirror = bench.publisher.mirrors.of(bench.remote)
    assert await bench.publisher.mirrors.leave(bench.thread) == (mirror.folder,)
    with pytest.raises(RemoteError):
        await mirror.tips()
