"""The state of an execution."""
