"""Where the store lies, as plain values; who reads the settings makes it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Place:
    """A table, a bucket and the AWS that they are in."""

    table: str
    bucket: str
    region: str = ""
    """'' for the one of AWS's own settings (AWS_REGION, AWS_DEFAULT_REGION, a profile)."""
    endpoint: str = ""
    """The URL of something that stands in for AWS; '' for AWS itself."""
    queue: str = ""
    """The URL of the queue that rings, '' for none."""
    events: str = ""
    """The URL of the queue that others read what happens from, '' for none."""
    copies: Path | None = None
    """A folder of this machine for copies in which things are found; None for one that goes with the process."""

    def __str__(self) -> str:
        """Its table, as people name it."""
        return f"table {self.table} in {self.where}"

    @property
    def where(self) -> str:
        """The AWS it is in, in words."""
        region = f"region {self.region}" if self.region else "the region of AWS's own settings"
        return f"{region} at {self.endpoint}" if self.endpoint else region
