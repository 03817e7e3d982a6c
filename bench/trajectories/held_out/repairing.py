"""Repairs by edit and test: the failures grow fewer or become others; or each edit leaves the failure as it was."""

from __future__ import annotations

from bench.trajectories.acting import edit, edit_missed, finish, read, shell
from bench.trajectories.story import Family, Story
from bench.trajectories.words import code, project, pytest_output

REASONS = ("assert total == 42", "KeyError: 'price'", "IndexError: list index out of range", "assert None is not None")


def healthy(story: Story) -> None:
    """One or two edits a failure, sometimes an edit that does not fit, sometimes the same failure once more."""
    rng = story.rng
    at = project(story)
    failing = [f"test_{word}" for word in ("total", "tax", "empty", "rounding")][: rng.randint(2, 4)]
    passed = rng.randint(5, 30)
    story.turn(shell(story, at.test, pytest_output(story, failing, passed, rng.choice(REASONS)), code=1))
    while failing:
        file = rng.choice(at.files)
        story.turn(read(story, file, code(story, file)))
        if rng.random() < 0.2:
            story.turn(edit_missed(story, file, "x = 1", "x = 2", "12\tx  = 1"))
        reason = rng.choice(REASONS)
        for attempt in range(rng.choice((0, 0, 1, 2))):
            story.turn(edit(story, file, f"a{attempt}", f"b{attempt}", f"{len(failing)}/{attempt}/{file}"))
            story.turn(shell(story, at.test, pytest_output(story, failing, passed, reason), code=1))
        story.turn(edit(story, file, "c", "d", f"{len(failing)} right {file}"))
        failing, passed = failing[1:], passed + 1
        story.turn(shell(story, at.test, pytest_output(story, failing, passed, reason), code=bool(failing)))
    story.turn(finish(story))


def stuck(story: Story) -> None:
    """The edit goes there and back, or never fits, or is another one each time; the test says the same."""
    rng = story.rng
    at = project(story)
    file, reason = rng.choice(at.files), rng.choice(REASONS)
    story.turn(read(story, file, code(story, file)))
    way = rng.choice(("back", "missed", "other"))
    every = rng.choice((1, 1, 2))
    story.leads_nowhere()
    for number in range(rng.randint(8, 11)):
        if way == "missed":
            story.turn(edit_missed(story, file, f"x = {number}", "x = 2", "12\tx  =  1"))
        elif way == "back":
            story.turn(
                edit(story, file, "<" if number % 2 else "<=", "<=" if number % 2 else "<", f"sign {number % 2}")
            )
        else:
            story.turn(edit(story, file, f"v{number}", f"v{number + 1}", f"guess {number}"))
        if number % every == 0:
            story.turn(shell(story, at.test, pytest_output(story, ["test_total"], 12, reason), code=1))


FAMILY = Family("repairing", {"healthy": healthy, "stuck": stuck})
