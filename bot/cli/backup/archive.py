"""The form of a backup: one compressed tar file, with a list of hashes at its end.

    threadwright-backup.json   the form's number, and when and by which version it was made: the first member
    …                          the files, by their place below THREADWRIGHT_HOME
    MANIFEST.json              every file with its size and hash, every link: the last member, so what was cut has none

What is read is not trusted: only names of ``archive_paths`` are taken, nothing is written through a link, links are made
last, sizes are bounded, and nothing counts before the list at the end agrees with all of it.
"""

from __future__ import annotations

import gzip
import hashlib
import io
import json
import stat
import tarfile
import zlib
from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO, Protocol, cast

from bot.cli.backup.archive_paths import Kind, belongs

FORMAT = 1
FIRST, LAST = "threadwright-backup.json", "MANIFEST.json"
BLOCK = 1 << 20
LARGEST_LIST = 1 << 28
LARGEST_HEAD = 1 << 20
"""Of what stands before a member: its name and times."""
MOST_MEMBERS = 5_000_000
Told = Callable[[int], None]


class ArchiveRefused(Exception):
    """An archive cannot be used; the text says why, and what to do."""


class Into(Protocol):
    """Where the members of an archive go."""

    def folder(self, name: str, mode: int) -> None:
        """A folder."""
        ...

    def file(self, name: str, mode: int, at: float) -> BinaryIO:
        """A file to write to; the caller closes it."""
        ...

    def link(self, name: str, target: str) -> None:
        """A symbolic link; told after everything else."""
        ...


@dataclass(slots=True)
class Contents:
    """What an archive holds."""

    about: dict[str, object] = field(default_factory=dict[str, object])
    files: dict[str, tuple[int, str]] = field(default_factory=dict[str, tuple[int, str]])
    """Size and SHA-256 of each file."""
    links: dict[str, str] = field(default_factory=dict[str, str])

    @property
    def bytes(self) -> int:
        """Size of all files together."""
        return sum(size for size, _ in self.files.values())


class Writing:
    """An archive that is being written."""

    def __init__(self, out: BinaryIO, about: dict[str, object]) -> None:
        self._tar = tarfile.open(fileobj=out, mode="w:gz", compresslevel=1, format=tarfile.PAX_FORMAT)  # noqa: SIM115
        self.contents = Contents({"format": FORMAT, **about})
        self._content(FIRST, json.dumps(self.contents.about).encode())

    def file(self, name: str, content: BinaryIO, about: FileStatus, told: Told = lambda _: None) -> str:
        """Add a file as long as ``about`` says; what cannot be read of it is filled up with zeros, and why is returned."""
        info = tarfile.TarInfo(name)
        info.size, info.mtime, info.mode = about.st_size, int(about.st_mtime), stat.S_IMODE(about.st_mode) & 0o777
        measured = _Measured(content, about.st_size, told)
        self._tar.addfile(info, measured)
        self.contents.files[name] = (about.st_size, measured.hash.hexdigest())
        return measured.trouble

    def folder(self, name: str, mode: int) -> None:
        """Add a folder."""
        info = tarfile.TarInfo(name)
        info.type, info.mode = tarfile.DIRTYPE, stat.S_IMODE(mode) & 0o777
        self._tar.addfile(info)

    def link(self, name: str, target: str) -> None:
        """Add a symbolic link as it is."""
        info = tarfile.TarInfo(name)
        info.type, info.linkname = tarfile.SYMTYPE, target
        self._tar.addfile(info)
        self.contents.links[name] = target

    def close(self, **more: object) -> Contents:
        """Add the list, and end."""
        files = [[name, size, sha] for name, (size, sha) in self.contents.files.items()]
        told = {**self.contents.about, "files": files, "links": self.contents.links, **more}
        self._content(LAST, json.dumps(told).encode())
        self._tar.close()
        return self.contents

    def _content(self, name: str, content: bytes) -> None:
        info = tarfile.TarInfo(name)
        info.size, info.mode = len(content), 0o600
        self._tar.addfile(info, io.BytesIO(content))


class FileStatus(Protocol):
    """The part of ``os.stat_result`` that is used."""

    @property
    def st_size(self) -> int: ...
    @property
    def st_mtime(self) -> float: ...
    @property
    def st_mode(self) -> int: ...


class _Measured(io.RawIOBase):
    """Reads exactly so many bytes, and hashes them."""

    def __init__(self, content: BinaryIO, size: int, told: Told) -> None:
        self._content, self._left, self._told = content, size, told
        self.hash = hashlib.sha256()
        self.trouble = ""

    def read(self, size: int = -1, /) -> bytes:
        """The next bytes."""
        wanted = self._left if size < 0 else min(size, self._left)
        try:
            block = self._content.read(wanted)
        except OSError as error:
            self.trouble, block = error.strerror or str(error), b""
        block += bytes(wanted - len(block))
        self._left -= wanted
        self.hash.update(block)
        self._told(wanted)
        return block


class _Bounded(io.RawIOBase):
    """Gives no more than was allowed for the next step, whatever a few compressed bytes become."""

    def __init__(self, raw: BinaryIO, most: int | None) -> None:
        self._raw, self._left, self._most = raw, 0, most

    def allow(self, size: int) -> None:
        """From now on so many bytes more, and what a tar file is read ahead; ``ArchiveRefused`` where all is too much."""
        self._left = size + LARGEST_HEAD
        if self._most is not None:
            self._most -= size
            if self._most < 0:
                raise ArchiveRefused("It needs more room than this disk has. Free some space, or name another folder.")

    def read(self, size: int = -1, /) -> bytes:
        """The next bytes."""
        block = self._raw.read(min(size, BLOCK) if size >= 0 else BLOCK)
        self._left -= len(block)
        if self._left < 0:
            raise ArchiveRefused("It contains more of a file than it declares, which no backup does. Not used.")
        return block


def read(archive: Path, into: Into | None = None, told: Told = lambda _: None, most: int | None = None) -> Contents:
    """Read an archive to its end and hold every member against its hash.

    ``most`` is how many bytes may be unpacked.  Raises ``ArchiveRefused`` and ``OSError``.
    """
    with _plainly(archive), gzip.open(archive, "rb") as unpacked:
        raw = _Bounded(cast(BinaryIO, unpacked), most)
        raw.allow(0)
        contents, promised = _members(archive, raw, into, told)
    if promised is None:
        raise ArchiveRefused(f"{archive} is incomplete: its end is missing. Use another backup.")
    _compare(archive, contents, promised)
    for name, target in contents.links.items() if into is not None else ():
        into.link(name, target)  # pyright: ignore[reportOptionalMemberAccess]  # asked a line above
    contents.about = {key: value for key, value in promised.items() if key not in ("files", "links")}
    return contents


def _members(archive: Path, raw: _Bounded, into: Into | None, told: Told) -> tuple[Contents, dict[str, object] | None]:
    with tarfile.open(fileobj=cast(BinaryIO, raw), mode="r|") as tar:
        members = iter(tar)
        first = next(members, None)
        if first is None or first.name != FIRST:
            raise ArchiveRefused(f"{archive} is not a Threadwright backup.")
        contents = Contents(_about(_listed(tar, first, raw), archive))
        promised: dict[str, object] | None = None
        for count, member in enumerate(members):
            if promised is not None:
                raise ArchiveRefused(f"{archive} is damaged: there is extra data at its end.")
            if count > MOST_MEMBERS:
                raise ArchiveRefused(f"It contains more than {MOST_MEMBERS:,} files, which no backup does. Not used.")
            if member.name == LAST:
                promised = _listed(tar, member, raw)
            else:
                _take(tar, member, contents, raw, into, told)
            raw.allow(0)
        while raw.read(BLOCK):  # the zeros that end it, to the checksum of the whole
            pass
    return contents, promised


def _take(
    tar: tarfile.TarFile, member: tarfile.TarInfo, contents: Contents, raw: _Bounded, into: Into | None, told: Told
) -> None:
    name = member.name
    kind = _kind(member)
    if kind is None:
        raise ArchiveRefused(f"It contains {name!a}, which is neither a file nor a folder. Not used.")
    if not belongs(name, kind) or name in contents.files or name in contents.links:
        named = "link" if kind == "link" else kind
        raise ArchiveRefused(f"It contains a {named} named {name!a}, which no backup does. Not used.")
    mode = member.mode & 0o777
    if kind == "folder":
        if into is not None:
            into.folder(name, mode)
    elif kind == "link":
        contents.links[name] = member.linkname
    else:
        raw.allow(member.size)
        source = tar.extractfile(member)
        assert source is not None
        target = into.file(name, mode, member.mtime) if into is not None else None
        try:
            contents.files[name] = _pour(cast(BinaryIO, source), target, told)
        finally:
            if target is not None:
                target.close()


def _kind(member: tarfile.TarInfo) -> Kind | None:
    if member.isdir():
        return "folder"
    if member.issym():
        return "link"
    return "file" if member.isreg() and not member.issparse() else None


def _pour(source: BinaryIO, target: BinaryIO | None, told: Told) -> tuple[int, str]:
    seen, size = hashlib.sha256(), 0
    while block := source.read(BLOCK):
        seen.update(block)
        size += len(block)
        if target is not None:
            target.write(block)
        told(len(block))
    return size, seen.hexdigest()


def _about(told: dict[str, object], archive: Path) -> dict[str, object]:
    form = told.get("format")
    if not isinstance(form, int):
        raise ArchiveRefused(f"{archive} is not a Threadwright backup.")
    if form > FORMAT:
        raise ArchiveRefused(f"{archive} was made by a newer Threadwright ({told.get('build')}): update Threadwright.")
    return told


def _compare(archive: Path, contents: Contents, promised: dict[str, object]) -> None:
    files = {name: (size, sha) for name, size, sha in cast(list[tuple[str, int, str]], promised["files"])}
    if below := next((name for name in (*files, *contents.links) if _above(name) & contents.links.keys()), None):
        raise ArchiveRefused(f"It contains {below!a} below a link, which no backup does. Not used.")
    wrong = [name for name in files.keys() | contents.files.keys() if files.get(name) != contents.files.get(name)]
    if wrong or promised["links"] != contents.links:
        names = ", ".join(ascii(name) for name in sorted(wrong)[:3]) or "its links"
        raise ArchiveRefused(f"{archive} is damaged: {names} is not what was written. Use another backup.")


def _above(name: str) -> set[str]:
    parts = name.split("/")
    return {"/".join(parts[:end]) for end in range(1, len(parts))}


def _listed(tar: tarfile.TarFile, member: tarfile.TarInfo, raw: _Bounded) -> dict[str, object]:
    if not member.isreg() or member.issparse() or member.size > LARGEST_LIST:
        raise tarfile.ReadError
    raw.allow(member.size)
    source = tar.extractfile(member)
    assert source is not None
    return cast(dict[str, object], json.loads(source.read()))


@contextmanager
def _plainly(archive: Path) -> Generator[None]:
    """Whatever a file that is damaged or something else does to those who read it."""
    try:
        yield
    except EOFError as e:
        raise ArchiveRefused(f"{archive} is incomplete: its end is missing. Use another backup.") from e
    except (
        tarfile.TarError,
        zlib.error,
        gzip.BadGzipFile,
        ValueError,
        KeyError,
        TypeError,
        LookupError,
    ) as e:
        raise ArchiveRefused(f"{archive} is damaged or not a Threadwright backup. Use another backup.") from e
