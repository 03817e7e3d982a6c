"""A task as a file that can be sent to somebody."""
