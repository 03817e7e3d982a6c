"""Shared parts of all tools: arguments, observations, truncation, stored outputs."""
