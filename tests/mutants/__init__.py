"""Takes each rule of ``decide`` and each branch of ``evolve`` out, one at a time: ``python -m tests.mutants``."""
