"""Which commands need a person's approval."""
