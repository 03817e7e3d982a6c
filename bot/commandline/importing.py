"""`threadwright import FILE`: a backup into an empty home, or one execution beside what is there."""

from __future__ import annotations

import shutil
from pathlib import Path

from agentic.errors import StoreError
from bot.commandline.backup import Progress
from bot.commandline.backup_archive import ArchiveRefused
from bot.commandline.output import fail, note, say
from bot.commandline.restoring import RESTORED, NotEmpty, restore
from bot.commandline.run import AlreadyRunning, only_one
from bot.settings import Settings

GZIP = b"\x1f\x8b"


def bring_back(settings: Settings, file: Path, into: Path | None) -> int:
    """Import it; 1 and a line that says what to do where that cannot be."""
    home = into.expanduser().absolute() if into is not None else settings.home
    try:
        with file.open("rb") as opened:
            packed = opened.read(2) == GZIP
        with only_one(home):
            return _backup(file, home) if packed else _execution(file, home)
    except AlreadyRunning:
        return fail(f"Threadwright runs on {home}. Stop it first, or name another folder with --into.")
    except ArchiveRefused as refused:
        return fail(f"Nothing was imported. {refused}")
    except StoreError as error:
        return fail(f"Nothing was imported: {error}.")
    except NotEmpty as found:
        return fail(
            f"Nothing was imported: {home} is not empty ({found}), and nothing in it is overwritten. Move it away, or "
            f"name another folder: threadwright import {file} --into FOLDER"
        )
    except OSError as error:
        reason = error.strerror or str(error)
        return fail(f"Nothing was imported: {error.filename or home} ({reason}).")


def _backup(file: Path, home: Path) -> int:
    contents = restore(file, home, Progress("Unpacking", file.stat().st_size))
    about = contents.about
    say(
        f"{home} is as it was at {about.get('at')}: {len(contents.files)} files, {contents.bytes / 1e6:.1f} MB, all checked."
    )
    for what in about.get("damaged") or ():  # type: ignore[attr-defined]
        note(f"It was damaged already when the backup was made: {what}")
    say(
        f"Go on with: THREADWRIGHT_HOME={home} threadwright run. What was set stands in {home / RESTORED}, where nothing "
        "reads it: set again what you want of it. Tokens and keys are not in a backup. Do not let two bots with one token "
        "run on two copies: each would answer."
    )
    return 0


def _execution(file: Path, home: Path) -> int:
    from bot.commandline.imported import import_execution

    for left in home.glob(".importing-*"):  # of one that was killed
        shutil.rmtree(left, ignore_errors=True)
    return import_execution(file, home)
