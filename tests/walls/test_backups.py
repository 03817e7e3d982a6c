"""Backups that somebody else made: nothing of them lies, or leads, outside of what a bot keeps in its home."""

from __future__ import annotations

import gzip
import io
import itertools
import json
import os
import random
import sqlite3
import tarfile
from collections.abc import Callable, Iterator
from hashlib import sha256
from pathlib import Path

import pytest

from agentic.sandbox.protocol.supervisor_bundle import packed, program
from agentic.stores.sqlite.store import SQLiteStore
from bot.cli.backup.archive import FIRST, LAST
from bot.cli.backup.create import backup
from bot.cli.backup.import_run import bring_back
from bot.config.settings import Settings
from tests.walls.tally import Wall

Member = tuple[tarfile.TarInfo, bytes]


def file(name: str, content: bytes = b"x", mode: int = 0o755) -> Member:
    info = tarfile.TarInfo(name)
    info.size, info.mode = len(content), mode
    return info, content


def special(name: str, kind: bytes, target: str = "") -> Member:
    info = tarfile.TarInfo(name)
    info.type, info.linkname = kind, target
    return info, b""


def link(name: str, target: str) -> Member:
    return special(name, tarfile.SYMTYPE, target)


def archive(members: list[Member]) -> bytes:
    """A backup whose list agrees with what it holds, as the one who forges it would write it."""
    held = {info.name: (info.size, sha256(content).hexdigest()) for info, content in members if info.isreg()}
    listed = {
        "format": 1,
        "files": [[name, size, sha] for name, (size, sha) in held.items()],
        "links": {info.name: info.linkname for info, _ in members if info.issym()},
    }
    first, last = file(FIRST, json.dumps({"format": 1}).encode()), file(LAST, json.dumps(listed).encode())
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w:gz", format=tarfile.PAX_FORMAT) as tar:
        for info, content in [first, *members, last]:
            tar.addfile(info, io.BytesIO(content))
    return out.getvalue()


@pytest.fixture
async def database(tmp_path: Path) -> bytes:
    path = tmp_path / "sound" / "threadwright.sqlite"
    path.parent.mkdir()
    await SQLiteStore.open(path).close()
    return path.read_bytes()


def came_through(home: Path, tmp_path: Path, database: bytes, members: list[Member]) -> list[str]:
    """What an import of these members, beside a sound database, left where it does not belong; nothing if it was refused."""
    forged = tmp_path / "forged.tar.gz"
    forged.write_bytes(archive([file("threadwright.sqlite", database), *members]))
    victim = tmp_path / "victim"
    victim.mkdir(exist_ok=True)
    ended = bring_back(Settings(home=home), forged, None)
    left = [path.relative_to(home).as_posix() for path in home.rglob("*") if path.name != "run.lock"]
    strange = [f"victim/{path.name}" for path in victim.iterdir()]
    return strange + (left if ended else [name for name in left if name not in ALLOWED])


ALLOWED = ("threadwright.sqlite", "threadwright.sqlite-mark", "workspaces", "workspaces/1", "workspaces/1/a")
PREFIXES = ("", "tasks/x/", "tasks/20260101-000000-abcdef/")
LINKS = (
    "workspaces", "workspaces/1", "checkpoints", "checkpoints/1", "checkpoints/1/packs", "checkpoints/1/packs/1.pack", "blobs",
    "blobs/aa", "blobs/aa/bb", "guild", "guild/attachments", "guild/attachments/1", "guild/guild.sqlite3", "lessons.sqlite",
    "sandboxes", "sandboxes/homes", "sandboxes/ignored", "sandboxes/ignored/1.json", "threadwright.sqlite-wal", "settings.env",
    ".env", "run.lock", ".importing", "moved.json", "pictures", "tasks", "tasks/x", "workspaces/..",
    "workspaces/a b", "workspaces/.",
)  # fmt: skip
FILES = (
    "sandboxes/supervisor-0123456789abcdef.pyz", "sandboxes/etc/passwd", "sandboxes/homes/x/.bashrc",
    "sandboxes/hidden/x.json",
    "sandboxes/diaries/x.jsonl", ".env", "run.lock", ".importing/x", "moved.json", "threadwright.sqlite-wal",
    "threadwright.sqlite-journal", "lessons.sqlite-wal", "guild/guild.sqlite3-wal", "workspaces", "workspaces/1",
    "workspaces/../x",
    "workspaces/1/../../x", "/etc/cron.d/x", "../x", "./x", "workspaces//x", "workspaces/1/x/", "checkpoints/1/lock",
    "checkpoints/1/packs/x.py", "checkpoints/1/manifests/../../../x", "checkpoints/../packs/1.pack", "pictures/x.py", "bot.py",
    "sitecustomize.py", "tasks/x", "tasks/../x/threadwright.sqlite", "tasks/./threadwright.sqlite", "tasks/.hidden/blobs/x",
    "sandboxes/ignored/../x.json", "sandboxes/ignored/a/b.json", "threadwright.sqlite/x", "settings.env/x", "config.toml",
    "workspaces/1/x\0y", "blobs", "guild", "guild/attachments", "guild/page.html", "guild/sessions.json",
)  # fmt: skip


def forms(victim: Path) -> Iterator[tuple[str, list[Member]]]:
    for prefix, name in itertools.product(PREFIXES, LINKS):
        for target in (str(victim), "/", "../../victim"):
            yield f"link {prefix}{name} -> {target}", [link(f"{prefix}{name}", target)]
        yield f"link and below it {prefix}{name}", [link(f"{prefix}{name}", str(victim)), file(f"{prefix}{name}/x")]
        yield f"below it and link {prefix}{name}", [file(f"{prefix}{name}/x"), link(f"{prefix}{name}", str(victim))]
    for prefix, name in itertools.product(PREFIXES, FILES):
        yield f"file {prefix}{name}", [file(f"{prefix}{name}")]
    for kind, where in itertools.product(
        (tarfile.LNKTYPE, tarfile.FIFOTYPE, tarfile.CHRTYPE, tarfile.BLKTYPE, tarfile.CONTTYPE + b"", b"V"),
        ("workspaces/1/a", "workspaces/1", "blobs/aa/bb"),
    ):
        yield (
            f"kind {kind!r} at {where}",
            [special(where, kind, str(victim))] if kind != tarfile.CONTTYPE else [special(f"{where}/..", kind)],
        )
    for inner in ("workspaces/1/a/b", "workspaces/1/a/b/c"):
        yield f"link through a link {inner}", [link("workspaces/1/a", str(victim)), link(inner, "/etc")]
        yield f"link through a later link {inner}", [link(inner, "/etc"), link("workspaces/1/a", str(victim))]


@pytest.mark.wall("backups")
async def test_nothing_of_a_forged_backup_lies_outside_of_its_places(
    tmp_path: Path, database: bytes, wall: Wall, capsys: pytest.CaptureFixture[str]
) -> None:
    for number, (form, members) in enumerate(forms(tmp_path / "victim")):
        found = came_through(tmp_path / f"home{number}", tmp_path, database, members)
        wall.held(form, not [name for name in found if not name.startswith("settings-of")], str(found))
    capsys.readouterr()


@pytest.mark.wall("backups")
async def test_a_link_in_a_workspace_comes_back_as_it_was(tmp_path: Path, database: bytes) -> None:
    made = archive([file("threadwright.sqlite", database), link("workspaces/1/a", "/etc"), file("workspaces/1/d/b")])
    (tmp_path / "sound.tar.gz").write_bytes(made)
    assert bring_back(Settings(home=tmp_path / "home"), tmp_path / "sound.tar.gz", None) == 0
    assert (tmp_path / "home/workspaces/1/a").readlink() == Path("/etc")
    assert (tmp_path / "home/workspaces/1/d/b").read_bytes() == b"x"


@pytest.mark.wall("backups")
async def test_a_database_that_acts_by_itself_is_refused(
    tmp_path: Path, database: bytes, wall: Wall, capsys: pytest.CaptureFixture[str]
) -> None:
    for number, statement in enumerate((
        "CREATE TRIGGER t AFTER INSERT ON executions BEGIN DELETE FROM events; END",
        "CREATE VIEW v AS SELECT * FROM events",
        "CREATE TRIGGER t AFTER UPDATE ON leases BEGIN UPDATE leases SET owner = 'me'; END",
    )):  # fmt: skip
        path = tmp_path / f"{number}.sqlite"
        path.write_bytes(database)
        connection = sqlite3.connect(path)
        connection.execute(statement)
        connection.commit()
        connection.execute("PRAGMA journal_mode = DELETE")
        connection.close()
        found = came_through(tmp_path / f"home{number}", tmp_path, path.read_bytes(), [])
        wall.held(statement, not found and "contains more than rows" in capsys.readouterr().err, str(found))


def bombs() -> Iterator[tuple[str, Callable[[Path], object]]]:
    """Archives of some kilobytes that become gigabytes where nobody counts."""

    def zeros(out: gzip.GzipFile, size: int) -> None:
        for _ in range(size >> 20):
            out.write(bytes(1 << 20))

    def of_size(info: tarfile.TarInfo, path: Path, size: int) -> None:
        with gzip.open(path, "wb", compresslevel=6) as out:
            head = file(FIRST, json.dumps({"format": 1}).encode())
            for member, content in (head, (info, b"")):
                out.write(member.tobuf(format=tarfile.PAX_FORMAT))
                out.write(content.ljust(-(-len(content) // 512) * 512, b"\0"))
            zeros(out, size)

    def content(path: Path) -> None:
        info, _ = file("workspaces/1/a")
        info.size = 1 << 50
        of_size(info, path, 8 << 20)

    def name(path: Path) -> None:
        info, _ = special("x", tarfile.XHDTYPE)
        info.size = 1 << 32
        of_size(info, path, 8 << 20)

    def long_name(path: Path) -> None:
        info, _ = special("x", tarfile.GNUTYPE_LONGNAME)
        info.size = 1 << 32
        of_size(info, path, 8 << 20)

    def tail(path: Path) -> None:
        good = archive([])
        with gzip.open(path, "wb") as out:
            out.write(gzip.decompress(good))
            zeros(out, 8 << 20)

    yield "a file larger than the disk", content
    yield "a name of four gigabytes", name
    yield "a long name of four gigabytes", long_name
    yield "zeros behind the end", tail


@pytest.mark.wall("backups")
@pytest.mark.parametrize(("form", "write"), list(bombs()))
def test_few_bytes_do_not_become_many(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], form: str, write: Callable[[Path], object]
) -> None:
    write(tmp_path / "bomb.tar.gz")
    assert (tmp_path / "bomb.tar.gz").stat().st_size < 1_000_000
    assert bring_back(Settings(home=tmp_path / "home"), tmp_path / "bomb.tar.gz", None) == 1
    assert capsys.readouterr().err.startswith("Nothing was imported. ")
    assert sorted(path.name for path in (tmp_path / "home").iterdir()) == ["run.lock"]


@pytest.mark.wall("supervisor")
@pytest.mark.parametrize(
    "form", ["other bytes", "more bytes", "a link", "a link to the right bytes", "a pipe", "nothing"]
)
def test_a_program_that_lies_where_the_supervisor_is_kept_is_not_run(tmp_path: Path, form: str) -> None:
    place = program(tmp_path / "state")
    assert place.read_bytes() == packed()
    (tmp_path / "elsewhere").write_bytes(packed() if "right" in form else b"import os")
    place.unlink()
    if "link" in form:
        place.symlink_to(tmp_path / "elsewhere")
    elif form == "a pipe":
        os.mkfifo(place)
    elif form != "nothing":
        place.write_bytes(packed() + b"x" if form == "more bytes" else random.Random(1).randbytes(len(packed())))
    assert program(tmp_path / "state") == place
    assert not place.is_symlink()
    assert place.read_bytes() == packed()


@pytest.mark.wall("aiignore")
async def test_a_backup_leaves_out_what_is_hidden_and_says_so(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    home = tmp_path / "home"
    work = home / "workspaces" / "1"
    (work / "keys").mkdir(parents=True)
    (work / ".aiignore").write_text("*.pem\n")
    (work / "deep.pem").write_text("canary-1")
    (work / "keys" / "a.txt").write_text("canary-2")
    (work / "seen.txt").write_text("seen")
    ignored = home / "sandboxes" / "ignored"
    ignored.mkdir(parents=True)
    (ignored / "1.json").write_text(json.dumps(["keys/\n"]))  # a person's rule, which was deleted in the workspace
    await SQLiteStore.open(home / "threadwright.sqlite").close()
    assert backup(Settings(home=home), tmp_path / "kept.tar.gz", "0") == 0
    content = gzip.decompress((tmp_path / "kept.tar.gz").read_bytes())
    assert b"canary" not in content
    assert b"seen" in content
    said = capsys.readouterr()
    assert "workspaces/1/deep.pem (hidden by .aiignore)" in said.err
    assert "files that .aiignore hides (copy them yourself" in said.out
    assert json.loads((ignored / "1.json").read_text()) == ["keys/\n"], "the home is only read"
    assert bring_back(Settings(home=tmp_path / "there"), tmp_path / "kept.tar.gz", None) == 0
    assert json.loads((tmp_path / "there/sandboxes/ignored/1.json").read_text()) == ["keys/\n"]
