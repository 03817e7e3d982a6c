"""The workspace of a thread: files, git, what an agent has read."""
