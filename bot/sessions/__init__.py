"""What is done for one thread: lease, slot, start, run, recovery."""
