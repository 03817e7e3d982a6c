"""Which lessons an execution is given: search, ranking, selection."""
