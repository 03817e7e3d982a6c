"""A skill is a folder: ``SKILL.md`` with its name, what it is for and a guide, and the files that the guide names.

Folders come from people and from repositories, also from workspaces that an agent writes in while they are read.  So they
are read by descriptor and within bounds, a link is followed nowhere, and what does not fit is refused by name.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import stat
import uuid
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from agentic.sandbox.folder_removal import remove_tree
from agentic.text.front_matter import FrontMatterError, read_front_matter
from agentic.workspace.snapshots.scan import FOLDER, PLAIN

GUIDE = "SKILL.md"
MOST_SKILLS = 50
"""In one place."""
MOST_FILES, MOST_BYTES = 500, 5_000_000
"""Of one skill; those of one place have four times as much together."""
GUIDE_BYTES = 100_000
DEEPEST = 8
NAME_CHARACTERS, DESCRIPTION_CHARACTERS = 64, 1_024
_NAME = re.compile(r"[a-z0-9]+(?:-[a-z0-9]+)*")
_LEFT_OUT = frozenset({".git", "__pycache__", ".DS_Store"})
"""Neither hashed nor kept: what programs leave behind."""


class SkillUnusable(Exception):
    """A folder that is no skill; the text says what is wrong and what to change, as the end of "It can't be used: …"."""


@dataclass(frozen=True, slots=True)
class SkillFile:
    """A file of a skill; ``runs``: it may be executed."""

    path: str
    content: bytes
    runs: bool = False


@dataclass(frozen=True, slots=True)
class Skill:
    """A skill as it was read."""

    name: str
    description: str
    body: str
    files: tuple[SkillFile, ...]
    """All of them, by path, SKILL.md included."""

    @property
    def sha(self) -> str:
        """Over all that is kept of the folder: paths, contents, and whether files may be executed."""
        rows = [[file.path, file.runs, hashlib.sha256(file.content).hexdigest()] for file in self.files]
        return hashlib.sha256(json.dumps(rows).encode()).hexdigest()


@dataclass(slots=True)
class _Room:
    """So much may still be read."""

    files: int
    bytes: int


def skills_in(root: Path, below: str = "") -> Iterator[tuple[str, Skill | SkillUnusable]]:
    """Yield the folders of a place by name, each as a skill or with what is wrong with it; none where there is no such place.

    ``below`` leads from ``root``, which is trusted, through folders that may be anything.
    """
    room = _Room(4 * MOST_FILES, 4 * MOST_BYTES)
    try:
        place = _opened(root, below)
    except (FileNotFoundError, NotADirectoryError):
        return
    except OSError as error:
        yield below or root.name, SkillUnusable(_why(error))
        return
    try:
        with os.scandir(place) as scanned:
            entries = [one for one in islice(scanned, 4 * MOST_SKILLS) if not one.name.startswith(".")]
        entries = [one for one in entries if one.is_dir(follow_symlinks=False) or one.is_symlink()]
        for number, (name, link) in enumerate(sorted((one.name, one.is_symlink()) for one in entries)):
            try:
                if link:
                    raise SkillUnusable("it is a link, and links are not followed; put the folder itself there")
                if number >= MOST_SKILLS:
                    raise SkillUnusable(f"only the first {MOST_SKILLS} folders are looked at; remove some")
                yield name, _read(place, name, room)
            except SkillUnusable as unusable:
                yield name, unusable
    finally:
        os.close(place)


def read_skill(folder: Path) -> Skill:
    """One skill by its folder.  Raises ``SkillUnusable``."""
    try:
        place = os.open(folder.parent, FOLDER)
    except OSError as error:
        raise SkillUnusable(_why(error)) from error
    try:
        return _read(place, folder.name, _Room(MOST_FILES, MOST_BYTES))
    finally:
        os.close(place)


def skill_from(name: str, files: Sequence[SkillFile]) -> Skill:
    """A skill of these files in a folder of this name.  Raises ``SkillUnusable``."""
    if wrong := named_wrongly(name):
        raise SkillUnusable(f"{wrong}; rename the folder")
    guide = next((file.content for file in files if file.path == GUIDE), None)
    if guide is None:
        raise SkillUnusable(f"it has no {GUIDE}")
    description, body = _guide(name, guide)
    return Skill(name, description, body, tuple(sorted(files, key=lambda file: file.path)))


def write_skill(folder: Path, files: Sequence[SkillFile]) -> None:
    """Make a folder with these files, which appears whole; everybody can read them and nobody write.  Raises ``OSError``.

    One that is there stays as it is.
    """
    if folder.exists():
        return
    fresh = folder.with_name(f".{uuid.uuid4().hex}")
    try:
        fresh.mkdir(parents=True)
        for file in files:
            path = fresh / file.path
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(file.content)
            path.chmod(0o555 if file.runs else 0o444)
        for one in (fresh, *(path for path in fresh.rglob("*") if path.is_dir())):
            one.chmod(0o755)
        fresh.rename(folder)
    except OSError:
        remove_tree(fresh)
        if not folder.exists():
            raise


def named_wrongly(name: str) -> str:
    """What is wrong with the name of a skill; '' where nothing is."""
    if len(name) <= NAME_CHARACTERS and _NAME.fullmatch(name):
        return ""
    return f"a name has 1 to {NAME_CHARACTERS} small letters, digits and single hyphens, such as release-notes"


def _read(place: int, name: str, room: _Room) -> Skill:
    if wrong := named_wrongly(name):
        raise SkillUnusable(f"{wrong}; rename the folder")
    files: list[SkillFile] = []
    own = _Room(min(room.files, MOST_FILES), min(room.bytes, MOST_BYTES))
    before = _Room(own.files, own.bytes)
    try:
        folder = os.open(name, FOLDER, dir_fd=place)
        try:
            _walk(folder, "", files, own, os.fstat(folder).st_uid)
        finally:
            os.close(folder)
    except OSError as error:
        raise SkillUnusable(_why(error)) from error
    finally:
        room.files -= before.files - own.files
        room.bytes -= before.bytes - own.bytes
    return skill_from(name, files)


def _walk(folder: int, above: str, files: list[SkillFile], room: _Room, owner: int) -> None:
    with os.scandir(folder) as scanned:
        entries = list(islice(scanned, room.files + 1))
    if len(entries) > room.files:
        raise SkillUnusable(f"it has more than {MOST_FILES} files, or all skills there together have too many")
    for entry in sorted(entries, key=lambda one: one.name):
        if entry.name in _LEFT_OUT:
            continue
        path = f"{above}{entry.name}"
        room.files -= 1
        if room.files < 0:
            raise SkillUnusable(f"it has more than {MOST_FILES} files, or all skills there together have too many")
        if not path.isprintable():
            raise SkillUnusable("the name of a file in it has characters that cannot be shown; rename that file")
        status = entry.stat(follow_symlinks=False)
        if stat.S_ISDIR(status.st_mode):
            if path.count("/") >= DEEPEST:
                raise SkillUnusable(f"its folders are more than {DEEPEST} deep")
            below = os.open(entry.name, FOLDER, dir_fd=folder)
            try:
                _walk(below, f"{path}/", files, room, owner)
            finally:
                os.close(below)
        elif stat.S_ISREG(status.st_mode):
            files.append(_file(folder, entry.name, path, room, owner))
        else:
            kind = (
                "a link, and links are not followed" if stat.S_ISLNK(status.st_mode) else "neither a file nor a folder"
            )
            raise SkillUnusable(f"{path} is {kind}; put the file itself there")


def _file(folder: int, name: str, path: str, room: _Room, owner: int) -> SkillFile:
    descriptor = os.open(name, PLAIN, dir_fd=folder)
    with os.fdopen(descriptor, "rb") as opened:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode) or status.st_uid != owner:
            raise SkillUnusable(f"{path} belongs to somebody else than the folder")
        content = opened.read(room.bytes + 1)
    room.bytes -= len(content)
    if room.bytes < 0:
        most = MOST_BYTES // 1_000_000
        raise SkillUnusable(f"it is larger than {most} MB, or all skills there together are too large")
    return SkillFile(path, content, bool(status.st_mode & 0o100))


def _guide(name: str, content: bytes) -> tuple[str, str]:
    """What it is for, and the text below the head."""
    if len(content) > GUIDE_BYTES:
        raise SkillUnusable(
            f"{GUIDE} has more than {GUIDE_BYTES:,} bytes; move what is not always needed into other files"
        )
    try:
        head = read_front_matter(content.decode())
    except UnicodeDecodeError as error:
        raise SkillUnusable(f"{GUIDE} is not UTF-8 text") from error
    except FrontMatterError as error:
        raise SkillUnusable(f"{GUIDE}: {error}") from error
    called, description = (head.fields.get(field) for field in ("name", "description"))
    if not isinstance(called, str):
        raise SkillUnusable(f"{GUIDE} needs a head with “name: {name}” and “description: …” between two lines of ---")
    if called != name:
        raise SkillUnusable(f"{GUIDE} names it “{called[:NAME_CHARACTERS]}”, its folder {name}; make them the same")
    if not isinstance(description, str) or not description.strip():
        raise SkillUnusable(f"the head of {GUIDE} needs “description: …”, which says what it is for, as text")
    if len(description) > DESCRIPTION_CHARACTERS:
        raise SkillUnusable(
            f"its description has {len(description):,} characters; at most {DESCRIPTION_CHARACTERS:,} are taken"
        )
    return " ".join(description.split()), head.body


def _opened(root: Path, below: str) -> int:
    descriptor = os.open(root, FOLDER)
    for part in below.split("/") if below else ():
        try:
            inner = os.open(part, FOLDER, dir_fd=descriptor)
        finally:
            os.close(descriptor)
        descriptor = inner
    return descriptor


def _why(error: OSError) -> str:
    """A link, too, is no folder to who follows none."""
    return f"it can't be read ({error.strerror or type(error).__name__})"
