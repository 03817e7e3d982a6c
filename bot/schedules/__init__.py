"""Tasks at set times: what was asked for, when it is due, and the one task that brings it to its thread."""
