"""Threads: creation, members, archiving."""
