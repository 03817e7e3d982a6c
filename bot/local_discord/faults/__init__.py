"""Faults on purpose: what is delayed, lost, repeated or refused."""
