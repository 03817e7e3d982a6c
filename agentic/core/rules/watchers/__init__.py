"""Watchers: when one looks on, what it is shown, and what its answer changes."""
