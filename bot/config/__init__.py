"""Settings, the home folder, and preferences of servers and channels."""
