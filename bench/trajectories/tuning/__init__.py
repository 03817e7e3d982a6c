"""Families by which the rules are tuned."""

from bench.trajectories.tuning import breaking, building, cycling, flaking, installing, migrating, polling, searching

FAMILIES = (
    building.FAMILY,
    polling.FAMILY,
    cycling.FAMILY,
    migrating.FAMILY,
    searching.FAMILY,
    installing.FAMILY,
    flaking.FAMILY,
    breaking.FAMILY,
)
