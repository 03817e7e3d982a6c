"""A task as one HTML file that can be sent to somebody: no script, nothing from elsewhere, its style inside."""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from pydantic import JsonValue

from bot.console.exports.export_source import CUT, TEXT, ExportSource
from bot.console.exports.transcript import TranscriptTurn
from bot.console.page_templates import Pages
from bot.progress.text import duration

STYLE = Path(__file__).parents[1] / "static" / "console.css"
AT_ONCE = 20
"""Turns of a piece."""


def html_file(source: ExportSource, pages: Pages) -> Iterator[str]:
    """The file in pieces."""
    style, policy = _style()
    head = pages.render(
        "export_head.html", source=source, totals=source.totals, policy=policy, took=duration(source.seconds)
    )
    yield head.replace("<style></style>", f"<style>{style}</style>", 1)  # of ours alone is no sign escaped
    batch: list[TranscriptTurn | str] = []
    for turn in source.turns():
        batch.append(turn)
        if len(batch) == AT_ONCE:
            yield _turns(batch, source, pages)
            batch = []
    yield _turns(batch, source, pages)
    before, lines = source.lines()
    yield pages.render("export_end.html", source=source, before=before, lines=lines)


def _turns(batch: list[TranscriptTurn | str], source: ExportSource, pages: Pages) -> str:
    shown = [(turn, None) if isinstance(turn, TranscriptTurn) else (None, turn) for turn in batch]
    return pages.render("export_turns.html", turns=shown, outputs=source.outputs, as_text=_as_text, most=TEXT, cut=CUT)


def _as_text(value: JsonValue) -> str:
    """An argument as it is read."""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, indent=1)


@cache
def _style() -> tuple[str, str]:
    """The console's style, and a policy for the file that allows this style and nothing else."""
    style = STYLE.read_text("utf-8")
    allowed = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    return style, f"default-src 'none'; style-src 'sha256-{allowed}'; base-uri 'none'; form-action 'none'"
