"""Searches: some find nothing before one does; or all of them find nothing."""

from __future__ import annotations

from bench.trajectories.acting import edit, finish, grep, read, shell
from bench.trajectories.story import Act, Family, Story
from bench.trajectories.words import NOUNS, VERBS, code


def _nothing(story: Story, word: str) -> Act:
    rng = story.rng
    place = rng.choice((".", "src", "lib", "tests", "vendor"))
    way = rng.random()
    if way < 0.5:
        return grep(story, word, [], place, files=rng.choice((214, 214, 61, 12)))
    if way < 0.7:
        return Act("glob", {"pattern": f"**/*{word}*"}, "ok", "No file matches.")
    return shell(story, rng.choice((f"grep -rn {word} {place}", f"rg -n {word} {place}")), "", code=1)


def healthy(story: Story) -> None:
    """One to three searches in vain, then a hit, and again."""
    rng = story.rng
    for _ in range(rng.randint(2, 4)):
        for _ in range(rng.randint(0, 3)):
            story.turn(_nothing(story, f"{rng.choice(VERBS)}_{rng.choice(NOUNS)}"))
        file = f"src/{rng.choice(NOUNS)}.py"
        lines = code(story, file)
        number = rng.randint(1, 20)
        story.turn(grep(story, lines[number].strip()[:8], [f"{file}:{number}: {lines[number]}"]))
        story.turn(read(story, file, lines))
        if rng.random() < 0.5:
            story.turn(edit(story, file, lines[number], "pass", f"{rng.random()}"))
    story.turn(finish(story))


def stuck(story: Story) -> None:
    """It looks for what is not there under ever new names, or the same names again."""
    rng = story.rng
    for _ in range(rng.randint(0, 3)):
        file = f"src/{rng.choice(NOUNS)}.py"
        story.turn(read(story, file, code(story, file)))
    word = rng.choice(VERBS)
    few = rng.random() < 0.4
    names = [f"{word}_{noun}" for noun in rng.sample(NOUNS, 3 if few else 12)]
    story.leads_nowhere()
    for number in range(rng.randint(9, 14)):
        name = rng.choice(names) if few else names[number % len(names)]
        story.turn(_nothing(story, rng.choice((name, name.title(), name.replace("_", "-"), f"def {name}"))))


FAMILY = Family("searching", {"healthy": healthy, "stuck": stuck})
