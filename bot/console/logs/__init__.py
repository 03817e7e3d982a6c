"""Logs of tasks as the console has them: read once, without secrets, followed as they grow."""
