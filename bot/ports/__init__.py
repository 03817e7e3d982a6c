"""Protocols and values that pass between Discord handlers and sessions."""
