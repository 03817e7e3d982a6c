"""Bare loops for comparison: what a turn costs with a library alone, without a log, a fold or rules."""
