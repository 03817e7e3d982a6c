"""From a state to what a model is told."""
