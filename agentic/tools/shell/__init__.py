"""Tools that run commands and Python."""
