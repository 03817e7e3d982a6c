"""Where reflections and lessons are kept: memory, SQLite.  One contract suite holds them equal."""
