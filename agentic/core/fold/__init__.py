"""From an event to the next state."""
