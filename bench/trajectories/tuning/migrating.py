"""Slow progress: the same step for one file after the other, with an error that stands for two attempts; or for ever."""

from __future__ import annotations

from bench.trajectories.acting import edit, finish, note, shell, todo
from bench.trajectories.story import Family, Story
from bench.trajectories.words import NOUNS


def healthy(story: Story) -> None:
    """Each file is checked with the same empty result; the same error comes twice, then another one."""
    rng = story.rng
    files = [f"app/{noun}.py" for noun in rng.sample(NOUNS, rng.randint(4, 8))]
    story.has(*files)
    listed = rng.random() < 0.4
    for number, file in enumerate(files):
        if rng.random() < 0.6:
            change = story.writes(file, "python 3")
            story.turn(shell(story, f"2to3 -w -n {file}", f"RefactoringTool: Refactored {file}", changes=(change,)))
        story.turn(shell(story, f"python -m py_compile {file}"))
        if rng.random() < 0.35:
            error = rng.choice(
                ("NameError: name 'unicode' is not defined", "TypeError: a bytes-like object is required")
            )
            for attempt in range(rng.choice((1, 2, 2))):
                story.turn(shell(story, f"python -c 'import app.{number}'", f"Traceback\n{error}", code=1))
                story.turn(edit(story, file, f"u{attempt}", f"v{attempt}", f"{error}{attempt}"))
        if listed:
            story.turn(todo(story, files, number + 1))
        elif rng.random() < 0.15:
            story.turn(note(story, f"{file} is done"))
    story.turn(shell(story, "python -m compileall -q app"))
    story.turn(finish(story))


def stuck(story: Story) -> None:
    """One file does not convert; every flag is tried at it, and what is edited is edited back."""
    rng = story.rng
    file = f"app/{rng.choice(NOUNS)}.py"
    story.has(file)
    story.turn(shell(story, "ls app", file))
    error = rng.choice(("ParseError: bad input: type=1, value='print'", "SyntaxError: invalid decimal literal"))
    flags = ("-w", "-w -n", "-v", "-f all", "-f print -w", "--no-diffs", "-x unicode", "-j 1", "-p")
    there_and_back = rng.random() < 0.4
    story.leads_nowhere()
    for number in range(rng.randint(8, 12)):
        command = f"2to3 {rng.choice(flags)} {file}" if not there_and_back else f"2to3 -w {file}"
        story.turn(shell(story, command, f"RefactoringTool: Can't parse {file}: {error}", code=1))
        if there_and_back:
            old, new = ("print x", "print(x)") if number % 2 else ("print(x)", "print x")
            story.turn(edit(story, file, old, new, f"state {number % 2}"))


FAMILY = Family("migrating", {"healthy": healthy, "stuck": stuck})
