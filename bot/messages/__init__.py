"""The text of each message that people read; pure."""
