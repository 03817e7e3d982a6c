"""Tasks in the terminal, as they run: the lines of one, a table of all."""
