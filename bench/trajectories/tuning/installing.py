"""Installers: another way works after two or three that do not; or each way fails alike."""

from __future__ import annotations

from bench.trajectories.acting import finish, shell
from bench.trajectories.story import Act, Family, Story
from bench.trajectories.words import progress_bar

PACKAGES = ("numpy", "lxml", "psycopg2", "pillow", "cryptography", "pandas", "grpcio")
REASONS = (
    "ERROR: Could not find a version that satisfies the requirement {p}",
    "error: subprocess-exited-with-error: Failed building wheel for {p}",
    "ERROR: Could not install packages due to an OSError: [Errno 28] No space left on device: {p}",
)


def _fails(story: Story, command: str, reason: str) -> Act:
    noise = progress_bar(story, "Downloading") if story.rng.random() < 0.5 else "Collecting packages"
    return shell(story, command, f"{noise}\n{reason}", code=1)


def healthy(story: Story) -> None:
    """Two or three ways fail, each for its own reason or twice for the same; then one works, and the work goes on."""
    rng = story.rng
    package = rng.choice(PACKAGES)
    for reason in rng.sample(REASONS, rng.randint(1, 2)):
        for command in rng.sample((f"pip install {package}", f"pip install -U {package}"), rng.randint(1, 2)):
            story.turn(_fails(story, command, reason.format(p=package)))
    story.turn(shell(story, "python --version && pip --version", "Python 3.11.9\npip 24.0"))
    story.turn(shell(story, f"pip install --only-binary :all: {package}", f"Successfully installed {package}"))
    for other in rng.sample(PACKAGES, rng.randint(0, 3)):
        story.turn(shell(story, f"pip install {other}", f"Requirement already satisfied: {other}"))
    story.turn(shell(story, f"python -c 'import {package}'"))
    story.turn(finish(story))


def stuck(story: Story) -> None:
    """The same refusal, whatever is asked for in whatever way."""
    rng = story.rng
    package, reason = rng.choice(PACKAGES), rng.choice(REASONS)
    ways = (
        "pip install {p}",
        "pip install {p}==1.{n}.0",
        "pip install --no-cache-dir {p}",
        "python -m pip install --user {p}",
        "pip3 install {p} --timeout 60",
        "pip install --upgrade pip && pip install {p}",
        "pip download {p}",
        "pip install '{p}>=2'",
    )
    story.turn(shell(story, "cat requirements.txt", "\n".join(PACKAGES)))
    story.leads_nowhere()
    for number in range(rng.randint(7, 12)):
        command = rng.choice(ways).format(p=package, n=number)
        story.turn(_fails(story, command, reason.format(p=package)))


FAMILY = Family("installing", {"healthy": healthy, "stuck": stuck})
