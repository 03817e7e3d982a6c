"""Repositories on other machines: their mirrors here, checkouts of them in a sandbox, and the one way out."""
