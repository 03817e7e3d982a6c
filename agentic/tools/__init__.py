"""What an agent can do: the standard tools over a thread's world."""

from agentic.tools.toolbox import STANDARD, StandardToolbox, WorldSource

__all__ = ["STANDARD", "StandardToolbox", "WorldSource"]
