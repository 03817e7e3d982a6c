"""From a state to the next effect: `decide` and the rules it asks, in order."""
