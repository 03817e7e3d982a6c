"""Whole worlds in virtual time: the real bot, simulated surroundings, faults on purpose, and a judge."""
