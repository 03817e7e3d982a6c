"""What an earlier process left behind, and whether it is safe to go on with it.

An execution that ends its process each time it is taken up would do so for ever: after three crashes since a person last
said something the rules leave it alone (``agentic/core/owning.py``).  From then on no process takes it up by itself, only
what a person does.
"""

from __future__ import annotations

from agentic.core.evolving import fold
from agentic.ports import EventLog


async def is_left_alone(log: EventLog, execution: str) -> bool:
    """Whether it waits until a person says something.  Raises ``StoreError``."""
    return fold([envelope async for envelope in log.read(execution)]).quarantined is not None
