"""Injection, played by a script over agentdojo's tasks: ``make dojo``.  Only ``suites`` imports agentdojo."""
