"""Actions on what a task left: undo, rerun, fork, merge and clean."""
