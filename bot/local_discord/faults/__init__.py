"""Injected faults: delayed, lost, repeated and refused requests and events."""
