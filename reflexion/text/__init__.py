"""Text analysis: secrets, hosts, commands, hidden characters, harmful advice."""
