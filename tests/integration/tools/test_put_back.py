"""What a command destroys is put back, however it was written, and the person is asked: in real sandboxes."""

from __future__ import annotations

import asyncio
import base64
import shlex
import subprocess
import threading
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest
from pydantic import JsonValue

from agentic.core.audit.verification import verify
from agentic.core.events.execution_events import (
    Asked,
    CancelRequested,
    Decided,
    Envelope,
    Gated,
    InboxItem,
    Person,
    ToolFinished,
    ToolStarted,
)
from agentic.core.events.ids import execution_id
from agentic.models.scripted.model import answer
from agentic.ports.runtime import Observation, Prepared, Saved
from agentic.stores.sqlite.store import SQLiteStore
from agentic.tools.toolbox import StandardToolbox
from agentic.workspace.snapshots import restore
from agentic.workspace.snapshots.snapshot_store import SnapshotLimits, Snapshots
from agentic.workspace.workspace import RealWorld
from bot.cli.replay.invariants import broken_promises
from tests.scripts import Gate, reopen
from tests.stores import fresh_store
from tests.waiting import BOUND, eventually, promised
from tests.walls.tally import Wall

from .bench import Bench
from .test_in_the_loop import THREAD, run

BOSS = Person(id="9", name="boss", level="operator")
WIPE = "import shutil; shutil.rmtree('s' + 'rc')"
CODED_WIPE = f"python3 -c {shlex.quote(WIPE)}"
CODED = base64.b64encode(b"rm -rf src").decode()
CONVERTS = """import pathlib
for p in pathlib.Path().glob('{begin}*{ending}'):
    t = p.read_bytes()
    {become}
    p.unlink()
"""
DESTROYS = {
    "base64 into a shell": f"echo {CODED} | base64 -d > /tmp/x; . /tmp/x",
    "a script that deletes": "python3 tool.py",
    "a target of make": "make fresh",
    "files emptied by code": "python3 -c \"import glob; [open(p, 'w').close() for p in glob.glob('src/*')]\"",
    "files rewritten, with times as before": (
        "for p in src/*; do touch -r $p /tmp/t; python3 -c \"open('$p', 'w').write('x' * 40)\"; touch -r /tmp/t $p; done"
    ),
    "a folder that is locked": "python3 -c \"import os; os.chmod('src', 0)\"",
    "files that end in a time-out": "for p in src/*; do : > $p; done; sleep 600",
}
KEEPS = {
    "a formatter": "sed -i 's/value/amount/' src/*",
    "files that are named": "rm notes.txt src/m0.py src/m1.py",
    "an archive": "tar cf all.tar src && tar tf all.tar",
    "what was derived": "python3 -c \"import shutil; shutil.rmtree('build')\"",
    "new files": "for i in 1 2 3 4; do echo $i > new$i; done; cat new*; python3 -c \"import os; os.remove('new1')\"",
    "a file split in several": (
        "python3 -c \"t = open('long.py').read().split('#'); [open(f'part{i}.py', 'w').write(p) for i, p in enumerate(t)]; "
        "open('long' + '.py', 'w').write('from part0 import *')\""
    ),
    "files under another ending": "python3 rename.py",
    "files that are packed": "python3 pack.py",
    "a report made anew": "python3 report.py",
    "a move": "mkdir lib && mv src lib/src",
}


@pytest.fixture
async def guarded(bench: Bench, tmp_path: Path) -> Bench:
    """The bench with a store of snapshots, over ten files of somebody's, a Makefile and a script."""
    for number in range(10):
        bench.put(f"src/m{number}.py", f"value = {number}\nother = 'words of file {number} that nobody else has'\n")
        bench.put(f"build/m{number}.txt", f"derived {number}\n")
    bench.put("notes.txt", "mine\n")
    bench.put("tool.py", WIPE)
    bench.put("long.py", "#".join(f"def part{number}(a):\n    return a * {number}\n" for number in range(6)))
    bench.put("report.txt", "3 of 9 on Monday\n")
    bench.put("report.py", "open('report' + '.txt', 'w').write('today: eight\\n')")
    bench.put("rename.py", CONVERTS.format(begin="a", ending=".md", become="p.with_suffix('.rst').write_bytes(t[2:])"))
    packed = "__import__('gzip').open(str(p) + '.gz', 'w').write(t)"
    bench.put("pack.py", CONVERTS.format(begin="b", ending=".csv", become=packed))
    for number in range(5):
        bench.put(f"a{number}.md", f"# The title\nwords of page {number} that nobody else has\n")
        bench.put(f"b{number}.csv", f"row,{number},value\n" * 40)
    bench.put("Makefile", "fresh:\n\tfind src -type f -exec sh -c 'unlink \"$$0\"' {} \\;\n")
    bench.workspace.chmod(0o777)
    return replace(bench, toolbox=toolbox(bench.world, tmp_path))


def toolbox(world: RealWorld, folder: Path) -> StandardToolbox:
    async def source() -> RealWorld:
        return world

    return StandardToolbox(source, snapshots=Snapshots(folder / "checkpoints", home=folder))


def standing(workspace: Path) -> dict[str, str]:
    return {str(path.relative_to(workspace)): path.read_text() for path in workspace.rglob("*") if path.is_file()}


async def call(bench: Bench, command: str, tool: str = "shell", **more: object) -> Observation:
    """A call that the gate lets pass, however it reads."""
    prepared = bench.toolbox.prepare(
        tool, {"command" if tool == "shell" else "code": command, "timeout": 3 if "sleep" in command else 60}
    )
    assert isinstance(prepared, Prepared)
    bench.calls += 1
    return await bench.toolbox.run(tool, f"c{bench.calls}", replace(prepared, **more), bench.streamed.append)  # type: ignore[arg-type]


async def test_what_a_command_destroys_is_put_back_whatever_it_was_written_in(guarded: Bench) -> None:
    before = standing(guarded.workspace)
    for form, command in DESTROYS.items():
        seen = await call(guarded, command)
        assert seen.put_back is not None, form
        assert "src" in seen.put_back.destroyed, form
        assert standing(guarded.workspace) == before, form
        assert seen.put_back.left == "", form
    seen = await call(guarded, WIPE, "python")
    assert seen.put_back is not None
    assert "10 files that it had not made, among them “src/m0.py”" in seen.put_back.destroyed
    assert standing(guarded.workspace) == before


async def test_what_ordinary_work_takes_away_stays_so(guarded: Bench) -> None:
    for form, command in KEEPS.items():
        seen = await call(guarded, command)
        assert seen.put_back is None, form
        assert seen.outcome == "ok", (form, seen.preview)
    assert not (guarded.workspace / "src").exists()
    assert not (guarded.workspace / "build").exists()


async def test_a_secret_in_the_name_of_what_was_put_back_is_hidden(guarded: Bench) -> None:
    secret = "ghp_" + "a1B2c3D4e5F6" * 3
    guarded.put(f"src/{secret}", "words of its own\n")
    seen = await call(guarded, WIPE, "python")
    assert seen.put_back is not None
    assert "[secret: " in seen.put_back.destroyed, seen.put_back
    assert secret not in repr(seen.put_back)


async def test_files_of_its_own_and_what_a_person_let_stay_destroyed(guarded: Bench) -> None:
    mine = frozenset(f"src/m{number}.py" for number in range(10))
    assert (await call(guarded, "python3 tool.py", created=mine)).put_back is None
    assert not (guarded.workspace / "src").exists()
    await call(guarded, "mkdir src; echo one > src/a.py; echo two > src/b.py")
    seen = await call(guarded, "python3 tool.py")
    assert seen.put_back is not None
    shown = frozenset(seen.put_back.losses)
    assert (await call(guarded, "python3 tool.py", approved=True, shown=shown)).put_back is None
    assert not (guarded.workspace / "src").exists()


async def test_a_yes_to_something_else_of_a_call_lets_nothing_be_destroyed(guarded: Bench) -> None:
    before = standing(guarded.workspace)
    assert (await call(guarded, "python3 tool.py", approved=True)).put_back is not None
    assert standing(guarded.workspace) == before


async def test_rows_of_a_database_are_files_words(guarded: Bench) -> None:
    made = "import sqlite3; d = sqlite3.connect('app.db'); d.execute('create table t (a text)'); "
    made += "d.executemany('insert into t values (?)', [(str(n) * 9,) for n in range(500)]); d.commit()"
    assert (await call(guarded, made, "python")).put_back is None
    opened = "import sqlite3; d = sqlite3.connect('app.db', isolation_level=None); "
    for change in ("delete from t where rowid % 9", "drop table t", "update t set a = 1; delete from t"):
        seen = await call(guarded, f"{opened} d.executescript('{change}'); d.close()", "python")
        assert seen.put_back is not None, change
        assert "app.db" in seen.put_back.destroyed, change
    for change in (
        "delete from t where rowid < 9", "alter table t rename to u", "create table v as select * from u; drop table u",
        "delete from v where rowid % 3 = 0; vacuum", "insert into v values (1)",
    ):  # fmt: skip
        seen = await call(guarded, f"{opened} d.executescript('{change}'); d.close()", "python")
        assert seen.put_back is None, change
        assert seen.outcome == "ok", seen.preview


async def test_a_file_that_was_only_moved_is_not_its_own(guarded: Bench) -> None:
    assert (await call(guarded, "mkdir lib && mv src lib/src && echo mine > lib/src/new.py")).put_back is None
    moved = frozenset(f"lib/src/{name}" for name in (*(f"m{number}.py" for number in range(10)), "new.py"))
    seen = await call(guarded, "python3 -c \"import shutil; shutil.rmtree('lib')\"", created=moved)
    assert seen.put_back is not None
    assert "10 files" in seen.put_back.destroyed
    assert (guarded.workspace / "lib/src/m0.py").exists()


async def test_what_is_hidden_is_not_touched_by_putting_back(guarded: Bench) -> None:
    guarded.put(".aiignore", "*.key\n")
    guarded.put("my.key", "secret\n")
    seen = await call(guarded, "python3 tool.py")
    assert seen.put_back is not None
    kept = [path.read_bytes() for path in (guarded.workspace.parent).rglob("savepoint")]
    assert not any(b"secret" in content for content in kept)
    reopen(guarded.workspace)
    assert (guarded.workspace / "my.key").read_text() == "secret\n"


def git(folder: Path, *said: str) -> None:
    setting = ("-c", "user.name=me", "-c", "user.email=me@x", "-c", "safe.directory=*", "-c", "init.defaultBranch=main")
    subprocess.run(["git", *setting, *said], cwd=folder, check=True, capture_output=True)


async def test_what_git_can_give_back_is_no_loss_and_what_it_lost_is(guarded: Bench) -> None:
    work = guarded.workspace
    for said in ("init", "add .", "commit -m one", "switch -c side", "rm -q -r src", "commit -m two", "switch main"):
        git(work, *said.split(" "))
    subprocess.run(["chmod", "-R", "a+rwX", "."], cwd=work, check=True)
    quiet = "export HOME=/tmp GIT_CONFIG_COUNT=1 GIT_CONFIG_KEY_0=safe.directory GIT_CONFIG_VALUE_0='*'; "
    seen = await call(guarded, f"{quiet}git switch -q side && ls && git switch -q main && git switch -q side")
    assert (seen.outcome, seen.put_back) == ("ok", None), seen.preview
    await call(guarded, f"{quiet}git switch -q main")
    for hidden in ("rm -rf .git", "git branch -qD side; git reflog expire --expire=now --all", "git rm -rq src"):
        seen = await call(guarded, f"{quiet}echo {shlex.quote(hidden)} > /tmp/x; . /tmp/x")
        assert seen.put_back is not None, hidden
        git(work, "rev-parse", "side")
        git(work, "diff", "--quiet", "HEAD", "--", "src")


async def test_a_person_is_asked_and_what_they_let_runs_once_more(guarded: Bench) -> None:
    store, doorbell = fresh_store(), asyncio.Event()
    script = [
        answer("", ("shell", {"command": "python3 tool.py; echo ran >> runs.txt"})),
        answer("done", ("finish", {"answer": "x"})),
    ]
    working = asyncio.create_task(run(guarded, script, store, doorbell))
    asked = await question(store)
    assert "I ran this, and it deleted or overwrote 10 files" in asked.text
    assert "1 new file stays" in asked.text
    assert (guarded.workspace / "src" / "m9.py").exists()
    said = InboxItem(
        id="5", thread=THREAD, sort="answer", author=BOSS, at=datetime.now(UTC), text="allow", target=asked.question
    )
    await store.put(said)
    doorbell.set()
    execution = await working
    assert execution.finished is not None
    assert not (guarded.workspace / "src").exists()
    assert (guarded.workspace / "runs.txt").read_text() == "ran\nran\n"
    log = [envelope async for envelope in store.read(execution_id(THREAD, "1"))]
    first = log[0].event
    kinds = [type(e.event) for e in log if isinstance(e.event, ToolStarted | Gated | Asked | Decided | ToolFinished)]
    assert kinds[:6] == [ToolStarted, Gated, Asked, Decided, ToolStarted, ToolFinished], first
    assert broken_promises(log) == ()


async def question(store: SQLiteStore, *, last: bool = False) -> Asked:
    async def found() -> Asked | None:
        log = [envelope.event async for envelope in store.read(execution_id(THREAD, "1"))]
        return next((event for event in (reversed(log) if last else log) if isinstance(event, Asked)), None)

    asked = await eventually(found)
    assert asked is not None
    return asked


async def test_a_yes_to_what_was_shown_is_none_to_what_the_call_does_by_now(guarded: Bench) -> None:
    store, doorbell = fresh_store(), asyncio.Event()
    script = [answer("", ("shell", {"command": "python3 tool.py"})), answer("done", ("finish", {"answer": "x"}))]
    working = asyncio.create_task(run(guarded, script, store, doorbell))
    asked = await question(store)
    (guarded.workspace / "tool.py").write_text(f"{WIPE}; import os; os.unlink('no' + 'tes.txt')")
    await said(store, doorbell, asked, "allow", 5)

    async def again() -> Asked | None:
        found = await question(store, last=True)
        return found if found.question != asked.question else None

    anew = await eventually(again)
    assert anew is not None
    assert "deleted or overwrote 11 files" in anew.text
    assert (guarded.workspace / "notes.txt").exists()
    assert (guarded.workspace / "src" / "m9.py").exists()
    await said(store, doorbell, anew, "allow", 6)
    execution = await working
    assert execution.finished is not None
    assert not (guarded.workspace / "src").exists()
    assert not (guarded.workspace / "notes.txt").exists()
    assert broken_promises([envelope async for envelope in store.read(execution_id(THREAD, "1"))]) == ()


async def said(store: SQLiteStore, doorbell: asyncio.Event, asked: Asked, text: str, number: int) -> None:
    item = InboxItem(
        id=str(number),
        thread=THREAD,
        sort="answer",
        author=BOSS,
        at=datetime.now(UTC),
        text=text,
        target=asked.question,
    )
    await store.put(item)
    doorbell.set()


async def test_of_a_workspace_that_is_too_large_a_person_is_asked_once_before_what_could_destroy(
    guarded: Bench, tmp_path: Path
) -> None:
    async def source() -> RealWorld:
        return guarded.world

    snapshots = Snapshots(tmp_path / "checkpoints", SnapshotLimits(max_files=30), home=tmp_path)
    small = replace(guarded, toolbox=StandardToolbox(source, snapshots=snapshots))
    assert (await call(small, "ls -la src; sleep 0")).outcome == "ok"
    store, doorbell = fresh_store(), asyncio.Event()
    script = [
        answer("", ("shell", {"command": "echo one > one"}), ("shell", {"command": "cat one"})),
        answer("", ("shell", {"command": "python3 tool.py"})),
        answer("done", ("finish", {"answer": "x"})),
    ]
    working = asyncio.create_task(run(small, script, store, doorbell))
    asked = await question(store)
    assert "May I run this, and the commands after it?" in asked.text
    assert "more than 30 files" in asked.text
    assert not (guarded.workspace / "one").exists()
    await said(store, doorbell, asked, "allow", 5)
    execution = await working
    assert execution.finished is not None
    assert (guarded.workspace / "one").exists()
    assert not (guarded.workspace / "src").exists()
    log = [envelope async for envelope in store.read(execution_id(THREAD, "1"))]
    assert len([e for e in log if isinstance(e.event, Asked)]) == 1
    assert broken_promises(log) == ()


async def lets_on(gate: Path) -> None:
    """What waits at a gate goes on."""
    await eventually(gate.exists)
    await asyncio.to_thread(gate.write_text, "on\n")


async def test_what_a_background_command_does_is_not_put_to_a_call_that_looks(guarded: Bench) -> None:
    """It is put back once the background command has ended, and told; the output of the look is not lost."""
    waits = "mkfifo gone go; read x < gone; touch gone2; read x < go"
    before = standing(guarded.workspace)
    began = await guarded.call("shell", command=f"rm -f x; {waits}; touch ended", background=True)
    assert began.put_back is None
    work = guarded.workspace
    destroying = await guarded.call(
        "shell", command=f"mkfifo start; read x < start; {CODED_WIPE}; echo > gone", background=True
    )
    assert destroying.put_back is None
    await lets_on(work / "start")
    await eventually((work / "gone2").exists)
    seen = await guarded.call("shell", command="cat notes.txt")
    assert (seen.outcome, seen.put_back, "mine" in seen.preview) == ("ok", None, True)
    await lets_on(work / "go")
    await eventually((work / "ended").exists)

    async def told() -> Observation | None:
        seen = await guarded.call("shell", command="ls src | wc -l")
        return seen if "left running deleted or overwrote 10 files" in seen.preview else None

    seen = await eventually(told)
    assert seen is not None
    assert seen.put_back is None
    assert standing(work).items() >= before.items()


async def test_a_stop_in_the_middle_puts_back_too(guarded: Bench) -> None:
    store, doorbell = fresh_store(), asyncio.Event()
    script = [answer("", ("shell", {"command": "python3 tool.py; cat gate; sleep 600"}))]
    gate = Gate(guarded.workspace)
    working = asyncio.create_task(run(guarded, script, store, doorbell))
    await gate.reached()
    await store.put(InboxItem(id="2", thread=THREAD, sort="stop", author=BOSS, at=datetime.now(UTC)))
    doorbell.set()
    execution = await working
    assert execution.finished is not None
    assert execution.finished.reason == "stopped"
    assert len(list((guarded.workspace / "src").iterdir())) == 10
    log = [envelope async for envelope in store.read(execution_id(THREAD, "1"))]
    assert [e.event.put_back for e in log if isinstance(e.event, Gated)] == [True]
    assert broken_promises(log) == ()


async def test_what_a_dead_owner_left_destroyed_is_put_back_by_the_next(guarded: Bench, tmp_path: Path) -> None:
    """Whether its sandbox wrote down how the command ended, or was killed in the middle of it."""
    before = standing(guarded.workspace)
    for number, command in enumerate(("python3 tool.py", "python3 tool.py; kill -9 $PPID; sleep 600")):
        key = f"c{number}"
        await Snapshots(tmp_path / "checkpoints", home=tmp_path).hold("t1", guarded.workspace, key)
        await guarded.world.exec("true", timeout=60)
        diary = guarded.world.diary
        began = asyncio.create_task(guarded.world.exec(command, timeout=60, key=key))
        await eventually(lambda: not (guarded.workspace / "src").exists())
        if number == 0:
            await began
        await guarded.world.close()
        await asyncio.gather(began, return_exceptions=True)
        arguments: dict[str, JsonValue] = {"command": command}
        intent = ToolStarted(
            call=key, provider_id="p", tool="shell", effect="unkeyed", arguments=arguments, args_sha="sha", diary=diary
        )
        next_owner = toolbox(guarded.world, tmp_path)
        approved = await next_owner.recall(intent.model_copy(update={"approval": "q"}))
        assert not isinstance(approved, Observation)  # under its own key nothing is known
        seen = await next_owner.recall(intent)
        assert isinstance(seen, Observation)
        assert seen.put_back is not None
        assert standing(guarded.workspace) == before
        again = await toolbox(guarded.world, tmp_path).recall(intent)
        assert isinstance(again, Observation)
        assert again.put_back is not None
        assert again.put_back.destroyed == seen.put_back.destroyed


class Restores:
    """A disk that lets so many files be restored, and further ones once it is let go."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, files: int) -> None:
        self.reached, self._go, self._files = threading.Event(), threading.Event(), files
        monkeypatch.setattr(restore, "reach", self._reach)

    def go_on(self) -> None:
        self._go.set()

    def _reach(self, point: str) -> None:
        self._files -= point == "restore.file"
        if self._files < 0:
            self.reached.set()
            assert self._go.wait(BOUND)


async def _stopped(bench: Bench, store: SQLiteStore, doorbell: asyncio.Event) -> None:
    await store.put(InboxItem(id="2", thread=THREAD, sort="stop", author=BOSS, at=datetime.now(UTC)))
    doorbell.set()


async def _log(store: SQLiteStore) -> list[Envelope]:
    return [envelope async for envelope in store.read(execution_id(THREAD, "1"))]


@pytest.mark.wall("stops")
async def test_a_stop_says_soon_that_files_are_still_restored_and_ends_when_they_are(
    guarded: Bench, monkeypatch: pytest.MonkeyPatch, wall: Wall
) -> None:
    """Also where the command had ended by itself; and nobody else saves the workspace meanwhile."""
    for ends in ("; sleep 600", ""):
        disk, store, doorbell = Restores(monkeypatch, 3), fresh_store(), asyncio.Event()
        before = standing(guarded.workspace)
        script = [answer("", ("shell", {"command": f"python3 tool.py{ends}"}))]
        working = asyncio.create_task(run(guarded, script, store, doorbell))
        gone = (lambda: not (guarded.workspace / "src").exists()) if ends else disk.reached.is_set
        await eventually(gone)
        await _stopped(guarded, store, doorbell)
        async with promised(2.0, "people are told which files a stop still has restored"):
            while not any(isinstance(e.event, CancelRequested) and e.event.restoring for e in await _log(store)):
                await asyncio.sleep(0)
        await eventually(disk.reached.is_set)
        snapshots = guarded.toolbox._snapshots
        assert snapshots is not None
        holds = asyncio.create_task(snapshots.hold("t1", guarded.workspace, "next"))
        assert not working.done()
        disk.go_on()
        ended = await working
        assert ended.finished is not None
        assert ended.finished.reason == "stopped"
        back = {path: text for path, text in standing(guarded.workspace).items() if path in before} == before
        wall.held(f"a stop while files are restored{ends}", back, "files are missing")
        held = await holds
        assert held is not None
        assert before.keys() <= held.manifest.entries.keys()
        assert [e.event.put_back for e in await _log(store) if isinstance(e.event, Gated)] == [True]
        assert broken_promises(await _log(store)) == ()
        assert verify(await _log(store)).divergence is None
        told = [row.item.text for row in await store.undelivered()]
        assert [text for text in told if "still restoring" in text and "next task waits" in text], told
        assert [text for text in told if text.startswith("The stopped command") and "is restored" in text], told


async def test_what_a_stop_had_not_restored_when_its_owner_ended_the_next_one_restores(
    guarded: Bench, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    store, doorbell, before = fresh_store(), asyncio.Event(), standing(guarded.workspace)
    snapshots = Snapshots(tmp_path / "checkpoints", home=tmp_path)

    async def source() -> RealWorld:
        return guarded.world

    async def save() -> Saved:
        return await snapshots.save("t1", guarded.workspace)

    def saving() -> Bench:
        return replace(guarded, toolbox=StandardToolbox(source, snapshots=snapshots, save=save))

    disk = Restores(monkeypatch, 3)
    script = [answer("", ("shell", {"command": "python3 tool.py; sleep 600"}))]
    working = asyncio.create_task(run(saving(), script, store, doorbell))
    await eventually(lambda: not (guarded.workspace / "src").exists())
    await _stopped(guarded, store, doorbell)
    await eventually(disk.reached.is_set)
    working.cancel()  # as where its lease is lost, or the process ends
    name = execution_id(THREAD, "1")
    await eventually(lambda: any(task.cancelling() > 1 for task in asyncio.all_tasks() if name in task.get_name()))
    for _ in range(20):  # so many passes of the loop it takes at most until the restore has heard of it
        await asyncio.sleep(0)
    assert not working.done()
    disk.go_on()
    await asyncio.gather(working, return_exceptions=True)
    left = standing(guarded.workspace)
    assert len(left) < len(before)
    assert not [task for task in asyncio.all_tasks() if name in task.get_name()]
    ended = await run(saving(), [], store, asyncio.Event())
    assert ended.finished is not None
    assert ended.finished.reason == "stopped"
    assert standing(guarded.workspace) == before
    assert verify(await _log(store)).divergence is None
