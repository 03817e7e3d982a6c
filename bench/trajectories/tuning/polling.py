"""Pollers: something runs, and is looked at until it ends; often nothing at all is new."""

from __future__ import annotations

from bench.trajectories.acting import finish, job, shell, started
from bench.trajectories.story import Act, Family, Story
from bench.trajectories.words import progress_bar, stamp


def healthy(story: Story) -> None:
    """Four to ten looks, most of them the same."""
    way = story.rng.choice((_job, _sleeping, _asking))
    story.turn(shell(story, "git status --short", " M src/app.py"))
    way(story)
    story.turn(finish(story))


def _job(story: Story) -> None:
    rng = story.rng
    story.turn(started(story, "python -m pytest -q tests/slow", "x1"))
    for _ in range(rng.randint(4, 10)):
        words = rng.choice(("", "", "collected 412 items", progress_bar(story, "tests")))
        story.turn(job(story, "x1", words, wait=rng.choice((10, 30, 60))))
    story.turn(job(story, "x1", "412 passed in 301.22s", ended=0))


def _sleeping(story: Story) -> None:
    rng = story.rng
    looks = (
        ("kubectl get pods -n web", "NAME       READY  STATUS    AGE\nweb-7f9c   0/1    Pending   {n}s"),
        ("gh run view 8812 --json status", '{{"status":"in_progress"}}'),
        ("ps aux | grep train.py | grep -v grep", "agent  {n}  99.0 12.1 python train.py"),
    )
    command, output = rng.choice(looks)
    for _ in range(rng.randint(4, 9)):
        story.turn(
            shell(story, f"sleep {rng.choice((20, 30, 30, 60))}; {command}", output.format(n=rng.randint(10, 900)))
        )
    story.turn(shell(story, command, "completed"))


def _asking(story: Story) -> None:
    rng = story.rng
    number = rng.randint(11, 99)
    percent = rng.randint(5, 20)

    def look() -> Act:
        state = f'{{"id":{number},"state":"running","percent":{percent},"at":"{stamp(story)}"}}'
        return shell(story, f"curl -s localhost:8080/jobs/{number}", state)

    for _ in range(rng.randint(4, 9)):
        story.turn(look())
        percent += rng.choice((0, 0, 7))
    story.turn(shell(story, f"curl -s localhost:8080/jobs/{number}", f'{{"id":{number},"state":"done"}}'))


FAMILY = Family("polling", {"healthy": healthy})
