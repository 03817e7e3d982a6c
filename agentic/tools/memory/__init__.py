"""Facts that outlive a thread: remembered, and recalled."""
