"""Pages from templates. Everything that is printed is escaped; no template marks a text of a log as safe."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from datetime import datetime
from pathlib import Path
from typing import cast

import jinja2

from bot import BUILD
from bot.messages.log_text import ASKS
from bot.progress.text import duration
from bot.workspace.browse import bytes_of

TEMPLATES = Path(__file__).with_name("templates")
STATIC = Path(__file__).with_name("static")
VERSIONS = {path.name: hashlib.sha256(path.read_bytes()).hexdigest()[:12] for path in STATIC.iterdir()}
"""A mark of each static file's content: what a page links to is what this version has, however long a browser keeps it."""


class Pages:
    """The templates of the console."""

    def __init__(self, shared: Mapping[str, object] | None = None) -> None:
        self._templates = jinja2.Environment(
            loader=jinja2.FileSystemLoader(TEMPLATES),
            autoescape=True,
            undefined=jinja2.StrictUndefined,
            trim_blocks=True,
            lstrip_blocks=True,
            auto_reload=False,
        )
        filters: dict[str, object] = {
            "usd": usd, "seconds": seconds, "clock": clock, "day": day, "moment": moment, "many": many, "tokens": tokens,
            "size": size, "money": money,
        }  # fmt: skip
        cast("dict[str, object]", self._templates.filters).update(filters)
        cast("dict[str, object]", self._templates.globals).update(
            {
                "build": BUILD,
                "asks": ASKS,
                "static": static,
                **(shared or {}),
            }
        )

    def prepare(self) -> None:
        """Read all templates, so that no first page waits for that."""
        for name in self._templates.list_templates():
            self._templates.get_template(name)

    def render(self, name: str, **values: object) -> str:
        """A template with values."""
        return self._templates.get_template(name).render(**values)


def static(name: str) -> str:
    """The address of a static file."""
    return f"/static/{name}?v={VERSIONS[name]}"


def usd(value: float) -> str:
    """US dollars as people read them."""
    if value == 0:
        return "$0"
    return f"${value:,.2f}" if value >= 1 else f"${value:.3f}" if value >= 0.001 else "<$0.001"


def money(value: float) -> str:
    """US dollars that may be less than nothing."""
    return f"−{usd(-value)}" if value < 0 else usd(value)


def seconds(value: float) -> str:
    """A span of time."""
    if 0 < value < 0.05:
        return "<0.1 s"
    return f"{value:.1f} s" if value < 10 else duration(value)


def tokens(value: int) -> str:
    """A count of tokens: 950, 12.3k, 1.2M."""
    if value < 1_000:
        return str(value)
    return f"{value / 1_000:.1f}k" if value < 1_000_000 else f"{value / 1_000_000:.1f}M"


def size(value: int) -> str:
    """Bytes in words."""
    return bytes_of(value)


def clock(value: datetime) -> str:
    """A time of day (UTC)."""
    return f"{value:%H:%M:%S}"


def day(value: datetime) -> str:
    """A day and a time (UTC)."""
    return f"{value:%Y-%m-%d %H:%M}"


def moment(value: datetime) -> str:
    """A time for the attribute of a ``time`` element."""
    return value.isoformat(timespec="seconds")


def many(count: int, one: str, more: str = "") -> str:
    """A count with its noun."""
    return f"{count:,} {one if count == 1 else more or one + 's'}"
