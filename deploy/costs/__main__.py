"""Print what it costs: idle, a task, and sandboxes by how they are run."""

from __future__ import annotations

import sys

from deploy.costs import prices
from deploy.costs.idle import LIMIT, Idle, idle, kept
from deploy.costs.sandboxes import table

TASK_WRITES, TASK_READS, TASK_PUTS, TASK_REQUESTS = 1000, 250, 60, 250
"""The most that a task of 20 turns may take; a test of the store counts them."""


def a_task() -> float:
    """Dollars that a task of 20 turns costs at most, beside what its models do."""
    stored = TASK_WRITES * prices.WRITE_UNIT + TASK_READS * prices.READ_UNIT
    return stored + TASK_PUTS * prices.PUT + TASK_REQUESTS * prices.QUEUE_REQUEST


def report() -> str:
    """The whole text."""
    lines = [f"Idle, a month, beside the machines (at most {LIMIT:.0f} USD):"]
    bill = idle(kept())
    lines += [f"  {line.usd:8.2f}  {line.what}" for line in bill]
    lines.append(f"  {sum(line.usd for line in bill):8.2f}  in all")
    lines.append("A machine, a month, beside that:")
    lines += [f"  {hour * prices.HOURS:8.2f}  {name}" for name, hour in prices.MACHINE_HOUR.items()]
    lines.append(f"A task of 20 turns costs AWS at most {a_task():.5f} USD; its models are not in it.")
    lines.append("Sandboxes, USD a month, with the worker's machine:")
    for name, tasks, ways in table():
        lines.append(f"  {name} ({tasks} tasks)")
        lines += [f"  {usd:10.2f}  {way}" for way, usd in ways.items()]
    lines.append(f"Assumed: {Idle()}")
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    sys.stdout.write(report())
