"""Families by which the rules are judged; no rule is ever tuned by them, and a test holds them as they are."""

from bench.trajectories.held_out import (
    computing,
    connecting,
    refactoring,
    refusing,
    repairing,
    requesting,
    rereading,
    rounding,
    serving,
    tailing,
    watching,
)

FAMILIES = (
    serving.FAMILY,
    tailing.FAMILY,
    requesting.FAMILY,
    rounding.FAMILY,
    refactoring.FAMILY,
    repairing.FAMILY,
    computing.FAMILY,
    rereading.FAMILY,
    watching.FAMILY,
    refusing.FAMILY,
    connecting.FAMILY,
)
