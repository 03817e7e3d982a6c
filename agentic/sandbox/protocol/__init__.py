"""Frames between the bot and the supervisor in a sandbox."""
