"""Faults on purpose: simulated executions by the thousand, and real processes that are killed."""
