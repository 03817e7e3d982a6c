"""Rounds: the same procedure for each of several things; or for the same thing again, sometimes with a step more."""

from __future__ import annotations

from bench.trajectories.acting import edit, finish, grep, read, shell
from bench.trajectories.story import Act, Family, Story
from bench.trajectories.words import NOUNS, code, pid, project, pytest_output, stamp


def healthy(story: Story) -> None:
    """Look, change, check; some things need no change, and their checks say the same as the ones before."""
    rng = story.rng
    at = project(story)
    rounds = rng.randint(3, 6)
    passed = 20
    for file in at.files[:rounds]:
        lines = code(story, file)
        story.turn(read(story, file, lines))
        if rng.random() < 0.6:
            story.turn(grep(story, "print(", [f"{file}:4: print(x)"] if rng.random() < 0.7 else [], file, files=1))
        if rng.random() < 0.7:
            story.turn(edit(story, file, lines[3], "log(x)", f"logged {rng.random()}"))
        if rng.random() < 0.5:
            story.turn(shell(story, f"ruff check {file}", "All checks passed!"))
        else:
            story.turn(shell(story, at.test, pytest_output(story, [], passed)))
    story.turn(finish(story))


def _step(story: Story, kind: int, word: str) -> Act:
    rng = story.rng
    file = f"src/{word}.go"
    if kind == 0:
        return shell(
            story, f"go test ./{word}", f"--- FAIL: TestLoad ({rng.uniform(0, 3):.2f}s)\nFAIL  {word}  0.3s", code=1
        )
    if kind == 1:
        return read(story, file, code(story, file))
    if kind == 2:
        return shell(
            story, "docker ps", f"CONTAINER {rng.randbytes(6).hex()}  db  Exited (1) {rng.randint(2, 50)} minutes ago"
        )
    if kind == 3:
        return shell(story, "date && git log --oneline | head -3", f"{stamp(story)}\n3f2a9bc start\n77aa01e init")
    return shell(story, f"go vet ./{word}", f"# {word} [{pid(story)}]\n./{word}.go:14: unreachable code", code=1)


def stuck(story: Story) -> None:
    """Two to four steps in a ring; the last round may break off in the middle."""
    rng = story.rng
    word = rng.choice(NOUNS)
    for number in range(rng.randint(1, 4)):
        story.turn(shell(story, f"sed -n {10 * number + 1},{10 * number + 9}p README.md", f"chapter {number}"))
    ring = rng.sample(range(5), rng.randint(2, 4))
    story.leads_nowhere()
    for _ in range(rng.randint(4, 5)):
        for kind in ring:
            story.turn(_step(story, kind, word))
    for kind in ring[: rng.randint(0, 1)]:
        story.turn(_step(story, kind, word))


FAMILY = Family("rounding", {"healthy": healthy, "stuck": stuck})
