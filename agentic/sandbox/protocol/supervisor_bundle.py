"""The supervisor as one file that any Python runs: the folder ``supervisor`` packed, named by its content."""

from __future__ import annotations

import hashlib
import io
import os
import stat
import zipfile
from pathlib import Path

from agentic.sandbox import supervisor

START = "import sys\nfrom supervisor.main import main\nmain(sys.argv[1:])\n"
LONG_AGO = (1980, 1, 1, 0, 0, 0)


def packed() -> bytes:
    """The bytes of the program; the same sources give the same bytes."""
    files = {"__main__.py": START}
    root = Path(supervisor.__file__).parent
    for source in root.rglob("*.py"):
        files[f"supervisor/{source.relative_to(root).as_posix()}"] = source.read_text("utf-8")
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, text in sorted(files.items()):
            archive.writestr(zipfile.ZipInfo(name, LONG_AGO), text)
    return out.getvalue()


def program(state: Path) -> Path:
    """The program as a file below ``state``, readable by the sandbox's user; one that holds anything else is replaced."""
    content = packed()
    path = state / f"supervisor-{hashlib.sha256(content).hexdigest()[:16]}.pyz"
    if not _holds(path, content):
        state.mkdir(parents=True, exist_ok=True)
        fresh = path.with_suffix(f".{os.getpid()}")
        fresh.unlink(missing_ok=True)
        fresh.write_bytes(content)
        fresh.chmod(0o644)
        fresh.replace(path)
    return path


def _holds(path: Path, content: bytes) -> bool:
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return False
    with os.fdopen(descriptor, "rb") as file:
        return stat.S_ISREG(os.fstat(descriptor).st_mode) and file.read(len(content) + 1) == content
