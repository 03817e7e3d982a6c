"""Commands, the interpreter, and what they use."""
