"""A big refactoring: many files are read and changed, and the tests say that all is well, again and again."""

from __future__ import annotations

from bench.trajectories.acting import edit, finish, grep, note, read, shell, todo
from bench.trajectories.story import Family, Story
from bench.trajectories.words import code, project, pytest_output


def healthy(story: Story) -> None:
    """Reads in batches, edits in rows, the same green tests after each row; some files are read again later."""
    rng = story.rng
    at = project(story)
    story.turn(grep(story, "OldName", [f"{file}:7: OldName()" for file in at.files]))
    story.turn(todo(story, list(at.files), 0))
    for start in range(0, 6, 3):
        story.turn(*(read(story, file, code(story, file)) for file in at.files[start : start + 3]))
    for number, file in enumerate(at.files):
        again = rng.random()
        if again < 0.3:
            story.turn(read(story, file, code(story, file)))
        elif again < 0.4:
            story.turn(grep(story, "OldName", [f"{other}:7: OldName()" for other in at.files[number:]]))
        story.turn(edit(story, file, "OldName", "NewName", f"renamed {number}"))
        if rng.random() < 0.6:
            story.turn(shell(story, at.test, pytest_output(story, [], 84)))
        if rng.random() < 0.2:
            story.turn(note(story, f"{file} is renamed"))
        if rng.random() < 0.3:
            story.turn(todo(story, list(at.files), number + 1))
    story.turn(grep(story, "OldName", []))
    story.turn(shell(story, at.test, pytest_output(story, [], 84)))
    story.turn(finish(story))


FAMILY = Family("refactoring", {"healthy": healthy})
