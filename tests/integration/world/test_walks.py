"""Going through many files holds up nothing else in a supervisor."""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from agentic.world.supervisor import limits
from agentic.world.supervisor.limits import Limits, Watch
from agentic.world.supervisor.reactor import Reactor
from agentic.world.supervisor.walks import Walks


class Loop(Reactor):
    """What threads hand to the supervisor's loop; called when the test says so."""

    def __init__(self) -> None:
        self.calls: queue.SimpleQueue[Callable[[], None]] = queue.SimpleQueue()

    def soon(self, call: Callable[[], None]) -> None:
        self.calls.put(call)

    def once(self) -> None:
        """The next call, when it comes."""
        self.calls.get(timeout=20)()


def test_a_look_at_folders_that_takes_long_returns_at_once_and_its_finding_counts_later(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in range(5):
        (tmp_path / str(name)).touch()
    loop, goes, real, over = Loop(), threading.Event(), limits.usage, list[str]()

    def slow(folders: list[str]) -> tuple[int, int]:
        goes.wait(20)
        return real(folders)

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
