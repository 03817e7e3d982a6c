"""Paths as a model writes them."""

from __future__ import annotations

import re
from typing import Annotated

from pydantic import AfterValidator, Field

CHARACTERS = 2_000
DEPTH = 100
NAME_BYTES = 255
_CONTROLS = re.compile(r"[\0-\x1f\x7f-\x9f]")


def _bounded(path: str) -> str:
    if _CONTROLS.search(path):
        raise ValueError("has a control character; reach such a file with shell")
    parts = path.split("/")
    if len(parts) > DEPTH:
        raise ValueError(f"has more than {DEPTH} folders")
    if any(len(part.encode("utf-8", "replace")) > NAME_BYTES for part in parts):
        raise ValueError(f"has a name of more than {NAME_BYTES} bytes")
    return path


FilePath = Annotated[str, Field(min_length=1, max_length=CHARACTERS), AfterValidator(_bounded)]
"""A file of the workspace."""
FolderPath = Annotated[str, Field(max_length=CHARACTERS), AfterValidator(_bounded)]
"""A folder of the workspace; '' is its root."""
