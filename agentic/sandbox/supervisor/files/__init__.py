"""Files of the workspace: operations, search, archives, changes."""
