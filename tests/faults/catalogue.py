"""The hundred faults and bad inputs, and what must happen at each (``catalogue.tsv``)."""

from __future__ import annotations

import csv
from dataclasses import dataclass
from pathlib import Path

CATALOGUE = Path(__file__).with_name("catalogue.tsv")


@dataclass(frozen=True, slots=True)
class Row:
    """One fault; its tests are those named ``test_f<number>_…``."""

    number: int
    section: str
    fault: str
    must_happen: str


def rows() -> tuple[Row, ...]:
    """All rows, in order."""
    with CATALOGUE.open(encoding="utf-8", newline="") as file:
        reader = csv.reader(file, delimiter="\t", quoting=csv.QUOTE_NONE)
        next(reader)
        return tuple(Row(int(number), section, fault, must) for number, section, fault, must in reader)
