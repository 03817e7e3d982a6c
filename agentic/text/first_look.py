"""Whether a pattern may match in a text at all: most texts hold no secret, and are not searched form by form then.

The look is Pydantic's, whose patterns know neither looks around nor back-references: it reads a text once, for all that it
looks for, at up to a gigabyte a second and in linear time whatever the text, a tenth to a hundredth of what ``re`` takes.
A look may find more than the pattern that it goes before, never less.
"""

from __future__ import annotations

from pydantic_core import SchemaValidator, core_schema

SPACE = r"[\s\x1c-\x1f]"
"""What ``\\s`` is to ``re``."""
DARK = r"[^\s\x1c-\x1f]"
"""What ``\\S`` is to ``re``."""
ANY_I = "[iİı]"
"""What an i is to ``re`` where case does not count."""


class FirstLook:
    """A look for a pattern in the syntax of Rust's ``regex``."""

    def __init__(self, pattern: str) -> None:
        self._validator = SchemaValidator(core_schema.str_schema(pattern=pattern))

    def finds(self, text: str) -> bool:
        """Whether the pattern matches anywhere in a text."""
        readable = text if text.isascii() else text.encode(errors="replace")  # half a surrogate pair is none
        return self._validator.isinstance_python(readable)
