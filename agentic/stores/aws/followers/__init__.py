"""Who follows the logs from outside, and how far they were told."""
