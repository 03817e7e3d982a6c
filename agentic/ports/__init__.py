"""Protocols between the runtime and its adapters, with their values and errors."""
