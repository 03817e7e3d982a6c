"""Checks of a Discord token and of a provider's key, over the network."""
