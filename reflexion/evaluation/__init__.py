"""Scores of a trajectory: evidence, checks, costs, safety."""
