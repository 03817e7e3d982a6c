"""The infrastructure breaks and recovers: no sandbox, a lost one, a time-out, a server that is not available."""

from __future__ import annotations

from bench.trajectories.acting import edit, finish, read, shell, timed_out
from bench.trajectories.story import Act, Family, Story
from bench.trajectories.words import code, project, pytest_output


def _broken(story: Story, command: str, kind: int) -> Act:
    arguments = {"command": command}
    if kind == 0:
        told = "Not begun, there is no sandbox: the engine does not answer"
        return Act("shell", {**arguments}, "failed", told)
    if kind == 1:
        told = (
            "The sandbox was lost (its process ended) and is made anew at the next call. The workspace is as it was; variables"
            " of the Python interpreter, background commands and /tmp are gone."
        )
        return Act("shell", {**arguments}, "failed", told, error=told)
    if kind == 2:
        return timed_out(story, command)
    told = "Outcome unknown: Threadwright was interrupted while this ran. It may have run wholly, partly or not at all."
    return Act("shell", {**arguments}, "unknown", told)


def healthy(story: Story) -> None:
    """Three to five times the same break, then the work goes on."""
    rng = story.rng
    at = project(story)
    story.turn(read(story, at.files[0], code(story, at.files[0])))
    kind = rng.choice((0, 0, 1, 2, 3))
    for _ in range(rng.randint(2, 5) if kind != 2 else 2):
        story.turn(_broken(story, at.test, kind))
    story.turn(shell(story, at.test, pytest_output(story, ["test_total"], 3), code=1))
    story.turn(edit(story, at.files[0], "a", "b", "new"))
    story.turn(shell(story, at.test, pytest_output(story, [], 4)))
    story.turn(finish(story))


FAMILY = Family("breaking", {"healthy": healthy})
