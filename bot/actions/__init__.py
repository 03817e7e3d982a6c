"""Actions on what a task left or has done so far: undo, rerun, fork, merge and clean."""
