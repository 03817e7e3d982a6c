"""Files that people send: taken within bounds, and what was left out says why."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest
from aiohttp import web

from agentic.core.events.execution_events import FileRef, InboxItem, Person
from agentic.sandbox.backends.host import Host
from agentic.sandbox.backends.selection import chooser
from agentic.sandbox.pool import Choice, Sandboxes
from agentic.workspace.snapshots.snapshot_store import Snapshots
from bot.workspace.attachments import download
from bot.workspace.folders import Workspaces
from bot.workspace.sandboxes import (
    FILE_BYTES,
    FILES,
    NO_SANDBOX,
    AttachmentGone,
    Workshop,
)
from tests.waiting import eventually


async def nothing(address: str, most: int) -> bytes:
    raise AssertionError(f"{address} should not have been fetched")


def sent(*files: FileRef) -> InboxItem:
    ann = Person(id="7", name="Ann")
    return InboxItem(id="100", thread="100", sort="task", author=ann, at=datetime.now(UTC), message="100", files=files)


def workshop(folder: Path, fetch: object = nothing) -> tuple[Workshop, Sandboxes]:
    sandboxes = Sandboxes(folder / "sandboxes", chooser("bubblewrap", folder / "sandboxes"))
    return Workshop(sandboxes, Workspaces(folder / "workspaces"), fetch), sandboxes  # pyright: ignore


async def test_a_file_is_in_the_workspace_and_named_by_its_path_there(tmp_path: Path) -> None:
    async def fetch(address: str, most: int) -> bytes:
        assert (address, most) == ("http://files/1", FILE_BYTES)
        return b"a,b\n1,2\n"

    shop, sandboxes = workshop(tmp_path, fetch)
    try:
        (taken,) = await shop.receive(sent(FileRef(name="data.csv", path="http://files/1", size=8)))
        assert taken.skipped == ""
        assert (tmp_path / "workspaces" / "100" / taken.path).read_bytes() == b"a,b\n1,2\n"
    finally:
        await sandboxes.close()


async def test_files_beyond_the_bounds_are_left_out_with_the_reason_and_not_fetched(tmp_path: Path) -> None:
    shop, _ = workshop(tmp_path)
    large = FileRef(name="film.mkv", path="http://files/1", size=FILE_BYTES + 1)
    (skipped,) = await shop.receive(sent(large))
    assert "at most 25 MB" in skipped.skipped
    assert skipped.path == ""
    many = tuple(FileRef(name=f"{n}", skipped="x") for n in range(FILES + 1))
    assert f"at most {FILES}" in (await shop.receive(sent(*many)))[-1].skipped


async def test_a_file_that_is_gone_is_left_out_and_the_others_are_not(tmp_path: Path) -> None:
    async def fetch(address: str, most: int) -> bytes:
        if address.endswith("gone"):
            raise AttachmentGone("it can no longer be fetched (status 404)")
        return b"here"

    shop, sandboxes = workshop(tmp_path, fetch)
    try:
        gone, here = await shop.receive(sent(FileRef(name="a", path="x/gone"), FileRef(name="b", path="x/here")))
        assert "404" in gone.skipped
        assert here.skipped == ""
    finally:
        await sandboxes.close()


async def test_a_workspace_of_which_nobody_knows_what_is_hidden_is_not_kept_and_that_is_said(tmp_path: Path) -> None:
    """A disk that takes no more ends no execution: it goes on without a way back."""
    shop, _ = workshop(tmp_path)
    shop = replace(shop, snapshots=Snapshots(tmp_path / "checkpoints"))
    (shop.world("100").workspace / ".aiignore").write_text("*.key\n")
    (tmp_path / "sandboxes").mkdir(exist_ok=True)
    (tmp_path / "sandboxes" / "ignored").write_text("in the way of the folder")
    saved = await shop.save("100")
    assert (saved.manifest, saved.problem[:30]) == ("", "what .aiignore hides could not")


async def test_a_download_never_takes_more_than_it_may(tmp_path: Path) -> None:
    async def serve(request: web.Request) -> web.Response:
        if request.path == "/gone":
            raise web.HTTPNotFound
        return web.Response(body=b"x" * 1000)

    app = web.Application()
    app.router.add_get("/{name}", serve)
    runner = web.AppRunner(app)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    url = f"http://127.0.0.1:{runner.addresses[0][1]}"
    try:
        assert await download(f"{url}/file", 1000) == b"x" * 1000
        with pytest.raises(AttachmentGone, match="larger than announced"):
            await download(f"{url}/file", 999)
        with pytest.raises(AttachmentGone, match="404"):
            await download(f"{url}/gone", 999)
    finally:
        await runner.cleanup()
    with pytest.raises(AttachmentGone, match="could not be fetched"):
        await download(f"{url}/file", 1000)


def test_a_thread_has_a_folder_of_its_own_and_no_other_name(tmp_path: Path) -> None:
    spaces = Workspaces(tmp_path / "w")
    assert spaces.folder("100") == tmp_path / "w" / "100"
    assert Workspaces(tmp_path, bound=tmp_path / "repo").folder("100") == tmp_path / "repo"
    with pytest.raises(ValueError, match="cannot name"):
        spaces.folder("../etc")


async def test_a_sandbox_that_could_not_be_had_is_tried_again_and_both_are_said(tmp_path: Path) -> None:
    """Whoever mends it need not restart the bot."""
    choices = [Choice(None, "user namespaces are switched off"), Choice(Host(tmp_path), "mended")]

    async def choose() -> Choice:
        return choices.pop(0)

    made = Workshop(Sandboxes(tmp_path / "sandboxes", choose), Workspaces(tmp_path / "workspaces"), nothing)
    assert made.said() == ""
    assert (await made.choice()).rung is None
    assert made.said() == NO_SANDBOX
    assert (await made.choice()).name == "host"
    assert (await made.choice()).why == "mended", "one that is there is kept"
    assert made.said() == "host"
    await made.sandboxes.close()


async def test_who_only_reads_of_no_sandbox_has_it_tried_again_and_not_more_often_than_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As `/status` and the health checks do; one that a command got is told at once."""
    choices = [Choice(None, "off"), Choice(None, "off"), Choice(Host(tmp_path), "mended")]

    async def choose() -> Choice:
        return choices.pop(0)

    made = Workshop(Sandboxes(tmp_path / "sandboxes", choose), Workspaces(tmp_path / "workspaces"), nothing)
    assert (await made.choice()).rung is None
    for _ in range(5):
        assert made.said() == NO_SANDBOX
        await asyncio.sleep(0)
    assert len(choices) == 2
    monkeypatch.setattr("bot.workspace.sandboxes.AGAIN_SECONDS", 0.0)
    await eventually(lambda: made.said() == "host")
    await made.sandboxes.close()

    choices += [Choice(None, "off"), Choice(Host(tmp_path), "a command's")]
    other = Workshop(Sandboxes(tmp_path / "others", choose), Workspaces(tmp_path / "workspaces"), nothing)
    assert (await other.choice()).rung is None
    monkeypatch.setattr("bot.workspace.sandboxes.AGAIN_SECONDS", 600.0)
    assert (await other.sandboxes.choice()).name == "host"
    assert other.said() == "host"
    await other.sandboxes.close()
