"""Builds: a chain of compiler errors that shrinks, or one that the same command is run at again and again."""

from __future__ import annotations

from bench.trajectories.acting import edit, finish, job, read, shell, started
from bench.trajectories.story import Family, Story
from bench.trajectories.words import Project, code, pid, progress_bar, project

ERRORS = (
    "undefined reference to `{n}_init'",
    "error: expected ';' before '{n}'",
    "error[E0308]: mismatched types: expected `{n}`",
    "fatal error: {n}.h: No such file or directory",
    "TS2345: Argument of type 'string' is not assignable to parameter '{n}'",
    "undeclared name: {n}",
)


def _fails(story: Story, at: Project, command: str, error: str, file: str):
    line = (
        progress_bar(story, "Compiling")
        if story.rng.random() < 0.4
        else f"[{pid(story)}] compiling {len(at.files)} units"
    )
    return shell(story, command, f"{line}\n{file}: {error}\nmake: *** [all] Error 2", code=2)


def healthy(story: Story) -> None:
    """Error by error; one may stand through two attempts."""
    at = project(story)
    rng = story.rng
    story.turn(shell(story, "ls -la", "\n".join(at.files)))
    if rng.random() < 0.4:
        story.turn(started(story, at.build, "x1"))
        for _ in range(rng.randint(1, 5)):
            story.turn(job(story, "x1", progress_bar(story, "build") if rng.random() < 0.4 else "", wait=20))
        story.turn(job(story, "x1", "build failed: see above", ended=2))
    for number in range(rng.randint(2, 5)):
        file, name = rng.choice(at.files), f"{rng.choice(('a', 'b', 'c'))}{number}"
        error = rng.choice(ERRORS).format(n=name)
        story.turn(_fails(story, at, at.build, error, file))
        story.turn(read(story, file, code(story, file)))
        for attempt in range(rng.choice((1, 1, 1, 2))):
            story.turn(edit(story, file, f"old {attempt}", f"new {attempt}", f"{number}/{attempt}"))
            if attempt:
                story.turn(_fails(story, at, at.build, error, file))
    story.turn(shell(story, at.build, "build finished"))
    story.turn(finish(story))


def stuck(story: Story) -> None:
    """The same error, whatever flag is added; it looks at the file, and changes nothing."""
    at = project(story)
    rng = story.rng
    for file in at.files[: rng.randint(1, 4)]:
        story.turn(read(story, file, code(story, file)))
    file, error = rng.choice(at.files), rng.choice(ERRORS).format(n=rng.choice(("ctx", "conn", "buf")))
    ways = (
        at.build,
        f"{at.build} 2>&1 | tail -20",
        f"{at.build} --verbose",
        f"{at.build} -j4",
        f"rm -rf build && {at.build}",
        f"cd /workspace && {at.build}",
        f"env CI=1 {at.build}",
    )
    story.leads_nowhere()
    looks = rng.choice((0.0, 0.0, 0.25))
    varied = rng.random() < 0.6
    for _ in range(rng.randint(8, 13)):
        if rng.random() < looks:
            story.turn(read(story, file, code(story, file)))
        story.turn(_fails(story, at, rng.choice(ways) if varied else at.build, error, file))


FAMILY = Family("building", {"healthy": healthy, "stuck": stuck})
