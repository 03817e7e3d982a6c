"""One execution with every kind of tool, struck at each of its awaits in turn, and judged after each."""
