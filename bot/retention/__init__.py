"""Deletion of expired logs, and of one person's data."""
