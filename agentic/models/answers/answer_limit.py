"""How much of an answer is taken in, whatever an endpoint sends: a request names a length, and not every one keeps to it.

What is longer is cut off there and counts as ended by its length limit, so that logs, prompts and patterns see no more.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

CHARACTERS_A_TOKEN: Final = 32
"""No text has so many on average; nor has what a provider sends along sealed."""
LEAST: Final = 65_536
PART: Final = 256
"""So many characters each call and each block counts for, however short it is."""
NAME: Final = 200
"""Characters of a name: of a model, of a tool."""


@dataclass(slots=True)
class Allowance:
    """What is left of it."""

    left: int
    over: bool = False
    """More came than was taken in."""

    def take(self, text: str) -> str:
        """As much of the text as is taken in."""
        taken = text[: self.left]
        self.left -= len(taken)
        self.over = self.over or len(taken) < len(text)
        return taken

    def opens(self) -> bool:
        """Whether a further call or block is taken in."""
        if self.over or self.left < PART:
            self.over = True
            return False
        self.left -= PART
        return True


def allowance(max_tokens: int) -> Allowance:
    """Of an answer to a request for at most so many tokens."""
    return Allowance(max(max_tokens * CHARACTERS_A_TOKEN, LEAST))
