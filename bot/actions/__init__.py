"""Actions on a finished task: undo, rerun, fork, merge and clean."""
