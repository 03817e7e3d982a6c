"""Everything that can stand in a log."""
