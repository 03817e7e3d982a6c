"""The supervisor as one file that any Python runs: the folder ``supervisor`` packed, named by its sources.

Beside each source lies what this process's Python compiled of it.  The sandbox's Python takes that where it is of the
same version, which saves 50 of 116 ms of computing at each start; any other version compiles the sources itself.
"""

from __future__ import annotations

import functools
import hashlib
import importlib.util
import io
import marshal
import os
import stat
import zipfile
from pathlib import Path

from agentic.sandbox import supervisor

START = "import sys\nfrom supervisor.main import main\nmain(sys.argv[1:])\n"
LONG_AGO = (1980, 1, 1, 0, 0, 0)
UNCHECKED_HASH = (1).to_bytes(4, "little")
"""The flags of a compiled file that is taken without a look at its source (PEP 552)."""


@functools.cache
def packed() -> bytes:
    """The bytes of the program; another process may compile the same sources to other bytes."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        for name, text in _sources().items():
            archive.writestr(zipfile.ZipInfo(name, LONG_AGO), text)
            archive.writestr(zipfile.ZipInfo(f"{name}c", LONG_AGO), _compiled(name, text))
    return out.getvalue()


def program(state: Path) -> Path:
    """The program as a file below ``state``, readable by the sandbox's user; one that holds anything else is replaced."""
    content = packed()
    path = state / f"supervisor-{_name()}.pyz"
    if not _holds(path, content):
        state.mkdir(parents=True, exist_ok=True)
        fresh = path.with_suffix(f".{os.getpid()}")
        fresh.unlink(missing_ok=True)
        fresh.write_bytes(content)
        fresh.chmod(0o644)
        fresh.replace(path)
    return path


@functools.cache
def _sources() -> dict[str, bytes]:
    root = Path(supervisor.__file__).parent
    files = {f"supervisor/{source.relative_to(root).as_posix()}": source.read_bytes() for source in root.rglob("*.py")}
    return {"__main__.py": START.encode(), **dict(sorted(files.items()))}


def _compiled(name: str, source: bytes) -> bytes:
    code = compile(source, name, "exec", dont_inherit=True)
    return importlib.util.MAGIC_NUMBER + UNCHECKED_HASH + importlib.util.source_hash(source) + marshal.dumps(code)


@functools.cache
def _name() -> str:
    """One for the same sources and version of Python, whatever the bytes: processes of one home share the file."""
    told = hashlib.sha256(importlib.util.MAGIC_NUMBER)
    for name, source in _sources().items():
        told.update(f"{name}\0{len(source)}\0".encode() + source)
    return told.hexdigest()[:16]


def _holds(path: Path, content: bytes) -> bool:
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return False
    with os.fdopen(descriptor, "rb") as file:
        return stat.S_ISREG(os.fstat(descriptor).st_mode) and file.read(len(content) + 1) == content
