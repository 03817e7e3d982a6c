"""How well the rules place a task, on the labelled messages beside this file (``triage_messages.tsv``).

The messages were labelled and committed before the rules were written.  Half of them, by a hash of the text, are held out:
the rules were tuned on the other half.  Counted is what a mistake costs: a task taken for talk has no tools until it says
that it needs some (aimed at: never), talk taken for a task costs a turn and the question for evidence.  What the rules are
not sure of goes to the cheap model, where one is set: that share is what the setting ``model`` costs.
"""

from __future__ import annotations

import csv
import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from agentic.core.text.task_classifier import TaskReading, read
from bench.figures import Figure

MESSAGES = Path(__file__).with_name("triage_messages.tsv")


@dataclass(frozen=True, slots=True)
class Labelled:
    """A message, what people said it is (several where both are right), and what the rules say."""

    kind: str
    complexity: tuple[str, ...]
    files: bool
    roles: tuple[str, ...]
    text: str
    reading: TaskReading

    @property
    def held_out(self) -> bool:
        """It was not looked at while the rules were written."""
        return hashlib.sha256(self.text.encode()).digest()[0] % 2 == 1

    @property
    def placed(self) -> bool:
        """Talk is talk and a task is one; what may be either is right both ways."""
        return self.kind == "either" or (self.kind == "talk") == self.reading.talk


def messages() -> list[Labelled]:
    """All of them."""
    with MESSAGES.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE))
    return [_labelled(row) for row in rows]


def _labelled(row: dict[str, str]) -> Labelled:
    text = row["text"].replace("\\n", "\n")
    roles = tuple("" if role == "-" else role for role in row["role"].split("|"))
    return Labelled(row["kind"], tuple(row["complexity"].split("|")), row["files"] == "yes", roles, text, read(text))


def figures() -> Iterator[Figure]:
    """The half that was held out against its targets, then all of it."""
    every = messages()
    held = [each for each in every if each.held_out]
    yield from _placed("held_out", held, aimed=True)
    yield from _placed("all", every, aimed=False)
    tasks = [each for each in held if each.kind == "task"]
    yield _share("triage_files_held_out", [t.reading.changes_files == t.files for t in tasks], 85)
    yield _share("triage_complexity_held_out", [t.reading.complexity in t.complexity for t in tasks], 70)
    yield _share("triage_role_held_out", [t.reading.role in t.roles for t in tasks], 70)


def _placed(name: str, rows: Sequence[Labelled], *, aimed: bool) -> Iterator[Figure]:
    sure = [each for each in rows if each.reading.sure]
    lost = sum(each.kind == "task" and each.reading.talk for each in rows)
    dear = sum(each.kind == "talk" and not each.reading.talk and each.reading.sure for each in rows)
    note = f"{len(rows)} messages"
    yield Figure(f"triage_sure_{name}", 100 * len(sure) / len(rows), "%", ">=", 80 if aimed else None, note)
    right = 100 * sum(each.placed for each in sure) / len(sure)
    yield Figure(f"triage_right_where_sure_{name}", right, "%", ">=", 97 if aimed else None)
    yield Figure(f"triage_task_taken_for_talk_{name}", lost, "messages", "<=", 0)
    yield Figure(f"triage_talk_taken_for_task_{name}", dear, "messages", "<=", 2 if aimed else None)


def _share(name: str, held: Sequence[bool], aim: float) -> Figure:
    return Figure(name, 100 * sum(held) / len(held), "%", ">=", aim)
