"""The JSON schema of the events that leave Threadwright.

``python -m agentic.event_targets.event_schema > docs/outside-events.schema.json`` writes it; a test holds the file against it.
"""

from __future__ import annotations

import json
import sys

from agentic.core.outside.outside_events import OUTSIDE_EVENT

DIALECT = "https://json-schema.org/draft/2020-12/schema"


def event_schema() -> str:
    """Return the text of ``docs/outside-events.schema.json``."""
    made = OUTSIDE_EVENT.json_schema(by_alias=True, mode="serialization")
    about = "One event of Threadwright, as a line of a file, the body of a webhook, or a message of a queue."
    return json.dumps({"$schema": DIALECT, "title": "Outside event", "description": about, **made}, indent=1) + "\n"


if __name__ == "__main__":
    sys.stdout.write(event_schema())
