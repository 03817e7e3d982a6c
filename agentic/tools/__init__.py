"""What an agent can do: the standard tools over a thread's world."""

from agentic.tools.commit import COMMIT_TOOL, repositories_in
from agentic.tools.toolbox import STANDARD, SaveWorkspace, StandardToolbox, WorldSource

__all__ = ["COMMIT_TOOL", "STANDARD", "SaveWorkspace", "StandardToolbox", "WorldSource", "repositories_in"]
