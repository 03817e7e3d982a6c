"""Text analysis that does not depend on agents: differences of lines, forms of secrets; pure."""
