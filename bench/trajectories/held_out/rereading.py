"""Reading: a large file page by page, several files one after the other; or the same few pages over and over."""

from __future__ import annotations

from bench.trajectories.acting import edit, finish, read, shell
from bench.trajectories.story import Act, Family, Story
from bench.trajectories.words import NOUNS, code


def healthy(story: Story) -> None:
    """Page by page; now and then one is read again before it is changed."""
    rng = story.rng
    file = f"src/{rng.choice(NOUNS)}.py"
    story.has(file)
    lines = code(story, file, 300)
    size = rng.choice((40, 50, 60))
    for offset in range(1, 300, size):
        story.turn(read(story, file, lines, offset, size))
        if rng.random() < 0.25:
            story.turn(edit(story, file, lines[offset], "pass", f"{offset}"))
            story.turn(read(story, file, lines, offset, size))
    for other in rng.sample(NOUNS, rng.randint(1, 4)):
        path = f"tests/test_{other}.py"
        story.turn(read(story, path, code(story, path)))
    story.turn(finish(story))


def stuck(story: Story) -> None:
    """One to three files, read with this tool or another, and nothing is done with them."""
    rng = story.rng
    files = [f"src/{noun}.py" for noun in rng.sample(NOUNS, rng.randint(1, 3))]

    def again(file: str) -> Act:
        lines = code(story, file)
        shown = "\n".join(lines)
        ways = (
            lambda: read(story, file, lines),
            lambda: shell(story, f"cat {file}", shown),
            lambda: read(story, file, lines, 1, 2_000 - rng.randint(1, 3)),
        )
        return (ways[0] if rng.random() < 0.5 else rng.choice(ways))()

    story.turn(shell(story, "ls src", "\n".join(files)))
    in_order = rng.random() < 0.5
    story.leads_nowhere()
    for number in range(rng.randint(12, 16)):
        story.turn(again(files[number % len(files)] if in_order else rng.choice(files)))


FAMILY = Family("rereading", {"healthy": healthy, "stuck": stuck})
