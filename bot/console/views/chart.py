"""Charts as shapes to be drawn: lines with their range, stacked bars, marks; at most ``POINTS`` points each.

Shapes are paths in a field of 1,000 by 100, which a page stretches to its width; labels stand beside it. Where there are
more values than points, neighbours share one: a line shows their mean within the range of all of them, bars their sum.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import ceil, log10

POINTS = 300
WIDTH, HEIGHT = 1_000.0, 100.0
MARKS = 60
"""Marks in a chart at most."""


@dataclass(frozen=True, slots=True)
class Series:
    """Values in a row, one for each place; None where there is none. ``style`` is the number of its look."""

    name: str
    values: Sequence[float | None]
    style: int = 1


@dataclass(frozen=True, slots=True)
class ChartPath:
    """A path. ``sort``: line, range or column."""

    sort: str
    style: int
    path: str


@dataclass(frozen=True, slots=True)
class ChartGround:
    """A part of the field behind all shapes."""

    name: str
    top: float
    height: float


@dataclass(frozen=True, slots=True)
class ChartMark:
    """Something that happened at a place."""

    x: float
    text: str


@dataclass(frozen=True, slots=True)
class Drawing:
    """A chart, ready to be drawn, with the same in words."""

    name: str
    title: str
    about: str
    top: str
    bottom: str
    first: str
    last: str
    shapes: tuple[ChartPath, ...]
    legend: tuple[tuple[int, str], ...]
    grounds: tuple[ChartGround, ...] = ()
    marks: tuple[ChartMark, ...] = ()
    each: int = 1
    """Turns that share a point."""


@dataclass(frozen=True, slots=True)
class Frame:
    """What a chart is called, what its places are called, and how its values are written."""

    name: str
    title: str
    places: Sequence[int]
    """The number of the turn at each place."""
    written: Callable[[float], str]
    marks: Sequence[tuple[int, str]] = ()
    """Turns at which something happened, and what."""


def lines(
    frame: Frame, series: Sequence[Series], most: float, grounds: Sequence[tuple[str, float, float]] = ()
) -> Drawing:
    """Lines from 0 to ``most``. ``grounds``: name, from and to of values that belong together."""
    shapes: list[ChartPath] = []
    groups = grouped(len(frame.places))
    for one in series:
        found = [_known(one.values, group) for group in groups]
        if any(len(values) > 1 for values in found):
            edges = [(x, _y(max(v), most), _y(min(v), most)) for x, v in _placed(found) if v]
            outline = [f"{x:.1f} {high:.1f}" for x, high, _ in edges]
            outline += [f"{x:.1f} {low:.1f}" for x, _, low in reversed(edges)]
            shapes.append(ChartPath("range", one.style, f"M{'L'.join(outline)}Z" if outline else ""))
        shapes.append(ChartPath("line", one.style, _line(found, most)))
    behind = tuple(ChartGround(name, _y(high, most), _y(low, most) - _y(high, most)) for name, low, high in grounds)
    return _drawing(frame, series, most, shapes, behind)


def bars(frame: Frame, series: Sequence[Series]) -> Drawing:
    """Bars, the series on top of each other."""
    groups = grouped(len(frame.places))
    found = [[sum(_known(one.values, group)) for one in series] for group in groups]
    most = rounded_up(max((sum(values) for values in found), default=0.0))
    width = WIDTH / max(len(groups), 1)
    gap = min(width * 0.2, 2.0)
    shapes: list[ChartPath] = []
    for place, one in enumerate(series):
        path: list[str] = []
        for at, values in enumerate(found):
            if values[place] <= 0:
                continue
            bottom, top = _y(sum(values[:place]), most), _y(sum(values[: place + 1]), most)
            path.append(f"M{at * width + gap / 2:.1f} {bottom:.2f}V{top:.2f}h{width - gap:.1f}V{bottom:.2f}Z")
        shapes.append(ChartPath("column", one.style, "".join(path)))
    return _drawing(frame, series, most, shapes)


def grouped(count: int, most: int = POINTS) -> list[range]:
    """Places in at most ``most`` groups of neighbours, all but the last one equal."""
    size = max(ceil(count / most), 1)
    return [range(begin, min(begin + size, count)) for begin in range(0, count, size)]


def rounded_up(value: float) -> float:
    """The next of 1, 2, 5, 10, 20, …, of 0.1, 0.2, …; 1 for 0."""
    if value <= 0:
        return 1.0
    unit = 10.0 ** ceil(log10(value) - 1)
    return next((step * unit for step in (1, 2, 5, 10) if value <= step * unit * (1 + 1e-9)), 10 * unit)


def _drawing(
    frame: Frame,
    series: Sequence[Series],
    most: float,
    shapes: Sequence[ChartPath],
    grounds: tuple[ChartGround, ...] = (),
) -> Drawing:
    places = frame.places
    return Drawing(
        frame.name, frame.title, _about(frame, series), frame.written(most), frame.written(0.0),
        f"turn {places[0]}" if places else "", f"turn {places[-1]}" if len(places) > 1 else "",
        tuple(shape for shape in shapes if shape.path), tuple((one.style, one.name) for one in series), grounds,
        _marks(frame), max(ceil(len(places) / POINTS), 1),
    )  # fmt: skip


def _marks(frame: Frame) -> tuple[ChartMark, ...]:
    width = WIDTH / max(len(frame.places), 1)
    at = {number: place for place, number in enumerate(frame.places)}
    return tuple(
        ChartMark(at[number] * width, f"Turn {number}: {text}")
        for number, text in frame.marks[-MARKS:]
        if number in at
    )  # fmt: skip


def _about(frame: Frame, series: Sequence[Series]) -> str:
    """The chart in words."""
    told: list[str] = []
    for one in series:
        known = [(value, place) for value, place in zip(one.values, frame.places, strict=True) if value is not None]
        if not known:
            continue
        (low, first), (high, at) = min(known), max(known, key=lambda pair: pair[0])
        told.append(
            f"{one.name} from {frame.written(low)} (turn {first}) to {frame.written(high)} (turn {at}), "
            f"last {frame.written(known[-1][0])}"
        )
    told += [f"turn {number}: {text}" for number, text in frame.marks[-MARKS:]]
    return "; ".join(told) + "." if told else "No figures yet."


def _line(found: Sequence[Sequence[float]], most: float) -> str:
    path, begun = list[str](), False
    for x, values in _placed(found):
        if values:
            path.append(f"{'L' if begun else 'M'}{x:.1f} {_y(sum(values) / len(values), most):.1f}")
            if not begun:
                path.append("h0.1")  # a single value is a dot
        begun = bool(values)
    return "".join(path)


def _placed(found: Sequence[Sequence[float]]) -> list[tuple[float, Sequence[float]]]:
    width = WIDTH / max(len(found), 1)
    return [((at + 0.5) * width, values) for at, values in enumerate(found)]


def _known(values: Sequence[float | None], group: range) -> list[float]:
    return [value for place in group if (value := values[place]) is not None]


def _y(value: float, most: float) -> float:
    return HEIGHT * (1 - min(max(value / most, 0.0), 1.0))
