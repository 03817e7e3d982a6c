"""Read models over stored logs: attempts, costs, checkpoints, summaries."""
