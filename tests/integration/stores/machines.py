"""What the state machines share: a store that can be opened, crashed and opened again, and a clock that they move.

A machine drives a store through drawn operations beside a plain model in Python, and compares what both say.  The same
machine runs over all stores.
"""

from __future__ import annotations

import asyncio
import shutil
import tempfile
from collections.abc import Coroutine
from pathlib import Path
from typing import Any, ClassVar, TypeVar

from hypothesis import HealthCheck, Phase, settings
from hypothesis.stateful import RuleBasedStateMachine, run_state_machine_as_test

from agentic.ports.runtime import Store
from agentic.stores.sqlite.store import SQLiteStore
from tests.integration.stores.samples import STORES, Seconds

T = TypeVar("T")
MEMORY = Path("/dev/shm")
"""A crash of a process loses nothing that was written, so the files need no disk that is slow to sync."""


class StoreMachine(RuleBasedStateMachine):
    """A store under test; ``kind`` says which."""

    kind: ClassVar[str] = "sqlite"

    def __init__(self) -> None:
        super().__init__()
        self.folder = _folder()
        self.clock = Seconds()
        self.loop = asyncio.new_event_loop()
        self.store: Store = STORES[self.kind](self.folder, self.clock)

    def do(self, work: Coroutine[Any, Any, T]) -> T:
        """Run it to its end."""
        return self.loop.run_until_complete(work)

    def all_of(self, *works: Coroutine[Any, Any, T]) -> list[T]:
        """Run them beside each other."""

        async def together() -> list[T]:
            return await asyncio.gather(*works)

        return self.do(together())

    def crash(self) -> None:
        """The process dies: what was durable is there for the next one, and nothing else."""
        if self.kind == "aws":
            left, self.store = self.store, STORES[self.kind](self.folder, self.clock)
            self.do(left.close())
        if self.kind == "sqlite":
            kept = _folder()
            shutil.copytree(self.folder, kept, dirs_exist_ok=True)  # as the disk was, with its log not copied back
            self.do(self.store.close())
            shutil.rmtree(self.folder)
            self.folder = kept
            self.store = SQLiteStore.open(self.folder / "threadwright.db", self.clock)

    def teardown(self) -> None:
        """Leave nothing behind."""
        self.do(self.store.close())
        self.loop.close()
        shutil.rmtree(self.folder)


def _folder() -> Path:
    return Path(tempfile.mkdtemp(prefix="machine-", dir=MEMORY if MEMORY.is_dir() else None))


def drive(machine: type[StoreMachine], kind: str, steps: int = 40) -> None:
    """Run a machine over one kind of store, with the same draws each time; requests cost more than a file."""
    examples = {"sqlite": 12, "aws": 1}[kind]
    over = type(f"{machine.__name__}Over{kind}", (machine,), {"kind": kind})
    run_state_machine_as_test(
        over,
        settings=settings(
            max_examples=examples,
            stateful_step_count=steps // 2 if kind == "aws" else steps,
            deadline=None,
            derandomize=True,
            database=None,
            phases=(Phase.generate,),  # with Phase.shrink a failure gets short, and takes minutes
            suppress_health_check=(HealthCheck.too_slow, HealthCheck.filter_too_much, HealthCheck.data_too_large),
        ),
    )
