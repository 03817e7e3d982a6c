"""Permissions: who may do what in which thread, and what people read when they may not."""
