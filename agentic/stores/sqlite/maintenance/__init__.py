"""Integrity checks, transfer of logs, deletion."""
