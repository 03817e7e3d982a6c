"""The pictures of the page: inline SVG without text, so that it stretches with the page and the words stay words."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from agentic.calibration.scoring import ReliabilityPoint
from bot.lessons.report.html import Html, tag, together
from reflexion.lessons.lesson import LessonStatus
from reflexion.lessons.lifecycle import Arm, Showing

WIDE, HIGH = 400.0, 27.0
INK: dict[LessonStatus, str] = {
    "candidate": "var(--faint)", "probation": "var(--with)", "active": "var(--good)", "quarantined": "var(--wait)",
    "retired": "var(--line)",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Span:
    """The time that the lanes share."""

    first: datetime
    last: datetime

    def place(self, at: datetime, width: float = WIDE, inset: float = 5.0) -> float:
        """Where a moment lies on a lane."""
        whole = (self.last - self.first).total_seconds()
        share = (at - self.first).total_seconds() / whole if whole > 0 else 0.5
        return inset + min(max(share, 0.0), 1.0) * (width - 2 * inset)


def share_bar(share: float, low: float, high: float, colour: str, said: str) -> Html:
    """A share of 0-1 as a bar, with its interval as a line at its end."""
    mid = HIGH / 2
    return _picture(
        said,
        tag("rect", x=0.0, y=4.0, width=WIDE, height=HIGH - 8, rx=4.0, fill="var(--grid)"),
        tag("rect", x=0.0, y=4.0, width=max(share * WIDE, 2.0), height=HIGH - 8, rx=4.0, fill=colour),
        *_whisker(low * WIDE, high * WIDE, mid),
    )


def effect_bar(value: float, low: float, high: float, reach: float, said: str) -> Html:
    """A difference between −``reach`` and ``reach`` as a bar from the middle, with its interval."""

    def place(difference: float) -> float:
        return WIDE / 2 + min(max(difference / reach, -1.0), 1.0) * (WIDE / 2 - 4)

    colour = "var(--good)" if low > 0 else "var(--bad)" if high < 0 else "var(--without)"
    start, end = sorted((WIDE / 2, place(value)))
    return _picture(
        said,
        *(_upright(place(part * reach), "var(--grid)", 2.0) for part in (-1.0, -0.5, 0.5, 1.0)),
        tag("rect", x=start, y=6.0, width=max(end - start, 1.5), height=HIGH - 12, rx=3.0, fill=colour, opacity=0.85),
        _upright(WIDE / 2, "var(--faint)"),
        *_whisker(place(low), place(high), HIGH / 2),
    )


def life_lane(
    stretches: Sequence[tuple[datetime, datetime, LessonStatus]], showings: Sequence[Showing], span: Span, said: str
) -> Html:
    """A lesson's time: a band in the colour of its status, above it each showing, those that went well highest."""
    bands = [
        tag(
            "rect", x=span.place(start), y=22.0, width=max(span.place(end) - span.place(start), 2.0), height=4.5, rx=2.0,
            fill=INK[status],
        )
        for start, end, status in stretches
    ]  # fmt: skip
    known = (each for each in showings if each.says)
    marks = (mark(each.arm, ok=each.ok, x=span.place(each.at), y=4.5 if each.ok else 14.5) for each in known)
    return _picture(said, *bands, *marks)


def mark(arm: Arm, *, ok: bool, x: float, y: float) -> Html:
    """A disc where it went well, a cross where not; hollow or pale where the lesson was left out."""
    if not ok:
        path = f"M{x - 3.2:.1f} {y - 3.2:.1f}l6.4 6.4m0-6.4l-6.4 6.4"
        pale = 1.0 if arm == "shown" else 0.4
        return tag(
            "path", d=path, stroke="var(--bad)", stroke_width=2.2, stroke_linecap="round", opacity=pale, fill="none"
        )
    if arm == "shown":
        return tag("circle", cx=x, cy=y, r=4.0, fill="var(--good)")
    return tag("circle", cx=x, cy=y, r=3.3, fill="none", stroke="var(--good)", stroke_width=1.5)


def sign(arm: Arm, *, ok: bool) -> Html:
    """A mark alone, for a legend."""
    return tag("svg", mark(arm, ok=ok, x=8.0, y=6.0), viewBox="0 0 16 12", aria_hidden="true")


def band_sign(status: LessonStatus) -> Html:
    """A status's band alone, for a legend."""
    band = tag("rect", x=0.0, y=4.0, width=16.0, height=5.0, rx=2.0, fill=INK[status])
    return tag("svg", band, viewBox="0 0 16 12", aria_hidden="true")


def agreement(points: Sequence[ReliabilityPoint], said: str) -> Html:
    """The judge's share across, what came out up; the line is where they agree."""
    side, inset = 260.0, 6.0

    def place(share: float) -> float:
        return inset + share * (side - 2 * inset)

    lines: list[Html] = []
    for part in (0.0, 0.25, 0.5, 0.75, 1.0):
        at = place(part)
        lines.append(tag("line", x1=at, x2=at, y1=inset, y2=side - inset, stroke="var(--grid)"))
        lines.append(tag("line", x1=inset, x2=side - inset, y1=at, y2=at, stroke="var(--grid)"))
    low, high = place(0.0), place(1.0)
    diagonal = tag("line", x1=low, x2=high, y1=high, y2=low, stroke="var(--faint)", stroke_dasharray="3 4")
    trail = " ".join(f"{'ML'[at > 0]}{place(p.said):.1f} {place(1 - p.came):.1f}" for at, p in enumerate(points))
    dots: list[Html] = []
    for point in points:
        x, radius = place(point.said), 3.5 + min(point.count, 60) / 20
        y1, y2 = place(1 - point.high), place(1 - point.low)
        dots.append(tag("line", x1=x, x2=x, y1=y1, y2=y2, stroke="var(--with)", stroke_width=1.5, opacity=0.5))
        dots.append(tag("circle", cx=x, cy=place(1 - point.came), r=radius, fill="var(--with)"))
    joined = (
        tag("path", d=trail, fill="none", stroke="var(--with)", stroke_width=1.5, opacity=0.6) if trail else Html("")
    )
    return tag(
        "svg", tag("title", said), *lines, diagonal, joined, *dots, viewBox="0 0 260 260", role="img",
        style="max-width:300px;margin:0 auto",
    )  # fmt: skip


def _whisker(low: float, high: float, y: float) -> tuple[Html, ...]:
    ends = (_upright(x, "var(--ink)", y - 4, 1.5) for x in (low, high))
    look = {"stroke": "var(--ink)", "stroke_width": 1.5, "vector_effect": "non-scaling-stroke"}
    return (tag("line", x1=low, x2=high, y1=y, y2=y, **look), *ends)


def _upright(x: float, colour: str, inset: float = 0.0, width: float = 1.0) -> Html:
    """A line from ``inset`` below the upper edge to as far above the lower one."""
    look = {"stroke": colour, "stroke_width": width, "vector_effect": "non-scaling-stroke"}
    return tag("line", x1=x, x2=x, y1=inset, y2=HIGH - inset, **look)


def _picture(said: str, *parts: Html) -> Html:
    """A picture as wide as its place."""
    return tag(
        "svg", together(tag("title", said), *parts), viewBox=f"0 0 {WIDE:g} {HIGH:g}", role="img",
    )  # fmt: skip
