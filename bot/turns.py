"""Whose turn it is where more wants to run than may; pure.

Turns go by server, and within a server by person: whoever has the fewest running goes first, then who has waited longest for
a turn, then the oldest of their tasks.  Whoever has seen ``PATIENCE`` turns of others go by is next, so that nobody waits
for ever behind people whose tasks are short.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence

from agentic.core.lazy_dataclass import dataclass

PATIENCE = 10

Key = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Task:
    """What wants to run: its thread, who asked and in which server, and how many turns had been when it asked."""

    thread: str
    server: str = ""
    person: str = ""
    asked: int = 0


def next_of(waiting: Sequence[Task], running: Collection[Task], last: Mapping[Key, int], turns: int) -> Task:
    """The task that goes next.

    ``waiting`` is in the order in which they asked, and not empty; ``last`` says, for a server ``(server,)`` and a person in
    it ``(server, person)``, the number of the last turn they had; ``turns`` is how many there have been.
    """
    for key in (_server, _person):
        waiting = _of_first(key, waiting, running, last, turns)
    return waiting[0]


def order_of(waiting: Sequence[Task], running: Collection[Task], last: Mapping[Key, int], turns: int) -> list[Task]:
    """The order in which they go if nothing else comes, as far as it can be known before anything ends."""
    left, taken, known, order = list(waiting), list(running), dict(last), list[Task]()
    while left:
        task = next_of(left, taken, known, turns)
        turns += 1
        known |= dict.fromkeys((_server(task), _person(task)), turns)
        left.remove(task)
        taken.append(task)
        order.append(task)
    return order


def _server(task: Task) -> Key:
    return (task.server,)


def _person(task: Task) -> Key:
    return (task.server, task.person)


def _of_first(
    key: Callable[[Task], Key], waiting: Sequence[Task], running: Collection[Task], last: Mapping[Key, int], turns: int
) -> list[Task]:
    """The tasks of the server or person whose turn it is."""
    groups: dict[Key, list[Task]] = {}
    for task in waiting:
        groups.setdefault(key(task), []).append(task)
    busy = [key(task) for task in running]

    def rank(one: Key) -> tuple[bool, int, int]:
        since = max(last.get(one, 0), groups[one][0].asked)
        impatient = turns - since >= PATIENCE
        return (not impatient, 0 if impatient else busy.count(one), since)

    return groups[min(groups, key=rank)]
