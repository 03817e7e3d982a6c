"""Going through many files holds up nothing else in a supervisor."""

from __future__ import annotations

import os
import queue
import subprocess
import sys
import threading
from collections.abc import Callable, Collection, Sequence
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from agentic.sandbox.supervisor import limits
from agentic.sandbox.supervisor.event_loop import Reactor
from agentic.sandbox.supervisor.exec_requests import Serving
from agentic.sandbox.supervisor.files.background_walk import Walks
from agentic.sandbox.supervisor.files.change_scan import Scanner
from agentic.sandbox.supervisor.files.confined_paths import Confined
from agentic.sandbox.supervisor.frames import Json, Request
from agentic.sandbox.supervisor.limits import Limits, Watch
from agentic.sandbox.supervisor.processes.commands import Command
from agentic.sandbox.supervisor.session import Session


class Loop(Reactor):
    """What threads hand to the supervisor's loop; called when the test says so."""

    def __init__(self) -> None:
        self.calls: queue.SimpleQueue[Callable[[], None]] = queue.SimpleQueue()

    def soon(self, call: Callable[[], None]) -> None:
        self.calls.put(call)

    def once(self) -> None:
        """The next call, when it comes."""
        self.calls.get(timeout=60)()


def test_where_the_largest_process_is_no_command_s_any_more_the_next_one_is_ended(tmp_path: Path) -> None:
    """The kernel may have killed it meanwhile, and what it belonged to goes on."""
    asked: list[int | None] = []

    def over(pid: int | None, reason: str) -> bool:
        asked.append(pid)
        return len(asked) == 2

    children = [subprocess.Popen(["/bin/sleep", "600"]) for _ in range(3)]
    try:
        Watch(Limits({"memory": 1}), [str(tmp_path)], Walks(Loop(), "watch")).look(over)
    finally:
        for child in children:
            child.kill()
            child.wait()
    assert len(set(asked)) == 2


def test_a_look_at_folders_that_takes_long_returns_at_once_and_its_finding_counts_later(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in range(5):
        (tmp_path / str(name)).touch()
    loop, goes, real, over = Loop(), threading.Event(), limits.usage, list[str]()

    def slow(folders: Sequence[str], hidden: Collection[str] = ()) -> tuple[int, int]:
        goes.wait(60)
        return real(folders, hidden)

    watch = Watch(Limits({"inodes": 3}), [str(tmp_path)], Walks(loop, "watch"))
    monkeypatch.setattr(limits, "SLACK_INODES", 0)
    monkeypatch.setattr(limits, "usage", slow)
    watch.begin()
    (tmp_path / "one more").touch()
    for _ in range(3):
        watch.look(lambda _pid, reason: over.append(reason))
    assert over == []
    goes.set()
    loop.once()
    assert over == ["the files of the thread became 6, over 5"]
    assert loop.calls.empty(), "one walk at a time"


def test_what_a_command_wrote_while_it_was_being_ended_is_no_growth_of_the_next_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Otherwise nothing could clean up after it."""
    loop, over = Loop(), list[str]()

    def look() -> None:
        watch.look(lambda _pid, reason: over.append(reason))
        loop.once()

    watch = Watch(Limits({"inodes": 3}), [str(tmp_path)], Walks(loop, "watch"))
    monkeypatch.setattr(limits, "SLACK_INODES", 2)

    def write(count: int) -> None:
        for name in range(count):
            (tmp_path / str(name)).touch()

    watch.begin()
    write(6)
    look()
    assert over == ["the files of the thread became 6, over 3"]
    write(50)  # until it was dead
    watch.begin()
    look()
    assert len(over) == 1
    write(53)
    monkeypatch.setattr(watch, "_next_files", 0.0)
    look()
    assert over[1:] == ["the files of the thread became 53, over 52"], "the next one may not grow either"


def test_what_a_command_left_that_was_ended_for_growth_is_counted_before_the_next_one_fills_the_disk(
    tmp_path: Path,
) -> None:
    """The next one may write all it wants to within the time until the first look."""
    at_once: Any = SimpleNamespace(do=lambda work, done: done(work()))
    due, ended = list[Callable[[], None]](), list[str]()
    reactor: Any = SimpleNamespace(later=lambda _, call: due.append(call))
    running: dict[str, Any] = {}
    commands = SimpleNamespace(running=running, forget_gone=lambda: None, kill=lambda _, why, __: ended.append(why))
    here: Any = SimpleNamespace(commands=commands, interpreter=SimpleNamespace(busy=False))
    here.watch = Watch(Limits({"workspace": 1}), [str(tmp_path)], at_once)
    serving = Serving(here, reactor, lambda *_: None, lambda: 0)

    def runs_and_writes(megabytes: int) -> None:
        running["x"] = object()
        serving._begin_watch()  # pyright: ignore[reportPrivateUsage]
        with (tmp_path / "large").open("wb") as file:
            os.posix_fallocate(file.fileno(), 0, megabytes << 20)
        due.pop()()  # the first look
        running.clear()
        while due:
            due.pop()()

    runs_and_writes(100)
    assert ended == ["the files of the thread grew to 100 MB, over 64 MB"]
    runs_and_writes(300)
    assert ended[1:] == ["the files of the thread grew to 300 MB, over 164 MB"]


def test_a_fault_in_the_thread_is_one_of_the_loop() -> None:
    loop = Loop()
    walks = Walks(loop, "walks")
    walks.do(lambda: 1 // 0, lambda _: None)
    with pytest.raises(ZeroDivisionError):
        loop.once()
    found: list[int] = []
    walks.do(lambda: 7, found.append)
    loop.once()
    assert found == [7]


def test_the_loop_is_not_held_up_by_a_thread_each_time_that_it_comes_back_from_the_kernel() -> None:
    before = sys.getswitchinterval()
    try:
        Walks(Loop(), "walks")
        assert sys.getswitchinterval() <= 0.001
    finally:
        sys.setswitchinterval(before)


def test_a_command_that_has_ended_is_answered_as_soon_as_it_is_given_up_and_the_next_look_tells_what_it_changed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In a large workspace a look at what changed takes seconds, and no stop waits for it."""
    loop, goes, sent = Loop(), threading.Event(), list[tuple[int, dict[str, Json]]]()
    scanner = Scanner(Confined(str(tmp_path)))
    look = scanner.scan

    def slow(wanted: Callable[[], bool]) -> dict[str, Json] | None:
        goes.wait(60)
        return look(wanted)

    monkeypatch.setattr(scanner, "scan", slow)
    here: Any = SimpleNamespace(scanner=scanner, _scans=Walks(loop, "scans"), commands=SimpleNamespace(running={}))
    here.watch = SimpleNamespace(ran_out_of_memory=lambda: False)
    here.changes = lambda told: Session.changes(here, told)
    serving = Serving(here, loop, lambda request, header, _: sent.append((request.id, header)), lambda: 0)
    collector = SimpleNamespace(truncated=False, saved_as="", total=0, shown=lambda: b"")

    def ended(number: int) -> None:
        command = Command(f"x{number}", "", cast(Any, collector), lambda _: None)
        command.status = 0
        serving._executed(Request({"id": number}, b""), command)  # pyright: ignore[reportPrivateUsage]

    (tmp_path / "new").touch()
    ended(1)
    assert sent == []
    serving.operations["kill"](Request({"id": 2, "exec": "x1", "scan": False}, b""))
    assert [id for id, _ in sent] == [1, 2]
    assert "changes" not in sent[0][1]
    goes.set()
    loop.once()
    ended(3)
    loop.once()
    assert [id for id, _ in sent] == [1, 2, 3], "the first look told nothing any more"
    assert [row[0] for row in cast("list[list[str]]", sent[2][1]["changes"])] == ["new"]


def test_folders_that_take_long_to_look_at_are_not_looked_at_without_a_pause(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Else a workspace full of files would keep a processor busy for as long as anything runs in it."""
    loop, now, walks, idle = Loop(), [100.0], list[float](), list[float]()

    def slow(_: Sequence[str], hidden: Collection[str] = ()) -> tuple[int, int]:
        walks.append(now[0])
        now[0] += 4.0
        return 0, 0

    beside = Walks(loop, "watch")
    watch = Watch(Limits({}), [str(tmp_path)], beside)
    monkeypatch.setattr(limits, "usage", slow)
    monkeypatch.setattr(limits, "time", SimpleNamespace(monotonic=lambda: now[0]))
    watch.begin()
    for at in (100.0, 104.2, 109.0):
        now[0] = at
        watch.look(lambda _pid, _reason: None)
        beside.do(partial(float, at), idle.append)
        while at not in idle:
            loop.once()  # whatever was begun has ended
    assert walks == [100.0, 109.0]
