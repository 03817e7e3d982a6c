"""Messages and signs in Discord that are kept true to what they are about."""
