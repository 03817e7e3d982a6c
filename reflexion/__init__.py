"""Judges what executions did, and keeps what they teach for the next ones.

trajectory -> evaluator -> decision -> reflector -> lessons -> retrieval; ``cycle.Reflexion`` ties them together.  Nothing
is imported here, so that who needs an error or a name of this package does not wait for all of it.
"""
