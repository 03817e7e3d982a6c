"""Work with data in the interpreter: each cell shows more; or each one raises what the one before raised."""

from __future__ import annotations

from bench.trajectories.acting import finish, python, write
from bench.trajectories.story import Family, Story
from bench.trajectories.words import NOUNS

RAISED = (
    "KeyError: 'amount'",
    "ValueError: could not convert string to float: 'n/a'",
    "ModuleNotFoundError: No module named 'pyarrow'",
    "UnicodeDecodeError: 'utf-8' codec can't decode byte 0xe9 in position 10",
)


def _traceback(story: Story, raised: str) -> str:
    line = story.rng.randint(1, 30)
    return f'Traceback (most recent call last):\n  File "<cell {line}>", line {line}, in <module>\n{raised}'


def healthy(story: Story) -> None:
    """Assignments that print nothing, looks that print something, and an error or two that are mended."""
    rng = story.rng
    for number in range(rng.randint(6, 12)):
        column = rng.choice(NOUNS)
        way = rng.random()
        if way < 0.4:
            story.turn(python(story, f"df{number} = df.groupby({column!r}).sum()"))
        elif way < 0.8:
            story.turn(
                python(story, f"df{number}.head()", f"{column}  {rng.randint(1, 9)}\nmean  {rng.uniform(0, 99):.3f}")
            )
        else:
            raised = rng.choice(RAISED)
            for attempt in range(rng.choice((1, 1, 2))):
                story.turn(python(story, f"f({column!r}, {attempt})", traceback=_traceback(story, raised)))
    story.turn(write(story, "report.md", "numbers", 30))
    story.turn(finish(story))


def stuck(story: Story) -> None:
    """The code is another one each time; what is raised is the same."""
    rng = story.rng
    raised = rng.choice(RAISED)
    ways = ("df[{c!r}]", "df.loc[:, {c!r}]", "load({c!r})", "pd.read_csv(p, sep={c!r})", "df.get({c!r}).astype(float)")
    for _ in range(rng.randint(1, 3)):
        story.turn(python(story, "df.shape", f"({rng.randint(10, 999)}, {rng.randint(2, 30)})"))
    looks = rng.choice((0.0, 0.0, 0.2))
    story.leads_nowhere()
    for number in range(rng.randint(8, 13)):
        cell = rng.choice(ways).format(c=rng.choice(NOUNS)) + f"  # {number}"
        story.turn(python(story, cell, traceback=_traceback(story, raised)))
        if rng.random() < looks:
            story.turn(python(story, "df.columns", "Index(['id', 'Amount'], dtype='object')"))


FAMILY = Family("computing", {"healthy": healthy, "stuck": stuck})
