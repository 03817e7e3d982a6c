"""The registry of threads and their durable inboxes."""
