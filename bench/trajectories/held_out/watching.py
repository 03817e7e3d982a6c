"""Pollers of other kinds: queues, services, continuous integration, downloads; with and without a sleep."""

from __future__ import annotations

from bench.trajectories.acting import finish, python, shell, started
from bench.trajectories.story import Act, Family, Story
from bench.trajectories.words import pid, progress_bar, stamp


def healthy(story: Story) -> None:
    """Four to nine looks at what goes on by itself; then it is done."""
    rng = story.rng
    size = rng.randint(2, 9)

    def look(kind: int) -> Act:
        nonlocal size
        size += rng.choice((0, 0, 3))
        if kind == 0:
            return shell(story, "squeue -u agent", f"JOBID ST TIME\n{4411} PD 0:00 (Priority)")
        if kind == 1:
            return shell(
                story, "systemctl status backup", f"Active: activating (start) since {stamp(story)}; pid {pid(story)}"
            )
        if kind == 2:
            return shell(
                story,
                f"sleep {rng.choice((10, 45))} && ls -la big.iso",
                f"-rw-r--r-- 1 agent {size * 1_000_000} big.iso",
            )
        if kind == 3:
            return shell(
                story, "docker compose ps", f"db  postgres:16  Up {rng.randint(2, 40)} seconds (health: starting)"
            )
        if kind == 4:
            return python(story, "time.sleep(20); client.status(17)", "'queued'")
        return shell(story, "tail -c 120 download.log", progress_bar(story, "big.iso"))

    kind = rng.randint(0, 5)
    story.turn(started(story, "./long-job.sh", "x1"))
    for _ in range(rng.randint(4, 9)):
        story.turn(look(kind))
    story.turn(shell(story, "cat result.txt", "finished"))
    story.turn(finish(story))


FAMILY = Family("watching", {"healthy": healthy})
