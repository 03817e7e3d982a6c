"""Steps after an execution: score, label, announce lessons, retry, ask for feedback."""
