"""What an installation takes: the wheel's base, and nanobot beside it, each by one pip run in an empty environment.

Nothing comes from pip's cache, and what was installed is compiled, as pip does it.  The seconds are those of this machine and
its way to the packages, so they only say something beside each other.
"""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Iterator
from importlib.metadata import distributions
from pathlib import Path
from tempfile import TemporaryDirectory

from bench.figures import SMALL, Figure

ROOT = Path(__file__).parents[1]
OTHER = "nanobot-ai"
MOST_MB, MOST_PACKAGES = 350, 85
PIP = ("-m", "pip", "--disable-pip-version-check", "--quiet", "--no-cache-dir")


def figures() -> Iterator[Figure]:
    """Megabytes, packages, seconds."""
    with TemporaryDirectory(prefix="bench-install-") as folder:
        made = (sys.executable, *PIP, "wheel", "--no-deps", "--no-build-isolation", "--wheel-dir", folder, str(ROOT))
        subprocess.run(made, check=True)
        (wheel,) = Path(folder).glob("threadwright-*.whl")
        for name, wanted in (("threadwright", str(wheel)), *(() if SMALL else (("nanobot", OTHER),))):
            yield from installed(name, wanted, Path(folder, name), ours=name == "threadwright")


def installed(name: str, wanted: str, place: Path, *, ours: bool) -> Iterator[Figure]:
    """Install it, and weigh what was added."""
    subprocess.run((sys.executable, "-m", "venv", place), check=True)
    packages = next(place.glob("lib/python*/site-packages"))
    before = occupied(packages)
    begun = time.monotonic()
    subprocess.run((place / "bin/python", *PIP, "install", wanted), check=True)
    seconds = time.monotonic() - begun
    found = {each.metadata["Name"]: each.version for each in distributions(path=[str(packages)])}
    count = len(found.keys() - {"pip", "setuptools"})
    note = f"{Path(wanted).name if ours else f'{wanted} {found[wanted]}'}"
    yield Figure(f"install_{name}_mb", occupied(packages) - before, "MB", "<=", MOST_MB if ours else None, note)
    yield Figure(f"install_{name}_packages", count, "packages", "<=", MOST_PACKAGES if ours else None)
    yield Figure(f"install_{name}_seconds", seconds, "s")


def occupied(folder: Path) -> float:
    """Megabytes (2**20 bytes) on the disk, as `du` counts them."""
    return sum(path.lstat().st_blocks * 512 for path in folder.rglob("*")) / 2**20
