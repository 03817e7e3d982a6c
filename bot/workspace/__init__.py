"""Folders and sandboxes of threads, attachments, listings."""
