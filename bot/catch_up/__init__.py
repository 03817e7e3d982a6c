"""Catching up with what happened while the bot was offline or had no access."""
