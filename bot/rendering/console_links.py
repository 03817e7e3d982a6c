"""Links from Discord to what the console shows."""

from __future__ import annotations

from dataclasses import dataclass
from urllib.parse import quote


@dataclass(slots=True)
class ConsoleLinks:
    """Addresses on the console; each is '' while there is none."""

    url: str = ""
    """Where the console is."""
    posted: bool = True
    """Whoever reads the chat can reach it; else no message links to it."""

    def task(self, thread: str, execution: str = "") -> str:
        """The newest task of a thread, or a certain one."""
        if not self.url or not self.posted:
            return ""
        place = f"{self.url}/t/{quote(thread, safe='')}"
        return f"{place}/{quote(execution, safe='')}" if execution else place


def turn_link(task: str, turn: int) -> str:
    """``turn 7`` as a link to it, where there is an address of its task; else the words."""
    return f"[turn {turn}]({task}#turn-{turn})" if task and turn else f"turn {turn}"
