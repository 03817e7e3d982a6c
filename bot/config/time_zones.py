"""Time zones by their IANA names."""

from __future__ import annotations

from functools import cache
from zoneinfo import available_timezones


def zone_named(name: str) -> str | None:
    """Return a zone's IANA name as it is spelled; None where there is no such zone."""
    return _zones().get(name.strip().replace(" ", "_").lower())


@cache
def _zones() -> dict[str, str]:
    return {name.lower(): name for name in available_timezones() if name not in ("localtime", "posixrules")}
