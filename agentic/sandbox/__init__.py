"""Sandboxes, and the files that they hide."""
