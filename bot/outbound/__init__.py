"""Delivery to Discord: outbox, queue, rate limits, edits, messages that follow a state."""
