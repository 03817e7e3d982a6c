"""Flaky tests run again on purpose, with other outcomes; or a failing test run again in the hope that it passes."""

from __future__ import annotations

from bench.trajectories.acting import edit, finish, read, shell
from bench.trajectories.story import Family, Story
from bench.trajectories.words import code, project, pytest_output


def healthy(story: Story) -> None:
    """The same command several times: sometimes it fails, and not always in the same place."""
    rng = story.rng
    at = project(story)
    names = ["test_race", "test_order", "test_clock"]
    for _ in range(rng.randint(3, 6)):
        failing = rng.choice(([], [], names[:1], names[1:2], names[:2]))
        story.turn(shell(story, at.test, pytest_output(story, failing, 20 - len(failing)), code=bool(failing)))
    for number in range(rng.randint(1, 3)):
        file = rng.choice(at.files)
        story.turn(read(story, file, code(story, file)))
        story.turn(edit(story, file, f"sleep({number})", "wait()", f"{number}"))
        failing = names[: rng.randint(0, 1)]
        story.turn(shell(story, at.test, pytest_output(story, failing, 20 - len(failing)), code=bool(failing)))
    for _ in range(rng.randint(1, 2)):
        story.turn(shell(story, at.test, pytest_output(story, [], 20)))
    story.turn(finish(story))


def stuck(story: Story) -> None:
    """Nothing is changed; the order, the seed and the time are other ones, the failure is the same."""
    rng = story.rng
    at = project(story)
    story.turn(read(story, at.files[0], code(story, at.files[0])))
    commands = [at.test, f"{at.test} -p no:randomly", f"{at.test} --lf", f"{at.test} -v", f"{at.test} -k race"]
    varied = rng.random() < 0.5
    why = rng.choice(("assert 3 == 4", "TimeoutError: queue was empty", "KeyError: 'token'"))
    story.leads_nowhere()
    for _ in range(rng.randint(7, 12)):
        command = rng.choice(commands) if varied else commands[0]
        story.turn(shell(story, command, pytest_output(story, ["test_race"], 19, why), code=1))
        if rng.random() < 0.15:
            story.turn(read(story, at.files[0], code(story, at.files[0])))


FAMILY = Family("flaking", {"healthy": healthy, "stuck": stuck})
