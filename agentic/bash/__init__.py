"""Command lines of a shell: parsed, as plain steps, and what they would run.  Pure."""
