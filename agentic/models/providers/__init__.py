"""Providers: names, prices, errors, whether a server answers."""
