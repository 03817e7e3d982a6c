"""What all tools share: arguments, observations, truncation, stored outputs."""
