"""Text analysis that knows nothing of agents: differences of lines, forms of secrets; pure."""
