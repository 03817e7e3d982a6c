"""Text analysis: tasks, answers, commands, amounts, secrets."""
