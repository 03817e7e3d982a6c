"""The worker of one thread: lease, slot, start, run, recovery."""
