"""Backups: everything in one file that is read back, and comes back whole or not at all."""

from __future__ import annotations

import gzip
import io
import json
import os
import random
import signal
import sqlite3
import subprocess
import sys
import tarfile
import zlib
from pathlib import Path

import pytest

from agentic.stores.sqlite.store import SQLiteStore
from agentic.workspace.snapshots.snapshot_store import Snapshots
from bot.cli.backup.create import backup, settings_without_secrets
from bot.cli.backup.import_run import bring_back
from bot.cli.run import only_one
from bot.config.settings import Settings
from tests.integration.stores.samples import begin, envelopes, inbox_item, log_of, notes, outbox_item

BUILD = "0.1.0"
LARGE = b"large" * 300_000


async def fill(home: Path) -> str:
    """A home with a bit of everything, as a bot leaves it that was killed; the hash of a large content."""
    home.mkdir(parents=True)
    store = SQLiteStore.open(home / "threadwright.sqlite")
    lease = await begin(store)
    await store.append("x1", 1, lease, envelopes("x1", lease, 1, notes(20, 300)), [outbox_item("k1")])
    await store.put(inbox_item("77"))
    large = await store.put_blob(LARGE)
    lessons = sqlite3.connect(home / "lessons.sqlite")
    lessons.execute("CREATE TABLE told (words TEXT)")
    lessons.execute("INSERT INTO told VALUES ('look twice')")
    lessons.commit()
    lessons.close()
    work = home / "workspaces" / "1"
    (work / "empty").mkdir(parents=True)
    (work / "run.sh").write_text("#!/bin/sh\necho ok\n")
    (work / "run.sh").chmod(0o755)
    (work / "out").symlink_to("/etc")
    (work / "naïve \udcff.txt").write_bytes(b"\0\1")
    os.mkfifo(work / "pipe")
    saved = await Snapshots(home / "checkpoints").save("1", work)
    assert saved.manifest
    (home / "sandboxes" / "s").mkdir(parents=True)
    (home / "run.lock").touch()
    (home / ".env").write_text("DISCORD_TOKEN=a-token-of-a-person")
    await store.close()
    return large.sha


def settings(home: Path, **more: object) -> Settings:
    return Settings(home=home, **more)  # type: ignore[arg-type]


def below(home: Path) -> list[str]:
    """What is in a home, beside the lock."""
    return sorted(path.name for path in home.iterdir() if path.name != "run.lock") if home.exists() else []


async def test_a_backup_comes_back_with_everything_but_secrets(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    home, there, archive = tmp_path / "home", tmp_path / "there", tmp_path / "kept.tar.gz"
    large = await fill(home)
    monkeypatch.setenv("OPENAI_API_KEY", "sk-canary-0123456789abcdef")
    chosen = settings(
        home, discord_token="canary.token.of.the.bot", tier_2=("anthropic/a", "openai/b"), max_usd=2.5,
        discord_api="https://me:canary-password@proxy.example/api",
    )  # fmt: skip
    assert backup(chosen, archive, BUILD) == 0
    said = capsys.readouterr()
    assert f"threadwright import {archive}" in said.out
    assert "workspaces/1/pipe (neither a file nor a folder)" in said.err
    content = gzip.decompress(archive.read_bytes())
    assert b"canary" not in content
    assert b"a-token-of-a-person" not in content
    assert "THREADWRIGHT_TIER_2=anthropic/a,openai/b" in settings_without_secrets(chosen)
    assert (archive.stat().st_mode & 0o777) == 0o600
    assert below(tmp_path) == ["home", "kept.tar.gz"], "nothing is left beside it"

    assert bring_back(settings(there), archive, None) == 0
    work = there / "workspaces" / "1"
    assert (work / "run.sh").read_text() == "#!/bin/sh\necho ok\n"
    assert (work / "run.sh").stat().st_mode & 0o777 == 0o755
    assert (work / "run.sh").stat().st_mtime == int((home / "workspaces/1/run.sh").stat().st_mtime)
    assert (work / "out").readlink() == Path("/etc")
    assert (work / "empty").is_dir()
    assert (work / "naïve \udcff.txt").read_bytes() == b"\0\1"
    assert sqlite3.connect(there / "lessons.sqlite").execute("SELECT words FROM told").fetchone() == ("look twice",)
    snapshots = Snapshots(there / "checkpoints")
    (manifest,) = await snapshots.listed("1")
    assert await snapshots.content("1", manifest, "run.sh") == b"#!/bin/sh\necho ok\n"
    assert not (there / "sandboxes").exists()
    store = SQLiteStore.open(there / "threadwright.sqlite")
    assert len(await log_of(store, "x1")) == 21
    assert [item.id for item in await store.pending("thread")] == ["77"]
    assert [row.item.key for row in await store.undelivered()] == ["k1"]
    assert await store.get_blob(large) == LARGE
    lease = await store.acquire("thread", "somebody else")
    assert lease is not None, "whoever had the thread works on another home"
    assert lease.fence == 2
    await store.close()


async def test_nothing_is_overwritten_and_a_running_bot_is_left_alone(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    home, archive = tmp_path / "home", tmp_path / "kept.tar.gz"
    await fill(home)
    assert backup(settings(tmp_path / "other"), archive, BUILD) == 1
    assert "no bot has run there" in capsys.readouterr().err
    archive.write_text("mine")
    assert backup(settings(home), archive, BUILD) == 1
    assert "nothing is overwritten" in capsys.readouterr().err
    assert archive.read_text() == "mine"
    archive.unlink()
    assert backup(settings(home), archive, BUILD) == 0
    before = below(home)
    assert bring_back(settings(home), archive, None) == 1
    assert "--into FOLDER" in capsys.readouterr().err
    assert below(home) == before
    with only_one(tmp_path / "busy"):
        assert bring_back(settings(home), archive, tmp_path / "busy") == 1
    assert "Stop it first" in capsys.readouterr().err
    assert bring_back(settings(home), archive, tmp_path / "new" / "folder") == 0
    assert backup(settings(home), tmp_path / "no" / "where", BUILD) == 1
    said = capsys.readouterr().err
    assert said == f"There is no folder {tmp_path / 'no'}. Make it first, or name another one.\n"
    assert backup(settings(home), Path("/proc/kept.tar.gz"), BUILD) == 1
    said = capsys.readouterr().err
    assert said.startswith("No backup was made: /proc/kept.tar.gz (")
    assert said.endswith("). Name another folder.\n"), "there is no lack of room"
    archive.write_bytes(archive.read_bytes()[:-100])
    assert bring_back(settings(home), archive, tmp_path / "cut") == 1
    said = capsys.readouterr().err
    assert said == f"Nothing was imported. {archive} is incomplete: its end is missing. Use another backup.\n"


def packed(*members: tuple[str, bytes | str], last: dict[str, object] | None = None, form: int = 1) -> bytes:
    """An archive made by hand: a text is a link's target."""
    out = io.BytesIO()
    listed: list[tuple[str, bytes | str]] = [
        ("threadwright-backup.json", json.dumps({"format": form, "build": "9"}).encode()), *members,
    ]  # fmt: skip
    if last is not None:
        listed.append(("MANIFEST.json", json.dumps({"format": 1, **last}).encode()))
    with tarfile.open(fileobj=out, mode="w:gz") as tar:
        for name, content in listed:
            info = tarfile.TarInfo(name)
            if isinstance(content, str):
                info.type, info.linkname = tarfile.SYMTYPE, content
                tar.addfile(info)
            else:
                info.size = len(content)
                tar.addfile(info, io.BytesIO(content))
    return out.getvalue()


EMPTY: dict[str, object] = {"files": [], "links": {}}
HOSTILE: dict[str, tuple[bytes, str]] = {
    "upwards": (packed(("workspaces/../../escaped", b"x"), last=EMPTY), "no backup does"),
    "absolute": (packed(("/tmp/escaped", b"x"), last=EMPTY), "no backup does"),
    "through its own link": (packed(("workspaces/1/a", "/tmp"), ("workspaces/1/a/b", b"x"), last=EMPTY), "damaged"),
    "twice": (packed(("blobs/a", b"x"), ("blobs/a", b"y"), last=EMPTY), "no backup does"),
    "a link to the database": (
        packed(
            ("threadwright.sqlite", "/etc/passwd"), last={"files": [], "links": {"threadwright.sqlite": "/etc/passwd"}}
        ),
        "no backup does",
    ),
    "unlisted": (packed(("blobs/a", b"x"), last=EMPTY), "is damaged"),
    "without its end": (packed(("blobs/a", b"x")), "its end is missing"),
    "newer": (packed(form=2, last=EMPTY), "update Threadwright"),
    "something else": (gzip.compress(b"hello" * 100), "not a Threadwright backup"),
    "without a database": (packed(last=EMPTY), "contains no threadwright.sqlite"),
}


@pytest.mark.parametrize("case", HOSTILE)
def test_an_archive_that_is_not_ours_or_hostile_leaves_nothing_behind(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], case: str
) -> None:
    archive, home = tmp_path / "a.tar.gz", tmp_path / "home"
    content, words = HOSTILE[case]
    archive.write_bytes(content)
    assert bring_back(settings(home), archive, None) == 1
    assert words in capsys.readouterr().err
    assert below(home) == []
    assert below(tmp_path) == ["a.tar.gz", "home"]


def damaged(good: bytes, places: random.Random, *, cut: bool) -> bytes:
    """An archive that ends too early or has one wrong bit, and for it another content or none.

    A few bits are worth nothing: of its name in the header, or from where in a run of zeros a zero is copied.
    """
    while True:
        bad = bytearray(good)
        if cut:
            del bad[places.randrange(len(good)) :]
        else:
            bad[places.randrange(12, len(good))] ^= 1 << places.randrange(8)
        try:
            if gzip.decompress(bad) == gzip.decompress(good):
                continue
        except (OSError, EOFError, zlib.error):
            pass
        return bytes(bad)


async def test_f83_a_damaged_archive_is_refused_and_a_damaged_home_is_said_when_it_is_kept(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    home, archive = tmp_path / "home", tmp_path / "kept.tar.gz"
    await fill(home)
    assert backup(settings(home), archive, BUILD) == 0
    good = archive.read_bytes()
    places = random.Random(83)
    for number in range(25):
        archive.write_bytes(damaged(good, places, cut=number % 5 == 0))
        assert bring_back(settings(home), archive, tmp_path / "there") == 1, number
        assert below(tmp_path / "there") == []
    assert "Nothing was imported" in capsys.readouterr().err
    connection = sqlite3.connect(home / "threadwright.sqlite")
    connection.execute("UPDATE events SET event = replace(event, '3:', '4:') WHERE seq = 5")
    connection.commit()
    connection.close()
    assert backup(settings(home), tmp_path / "second.tar.gz", BUILD) == 1
    said = capsys.readouterr().err
    assert "keep your earlier backups" in said
    assert "x1/5 does not match its checksum" in said
    (home / "threadwright.sqlite").write_bytes(b"SQLite format 3\0")
    assert backup(settings(home), tmp_path / "third.tar.gz", BUILD) == 1
    assert not (tmp_path / "third.tar.gz").exists()


async def test_f76_a_backup_or_an_import_that_is_killed_leaves_nothing_under_its_name(tmp_path: Path) -> None:
    home, archive, there = tmp_path / "home", tmp_path / "kept.tar.gz", tmp_path / "there"
    await fill(home)
    for number in range(6):
        (home / "workspaces" / "1" / f"large{number}").write_bytes(random.Random(number).randbytes(4_000_000))
    killed(home, "backup", str(archive))
    assert not archive.exists()
    assert list(tmp_path.glob(".threadwright-backup-*/archive")), "it was killed in the middle"
    assert backup(settings(home), archive, BUILD) == 0
    assert not list(tmp_path.glob(".threadwright-backup-*")), "the next one cleans up"
    hidden = there / ".importing" / "workspaces"
    killed(there, "import", str(archive))
    assert hidden.exists()
    assert below(there) == [".importing"], "it was killed in the middle"
    assert bring_back(settings(there), archive, None) == 0
    assert not hidden.exists()
    assert len(list((there / "workspaces" / "1").glob("large*"))) == 6
    # Killed while it moves things to their places: no bot begins afresh on half of it, and the import can be repeated.
    (there / "threadwright.sqlite").unlink()
    (there / ".importing").mkdir()
    (there / ".importing" / "moved.json").write_text(
        json.dumps([path for path in below(there) if path != ".importing"])
    )
    with pytest.raises(Exception, match="is gone or empty"):
        SQLiteStore.open(there / "threadwright.sqlite")
    assert bring_back(settings(there), archive, None) == 0


DIES = """
import os, signal, sys

def dies(event, given):
    if event == "open" and str(given[0]).endswith("large3"):
        os.kill(os.getpid(), signal.SIGKILL)

sys.addaudithook(dies)
from bot.cli.main import main
main(sys.argv[1:])
"""


def killed(home: Path, *command: str) -> None:
    """Run a command in a process of its own that is killed as it opens the fourth of the large files."""
    environment = {"PATH": os.environ["PATH"], "THREADWRIGHT_HOME": str(home)}
    ended = subprocess.run([sys.executable, "-c", DIES, *command], env=environment, capture_output=True, timeout=60)
    assert ended.returncode == -signal.SIGKILL, ended.stderr
