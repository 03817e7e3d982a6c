"""Cycles of period 1 to 4, each round the same; or the same steps twice, and then something else."""

from __future__ import annotations

from bench.trajectories.acting import edit, finish, grep, python, read, shell
from bench.trajectories.story import Act, Family, Story
from bench.trajectories.words import Project, code, pid, project, pytest_output


def _steps(story: Story, at: Project, period: int) -> list[int]:
    return story.rng.sample(range(6), period)


def _step(story: Story, at: Project, kind: int) -> Act:
    """A step whose result differs from round to round only in its noise."""
    file = at.files[kind % len(at.files)]
    makes = (
        lambda: shell(story, at.test, pytest_output(story, ["test_total"], 11), code=1),
        lambda: read(story, file, code(story, file)),
        lambda: grep(story, "def total", [f"{file}:12: def total(self):"]),
        lambda: shell(story, "git diff --stat", f" {file} | 2 +-\n1 file changed"),
        lambda: python(
            story, "import app; app.run()", traceback=f"Traceback\nRuntimeError: no loop in 0x7f{pid(story):08x}"
        ),
        lambda: shell(story, "ps aux | grep node", f"agent {pid(story)} 0.0 node server.js"),
    )
    return makes[kind]()


def stuck(story: Story) -> None:
    """Four rounds and more, with nothing between."""
    at = project(story)
    rng = story.rng
    for file in at.files[: rng.randint(0, 4)]:
        story.turn(shell(story, f"head -3 {file}", "\n".join(code(story, file)[:3])))
    period = rng.randint(1, 4)
    steps = _steps(story, at, period)
    together = period > 1 and rng.random() < 0.25
    story.leads_nowhere()
    for _ in range(rng.randint(4, 6) + 4 * (period == 1)):
        if together:
            story.turn(*(_step(story, at, kind) for kind in steps))
        else:
            for kind in steps:
                story.turn(_step(story, at, kind))


def healthy(story: Story) -> None:
    """Two rounds, then a change, then the same steps say something else."""
    at = project(story)
    rng = story.rng
    steps = _steps(story, at, rng.randint(1, 4))
    for _ in range(rng.choice((1, 2, 2))):
        for kind in steps:
            story.turn(_step(story, at, kind))
    for number in range(rng.randint(1, 4)):
        file = rng.choice(at.files)
        story.turn(edit(story, file, f"a{number}", f"b{number}", f"v{number}"))
        for kind in steps[: rng.randint(1, 2)]:
            story.turn(_step(story, at, kind))
        failing = [f"test_{name}" for name in ("one", "two", "three")[: 3 - min(number, 3)]]
        story.turn(shell(story, at.test, pytest_output(story, failing, 11 + number), code=bool(failing)))
    story.turn(shell(story, at.test, pytest_output(story, [], 16)))
    story.turn(finish(story))


FAMILY = Family("cycling", {"healthy": healthy, "stuck": stuck})
