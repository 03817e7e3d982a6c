"""Snapshots over a real bucket: one machine goes on where another left off, and nobody writes into what is another's."""

from __future__ import annotations

import hashlib
import os
import uuid
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from agentic.aws import bucket
from agentic.aws.aws_place import AwsPlace
from agentic.aws.bucket import WorkspaceObjects
from agentic.aws.clients import Clients
from agentic.ports.errors import PathRefused
from agentic.workspace.snapshots import shared_copies
from agentic.workspace.snapshots.shared_copies import SHOWN_FILES, SharedCopies
from agentic.workspace.snapshots.snapshot_store import SnapshotLost, Snapshots
from bot.console.logs.file_versions import FileVersions
from bot.equipment import thread_skills
from bot.equipment.thread_skills import laid_out
from bot.workspace.browse import Shelf, fetch, look
from deploy.aws_local.emulator import mini_stack
from tests.integration.world.test_snapshots import save, tree

pytestmark = pytest.mark.aws
THREAD = "1"


@pytest.fixture(scope="module")
def endpoint() -> Iterator[str]:
    """A bucket's server."""
    with mini_stack() as address:
        yield address


@pytest.fixture
async def objects(endpoint: str, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[WorkspaceObjects]:
    """A bucket of its own that keeps versions."""
    for name, value in {"ACCESS_KEY_ID": "test", "SECRET_ACCESS_KEY": "test", "REGION": "us-east-1"}.items():
        monkeypatch.setenv(f"AWS_{name}", value)
    clients = Clients(AwsPlace("none", f"b{uuid.uuid4().hex}", endpoint=endpoint))
    await clients.call("s3", "create_bucket", {"Bucket": clients.place.bucket})
    keep = {"Bucket": clients.place.bucket, "VersioningConfiguration": {"Status": "Enabled"}}
    await clients.call("s3", "put_bucket_versioning", keep)
    yield WorkspaceObjects(clients)
    await clients.close()


class Machine:
    """A disk with a workspace, and what is kept of it."""

    def __init__(self, folder: Path, objects: WorkspaceObjects) -> None:
        self.work, self._kept, self._objects = folder / "work", folder / "checkpoints", objects
        self.work.mkdir(parents=True)
        self.start()

    def start(self) -> None:
        """A process begins, and knows what is on the disk."""
        self.snapshots = Snapshots(self._kept, shared=SharedCopies(self._objects, self._kept))

    async def take(self) -> bool:
        """Whether files came from another machine."""
        return await self.snapshots.take_over(THREAD, self.work) is not None


async def shown(objects: WorkspaceObjects) -> list[str]:
    """The files that people can look at."""
    begin = f"threads/{THREAD}/files/"
    return [name.removeprefix(begin) async for name in objects.names(begin)]


async def test_another_machine_goes_on_with_the_files_and_the_first_one_keeps_nothing_more(
    tmp_path: Path, objects: WorkspaceObjects, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bucket, "PART_BYTES", 5 << 20)
    a, b = Machine(tmp_path / "a", objects), Machine(tmp_path / "b", objects)
    assert not await a.take()
    (a.work / "src").mkdir()
    (a.work / "src/one.py").write_text("one = 1\n")
    (a.work / "run.sh").write_text("#!/bin/sh\n")
    (a.work / "run.sh").chmod(0o755)
    (a.work / "link").symlink_to("run.sh")
    (a.work / "large").write_text(os.urandom(6 << 20).hex())  # in three parts
    (a.work / os.fsdecode(b"odd\xff")).write_text("no object can be called so")
    first = await save(a.snapshots, a.work)
    assert await shown(objects) == ["run.sh", "src/one.py"]
    saved = tree(a.work)
    (a.work / "lost").write_text("never saved")

    (b.work / "stale").write_text("of nobody")
    assert await b.take()
    assert tree(b.work) == saved
    assert not await b.take(), "it is here"
    (b.work / "src/one.py").write_text("one = 2\n")
    (b.work / "run.sh").unlink()
    second = await save(b.snapshots, b.work)
    assert await shown(objects) == ["src/one.py"]

    late = await a.snapshots.save(THREAD, a.work)
    assert "Another machine works on this thread now" in late.problem
    assert late.manifest == ""
    assert await a.take(), "what it had not shared is gone, and the agent is told by the log"
    assert tree(a.work) == tree(b.work)
    assert (await a.snapshots.content(THREAD, first, "src/one.py")) == b"one = 1\n"
    assert set(await a.snapshots.listed(THREAD)) >= {first, second}
    (b.work / "more").write_text("late")
    assert "Another machine" in (await b.snapshots.save(THREAD, b.work)).problem


async def test_files_on_another_machine_are_looked_at_without_being_brought(
    tmp_path: Path, objects: WorkspaceObjects, monkeypatch: pytest.MonkeyPatch
) -> None:
    a, looker = Machine(tmp_path / "a", objects), Machine(tmp_path / "g", objects)
    assert await looker.snapshots.elsewhere(THREAD, here=True) is None, "nobody ever shared anything of it"
    nothing = await looker.snapshots.elsewhere(THREAD, here=False)
    assert nothing is not None
    assert (nothing.name, await look(nothing)) == ("", Shelf(()))
    await a.take()
    for path in ("src/one.py", "src/node/two.py", ".git/config", "node_modules/x/y.js", ".agents/skills/pdf/SKILL.md"):
        (a.work / path).parent.mkdir(parents=True, exist_ok=True)
        (a.work / path).write_text(f"this is {path}")
    (a.work / ".agents/skills/pdf/run.sh").write_text("true")
    (a.work / ".agents/skills/pdf/run.sh").chmod(0o755)
    (a.work / ".agents/skills/large").write_bytes(b"x" * 40)
    (a.work / "link").symlink_to("src/one.py")
    (a.work / os.fsdecode(b"odd\xff")).write_text("named oddly")
    (a.work / "empty").touch()
    with (a.work / "holes").open("wb") as sparse:
        sparse.truncate(1 << 20)
        sparse.write(b"begin")
    saved = await save(a.snapshots, a.work)

    seen = await looker.snapshots.elsewhere(THREAD, here=True)
    assert await a.snapshots.elsewhere(THREAD, here=True) is None, "they stand there"
    assert seen is not None
    assert seen.name == saved
    skills = [".agents/skills/large", ".agents/skills/pdf/SKILL.md", ".agents/skills/pdf/run.sh"]
    listed = [name for name, _ in (await look(seen)).files]
    assert listed == [*skills, "empty", "holes", "odd\ufffd", "src/node/two.py", "src/one.py"]
    assert [name for name, _ in (await look(seen, "/workspace/src/")).files] == ["src/node/two.py", "src/one.py"]
    assert await fetch(seen, "./src/one.py", 99) == ("one.py", b"this is src/one.py")
    assert (await fetch(seen, "odd\ufffd", 99))[1] == b"named oddly"
    assert (await fetch(seen, "empty", 99))[1] == b""
    assert (await fetch(seen, "holes", 1 << 20))[1] == b"begin".ljust(1 << 20, b"\0")
    for path, why in (
        ("no", "no such file"),
        ("link", "no file"),
        ("src", "no file"),
        ("holes", "more than"),
        ("../x", "outside"),
    ):
        with pytest.raises(PathRefused, match=why):
            await fetch(seen, path, 99)
    with pytest.raises(PathRefused, match="no such folder"):
        await look(seen, "nowhere")
    console = FileVersions(tmp_path / "g", SharedCopies(objects, tmp_path / "g" / "checkpoints"))
    assert await console.now(THREAD, "src/one.py") == b"this is src/one.py"
    assert (await console.now(THREAD, "link"), await console.now(THREAD, "odd\ufffd")) == (None, b"named oddly")
    one = hashlib.sha256(b"this is src/one.py").hexdigest()
    assert await console.versions(THREAD, {"src/one.py": [one], "empty": [one]}) == {
        ("src/one.py", one): b"this is src/one.py"
    }
    monkeypatch.setattr(thread_skills, "MOST_BYTES", 39)
    async with laid_out(seen, (".agents/skills",)) as root:
        found = {str(path.relative_to(root)): path for path in root.rglob("*") if path.is_file()}
        assert sorted(found) == skills
        assert found[skills[1]].read_text() == f"this is {skills[1]}"
        assert os.access(found[skills[2]], os.X_OK)
        assert found[skills[0]].stat().st_size == 40, "what is not fetched is larger than is read"
    assert not root.exists()
    assert not any(looker.work.iterdir())
    assert not (tmp_path / "g" / "checkpoints").exists()
    await objects.erase(f"threads/{THREAD}/checkpoints/packs/")
    with pytest.raises(PathRefused, match="damaged"):
        await fetch(seen, "src/one.py", 99)
    await objects.erase(f"threads/{THREAD}/checkpoints/")
    with pytest.raises(SnapshotLost, match="cannot be shown"):
        await looker.snapshots.elsewhere(THREAD, here=False)


async def test_a_machine_whose_process_died_keeps_what_was_never_saved(
    tmp_path: Path, objects: WorkspaceObjects
) -> None:
    a = Machine(tmp_path / "a", objects)
    await a.take()
    (a.work / "kept").write_text("saved")
    await save(a.snapshots, a.work)
    (a.work / "kept").write_text("not saved")
    a.start()
    assert not await a.take()
    assert (a.work / "kept").read_text() == "not saved"
    newer = await save(a.snapshots, a.work)

    b = Machine(tmp_path / "b", objects)
    assert await b.take()
    assert (b.work / "kept").read_text() == "not saved"
    a.start()
    assert await a.take(), "another one had it meanwhile"
    assert await a.snapshots.listed(THREAD) == tuple(sorted({newer, *await a.snapshots.listed(THREAD)}))


async def test_what_ends_in_the_middle_of_bringing_the_files_is_begun_again(
    tmp_path: Path, objects: WorkspaceObjects, monkeypatch: pytest.MonkeyPatch
) -> None:
    a, b = Machine(tmp_path / "a", objects), Machine(tmp_path / "b", objects)
    await a.take()
    (a.work / "kept").write_text("saved")
    await save(a.snapshots, a.work)

    async def broken(*_: object) -> bool:
        raise OSError("no room")

    with monkeypatch.context() as patched:
        patched.setattr(WorkspaceObjects, "copy_to", broken)
        with pytest.raises(SnapshotLost, match="no room"):
            await b.take()
    assert await b.take(), "the same process"
    b = Machine(tmp_path / "c", objects)
    with monkeypatch.context() as patched:
        patched.setattr(WorkspaceObjects, "copy_to", broken)
        with pytest.raises(SnapshotLost):
            await b.take()
    b.start()
    assert await b.take(), "the next one"
    assert (b.work / "kept").read_text() == "saved"


async def test_what_is_not_needed_goes_and_of_a_thread_that_is_forgotten_no_version_stays(
    tmp_path: Path, objects: WorkspaceObjects, monkeypatch: pytest.MonkeyPatch
) -> None:
    a = Machine(tmp_path / "a", objects)
    await a.take()
    for number in range(SHOWN_FILES + 1):
        (a.work / f"{number}").write_text(str(number))
    first = await save(a.snapshots, a.work)
    assert await shown(objects) == [], "a whole repository is not laid out"
    (a.work / "0").write_text("changed")
    second = await save(a.snapshots, a.work)
    (a.work / "1").write_text("changed too")
    third = await save(a.snapshots, a.work)
    b = Machine(tmp_path / "b", objects)
    await b.snapshots.keep_only(THREAD, [second])
    assert await b.snapshots.listed(THREAD) == (first, second, third), "young ones may be on their way into a log"
    monkeypatch.setattr(shared_copies, "YOUNG_SECONDS", 0.0)
    await b.snapshots.keep_only(THREAD, [second])
    assert await b.snapshots.listed(THREAD) == (second, third)
    with pytest.raises(SnapshotLost):
        await b.snapshots.load(THREAD, first)
    await b.take()
    assert tree(b.work) == tree(a.work)
    await b.snapshots.adopt(THREAD, "2", [second])
    assert await b.snapshots.content("2", second, "0") == b"changed"
    copy = f"{THREAD}wx1"
    await save(a.snapshots, a.work, copy)
    assert await b.snapshots.of_copies(THREAD) == (copy,), "it was made on another machine"
    await objects.put(f"threads/{THREAD}/log/x1/0", b"a part of its log")
    for each in (copy, THREAD):
        await b.snapshots.forget(each)
    assert [name async for name in objects.names(f"threads/{THREAD}")] == [f"threads/{THREAD}/log/x1/0"]
    await objects.erase(f"threads/{THREAD}/log")
    versions = await objects._clients.call(  # pyright: ignore[reportPrivateUsage]
        "s3",
        "list_object_versions",
        {"Bucket": objects._clients.place.bucket, "Prefix": f"threads/{THREAD}/"},  # pyright: ignore[reportPrivateUsage]
    )
    assert not versions.get("Versions")
    assert not versions.get("DeleteMarkers")
    assert await Machine(tmp_path / "c", objects).snapshots.content("2", second, "1") == b"1"
