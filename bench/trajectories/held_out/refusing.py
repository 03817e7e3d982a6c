"""Calls that are refused: the model learns from the first ones; or it sends them again in other words."""

from __future__ import annotations

from bench.trajectories.acting import edit, finish, read, refused, shell
from bench.trajectories.story import Act, Family, Story
from bench.trajectories.words import NOUNS, code

WAYS = ("unread", "unknown", "denied", "arguments")


def _refused(story: Story, way: str, number: int, file: str) -> Act:
    if way == "unread":
        told = f"{file} was not read yet. Read it before you change it."
        return refused(story, "edit", {"path": file, "old": f"a{number}", "new": "b"}, told)
    if way == "unknown":
        return refused(
            story, "browser", {"url": f"http://local/{number}"}, "There is no tool 'browser'. The tools are: shell."
        )
    if way == "denied":
        told = "Denied: Anna denied it. Do not try to reach the same in another way."
        return refused(story, "shell", {"command": f"rm -rf data{'/' * (number % 3)}"}, told, "denied")
    return refused(story, "grep", {"pattern": f"x{number}", "paths": "src"}, "'paths' is no argument of grep.")


def healthy(story: Story) -> None:
    """Once or twice, then as it should be done; later another kind of refusal."""
    rng = story.rng
    for way in rng.sample(WAYS, rng.randint(1, 3)):
        file = f"src/{rng.choice(NOUNS)}.py"
        for number in range(rng.choice((1, 1, 2))):
            story.turn(_refused(story, way, number, file))
        story.turn(read(story, file, code(story, file)))
        story.turn(edit(story, file, "a", "b", way))
        story.turn(shell(story, f"python {file}", f"{rng.randint(1, 99)} rows"))
    story.turn(finish(story))


def stuck(story: Story) -> None:
    """Other arguments, the same refusal."""
    rng = story.rng
    way = rng.choice(WAYS)
    file = f"src/{rng.choice(NOUNS)}.py"
    for number in range(rng.randint(0, 3)):
        story.turn(shell(story, f"wc -l src/part{number}.py", f"{rng.randint(10, 900)} src/part{number}.py"))
    story.leads_nowhere()
    for number in range(rng.randint(8, 12)):
        story.turn(_refused(story, way, number, file))


FAMILY = Family("refusing", {"healthy": healthy, "stuck": stuck})
