"""A record of `threadwright doctor --live` beside one of the same trial against the stand-ins, step by step.

The same code asks both, so that the requests are the same; a step that nobody did in the record is not compared.
"""

from __future__ import annotations

import asyncio
import contextlib
import io
import json
import tempfile
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bot.cli.live.live_check import LiveOrder, live
from bot.cli.live.wire_record import FORM
from tests.conformance.comparing import Row, Seen, parted
from tests.conformance.shapes import differences
from tests.conformance.stand_ins import MODELS, REPOSITORY, person, set_up, stand_ins, with_eight_permissions
from tests.conformance.target import Answer

Line = dict[str, Any]
Key = tuple[str, str, str, int]
DISCORD = "Discord"


class Unusable(Exception):
    """A record that cannot be compared; says why."""


@dataclass(frozen=True, slots=True)
class Compared:
    """What was compared, and what the stand-ins were not asked."""

    rows: list[Row]
    left_out: list[str]


async def against_stand_ins(file: Path) -> Compared:
    """Take the stand-ins through what is in the record. Raises ``Unusable``."""
    there = read(file)
    parts = {line["part"] for line in there}
    forge = next((part for part in parts if part.startswith("forge")), "")
    models = [model for path, model in MODELS.items() if any(line.get("route", "").endswith(path) for line in there)]
    with tempfile.TemporaryDirectory() as folder:
        own = Path(folder) / "own.jsonl"
        kind = "forgejo" if "forgejo" in forge else "github"
        async with stand_ins(Path(folder), kind=kind, models=models, sandbox="auto") as here:
            if any(line.get("method") == "PATCH" and line.get("route") == "/channels/{}" for line in there):
                with_eight_permissions(here.guild)  # so that a thread is archived, as there
            channel = here.guild.channel().id if DISCORD in parts else 0
            order = LiveOrder(channel, REPOSITORY if forge else "", own, agreed=True)
            patch, doing = set_up(here.settings), asyncio.create_task(person(here.guild))
            said = io.StringIO()
            try:
                with contextlib.redirect_stdout(said), contextlib.redirect_stderr(said):
                    code = await live(here.read(), order)
            finally:
                doing.cancel()
                await asyncio.gather(doing, return_exceptions=True)
                patch.undo()
        if code:
            raise Unusable(f"The stand-ins did not get through the trial:\n{said.getvalue()}")
        return compared(there, read(own))


def read(file: Path) -> list[Line]:
    """The lines of a record after its first. Raises ``Unusable``."""
    try:
        first, *rest = [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]
        form = first["record"]
    except (OSError, ValueError, TypeError, KeyError) as error:
        raise Unusable(f"{file} is no record of `threadwright doctor --live` ({error}).") from error
    if form != FORM:
        raise Unusable(f"{file} is of another version ({form}, not {FORM}). Make it anew.")
    if not rest:
        raise Unusable(f"{file} holds no exchange: no part was tried.")
    return rest


def compared(there: Iterable[Line], here: Iterable[Line]) -> Compared:
    """A row for each line that both have. Raises ``Unusable`` where there is none."""
    found, outcome = dict(_keyed(here)), Compared([], [])
    for key, line in _keyed(there):
        step, what = f"{line['part']}: {line['step']}", line.get("event") or f"{line['method']} {line['route']}"
        if (other := found.get(key)) is None:
            outcome.left_out.append(f"{step}: {what}")
            continue
        if "event" in line:
            noted = differences(line["body"], other["body"], line["event"])
        else:
            noted = parted(_seen(line), _seen(other))
        outcome.rows.append(Row(step, what, tuple(noted), part_of=line["part"] != DISCORD))
    if not outcome.rows:
        raise Unusable("Nothing in the record is asked of the stand-ins. Was it made by another version?")
    return outcome


def _keyed(lines: Iterable[Line]) -> Iterator[tuple[Key, Line]]:
    """Lines by what was asked or told in which step, and whether it was the first such, the second…"""
    counts: dict[tuple[str, str, str], int] = {}
    for line in lines:
        if "event" in line:
            what = f"{line['event']} {bool((line['body'].get('author') or {}).get('bot'))}"
        else:
            route = line["route"].removeprefix("/v1") if line["part"] == "models" else line["route"]
            what = f"{line['method']} {route}"
        same = (line["part"], line["step"], what)
        counts[same] = counts.get(same, 0) + 1
        yield (*same, counts[same]), line


def _seen(line: Line) -> Seen:
    return Seen(Answer(line["status"], line["body"], line["headers"]), [])
