"""Logs that are followed: the process writes now and then; or it ended, and its last words are read over and over."""

from __future__ import annotations

from bench.trajectories.acting import edit, finish, shell, started
from bench.trajectories.story import Family, Story
from bench.trajectories.words import pid, stamp


def _log(story: Story, lines: int) -> list[str]:
    rng = story.rng
    return [f"{stamp(story)} worker-{rng.randint(1, 4)} INFO batch {rng.randint(1, 900)} loaded" for _ in range(lines)]


def healthy(story: Story) -> None:
    """The same end of the log several times, then more of it, then the end of the work."""
    rng = story.rng
    log = _log(story, 6)
    story.turn(started(story, "python import.py > import.log 2>&1", "x1"))
    for _ in range(rng.randint(2, 4)):
        for _ in range(rng.randint(1, 3)):
            command = f"sleep {rng.choice((15, 30, 60))}; tail -n 5 import.log"
            story.turn(shell(story, command, "\n".join(log[-5:])))
        log += _log(story, rng.randint(1, 3))
    story.turn(shell(story, "tail -n 2 import.log", f"{stamp(story)} INFO import finished"))
    story.turn(edit(story, "import.py", "a", "b", "done"))
    story.turn(finish(story))


def stuck(story: Story) -> None:
    """The process is gone; the log is read in several ways and always ends alike."""
    rng = story.rng
    end = [*_log(story, 3), f"Traceback (most recent call last): worker {pid(story)}", "MemoryError"]
    ways = (
        "tail -n 20 import.log",
        "tail -n 50 import.log",
        "cat import.log",
        "tail import.log",
        "tail -n 100 import.log",
    )
    varied = rng.random() < 0.6
    story.turn(shell(story, "ls", "import.log\nimport.py"))
    story.turn(shell(story, "pgrep -f import.py", "", code=1))
    story.leads_nowhere()
    for _ in range(rng.randint(8, 12)):
        story.turn(shell(story, rng.choice(ways) if varied else ways[0], "\n".join(end)))


FAMILY = Family("tailing", {"healthy": healthy, "stuck": stuck})
