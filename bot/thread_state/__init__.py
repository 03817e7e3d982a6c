"""The state of a thread, and what people's actions mean in that state; pure."""
