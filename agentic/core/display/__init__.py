"""What people are shown of an event, as items of the outbox."""
