"""What people see and touch; the only package that imports discord."""

BUILD = "0.1.0"
"""The version, which the package takes from here."""
