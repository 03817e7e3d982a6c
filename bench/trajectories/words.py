"""Names, files and outputs that the families share: projects of several kinds, their tests and their noise."""

from __future__ import annotations

from dataclasses import dataclass

from bench.trajectories.story import Story

NOUNS = (
    "cart",
    "invoice",
    "session",
    "parser",
    "cache",
    "router",
    "ledger",
    "widget",
    "token",
    "report",
    "queue",
    "login",
)
VERBS = (
    "total",
    "render",
    "flush",
    "merge",
    "load",
    "split",
    "apply",
    "resolve",
    "encode",
    "sync",
    "rotate",
    "validate",
)


@dataclass(frozen=True, slots=True)
class Project:
    """Something to work on."""

    language: str
    suffix: str
    test: str
    build: str
    files: tuple[str, ...]


def project(story: Story) -> Project:
    """One of several kinds, with its own file names."""
    language, suffix, test, build = story.rng.choice(
        (
            ("python", "py", "python -m pytest -q", "python -m build"),
            ("python", "py", "pytest -x", "pip wheel ."),
            ("js", "ts", "npx vitest run", "npm run build"),
            ("js", "js", "npm test", "npx webpack"),
            ("go", "go", "go test ./...", "go build ./..."),
            ("rust", "rs", "cargo test", "cargo build"),
            ("c", "c", "ctest", "make"),
        )
    )
    nouns = story.rng.sample(NOUNS, 6)
    files = tuple(f"src/{noun}.{suffix}" for noun in nouns)
    story.has(*files)
    return Project(language, suffix, test, build, files)


def code(story: Story, path: str, lines: int = 0) -> list[str]:
    """Lines of a file, always the same ones for the same story and path."""
    import random

    rng = random.Random(f"{story.family}/{story.label}/{story.seed}/{path}")
    return [
        f"{'    ' * rng.randint(0, 2)}{rng.choice(VERBS)}_{rng.choice(NOUNS)}({rng.randint(0, 99)})"
        for _ in range(lines or rng.randint(20, 60))
    ]


def pytest_output(story: Story, failing: list[str], passed: int, why: str = "assert 3 == 4") -> str:
    """What pytest prints, with a duration, a temporary folder and a seed that differ each time."""
    rng = story.rng
    took = f"{rng.uniform(0.2, 9.0):.2f}s"
    head = [f"Using --randomly-seed={rng.randint(1, 10**9)}"] if rng.random() < 0.3 else []
    folder = f"/tmp/pytest-of-agent/pytest-{rng.randint(1, 900)}/test_0"
    if not failing:
        return "\n".join([*head, "." * min(passed, 60), f"{passed} passed in {took}"])
    blocks = [f"____ {name} ____\ntmp_path = PosixPath('{folder}')\n>       check()\nE       {why}" for name in failing]
    summary = [f"FAILED tests/test_all.py::{name} - {why}" for name in failing]
    return "\n".join([*head, *blocks, *summary, f"{len(failing)} failed, {passed} passed in {took}"])


def progress_bar(story: Story, what: str) -> str:
    """A bar that never looks the same."""
    done = story.rng.randint(1, 99)
    return (
        f"{what}  {done}%|{'█' * (done // 10)}{' ' * (10 - done // 10)}| {done}/100 [00:{done:02d}<00:{99 - done:02d}]"
    )


def stamp(story: Story) -> str:
    """A time as logs write it."""
    rng = story.rng
    return f"2026-03-01 {rng.randint(9, 17):02d}:{rng.randint(0, 59):02d}:{rng.randint(0, 59):02d},{rng.randint(0, 999):03d}"


def pid(story: Story) -> int:
    """A process."""
    return story.rng.randint(200, 65_000)
