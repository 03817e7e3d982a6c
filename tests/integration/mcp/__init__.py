"""MCP servers, ours that misbehave and others that nobody here wrote, under the real toolbox and loop."""
