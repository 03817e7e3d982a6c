"""What an execution claims, and what in its log proves it: completion and confidence."""
