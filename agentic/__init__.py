"""The agent: how it decides, what it acts on, and where its log is kept.  Knows nothing of Discord."""
